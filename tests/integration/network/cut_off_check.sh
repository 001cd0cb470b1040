#!/usr/bin/env bash
# tests/integration/network/cut_off_check.sh - a rank that loses its peers, or only hoopd
#
# cut_off_check.sh HOOPD PARTED STEADY: four workers and hoopd, each in a network
# namespace. What rank 0 has with its peers is dropped, both ways or one, and not
# what it has with hoopd: it is expelled, and nobody else; it is told by whom, also
# in shrink, and at once. Then only what it has with hoopd is dropped, for several
# leases, and hoopd is started again meanwhile: it stays a member while its peers
# hear it. Then rank 0's host has no local port left, which rank 0 says of itself;
# or refuses what goes to rank 2, and then one of the two is lost, and all name the
# address. Exits with 77 where namespaces cannot be made, unless HOOP_REQUIRE_NETNS
# is set.
set -euo pipefail
export HOOP_TOKEN=secret
hoopd=$1
parted=$2
steady=$3

name=hoopoff$$
net=10.76.0
patience=60
coordinator=$net.1:7077
# shellcheck source=tests/integration/network/namespaces.sh
. "${0%/*}/namespaces.sh"

room_add c "$net.1"
for rank in 0 1 2 3; do
  room_add "$rank" "$net.$((rank + 11))"
done
ip netns exec "$name-0" iptables -L -n >"$scratch/reason" 2>&1 ||
  refuse "no iptables: $(tail -n 1 "$scratch/reason")"

# drop CHAIN FLAG ADDRESS...: in rank 0's network, from (-s) or to (-d) them.
drop() {
  local chain=$1 flag=$2 address
  shift 2
  for address in "$@"; do
    ip netns exec "$name-0" iptables -A "$chain" "$flag" "$address" -j DROP
  done
}

heal() {
  ip netns exec "$name-0" iptables -F
}

hoopd_start() {
  (in_room c "$hoopd" --listen "$coordinator" --http none --lease 2 \
    --data-dir "$scratch/data") >>"$scratch/hoopd.log" 2>&1 &
  hoopd_pid=$!
  pids+=("$hoopd_pid")
  await 'hoopd serves' serves
}
serves() {
  (in_room 1 "$hoopd" --check "$coordinator") >"$scratch/check.log" 2>&1
}

# worker_start JOB RANK COMMAND...: in its room.
worker_start() {
  local job=$1 rank=$2
  shift 2
  (
    export HOOP_COORDINATOR=$coordinator HOOP_JOB=$job HOOP_RANK=$rank
    export HOOP_WORLD_SIZE=4 HOOP_TIMEOUT=50
    export HOOP_FAILURE_TIMEOUT=2 HOOP_TRANSPORT=tcp HOOP_NODE=host$rank
    export HOOP_DEBUG_LINK=latency=50us,bandwidth=125MB/s
    # In which each rank sends to each.
    export HOOP_ALGORITHM=allreduce:pairwise
    in_room "$rank" "$@"
  ) >"$scratch/$job.$rank.log" 2>&1 &
  worker_pids+=($!)
  pids+=($!)
}

# job_start JOB COMMAND...: a worker in each room.
job_start() {
  local job=$1 rank
  shift
  worker_pids=()
  for rank in 0 1 2 3; do
    worker_start "$job" "$rank" "$@"
  done
}

# says JOB TEXT RANK...: each of them.
says() {
  local job=$1 text=$2 rank
  shift 2
  for rank in "$@"; do
    grep -q "^$text" "$scratch/$job.$rank.log" || return 1
  done
}

now_ms() {
  echo $(($(date +%s%N) / 1000000))
}

mkdir "$scratch/data"
hoopd_start
peers=("$net.12" "$net.13" "$net.14")
for way in both in out; do
  job=cut-$way
  echo "== rank 0 is cut off from its peers: $way"
  job_start "$job" "$parted" 40000 "$scratch/healed" "$scratch/$job.stop"
  await 'the job runs' says "$job" ready 0 1 2 3
  began=$(now_ms)
  [ "$way" = out ] || drop INPUT -s "${peers[@]}"
  [ "$way" = in ] || drop OUTPUT -d "${peers[@]}"
  await 'the three go on' says "$job" 'goes on with 3$' 1 2 3
  await 'rank 0 is told' says "$job" \
    'may not go on: this rank was declared lost by ' 0
  took=$(($(now_ms) - began))
  grep -h '^was cut\|^may not' "$scratch/$job.0.log" "$scratch/$job.1.log"
  echo "after $took ms"
  [ "$(grep -c "of job \"$job\" is lost" "$scratch/hoopd.log")" -eq 1 ] ||
    fail "$way: others were lost, too"
  grep -q "rank 0 (.*) of job \"$job\" is lost" "$scratch/hoopd.log" ||
    fail "$way: rank 0 was not lost"
  # In a shrink, too, and long before HOOP_TIMEOUT.
  [ "$took" -le 15000 ] || fail "$way: it took $took ms"
  heal
  touch "$scratch/healed"
  await 'rank 0 is told again' says "$job" \
    'was told: this rank was declared lost by ' 0
  touch "$scratch/$job.stop"
  await 'the three went on' says "$job" 'went on$' 1 2 3
  job_wait
  rm "$scratch/healed"
done

# loses_hoopd JOB COMMAND...: meanwhile; nobody is lost.
loses_hoopd() {
  local job=$1
  shift
  job_start "$job" "$steady" "$scratch/$job.stop"
  touch "$scratch/$job.stop.mark"
  runs() {
    [ ! -e "$scratch/$job.stop.mark" ]
  }
  await 'the job runs' runs
  drop INPUT -s "$net.1"
  drop OUTPUT -d "$net.1"
  "$@" "$job"
  heal
  touch "$scratch/$job.stop"
  job_wait
  grep -h '^reduced' "$scratch/$job.0.log"
  ! grep -q "of job \"$job\" is lost" "$scratch/hoopd.log" ||
    fail "$job: somebody was lost"
}

# several JOB: leases later its peers have been asked, more than once.
several() {
  heard() {
    [ "$(grep -c "of job \"$1\" has not reached the coordinator" \
      "$scratch/hoopd.log")" -ge "$2" ]
  }
  await 'its peers are asked' heard "$1" 3
}

# again JOB: hoopd, too, has forgotten when it renewed last.
again() {
  several "$1"
  kill -9 "$hoopd_pid"
  wait "$hoopd_pid" || true
  hoopd_start
  await 'its peers are asked by the new hoopd' heard "$1" 5
}

echo '== rank 0 loses only hoopd'
loses_hoopd only-hoopd several
echo '== ... and hoopd is started again'
loses_hoopd restarted again

# has_ended PID
has_ended() {
  ! kill -0 "$1" 2>/dev/null
}

# all_say JOB TEXT: each of the four, who then ends with a failure.
all_say() {
  local job=$1 text=$2 rank
  for rank in 0 1 2 3; do
    await "$job: rank $rank ends" has_ended "${worker_pids[$rank]}"
    if wait "${worker_pids[$rank]}"; then
      fail "$job: rank $rank has ended well"
    fi
    grep -q "$text" "$scratch/$job.$rank.log" ||
      fail "$job: rank $rank does not say: $text"
  done
  grep -h "$text" "$scratch/$job.1.log"
}

# one_lost JOB RANKS: of which it was one, and nobody else.
one_lost() {
  local gone="of job \"$1\" (is lost|gave up): "
  [ "$(grep -Ec "$gone" "$scratch/hoopd.log")" -eq 1 ] ||
    fail "$1: not one is lost"
  grep -Eq "rank [$2] \(.*\) $gone" "$scratch/hoopd.log" ||
    fail "$1: another than rank [$2] is lost"
}

# Once rank 0 is connected to hoopd it may take no port but that where it listens.
ports_end() {
  local port
  port=$(ip netns exec "$name-0" ss -Hltn | sed 's/.*:\([0-9]*\) .*:.*/\1/')
  [ -n "$port" ] && [ -n "$(ip netns exec "$name-0" ss -Htn dst "$coordinator")" ] ||
    return 1
  ip netns exec "$name-0" sysctl -q -w \
    net.ipv4.ip_local_port_range="$port $port"
}

echo "== rank 0's host has no local port left"
range=$(ip netns exec "$name-0" sysctl -n net.ipv4.ip_local_port_range)
worker_pids=()
worker_start ports 0 "$steady" "$scratch/ports.stop"
await 'rank 0 listens and has joined' ports_end
# Those who connect to it first would spare it to connect.
ip netns exec "$name-0" iptables -A INPUT -p tcp --syn -j DROP
for rank in 1 2 3; do
  worker_start ports "$rank" "$steady" "$scratch/ports.stop"
done
all_say ports 'rank 0 (.*) cannot connect to .*local ports.*([0-9]*-[0-9]*, net.ipv4.ip_local_port_range)'
one_lost ports 0
ip netns exec "$name-0" sysctl -q -w net.ipv4.ip_local_port_range="$range"
heal

echo "== rank 0's host refuses what goes to rank 2"
ip -n "$name-0" link set lo up # by which it is told
for with in icmp-port-unreachable icmp-host-unreachable; do
  ip netns exec "$name-0" iptables -A OUTPUT -d "$net.13" -j REJECT \
    --reject-with "$with"
  job_start "$with" "$steady" "$scratch/$with.stop"
  all_say "$with" "no connection to $net.1[13]:[0-9]*, advertised by rank [02]: "
  one_lost "$with" 02
  heal
done
echo 'cut_off_check.sh: ok'
