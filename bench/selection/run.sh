#!/bin/sh
# bench/selection/run.sh - is what hoop chooses about the best there is?
#
# run.sh BUILD OUT [RANKS...]: every collective and its v-form on 2 to 8
# ranks of this machine, 8 B to 64 MiB, every algorithm in turns
# (hoop-perf --algorithms forced), over TCP, in shared memory, and there where they
# read each other's buffers (HOOP_CMA), and what hoop would choose (hoop-perf --explain). Then page.py OUT writes docs/selection.md,
# report.py OUT/tcp prints tables, and record.py OUT writes what was fastest for
# worker/select/defaults.h. Needs a quiet machine, MINUTES (12) for each transport.
#
# An allreduce is in place, as programs have it: that decides which is fastest.
# Where the ranks of a job land on the processors is luck that lasts as long as
# the job: many short jobs say more than a long one. There are JOBS (11) of up to
# 2 MiB, and of 16 and 64 MiB, whose calls take a tenth of a second, every third;
# all take ROUNDS (3) turns in each, so that a time is of 33 or 12 turns. The
# jobs go round both transports and all numbers of ranks: whatever changes with
# time changes for all. What is in OUT is not measured again: run it once
# more when it was interrupted, or with more JOBS. ONLY=choices measures nothing
# and asks again what hoop would choose. HOLD, a command that runs its arguments,
# may bound when a job runs.
#
# OUT/<transport>/<ranks>-<sizes>-<job>.csv are the times, <ranks>-<job>.chosen
# the choices (with every third job), races the times once more for HOOP_TUNING,
# states how far apart the processors were during each run (bench/peers/state.sh).
set -eu

build=$1 out=$2
shift 2
transports=${TRANSPORTS:-tcp shm direct}
ranks_all=${*:-2 3 4 5 6 7 8}
# shellcheck disable=SC2086
end=$(($(date +%s) + ${MINUTES:-12} * 60 * $(set -- $transports && echo $#)))
perf=$build/tools/hoop-perf/hoop-perf
rest='reduce,broadcast,allgather,reduce_scatter,gather,scatter,alltoall,scan,exscan'
uneven='allgatherv,reduce_scatterv,gatherv,scatterv,alltoallv'
mkdir -p "$out"
nproc >"$out/processors"

mode=$out/mode
source=$(dirname "$0")/../peers/mode.c
[ -x "$mode" ] || ${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O2 -o "$mode" "$source" -lm

state() {
  "$(dirname "$source")/state.sh" "$mode" "$out/nearest"
}

# job RANKS OPTION...: nobody waits for ever.
job() {
  ranks=$1
  shift
  case $transport in
    direct) way='HOOP_TRANSPORT=shm HOOP_CMA=on' ;;
    *) way="HOOP_TRANSPORT=$transport HOOP_CMA=off" ;;
  esac
  # shellcheck disable=SC2086
  env $way ${HOLD:-} timeout 120 \
    "$build/tools/hooprun/hooprun" -n "$ranks" --no-prefix "$perf" "$@"
}

# measure RANKS FILE OPTION...: nothing of it stays if it fails.
measure() {
  ranks=$1 file=$2
  shift 2
  [ -e "$file" ] || [ "${ONLY:-}" = choices ] && return
  before=$(state)
  rm -f "$file.races"
  job "$ranks" --algorithms forced --rounds "${ROUNDS:-3}" --tune "$file.races" "$@" \
    --csv - >"$file.part" || {
    echo "$file: failed" >&2
    rm -f "$file.part" "$file.races"
    return
  }
  after=$(state)
  [ "$before" = "$after" ] || after=mixed
  echo "$(basename "$file") $after" >>"$folder/states"
  cat "$file.races" >>"$folder/races"
  rm -f "$file.races"
  mv "$file.part" "$file"
}

# choices RANKS FILE
choices() {
  [ -e "$2" ] && [ "${ONLY:-}" != choices ] && return
  job "$1" --explain --op "allreduce,$rest,$uneven,barrier" --max 64M >"$2.part" &&
    mv "$2.part" "$2"
}

# round NUMBER RANKS
round() {
  measure "$2" "$folder/$2-small-$1.csv" --op "$rest,$uneven,barrier" \
    --min 8 --max 2M --factor 4 --iters 2
  measure "$2" "$folder/$2-inplace-small-$1.csv" --op allreduce --inplace \
    --min 8 --max 2M --factor 4 --iters 5
  [ $(($1 % 3)) -eq 1 ] || return 0
  measure "$2" "$folder/$2-large-$1.csv" \
    --op "$rest" --min 16M --max 64M --factor 4 --iters 1 --warmup 0
  measure "$2" "$folder/$2-inplace-large-$1.csv" --op allreduce --inplace \
    --min 16M --max 64M --factor 4 --iters 1 --warmup 0
  choices "$2" "$folder/$2-$1.chosen"
}

for number in $(seq "${JOBS:-11}"); do
  for transport in $transports; do
    folder=$out/$transport
    mkdir -p "$folder"
    for ranks in $ranks_all; do
      [ "$(date +%s)" -lt "$end" ] || {
        echo "the time is over: run it again for the rest" >&2
        exit 3
      }
      round "$number" "$ranks"
    done
    echo "job $number: $transport" >&2
  done
done
