#!/usr/bin/env bash
# Starts `agenttier up`, shows the main job once, then stays in the foreground; Ctrl-C ends the server.
# Arguments go to `agenttier up`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
agenttier=$PWD/build/release/bin/agenttier

state=/var/lib/agenttier
listen=127.0.0.1:8080
arguments=("$@")
for ((i = 0; i < ${#arguments[@]}; i++)); do
  case "${arguments[i]}" in
    --state-dir) state=${arguments[i + 1]} ;;
    --state-dir=*) state=${arguments[i]#*=} ;;
  esac
done
mkdir -p -m 0700 "$state"
log=$state/up.log
rm -f "$state/api.url"

"$agenttier" up --listen "$listen" --images "$PWD/build/images" "$@" >>"$log" 2>&1 &
server=$!
stop_server() {
  kill -TERM "$server" 2>/dev/null || true
  wait "$server" 2>/dev/null || true
}
trap 'echo; echo "stopping; sandboxes keep running"; stop_server; exit 0' INT TERM

until [ -s "$state/api.url" ]; do
  if ! kill -0 "$server" 2>/dev/null; then
    echo "agenttier up did not start; the end of $log:" >&2
    tail -n 5 "$log" >&2
    exit 1
  fi
  read -rt 0.05 <> <(:) || true
done

url=$(cat "$state/api.url")
AGENTTIER_API_URL=$url
AGENTTIER_API_KEY=$(cat "$state/admin.key")
export AGENTTIER_API_URL AGENTTIER_API_KEY
name=first-$(date +%s)

step() { # TEXT COMMAND...: one line with the time it took; the output of a failure is shown
  local text=$1 from to output
  shift
  from=$(date +%s%N)
  if ! output=$("$@" 2>&1); then
    printf '  %-44s failed\n%s\n' "$text" "$output"
    stop_server
    exit 1
  fi
  to=$(date +%s%N)
  printf '  %-44s %6d ms   %s\n' "$text" $(((to - from) / 1000000)) "${output%%$'\n'*}"
}
stopped() {
  "$agenttier" sandbox stop "$name" >/dev/null
  until [ "$("$agenttier" sandbox list --status Stopped -o json | grep -c "\"name\": \"$name\"")" = 1 ]; do
    read -rt 0.05 <> <(:) || true
  done
  echo stopped
}
resumed() { "$agenttier" sandbox resume "$name" >/dev/null && "$agenttier" sandbox wait "$name"; }

echo "The main job:"
step "create a sandbox" "$agenttier" sandbox create "$name" --template minimal --wait
step "run a command" "$agenttier" sandbox exec "$name" 'echo "hello from $(hostname)"'
step "write a file" "$agenttier" sandbox files write "$name" /workspace/note --data "kept over a stop"
step "stop it" stopped
step "resume it" resumed
step "read the file back" "$agenttier" sandbox files cat "$name" /workspace/note
step "delete it" "$agenttier" sandbox delete "$name"

cat <<TEXT

AgentTier is at $url (log: $log)
The admin key is in $state/admin.key
Try:
  $agenttier sandbox create demo --template general-coding --wait
  $agenttier sandbox exec demo 'python3 -c "print(6 * 7)"'
  $agenttier sandbox list
Ctrl-C stops the server; sandboxes keep running.
TEXT
wait "$server"
