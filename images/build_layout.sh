#!/usr/bin/env bash
# Makes an OCI layout from Debian packages alone; no registry is asked.
# usage: build_layout.sh DESTINATION "PACKAGE PACKAGE ..."
# AGENTTIER_APT_SOURCES names a sources.list to use instead of Debian's own mirror.
set -euo pipefail

destination=$1
packages=${2// /,}
work=$(mktemp -d)
trap 'rm -rf "$work" "$destination.new"' EXIT

# Documentation, caches and logs are of no use in a sandbox.
mmdebstrap --quiet --variant=minbase --include="$packages" \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/info/*' \
  --aptopt='Acquire::Languages "none"' \
  --customize-hook='echo "sandbox:x:1000:1000::/workspace:/bin/bash" >>"$1/etc/passwd"' \
  --customize-hook='echo "sandbox:x:1000:" >>"$1/etc/group"' \
  --customize-hook='mkdir -p "$1/workspace" && chown 1000:1000 "$1/workspace"' \
  --customize-hook='rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/* "$1"/var/log/* "$1"/tmp/*' \
  bookworm "$work/layer.tar" ${AGENTTIER_APT_SOURCES:+"$AGENTTIER_APT_SOURCES"}

umoci init --layout "$destination.new"
umoci new --image "$destination.new:latest"
umoci raw add-layer --image "$destination.new:latest" "$work/layer.tar"
umoci config --image "$destination.new:latest" \
  --config.user 1000:1000 --config.workingdir /workspace \
  --config.env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
  --config.env LANG=C.UTF-8 --config.cmd /bin/bash
umoci gc --layout "$destination.new"
rm -rf "$destination"
mv "$destination.new" "$destination"
