#!/usr/bin/env bash
# tests/integration/network/address_families_check.sh - only one family reaches hoopd
#
# address_families_check.sh HOOPD HOOPCTL STEADY: two hosts, each a network
# namespace. Their IPv4 addresses are in one network, their IPv6 addresses are
# not, and there is no route between these. The name of hoopd's host has
# addresses of both, and hoopd listens on IPv4 only: a rank on that host has a
# route to the IPv6 address, and must tell the other its IPv4 address all the
# same. Exits with 77 where namespaces cannot be made, unless
# HOOP_REQUIRE_NETNS is set.
set -euo pipefail
hoopd=$1
hoopctl=$2
steady=$3

name=hoop$$
net=10.78.0
coordinator=node0.test:7078
# shellcheck disable=SC2034 # of await
patience=60
# shellcheck source=tests/integration/network/namespaces.sh
. "${0%/*}/namespaces.sh"

# by_name ROOM COMMAND...: with a table of hosts that only its processes see.
by_name() {
  local room=$1
  shift
  # shellcheck disable=SC2016
  in_room "$room" bash -c \
    'mount --bind "$0" /etc/hosts && exec "$@"' "$scratch/hosts" "$@"
}

printf '%s\n' '127.0.0.1 localhost' '2001:db8:a::1 node0.test' \
  "$net.1 node0.test" >"$scratch/hosts"
room_add 0 "$net.1"
room_add 1 "$net.2"
# Rank 0 and hoopd share a host.
ip -n "$name-0" link set lo up
ip -n "$name-1" link set lo up
ip -n "$name-0" address add 2001:db8:a::1/64 dev near nodad
ip -n "$name-1" address add 2001:db8:b::1/64 dev near nodad
(by_name 0 getent ahosts node0.test) >"$scratch/names.log" 2>&1 ||
  refuse "no hosts of its own: $(tail -n 1 "$scratch/names.log")"
grep -q '^2001:db8:a::1 ' "$scratch/names.log" || refuse 'no IPv6 here'
grep -q "^$net.1 " "$scratch/names.log"

(umask 077 && echo secret >"$scratch/token")
(in_room 0 "$hoopd" --token-file "$scratch/token" --listen 0.0.0.0:7078 \
  --http none) >"$scratch/hoopd.log" 2>&1 &
hoopd_pid=$!
pids+=("$hoopd_pid")
serves() {
  (in_room 1 "$hoopd" --check "$net.1:7078") >"$scratch/check.log" 2>&1
}
await 'hoopd serves' serves

echo '== a rank tells the others the address by which it reached hoopd'
worker_pids=()
for rank in 0 1; do
  (
    export HOOP_COORDINATOR=$coordinator HOOP_JOB=families HOOP_RANK=$rank
    export HOOP_WORLD_SIZE=2 HOOP_TOKEN=secret HOOP_JOIN_TIMEOUT=60
    export HOOP_TIMEOUT=60
    by_name "$rank" "$steady" "$scratch/stop"
  ) >"$scratch/worker.$rank.log" 2>&1 &
  worker_pids+=($!)
  pids+=($!)
done
await 'two members with IPv4 addresses' members_have_addresses 1 "$net.1:7078" \
  families "$net".{1,2}
touch "$scratch/stop"
job_wait
grep -h 'reduced' "$scratch"/worker.*.log

echo '== ranks of two hosts that advertise loopback are told what to set'
worker_pids=()
for rank in 0 1; do
  (
    export HOOP_COORDINATOR=$net.1:7078 HOOP_JOB=loopback HOOP_RANK=$rank
    export HOOP_WORLD_SIZE=2 HOOP_TOKEN=secret HOOP_JOIN_TIMEOUT=60
    export HOOP_ADVERTISE=127.0.0.1
    in_room "$rank" "$steady" "$scratch/stop"
  ) >"$scratch/loopback.$rank.log" 2>&1 &
  worker_pids+=($!)
  pids+=($!)
done
for rank in 0 1; do
  if wait "${worker_pids[$rank]}"; then
    fail "rank $rank of two on loopback has joined"
  fi
  grep 'rank [01] (.*[0-9]).*rank [01] advertises 127.0.0.1:[0-9]*, which '\
'only its own host reaches: correct HOOP_ADVERTISE there or, where it is not set, HOOP_COORDINATOR' \
    "$scratch/loopback.$rank.log" || fail "rank $rank is not told what to set"
done

kill -TERM "$hoopd_pid"
wait "$hoopd_pid"
echo 'address_families_check.sh: ok'
