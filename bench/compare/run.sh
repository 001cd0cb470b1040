#!/usr/bin/env bash
# bench/compare/run.sh - hoop beside Open MPI, MPICH, Gloo and torch
#
# run.sh [OPTION...]: installs the other libraries, builds, measures, and writes
# docs/benchmarks.md and docs/benchmarks/*.svg
#   --short         one round, few repetitions: does everything run? Writes
#                   into build-compare/short instead; some minutes
#   --long          ten rounds, all of everything; more than an hour
#   --rounds N      instead of three
#   --only WORDS    a part, as allreduce,memory,2: operations, links (tcp,
#                   memory, startup, 1gbit, 10gbit; cost: TLS and checksums
#                   over TCP), libraries, numbers of ranks
#   --part WORDS    as --only, without the numbers of an earlier run: the tables
#                   become a section of the document, which is kept
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
    --long) measuring+=(--profile long) ;;
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

# torch is large, and not everywhere: without it its rows are missing.
install_rivals() {
  local package missing=()
  for package in openmpi-bin libopenmpi-dev mpich libmpich-dev libgloo-dev \
    iproute2 python3-torch; do
    dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  apt-get update -q
  for package in "${missing[@]}"; do
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y \
      --no-install-recommends "$package" || [ "$package" = python3-torch ]
  done
}

build_all() {
  local flags=(-O3 -march=native -Wall -Wextra -Ibench/peers)
  local c=(-std=gnu17 -D_GNU_SOURCE "${flags[@]}") name
  ./deploy/install-deps.sh
  [ -f "$build/build.ninja" ] || meson setup "$build"
  ninja -C "$build" tools/hooprun/hooprun server/hoopd bench/bench_hoop \
    bench/gradient
  for name in mode watch ideal ideal_memory; do
    gcc "${c[@]}" -o "$build/$name" "bench/peers/$name.c" -lm
  done
  # Debian's mpicc is one or the other.
  for name in openmpi mpich; do
    "mpicc.$name" "${c[@]}" -o "$build/bench_$name" bench/peers/bench_mpi.c
  done
  g++ -std=c++17 "${flags[@]}" -o "$build/bench_gloo" \
    bench/peers/bench_gloo.cc -lgloo -lpthread
  # Of 60 steps, for up to 4 ranks.
  [ -f "$build/gradient.3" ] ||
    "$build/bench/gradient" 60 4 "$build/gradient"
}

if [[ $steps = *build* ]]; then
  install_rivals
  build_all
fi
if [[ $steps = *measure* ]]; then
  python3 -B bench/compare/measure.py "$build" "$results" "${measuring[@]}"
fi
python3 -B bench/compare/report.py "$results" "$target" "${reporting[@]}"
echo "$target/benchmarks.md is written"
