#!/usr/bin/env bash
# bench/compare/run.sh - hoop beside the newest rivals, and Debian's
#
# run.sh [OPTION...]: installs the other libraries, builds, measures, and writes
# docs/benchmarks.md and docs/benchmarks/*.svg. It can be stopped (Ctrl-C, kill)
# at any time: the same command goes on where it was, unless hoop has changed.
#   --short         one round, few sizes and repetitions: does everything run?
#                   Writes into build-compare/short instead; some minutes
#   --rounds N      of everything, instead of as many as each part needs; more
#                   than there are already adds to the newest run
#   --only WORDS    a part, as allreduce,memory,2: parts (quiet, busy, eight,
#                   rest), operations, links (tcp, memory, startup, 1gbit,
#                   10gbit; cost: TLS and checksums over TCP), libraries,
#                   numbers of ranks
#   --part WORDS    as --only, without the numbers of an earlier run: the tables
#                   become a section of the document, which is kept
#   --new           begin a run, do not go on with the newest
#   --results DIR   keep the numbers there (build-compare/results); the document
#                   is made of all that are there, the newest of each table
#   --no-build      what is in build-compare is right
#   --report        measure nothing
#
# As root on Debian 12, on an otherwise idle machine. Programs run in networks
# of their own, with a loopback interface or with slow links.
set -euo pipefail
cd "$(dirname "$0")/../.."

build='build-compare'
results=$build/results
target=docs
steps='build measure'
measuring=()
reporting=()
while [ $# -gt 0 ]; do
  case $1 in
    --short)
      measuring+=(--profile short)
      results=$build/short target=$build/short
      ;;
    --new) measuring+=(--new) ;;
    --rounds | --only)
      measuring+=("$1" "${2?$1 needs an argument}")
      shift
      ;;
    --part)
      measuring+=(--only "${2?$1 needs an argument}")
      results=$build/part
      reporting+=(--part)
      shift
      ;;
    --results)
      results=${2?$1 needs an argument}
      shift
      ;;
    --no-build) steps=${steps/build/} ;;
    --report) steps='' ;;
    *)
      sed -n '4,/^#$/s/^# \?//p' "$0" >&2
      exit 64
      ;;
  esac
  shift
done

build_all() {
  ./deploy/install-deps.sh
  [ -f "$build/build.ninja" ] || meson setup "$build"
  ninja -C "$build" tools/hooprun/hooprun server/hoopd bench/bench_hoop \
    bench/gradient
  bench/compare/install.sh "$build"
  # Of 60 steps, for up to 4 ranks.
  [ -f "$build/gradient.3" ] ||
    "$build/bench/gradient" 60 4 "$build/gradient"
}

if [[ $steps = *build* ]]; then
  build_all
fi
if [[ $steps = *measure* ]]; then
  python3 -B bench/compare/measure.py "$build" "$results" "${measuring[@]}"
fi
python3 -B bench/compare/report.py "$build" "$results" "$target" "${reporting[@]}"
echo "$target/benchmarks.md is written"
