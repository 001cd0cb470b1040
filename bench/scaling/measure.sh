#!/usr/bin/env bash
# bench/scaling/measure.sh - every algorithm, measured on 2, 4 and 8 ranks here
#
# usage: measure.sh BUILD [ROUNDS]
#
# On an otherwise idle machine. Writes BUILD/scaling.csv: a line for each
# round, operation, algorithm, number of ranks and size, labelled with how far
# apart the processors were (bench/peers/state.sh); a run during which that
# changed is dropped. compare.py reads it. Three rounds take some minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."

build=${1-}
rounds=${2:-3}
[ -x "$build/tools/hoop-sim/hoop-sim" ] || {
  sed -n '4s/^# //p' "$0" >&2
  exit 64
}
results=$build/scaling.csv
errors=$build/scaling.log
for name in $(compgen -e HOOP_ || true); do
  unset "$name"
done
# What is compared is what a wire would see.
export HOOP_TRANSPORT=tcp

state() {
  bench/peers/state.sh "$build/mode" "$build/nearest"
}

ops() {
  "$build/tools/hoop-sim/hoop-sim" --op all --ranks 2 --per-host 2 --sizes 1K \
    --csv - | awk -F, 'NR > 1 && !seen[$1]++ { print $1 }'
}

# perf N OP OPTIONS...: all algorithms in turns; appends "round,state,n,row".
perf() {
  local n=$1 op=$2 before rows
  shift 2
  before=$(state)
  if ! rows=$(timeout 120 "$build/tools/hooprun/hooprun" --no-prefix -n "$n" \
    "$build/tools/hoop-perf/hoop-perf" --op "$op" --algorithms all --csv - \
    "$@" 2>>"$errors"); then
    echo "failed, with what is in $errors: $op on $n" >&2
    return
  fi
  if [ "$before" != "$(state)" ]; then
    echo "dropped, the processors moved: $op on $n" >&2
    return
  fi
  grep -E "^$op," <<<"$rows" | sed "s/^/$round,$before,$n,/" >>"$results" ||
    true
}

gcc -O2 -std=gnu17 -D_GNU_SOURCE -o "$build/mode" bench/peers/mode.c -lm
printf '%s\n' "round,state,ranks,op,bytes,count,type,redop,algorithm,time_us,\
p50_us,p99_us,algbw,busbw,wrong" >"$results"
: >"$errors"
for round in $(seq "$rounds"); do
  for n in 2 4 8; do
    echo "round $round of $rounds, $n ranks"
    for op in $(ops); do
      perf "$n" "$op" --min 64 --max 4K --factor 64 --iters 20 --rounds 7
      perf "$n" "$op" --min 256K --max 16M --factor 64 --iters 2 --warmup 1 \
        --rounds 3
    done
  done
done
