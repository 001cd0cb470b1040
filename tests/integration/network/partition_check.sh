#!/usr/bin/env bash
# tests/integration/network/partition_check.sh - a network falls into two, and one job lives
#
# partition_check.sh HOOPD PARTED: five workers and hoopd, each in a
# network namespace. Two workers stay with hoopd, three are cut off together: no
# connection ends, and nothing arrives. The two must go on, with right sums; the
# three, who are more, must not, and are told why when the network is whole again.
# Exits with 77 where namespaces cannot be made, unless HOOP_REQUIRE_NETNS is set.
set -euo pipefail
hoopd=$1
parted=$2

near=(0 1)
far=(2 3 4)
name=hoopcut$$
net=10.78.0
patience=60
coordinator=$net.1:7077
# shellcheck source=tests/integration/network/namespaces.sh
. "${0%/*}/namespaces.sh"

# far_move HUB: the three, to a bridge.
far_move() {
  local rank
  for rank in "${far[@]}"; do
    ip -n "$name-switch" link set "to-$rank" master "$1"
  done
}

# says TEXT RANK...: each of them.
says() {
  local text=$1 rank
  shift
  for rank in "$@"; do
    grep -q "^$text" "$scratch/worker.$rank.log" || return 1
  done
}

room_add c "$net.1"
for rank in "${near[@]}" "${far[@]}"; do
  room_add "$rank" "$net.$((rank + 11))"
done
ip -n "$name-switch" link add island type bridge
ip -n "$name-switch" link set island up

# Not all of the two are connected to all of the three: leases tell of those.
(umask 077 && echo secret >"$scratch/token")
(in_room c "$hoopd" --token-file "$scratch/token" --listen "$coordinator" \
  --http none --lease 4) \
  >"$scratch/hoopd.log" 2>&1 &
pids+=($!)
serves() {
  (in_room 0 "$hoopd" --check "$coordinator") >"$scratch/check.log" 2>&1
}
await 'hoopd serves' serves

# worker_start RANK MS: which it may take to shrink.
worker_start() {
  local rank=$1
  (
    export HOOP_COORDINATOR=$coordinator HOOP_RANK=$rank HOOP_WORLD_SIZE=5
    export HOOP_TOKEN=secret HOOP_TIMEOUT=60 HOOP_FAILURE_TIMEOUT=3
    export HOOP_TRANSPORT=tcp HOOP_DEBUG_LINK=latency=50us,bandwidth=125MB/s
    export HOOP_NODE=host$rank
    in_room "$rank" "$parted" "$2" "$scratch/healed" "$scratch/stop"
  ) >"$scratch/worker.$rank.log" 2>&1 &
  worker_pids+=($!)
  pids+=($!)
}

worker_pids=()
for rank in "${near[@]}"; do
  worker_start "$rank" 50000
done
for rank in "${far[@]}"; do
  worker_start "$rank" 3000
done
await 'the job runs' says ready "${near[@]}" "${far[@]}"

echo '== cut'
far_move island
await 'the two go on' says 'goes on with 2$' "${near[@]}"
await 'the three do not' says 'may not go on: ' "${far[@]}"
grep -h '^goes on' "$scratch"/worker.*.log | sort | uniq -c
[ "$(grep -l '^goes on' "$scratch"/worker.*.log | wc -l)" -eq "${#near[@]}" ]

echo '== whole again'
far_move hub
touch "$scratch/healed"
await 'the three are told' says 'was told: .*declared lost' "${far[@]}"
touch "$scratch/stop"
await 'the two went on' says 'went on$' "${near[@]}"
grep -h '^was told' "$scratch/worker.${far[0]}.log"
job_wait
echo 'partition_check.sh: ok'
