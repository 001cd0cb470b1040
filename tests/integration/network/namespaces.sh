# tests/integration/network/namespaces.sh - hosts out of network namespaces, on a bridge
#
# For a check to source, once it has set `name`, with which the names of its
# namespaces begin. Makes the bridge; rooms are added one by one. At the exit
# all are removed, as are `scratch`, a folder, and the processes in `pids`; of a
# check that failed the logs' ends are shown. Exits with 77 where namespaces
# cannot be made, unless HOOP_REQUIRE_NETNS is set.
# shellcheck shell=bash

scratch=$(mktemp -d)
pids=()
rooms=(switch)

refuse() {
  echo "${0##*/}: $1"
  [ -n "${HOOP_REQUIRE_NETNS-}" ] && exit 1
  exit 77
}

fail() {
  echo "${0##*/}: $1"
  exit 1
}

clean_up() {
  status=$?
  trap - EXIT
  if [ "$status" -ne 0 ] && [ "$status" -ne 77 ]; then
    tail -n 40 "$scratch"/*.log 2>/dev/null || true
  fi
  for pid in ${pids[@]+"${pids[@]}"}; do
    kill -9 "$pid" 2>/dev/null || true
  done
  wait || true
  for room in "${rooms[@]}"; do
    ip netns del "$name-$room" 2>/dev/null || true
  done
  rm -rf "$scratch"
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

command -v ip >/dev/null || refuse 'iproute2 is not installed'
ip netns add "$name-switch" 2>"$scratch/reason" ||
  refuse "no network namespaces: $(tail -n 1 "$scratch/reason")"
ip -n "$name-switch" link add hub type bridge 2>"$scratch/reason" ||
  refuse "no bridges: $(tail -n 1 "$scratch/reason")"
ip -n "$name-switch" link set hub up

# room_add ROOM ADDRESS: a namespace with one interface, on the bridge.
room_add() {
  rooms+=("$1")
  ip netns add "$name-$1"
  ip -n "$name-switch" link add "to-$1" type veth \
    peer name near netns "$name-$1"
  ip -n "$name-switch" link set "to-$1" master hub up
  ip -n "$name-$1" address add "$2/24" dev near
  ip -n "$name-$1" link set near up
}

# in_room ROOM COMMAND...: replaces the shell, so that its pid is the command's.
in_room() {
  local room=$1
  shift
  exec ip netns exec "$name-$room" "$@"
}

# await TEXT COMMAND...: again and again until it succeeds, for 20 s or `patience`.
await() {
  local what=$1 most=${patience:-20}
  local deadline=$((SECONDS + most))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$deadline" ] || fail "$what: not within $most s"
    sleep 0.02
  done
}

# job_wait: for all of worker_pids; each must succeed.
job_wait() {
  local pid
  for pid in "${worker_pids[@]}"; do
    wait "$pid"
  done
}

# members_have_addresses ROOM COORDINATOR JOB ADDRESS...: whether rank i of the job
# has the i-th address and no other ranks are there, as `hoopctl` tells in the room.
members_have_addresses() {
  local room=$1 coordinator=$2 job=$3
  shift 3
  (HOOP_TOKEN=secret in_room "$room" "${hoopctl:?}" -c "$coordinator" -j "$job" \
    ranks --json) >"$scratch/ranks.json" 2>"$scratch/hoopctl.log" &&
    /usr/bin/env python3 - "$scratch/ranks.json" "$@" <<'PYTHON'
import json
import sys

ranks = json.load(open(sys.argv[1], encoding='utf-8'))['ranks']
hosts = {row['rank']: row['address'].rsplit(':', 1)[0] for row in ranks}
print(hosts)
sys.exit(hosts != dict(enumerate(sys.argv[2:])))
PYTHON
}
