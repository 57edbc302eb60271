#!/usr/bin/env bash
# A shell and the usual small tools. usage: build.sh DESTINATION
set -euo pipefail
mkdir -p "$(dirname "$1")"
exec "$(dirname "${BASH_SOURCE[0]}")/../build_layout.sh" "$1" "bash coreutils procps ca-certificates curl"
