#!/usr/bin/env bash
# tests/integration/network/netns_check.sh - every worker in a network of its own
#
# netns_check.sh HOOPD HOOPCTL HOOP_PERF STEADY: hoopd in one network
# namespace, four workers in four others, joined by address over veth pairs and
# a bridge in one more. The loopback interfaces stay down, so whatever used a
# loopback address would fail. Exits with 77 where namespaces cannot be made,
# unless HOOP_REQUIRE_NETNS is set.
set -euo pipefail
hoopd=$1
hoopctl=$2
perf=$3
steady=$4

workers=4
name=hoop$$
net=10.77.0
coordinator=$net.1:7077
# shellcheck source=tests/integration/network/namespaces.sh
. "${0%/*}/namespaces.sh"

# job_start JOB COMMAND...: a worker in each room; worker_pids gets their pids.
job_start() {
  local job=$1 rank
  shift
  worker_pids=()
  for rank in $(seq 0 $((workers - 1))); do
    (
      export HOOP_COORDINATOR=$coordinator HOOP_JOB=$job HOOP_RANK=$rank
      export HOOP_WORLD_SIZE=$workers HOOP_TOKEN=secret HOOP_JOIN_TIMEOUT=30
      export HOOP_TIMEOUT=60
      in_room "$rank" "$@"
    ) >"$scratch/$job.$rank.log" 2>&1 &
    worker_pids+=($!)
    pids+=($!)
  done
}

room_add c "$net.1"
for rank in $(seq 0 $((workers - 1))); do
  room_add "$rank" "$net.$((rank + 11))"
  ip -n "$name-$rank" link show dev lo | grep -q 'state DOWN'
done

echo '== hoopd, asked from another namespace'
(umask 077 && echo secret >"$scratch/token")
(in_room c "$hoopd" --token-file "$scratch/token" --listen "$coordinator" \
  --http none) \
  >"$scratch/hoopd.log" 2>&1 &
hoopd_pid=$!
pids+=("$hoopd_pid")
serves() {
  (in_room 0 "$hoopd" --check "$coordinator") >"$scratch/check.log" 2>&1
}
await 'hoopd serves' serves

echo '== the members have the addresses of their interfaces'
job_start look "$steady" "$scratch/stop"
await 'four members with veth addresses' members_have_addresses 3 \
  "$coordinator" look "$net".{11,12,13,14}
touch "$scratch/stop"
job_wait
grep -h 'reduced' "$scratch"/look.*.log

# perf_run JOB OPTION...: every operation, every element compared. Seven sizes
# of sixteen operations and a barrier; the last column of a row is what is wrong.
perf_run() {
  local job=$1
  shift
  job_start "$job" "$perf" --op all --min 4 --max 1M --factor 8 --iters 2 \
    --check "$@"
  job_wait
  cat "$scratch/$job.0.log"
  awk '!/^#/ { rows++; wrong += $NF } END { exit rows != 113 || wrong != 0 }' \
    "$scratch/$job.0.log"
}
echo '== every operation'
perf_run float32
perf_run bfloat16 --dtype bf16
perf_run int64 --dtype i64
HOOP_CODEC=zstd perf_run coded

# Two ranks in each of two networks: they find each other's memory through
# /proc all the same, but HOOP_NODE says that they are two nodes.
echo '== two nodes of two ranks: memory inside, streams between'
for room in 0 1; do
  ip -n "$name-$room" link set lo up
done
worker_pids=()
for rank in 0 1 2 3; do
  (
    export HOOP_COORDINATOR=$coordinator HOOP_JOB=nodes HOOP_RANK=$rank
    export HOOP_WORLD_SIZE=4 HOOP_TOKEN=secret HOOP_JOIN_TIMEOUT=30
    export HOOP_TIMEOUT=60 HOOP_NODE=node$((rank / 2)) HOOP_LOG=debug
    export HOOP_DEBUG_LINK=latency=50us,bandwidth=125MB/s HOOP_STREAMS=2
    in_room $((rank / 2)) "$perf" --op allreduce --min 8 --max 4M --factor 8 \
      --iters 2 --check
  ) >"$scratch/nodes.$rank.log" 2>&1 &
  worker_pids+=($!)
  pids+=($!)
done
job_wait
for rank in 0 1 2 3; do
  near=$((rank ^ 1))
  log=$scratch/nodes.$rank.log
  grep -q "peer: rank $near: shared memory" "$log"
  [ "$(grep -c 'peer: rank .: shared memory' "$log")" -eq 1 ]
  grep -q 'peer: rank .: they are on different nodes' "$log"
done
# A ring between the nodes has at least one pair with two streams each way.
[ "$(grep -l 'peer: rank .: 2 streams' "$scratch"/nodes.*.log | wc -l)" -ge 2 ]
grep -h '^ *allreduce' "$scratch/nodes.0.log"
awk '/^ *allreduce/ { rows++; wrong += $NF; way = $6 }
  END { exit rows < 6 || wrong != 0 || way !~ /^hierarchical/ }' \
  "$scratch/nodes.0.log"

kill -TERM "$hoopd_pid"
wait "$hoopd_pid"
echo 'netns_check.sh: ok'
