#!/usr/bin/env bash
# Runs every fuzz program of tests/fuzz for some seconds from its committed corpus; fails on the first
# finding and says where its input lies. What is found new stays in build/fuzz.
# usage: tools/fuzz.sh [SECONDS_EACH [NAME...]]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:-60}
shift || true
names=("$@")
((${#names[@]})) || mapfile -t names < <(ls tests/fuzz/corpus)

export ASAN_OPTIONS=detect_stack_use_after_return=0:allocator_may_return_null=1
export ASAN_SYMBOLIZER_PATH=/usr/bin/llvm-symbolizer-16
[ -f build/test/build.ninja ] || cmake --preset test >/dev/null
ninja -C build/test --quiet "${names[@]/#/fuzz_}"

run_one() { # NAME
  local work=build/fuzz/$1
  mkdir -p "$work/corpus" "$work/findings"
  if ! "build/test/bin/fuzz_$1" "$work/corpus" "tests/fuzz/corpus/$1" -max_total_time="$seconds" \
    -max_len=8192 -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 \
    -artifact_prefix="$work/findings/" >"$work/log" 2>&1; then
    printf 'fuzz %-16s FOUND something; input in %s\n' "$1" "$work/findings"
    tail -n 40 "$work/log"
    return 1
  fi
  printf 'fuzz %-16s %s executions\n' "$1" \
    "$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/log")"
}
export -f run_one
export seconds
printf '%s\n' "${names[@]}" | xargs -P "$(nproc)" -I{} bash -c 'run_one {}'
