#!/bin/sh
# bench/selection/run.sh - is what hoop chooses about the best there is?
#
# run.sh BUILD OUT [RANKS...]: every collective from 8 B to 64 MiB on 2, 3, 4, 7
# and 8 ranks of this machine, all algorithms in turns (hoop-perf --algorithms),
# as OUT/<ranks>-<sizes>-<job>.csv. Then report.py OUT prints the tables. Needs
# a quiet machine. HOOP_TRANSPORT=tcp or shm says over what; give each an OUT
# of its own.
#
# Where the ranks of a job land on the processors is luck that lasts as long as
# the job: many short jobs say more than a long one. So jobs go round all cases,
# and stop when MINUTES (8) are over or JOBS (99) are done. What is in OUT is not
# measured again: run it once more for more jobs, or after it was interrupted.
#
# OUT/races has the same times for HOOP_TUNING: to judge what hoop chooses by
# them, run again with HOOP_TUNING=OUT/races and another OUT. OUT/states says
# how far apart the processors were during each run (bench/peers/mode.c).
# OPS and OPS_UNEVEN are lists of collectives, SETS which sizes: small medium
# large huge, and uneven for the v-forms.
set -eu

build=$1 out=$2
shift 2
ops=${OPS:-allreduce,reduce,broadcast,allgather,reduce_scatter,gather,scatter,alltoall,scan,exscan}
uneven=${OPS_UNEVEN:-allgatherv,reduce_scatterv,gatherv,scatterv,alltoallv}
sets=${SETS:-small medium large huge uneven}
ranks_all=${*:-2 3 4 7 8}
end=$(($(date +%s) + ${MINUTES:-8} * 60))
mkdir -p "$out"

mode=$out/mode
source=$(dirname "$0")/../peers/mode.c
[ -x "$mode" ] || ${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O2 -o "$mode" "$source" -lm

state() {
  [ "$("$mode" | tr -dc 0-9)" -gt 300 ] && echo far || echo near
}

# perf RANKS FILE OPTION...: nothing of it stays if it fails, or takes so long
# that something must be wrong.
perf() {
  ranks=$1 file=$2
  shift 2
  before=$(state)
  rm -f "$file.races"
  timeout 120 "$build/tools/hooprun/hooprun" -n "$ranks" --no-prefix \
    "$build/tools/hoop-perf/hoop-perf" --tune "$file.races" "$@" --csv - \
    >"$file.part" || {
    echo "$file: failed" >&2
    rm -f "$file.part" "$file.races"
    return
  }
  after=$(state)
  [ "$before" = "$after" ] || after=mixed
  echo "$(basename "$file") $after" >>"$out/states"
  cat "$file.races" >>"$out/races"
  rm -f "$file.races"
  mv "$file.part" "$file"
}

# measure RANKS SET FILE
measure() {
  case $2 in
  small) perf "$1" "$3" --op "$ops,barrier" --rounds 7 --iters 5 \
    --min 8 --max 32K --factor 8 ;;
  medium) perf "$1" "$3" --op "$ops" --rounds 5 --iters 2 \
    --min 256K --max 2M --factor 8 ;;
  large) perf "$1" "$3" --op "$ops" --rounds 3 --iters 1 --min 16M --max 16M ;;
  huge) perf "$1" "$3" --op "$ops" --rounds 1 --iters 1 --min 64M --max 64M ;;
  uneven) perf "$1" "$3" --op "$uneven" --rounds 5 --iters 2 \
    --min 64 --max 2M --factor 32 ;;
  esac
}

for job in $(seq "${JOBS:-99}"); do
  for ranks in $ranks_all; do
    for set in $sets; do
      [ "$(date +%s)" -lt "$end" ] || exit 0
      file=$out/$ranks-$set-$job.csv
      [ -e "$file" ] || measure "$ranks" "$set" "$file"
    done
    echo "job $job: $ranks ranks" >&2
  done
done
