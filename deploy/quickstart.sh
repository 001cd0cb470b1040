#!/usr/bin/env bash
# deploy/quickstart.sh - from a clone to four workers that train a classifier
#
# Installs what is missing (Debian 12, as root), builds into build/, or uses
# the build/ that is there, and runs the main job: a coordinator on loopback
# and four workers that train on handwritten digits together.
set -euo pipefail
cd "$(dirname "$0")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# step NAME COMMAND...: one line and its time; all it said only if it failed.
step() {
  local name=$1 begin=$SECONDS
  shift
  printf '%s ... ' "$name"
  if ! "$@" >"$log" 2>&1; then
    printf 'failed\n'
    tail -n 60 "$log" >&2
    printf 'quickstart: failed: %s\n' "$*" >&2
    exit 1
  fi
  printf '%s s\n' "$((SECONDS - begin))"
}

build() {
  [ -f build/build.ninja ] || meson setup build
  ninja -C build tools/hooprun/hooprun examples/train_digits
}

echo 'hoop quickstart: a few minutes the first time, then seconds'
step '1/3 install what is missing' ./deploy/install-deps.sh
step '2/3 build hoop' build
echo '3/3 train on four workers: hooprun -n 4 train_digits'
./build/tools/hooprun/hooprun -n 4 ./build/examples/train_digits \
  --out examples/out
echo "done in $SECONDS s"
