#!/usr/bin/env bash
# bench/compare/run.sh - hoop beside Open MPI and Gloo on this machine
#
# run.sh           six rounds, about seven minutes; writes docs/benchmarks.md
# run.sh --long    fifteen rounds
# run.sh --short   a few repetitions, to see that all runs; prints the document
#
# As root on Debian 12, on an otherwise idle machine. Installs the other
# libraries, builds everything in build-compare, and runs each program in a
# network of its own that has only a loopback interface. Within a round the
# libraries take turns. Every run is labelled with how far apart the processors
# were before and after it (bench/peers/mode.c); one during which that changed
# is dropped and done again.
set -euo pipefail
cd "$(dirname "$0")/../.."

repetitions=full
case ${1-} in
  '') rounds=6 ;;
  --long) rounds=15 ;;
  --short) rounds=1 repetitions=few ;;
  *)
    sed -n '4,6s/^# /usage: /p' "$0" >&2
    exit 64
    ;;
esac

build='build-compare'
results=$build/results.csv
errors=$build/errors.log
far_ns=300
for name in $(compgen -e HOOP_ || true); do
  unset "$name"
done
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1

install_rivals() {
  local package missing=()
  for package in openmpi-bin libopenmpi-dev libgloo-dev iproute2; do
    dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  apt-get update -q
  DEBIAN_FRONTEND=noninteractive apt-get install -q -y \
    --no-install-recommends "${missing[@]}"
}

build_all() {
  local flags=(-O3 -march=native -Wall -Wextra -Ibench/peers)
  local c=(-std=gnu17 -D_GNU_SOURCE "${flags[@]}")
  ./deploy/install-deps.sh
  [ -f "$build/build.ninja" ] || meson setup "$build"
  ninja -C "$build" tools/hooprun/hooprun bench/bench_hoop
  gcc "${c[@]}" -o "$build/mode" bench/peers/mode.c -lm
  gcc "${c[@]}" -o "$build/ideal" bench/peers/ideal.c
  mpicc.openmpi "${c[@]}" -o "$build/bench_mpi" bench/peers/bench_mpi.c
  g++ -std=c++17 "${flags[@]}" -o "$build/bench_gloo" \
    bench/peers/bench_gloo.cc -lgloo -lpthread
}

is_far() {
  [ "$1" -gt "$far_ns" ] && echo far || echo near
}

# measure COMMAND...: appends "round,state,LINE" for each line of the program.
# One more try when the processors moved meanwhile.
measure() {
  local before after rows try
  for try in first second; do
    before=$(is_far "$("$build/mode")")
    if ! rows=$(bench/peers/in_ns.sh cubic timeout 60 "$@" 2>>"$errors"); then
      echo "failed, with what is in $errors: $*" >&2
    fi
    after=$(is_far "$("$build/mode")")
    if [ "$before" = "$after" ]; then
      grep -E '^[a-z]+,' <<<"$rows" | sed "s/^/$round,$before,/" >>"$results" ||
        true
      return
    fi
    echo "dropped the $try try, $before became $after: $*" >&2
  done
}

# hoop tcp|shm OPS SCHEDULE
hoop() {
  measure env HOOP_TRANSPORT="$1" "$build/tools/hooprun/hooprun" -n "$n" \
    --no-prefix "$build/bench/bench_hoop" hoop "$@"
}

# openmpi tcp|shm OPS SCHEDULE
openmpi() {
  local btl=(--mca btl 'tcp,self' --mca btl_tcp_if_include lo)

  [ "$1" = tcp ] || btl=(--mca btl 'vader,self')
  measure mpirun.openmpi -n "$n" --oversubscribe --bind-to none \
    --mca mpi_yield_when_idle $((n > 2)) --mca pml ob1 "${btl[@]}" \
    "$build/bench_mpi" openmpi "$@"
}

gloo() {
  measure bench/peers/launch.sh "$n" "$build/bench_gloo" gloo "$@"
}

sockets() {
  measure "$build/ideal" "$n" "$@"
}

# schedules: sets all, small and others for n ranks.
schedules() {
  if [ "$repetitions" = few ]; then
    all=8:2x2,1K:2x2,16K:2x2,256K:1x2,1M:1x2,4M:1x2,16M:1x1,64M:1x1
    small=8:2x2,1K:2x2,16K:2x2
    others=$all
  elif [ "$n" -eq 2 ]; then
    all=8:200x7,1K:200x7,16K:100x7,256K:20x7,1M:8x7,4M:3x7,16M:1x7,64M:1x5
    small=8:200x7,1K:200x7,16K:100x7
    others=8:100x5,1K:100x5,16K:50x5,256K:10x5,1M:4x5,4M:2x5,16M:1x5,64M:1x3
  else
    all=8:40x7,1K:40x7,16K:20x7,256K:8x7,1M:4x7,4M:2x5,16M:1x5,64M:1x3
    small=8:40x7,1K:40x7,16K:20x7
    others=8:40x5,1K:40x5,16K:20x5,256K:8x5,1M:4x5,4M:2x3,16M:1x3,64M:1x3
  fi
}

# What takes part: allreduce with every algorithm that Gloo has, and plain
# sockets as the limit; the other operations with the usual ones.
round_run() {
  local gather=allgather,reduce_scatter,broadcast
  for n in 2 4; do
    schedules
    hoop tcp allreduce "$all"
    openmpi tcp allreduce "$all"
    gloo tcp-ring allreduce "$all"
    gloo tcp-bcube allreduce "$all"
    if [ "$n" -eq 2 ]; then
      # Both sides write before they read: 64M fits no socket buffers.
      gloo tcp-hd-busy allreduce "${all%,64M:*}"
      sockets doubling spin "$small"
      sockets ring spin "$all"
    else
      gloo tcp-hd allreduce "$all"
      sockets doubling poll "$small"
      sockets ring poll "$all"
    fi
    hoop tcp "$gather" "$others"
    openmpi tcp "$gather" "$others"
    gloo tcp-ring "$gather" "$others"
    hoop shm allreduce "$all"
    openmpi shm allreduce "$all"
    hoop shm "$gather" "$others"
    openmpi shm "$gather" "$others"
  done
}

install_rivals
build_all
rm -f "$results" "$errors"
sleep 15 # The building is not to count in the load.
load=$(cut -d ' ' -f 1-2 /proc/loadavg)
for round in $(seq "$rounds"); do
  echo "round $round of $rounds"
  round_run
done
if [ "$repetitions" = few ]; then
  /usr/bin/env python3 -B bench/compare/report.py "$results" "$load"
else
  /usr/bin/env python3 -B bench/compare/report.py "$results" "$load" >"$build/benchmarks.md"
  mv "$build/benchmarks.md" docs/benchmarks.md
  echo 'docs/benchmarks.md is written'
fi
