#!/usr/bin/env bash
# deploy/check-wheel.sh - whether a wheel of the package hoop works in a new venv
#
# check-wheel.sh WHEEL [PYTHON]   in one of PYTHON (python3)
# check-wheel.sh WHEEL --fresh    in a bare Debian 12 with Python and no compiler,
#                                 as root, with mmdebstrap installed
#
# Four ranks say hello, others check what they compute, and the tests run that need
# no more than what a user has. Ends with "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/.."
wheel=$1
python=${2:-python3}

if [ "$python" = --fresh ]; then
  exec ./tests/fresh_root.sh --with "$wheel" "
    apt-get update -q >/dev/null &&
    apt-get install -q -y --no-install-recommends python3-venv >/dev/null &&
    ! command -v cc && deploy/check-wheel.sh ${wheel##*/}"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
# check NAME COMMAND...: all that it said only if it failed.
check() {
  local name=$1
  shift
  if "$@" >"$work/log" 2>&1; then
    passed=$((passed + 1))
    echo "$name: ok"
  else
    failed=$((failed + 1))
    tail -n 60 "$work/log"
    echo "! $name: failed"
  fi
}

# Nothing of this tree but the wheel.
unset PYTHONPATH HOOPRUN
"$python" -m venv "$work/venv"
PATH=$work/venv/bin:$PATH
install() {
  python -m pip install --quiet --disable-pip-version-check --only-binary :all: "$@"
}
check 'install' install "$wheel"
for program in hoop-checkpoint hoop-perf hoop-sim hoopctl hoopd hooprun; do
  check "$program" "$program" --version
done
check 'hello' hooprun -n 4 python examples/python/hello.py
check 'performance check' hooprun -n 4 hoop-perf --op allreduce --min 8 --max 1M --factor 8 --iters 3 --check
check 'install pytest' install hypothesis numpy pytest
check 'tests' python -B -m pytest -q -p no:cacheprovider tests/python/test_package.py \
  tests/python/test_examples.py $(find tests/python -name '*plugin*.py')
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
