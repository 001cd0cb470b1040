#!/usr/bin/env bash
# tests/run.sh - install, build, run the suites; ends with "N passed, N failed"
#
# run.sh [--suite NAME]... [--torch [all]] [--sanitize address|thread] [--compiler clang] [--coverage] [--sweep all|TEXT] [--until build]
#
# Without --suite every suite runs; under a sanitizer those where it can find
# something. Each kind of build has a folder of its own. --torch: also the suite
# torch, with PyTorch's own tests on 2 ranks, which installs torch. --torch all:
# that suite alone, on 2, 3 and 4, and more of what it draws and repeats: an hour.
# --coverage: the suites unit, sim and integration, and whether they run as many lines
# of each folder as docs/coverage.md says.
# --sweep: instead of the suites once, tests/sweep.py, all of it or the part that
# TEXT chooses. --until build: runs nothing, and has no such line.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  sed -n '4s/^# /usage: /p' tests/run.sh >&2
  exit 64
}

suites=()
sanitizer=
compiler=gcc
sweep=
until=
torch=disabled
whole_torch=
coverage=
while [ $# -gt 0 ]; do
  if [ "$1" = --coverage ]; then
    coverage=1
    shift
    continue
  fi
  if [ "$1" = --torch ]; then
    torch=enabled
    shift
    if [ "${1-}" = all ]; then
      whole_torch=1
      suites+=(torch)
      shift
    fi
    continue
  fi
  [ $# -ge 2 ] || usage
  case $1 in
    --suite) suites+=("$2") ;;
    --sanitize) sanitizer=$2 ;;
    --compiler) compiler=$2 ;;
    --sweep) sweep=$2 ;;
    --until)
      [ "$2" = build ] || usage
      until=$2
      ;;
    *) usage ;;
  esac
  shift 2
done

build=build
[ "$compiler" = gcc ] || build=build-$compiler
setup=()
setup_name=
testing=(--print-errorlogs)
# Most of what a sanitizer's build takes is compiling what it adds: what it finds
# does not depend on optimization, and line numbers are all that it prints.
quick=(-Doptimization=1 -Dc_args=-g1)
case $sanitizer in
  '') ;;
  address)
    build=$build-asan
    setup=(-Db_sanitize=address,undefined "${quick[@]}")
    setup_name=asan
    if [ ${#suites[@]} -eq 0 ]; then
      suites=(unit sim integration fault fuzz python)
      [ $torch = disabled ] || suites+=(torch)
    fi
    ;;
  thread)
    build=$build-tsan
    setup=(-Db_sanitize=thread "${quick[@]}")
    setup_name=tsan
    [ ${#suites[@]} -gt 0 ] || suites=(unit integration fault)
    ;;
  *) usage ;;
esac
if [ -n "$coverage" ]; then
  build=build-coverage
  setup=(-Db_coverage=true "${quick[@]}")
  suites=(unit sim integration)
fi
# Hundreds of programs with all that a sanitizer adds: another linker takes half
# the time. What users get is linked as they link it.
linker=
if [ -n "$sanitizer" ] && [ "$compiler" = gcc ] && type -P ld.gold >/dev/null; then
  linker=gold
fi
# A machine that is busy is slow, and not a hang.
if [ -n "$setup_name" ]; then
  testing+=(--setup "$setup_name")
else
  testing+=(--timeout-multiplier 3)
fi
if [ -n "$whole_torch" ]; then
  export UPSTREAM_RANKS=2,3,4 MATRIX_EXAMPLES=300 ENDURANCE_STEPS=10000
  testing+=(--timeout-multiplier 15)
fi
for suite in ${suites[@]+"${suites[@]}"}; do
  testing+=(--suite "$suite")
done

# What the caller has set for his own jobs is not for the tests.
for name in $(compgen -e HOOP_ || true); do
  [[ $name == HOOP_REQUIRE_* ]] || unset "$name"
done
# Who waits long for a processor of a busy machine is not lost. Tests of loss say
# their own, setups of sanitizers more.
export HOOP_FAILURE_TIMEOUT=10
# Nor does who starts late change what others say. Tests of that say their own.
export HOOP_WAIT_NOTICE=0

log=$build/meson-logs/testlog${setup_name:+-$setup_name}.json
[ -z "$sweep" ] || log=$build/meson-logs/sweep.json
closing_line() {
  status=$?
  [ "$status" -ne 64 ] && [ -z "$until" ] || return 0
  /usr/bin/env python3 -B tests/count.py "$log" "$status"
}
trap closing_line EXIT

./deploy/install-deps.sh
# The package hoop, where what it is built with can be had; what it is tested with
# comes while the rest is compiled. TSan has to be in all of a process.
venv=build-venv
python=disabled
if [ "$sanitizer" = thread ]; then
  :
elif [ -n "$coverage" ]; then
  ./deploy/install-python.sh $venv coverage
elif ./deploy/install-python.sh $venv build; then
  PATH=$PWD/$venv/bin:$PATH
  python=enabled
  # meson looks for torch.
  for what in test ci; do
    [ $torch = disabled ] || ./deploy/install-python.sh $venv $what
  done
  ./deploy/install-python.sh $venv test &
  installing=$!
else
  echo 'run.sh: cffi cannot be had from PyPI: the package hoop is neither built nor tested'
  [ -z "${HOOP_REQUIRE_PYTHON-}" ]
fi
if [ $python = disabled ] && [ $torch = enabled ]; then
  echo 'run.sh: hoop_torch needs the package hoop, which is not built here' >&2
  exit 1
fi
rm -f "$log"
if [ ! -f "$build/build.ninja" ]; then
  env CC="$compiler" ${linker:+CC_LD="$linker"} \
    meson setup "$build" -Dpython=$python -Dtorch=$torch ${setup[@]+"${setup[@]}"}
elif { [ $python = enabled ] && ! grep -q python/_binding "$build/build.ninja"; } ||
  { [ $torch = enabled ] && ! grep -q torch/src "$build/build.ninja"; }; then
  # The folder may be older than the options.
  meson setup --reconfigure "$build" -Dpython=$python -Dtorch=$torch
fi
ninja -C "$build" -j "$(nproc)"
[ $python = disabled ] || wait "$installing" ||
  echo 'run.sh: not all can be had from PyPI: tests of the package hoop that miss something are skipped'
[ -z "$until" ] || exit 0
# Tests wait as much as they compute.
n_processes=$(($(nproc) + 2))
if [ -n "$sweep" ]; then
  sweeping=(--log "$log")
  if [ -n "$setup_name" ]; then
    sweeping+=(--setup "$setup_name")
  else
    sweeping+=(--patience 3)
  fi
  if [ "$sweep" = all ]; then
    sweeping+=(--processes "$n_processes")
  else
    sweeping+=(--part "$sweep")
  fi
  /usr/bin/env python3 -B tests/sweep.py "$build" "${sweeping[@]}"
  exit
fi
meson test -C "$build" --no-rebuild --num-processes "$n_processes" "${testing[@]}"
if [ $python = disabled ] && [ "$sanitizer" != thread ] && [ -z "$coverage" ]; then
  echo '{"name": "hoop:python", "result": "SKIP", "command": []}' >>"$log"
fi
if [ -z "$sanitizer$coverage" ] && ! grep -q torch/src "$build/build.ninja"; then
  echo '{"name": "hoop:torch", "result": "SKIP", "command": []}' >>"$log"
fi
# Where all suites ran, the tests that promises name have run, too.
if [ ${#suites[@]} -eq 0 ]; then
  /usr/bin/env python3 -B tests/promised.py . "$build" "$log"
fi
[ -z "$coverage" ] || $venv/bin/python3 -B tests/coverage.py "$build"
