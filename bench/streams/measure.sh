#!/usr/bin/env bash
# bench/streams/measure.sh - nodes of one machine, each a network namespace
#
# measure.sh BUILD RATE NODES RANKS [HOOP_...=VALUE ...] [-- HOOP-PERF-OPTION ...]:
# NODES namespaces behind a bridge, each with a line of RATE (as tc takes it:
# 1gbit) both ways and a HOOP_NODE of its own; RANKS ranks in each. Prints what
# hoop-perf does on rank 0. DELAY_MS, of two nodes, makes the way from one to the
# other so long (then RATE is in Mbit/s, a number), LOSS loses one packet of so
# many. As root.
set -euo pipefail
build=$1 rate=$2 nodes=$3 ranks=$4
shift 4
settings=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  settings+=("$1")
  shift
done
[ $# -eq 0 ] || shift
options=("$@")
[ ${#options[@]} -gt 0 ] ||
  options=(--op allreduce --min 64M --max 64M --iters 3 --warmup 1 --check)

name=lines$$
net=10.78.0
scratch=$(mktemp -d)
pids=()

clean_up() {
  trap - EXIT
  for pid in ${pids[@]+"${pids[@]}"}; do
    kill -9 "$pid" 2>/dev/null || true
  done
  wait 2>/dev/null || true
  for room in switch $(seq 0 $((nodes - 1))); do
    ip netns del "$name-$room" 2>/dev/null || true
  done
  rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

line() {
  ip netns exec "$1" tc qdisc replace dev "$2" root tbf rate "$rate" \
    burst 256kb limit 4mb
}

congestion() {
  ip netns exec "$1" sh -c \
    'echo "$0" >/proc/sys/net/ipv4/tcp_congestion_control' "${CONGESTION:-reno}"
}

short_lines() {
  ip netns add "$name-switch"
  ip -n "$name-switch" link add hub type bridge
  ip -n "$name-switch" link set hub up
  for node in $(seq 0 $((nodes - 1))); do
    room=$name-$node
    ip netns add "$room"
    ip -n "$name-switch" link add "to-$node" type veth peer name wire netns "$room"
    ip -n "$name-switch" link set "to-$node" master hub up
    ip -n "$room" address add "$net.$((node + 1))/24" dev wire
    ip -n "$room" link set wire up
    ip -n "$room" link set lo up
    congestion "$room"
    line "$room" wire
    line "$name-switch" "to-$node"
  done
}

long_line() {
  for node in 0 1; do
    ip netns add "$name-$node"
    congestion "$name-$node"
  done
  python3 "$(dirname "$0")/../../tests/integration/network/rough_network.py" \
    --mbit "$rate" --delay-ms "$DELAY_MS" --one-in "${LOSS:-0}" \
    "$name-0" "$name-1" >"$scratch/way" &
  pids+=($!)
  until grep -q ready "$scratch/way"; do
    sleep 0.05
  done
}

if [ -n "${DELAY_MS-}" ]; then long_line; else short_lines; fi

ip netns exec "$name-0" "$build/server/hoopd" --listen "$net.1:7077" \
  --insecure-open --http none >"$scratch/hoopd" 2>&1 &
pids+=($!)
workers=()
for rank in $(seq 0 $((nodes * ranks - 1))); do
  node=$((rank / ranks))
  env HOOP_COORDINATOR="$net.1:7077" HOOP_RANK="$rank" HOOP_TOKEN=secret \
    HOOP_WORLD_SIZE=$((nodes * ranks)) HOOP_NODE="node$node" \
    HOOP_JOIN_TIMEOUT=20 HOOP_TIMEOUT=60 ${settings[@]+"${settings[@]}"} \
    ip netns exec "$name-$node" "$build/tools/hoop-perf/hoop-perf" \
    "${options[@]}" >"$scratch/$rank" 2>&1 &
  workers+=($!)
  pids+=($!)
done
for pid in "${workers[@]}"; do
  wait "$pid" || { tail -n 5 "$scratch"/*; exit 1; }
done
cat "$scratch/0"
