#!/usr/bin/env bash
# Measures the release build; arguments go to bench/bench.py.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec build/venv/bin/python bench/bench.py "$@"
