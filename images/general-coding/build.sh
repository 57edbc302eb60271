#!/usr/bin/env bash
# What a developer or a coding agent expects. usage: build.sh DESTINATION
set -euo pipefail
mkdir -p "$(dirname "$1")"
exec "$(dirname "${BASH_SOURCE[0]}")/../build_layout.sh" "$1" \
  "bash coreutils procps ca-certificates curl git openssh-client build-essential python3 python3-venv python3-pip nodejs jq ripgrep less vim-tiny unzip tmux"
