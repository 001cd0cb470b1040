#!/bin/sh
# bench/selection/run.sh - is what hoop chooses about the best there is?
#
# run.sh BUILD OUT [RANKS...]: every collective from 8 B to 64 MiB on 2 to 8
# ranks of this machine, all algorithms in turns (hoop-perf --algorithms), as
# OUT/<ranks>-<sizes>-<job>.csv, and what hoop expects as OUT/<ranks>.txt. Then
# report.py OUT prints the table. Needs a quiet machine.
#
# OUT/races has the same times for HOOP_TUNING: to judge what hoop chooses by
# them, run again with HOOP_TUNING=OUT/races and another OUT. OPS is a list of
# collectives, JOBS how many jobs, ROUNDS how many rounds each has of small
# buffers (of medium ones two thirds, of large ones a quarter), LARGEST the
# largest buffer. JOBS=14 ROUNDS=5 LARGEST=16M takes some nine minutes for two
# processors and says more than JOBS=7 with all rounds.
set -eu

build=$1 out=$2
shift 2
ops=${OPS:-allreduce,reduce,broadcast,allgather,reduce_scatter,gather,scatter,alltoall,scan,exscan}
rounds=${ROUNDS:-11}
rounds_medium=$(((rounds * 2 + 1) / 3))
rounds_large=$((rounds < 8 ? 1 : 3))
mkdir -p "$out"

# perf RANKS OPTION...
perf() {
  ranks=$1
  shift
  "$build/tools/hooprun/hooprun" -n "$ranks" --no-prefix \
    "$build/tools/hoop-perf/hoop-perf" --op "$ops" "$@"
}

# Where the ranks of a job land on the processors is luck that lasts as long as
# the job: many short jobs say more than a long one.
for job in $(seq "${JOBS:-5}"); do
  for ranks in ${*:-2 3 4 5 6 7 8}; do
    echo "job $job: $ranks ranks" >&2
    perf "$ranks" --explain --factor 8 --max 64M >"$out/$ranks.txt"
    perf "$ranks" --tune "$out/races" --rounds "$rounds" --iters 5 \
      --min 8 --max 32K --factor 8 --csv - >"$out/$ranks-small-$job.csv"
    perf "$ranks" --tune "$out/races" --rounds "$rounds_medium" --iters 2 \
      --min 256K --max 2M --factor 8 --csv - >"$out/$ranks-medium-$job.csv"
    perf "$ranks" --tune "$out/races" --rounds "$rounds_large" --iters 1 \
      --min 16M --max "${LARGEST:-64M}" --factor 4 --csv - \
      >"$out/$ranks-large-$job.csv"
  done
done
