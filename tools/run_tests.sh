#!/usr/bin/env bash
# Builds with sanitizers and runs the tests: of one folder of src/, of "e2e", or all of them.
# Ends with a line of counts (tools/summary.py) and fails if a test failed or an unexpected skip came.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

results=build/results
rm -rf "$results"
mkdir -p "$results"
export ASAN_OPTIONS=detect_stack_use_after_return=0:abort_on_error=0:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1
export ASAN_SYMBOLIZER_PATH=/usr/bin/llvm-symbolizer-16

preset=test
[ -f "build/$preset/build.ninja" ] || cmake --preset "$preset" >/dev/null
[ -f build/runtime/build.ninja ] || cmake --preset runtime >/dev/null

failed=0
run_unit() { # FOLDER: runs its gtest binary, keeps going after a failure
  local binary=build/$preset/bin/$1_test
  [ -x "$binary" ] || return 0
  printf -- '--- %s\n' "$1"
  local status=0
  # A hang must not eat the run's whole time.
  timeout -k 10 "${AGENTTIER_TEST_SECONDS:-400}" "$binary" --gtest_brief=1 \
    --gtest_output="xml:$results/$1.xml" || status=$?
  if [ "$status" != 0 ]; then
    failed=1
    # A crash leaves no result file, and a silent one must not count as a pass.
    [ -s "$results/$1.xml" ] || echo "$1_test ended with status $status" >"$results/$1.crash"
  fi
}

run_pytest() { # NAME PATH...
  local name=$1
  shift
  printf -- '--- %s\n' "$name"
  build/venv/bin/python -m pytest -q -ra --timeout=600 --junitxml="$results/$name.xml" "$@" || failed=1
}

only=${1:-}
if [ -n "$only" ] && [ "$only" != e2e ] && [ "$only" != tools ]; then
  ninja -C "build/$preset" --quiet "${only}_test"
  run_unit "$only"
else
  if [ "$only" != tools ]; then
    ninja -C build/runtime --quiet agenttier-runtime
    ninja -C "build/$preset" --quiet
    install -m 755 build/runtime/bin/agenttier-runtime "build/$preset/bin/agenttier-runtime"
  fi
  if [ -z "$only" ]; then
    for folder in src/*/; do run_unit "$(basename "$folder")"; done
  fi
  [ "$only" = e2e ] || run_pytest tools tools/tests
  if [ -z "$only" ]; then
    printf -- '--- fuzz\n'
    tools/fuzz.sh "${AGENTTIER_FUZZ_SECONDS:-10}" || echo "a fuzz program found something" >"$results/fuzz.crash"
  fi
  if [ "$only" != tools ]; then
    ./dev images
    run_pytest e2e tests/e2e tests/compat
    [ "$only" = e2e ] || run_pytest conformance tests/conformance --server ours
  fi
fi

python3 tools/summary.py "$results" --expected-skips tests/expected_skips.txt || failed=1
exit "$failed"
