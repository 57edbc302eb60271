#!/usr/bin/env bash
# Builds programs of a real Kubernetes from their Go modules: the truth that our own store is compared with.
#
#   tests/cluster/build_kubernetes.sh NAME...      prints the folder that holds them
#
# A name is etcd, or any command of k8s.io/kubernetes: kube-apiserver, kube-controller-manager, kubectl, ...
# What is built already is left alone. The folder is outside the tree, so that every clone on a
# machine, and every run of CI on it, shares one build: ${AGENTTIER_CACHE:-~/.cache/agenttier}.
set -euo pipefail

kubernetes=1.34.4
etcd=3.6.13
toolchain=go1.25.5 # used only where the machine's own Go is too old to fetch what modules ask for

cache=${AGENTTIER_CACHE:-$HOME/.cache/agenttier}
out=$cache/kubernetes/v$kubernetes
export GOFLAGS="-p=${AGENTTIER_GO_JOBS:-2} -mod=mod" CGO_ENABLED=0

if (($# == 0)); then
  sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi

missing() { # NAME...: those that are not built
  local name
  for name in "$@"; do [ -x "$out/$name" ] || echo "$name"; done
}

# Go 1.21 and later fetch the toolchain that a module asks for. Debian's is older, but it can fetch
# the same module, checked against Go's checksum database; only the executable bits are lost.
find_go() {
  local minor
  if ! command -v go >/dev/null; then
    echo "build_kubernetes.sh: there is no go; run ./dev setup, or install golang-go" >&2
    return 1
  fi
  minor=$(go env GOVERSION | sed -E 's/^go1\.([0-9]+).*/\1/')
  ((minor >= 21)) && return 0
  local home=$cache/$toolchain
  if [ ! -x "$home/bin/go" ]; then
    local fetched
    fetched=$(cd "$work" && GOFLAGS=-mod=mod go mod download -json \
      "golang.org/toolchain@v0.0.1-$toolchain.linux-$(go env GOARCH)" |
      python3 -c 'import json, sys; print(json.load(sys.stdin)["Dir"])')
    rm -rf "$home.part"
    cp -r "$fetched" "$home.part"
    chmod -R u+w "$home.part"
    chmod +x "$home.part"/bin/* "$home.part"/pkg/tool/*/*
    mv "$home.part" "$home"
  fi
  export PATH=$home/bin:$PATH GOTOOLCHAIN=local
}

# The module of Kubernetes replaces its own libraries by folders of its repository; a build from
# outside names their published versions instead.
write_kubernetes_module() { # FOLDER
  mkdir -p "$1"
  cd "$1"
  printf 'module build\n\ngo 1.24.0\n' >go.mod
  local original
  original=$(go mod download -json "k8s.io/kubernetes@v$kubernetes" |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["GoMod"])')
  {
    printf 'module build\n\ngo 1.24.0\n\nrequire k8s.io/kubernetes v%s\n' "$kubernetes"
    sed -nE "s#^\s*(k8s\.io/\S+) (v0\.0\.0|=> \./staging.*)\$#\1#p" "$original" | sort -u |
      sed "s#.*#replace & => & v0.${kubernetes#1.}#"
  } >go.mod
}

build_kubernetes() { # NAME...
  local version=k8s.io/component-base/version name packages=()
  write_kubernetes_module "$work/kubernetes"
  for name in "$@"; do packages+=("k8s.io/kubernetes/cmd/$name"); done
  mkdir -p "$work/bin"
  nice -n 10 go build -trimpath -o "$work/bin/" -ldflags="-s -w -X $version.gitVersion=v$kubernetes
    -X $version.gitMajor=1 -X $version.gitMinor=34" "${packages[@]}"
  for name in "$@"; do mv "$work/bin/$name" "$out/$name"; done
}

build_etcd() {
  mkdir -p "$work/etcd"
  cd "$work/etcd"
  printf 'module build\n\ngo 1.24.0\n\nrequire go.etcd.io/etcd/server/v3 v%s\n' "$etcd" >go.mod
  nice -n 10 go build -trimpath -ldflags="-s -w" -o etcd.part go.etcd.io/etcd/server/v3
  mv etcd.part "$out/etcd"
}

if [ -n "$(missing "$@")" ]; then
  mkdir -p "$out"
  exec 9>"$out/.lock" # one build at a time; the second finds what the first has built
  flock 9
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  find_go
  others=()
  for name in $(missing "$@"); do
    if [ "$name" = etcd ]; then build_etcd >&2; else others+=("$name"); fi
  done
  if ((${#others[@]})); then build_kubernetes "${others[@]}" >&2; fi
fi
echo "$out"
