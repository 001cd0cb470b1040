#!/usr/bin/env bash
# deploy/build-wheel.sh - a wheel of the package hoop that needs nothing beside it
#
# build-wheel.sh [PYTHON]: leaves dist/hoop-*.whl, for every CPython from PYTHON's
# version on (python3; the wheel to publish is built by 3.9), or for PYTHON's alone
# where that is free-threaded. It holds the libraries that it needs, and runs where
# the C library is not older than this machine's, as its name says.
set -euo pipefail
cd "$(dirname "$0")/.."
size_max=$((8 << 20))
python=${1:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

./deploy/install-python.sh build-venv wheel
"$python" -m venv "$work/venv"
options=()
# Which has no limited API.
"$python" -c 'import sysconfig, sys; sys.exit(not sysconfig.get_config_var("Py_GIL_DISABLED"))' &&
  options=(--config-settings=setup-args=-Dpython.allow_limited_api=false)
"$work/venv/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps \
  ${options[@]+"${options[@]}"} --wheel-dir "$work" .
PATH=$PWD/build-venv/bin:$PATH build-venv/bin/python3 -m auditwheel repair --strip \
  --wheel-dir "$work/repaired" "$work"/hoop-*.whl >"$work/log" 2>&1 || {
  cat "$work/log" >&2
  exit 1
}
wheel=$(echo "$work"/repaired/hoop-*.whl)
size=$(stat -c %s "$wheel")
if [ "$size" -gt "$size_max" ]; then
  echo "build-wheel.sh: ${wheel##*/} has $size bytes, more than $size_max" >&2
  exit 1
fi
mkdir -p dist
cp "$wheel" dist/
echo "dist/${wheel##*/}: $size bytes"
