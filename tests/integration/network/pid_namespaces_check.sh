#!/usr/bin/env bash
# tests/integration/network/pid_namespaces_check.sh - workers with process numbers of their own
#
# pid_namespaces_check.sh HOOPD STEADY: as in containers that share a network,
# each worker is in a PID namespace: as process 1, or with a number that no
# process has in the namespaces of the others. One connection between two that
# live is cut: all blame the same one of the two (which of them is a matter of
# tests/sim and of how busy the machine is), and nobody says that a process has ended. A worker is stopped: it is named as soon as anywhere else. The same
# under a /proc that shows no process of others. Exits with 77 where namespaces
# cannot be made, unless HOOP_REQUIRE_NETNS is set.
set -euo pipefail
export HOOP_TOKEN=secret
hoopd=$1
steady=$2

name=hooppid$$
coordinator=127.0.0.1:7077
# What is promised, and what a busy machine may add. A lease, by which hoopd
# would find out as well, lasts for 10 s.
cut_ms=$((250 + 5000))
stop_ms=$((2000 + 250 + 5000))
# shellcheck source=tests/integration/network/namespaces.sh
. "${0%/*}/namespaces.sh"

now_ms() {
  echo $(($(date +%s%N) / 1000000))
}

chmod 777 "$scratch"
room_add c 10.79.0.1
ip -n "$name-c" link set lo up
unshare --pid --fork --mount-proc true 2>"$scratch/reason" ||
  refuse "no PID namespaces: $(tail -n 1 "$scratch/reason")"

(in_room c "$hoopd" --listen "$coordinator" --http none) \
  >"$scratch/hoopd.log" 2>&1 &
pids+=($!)
serves() {
  (in_room c "$hoopd" --check "$coordinator") >"$scratch/check.log" 2>&1
}
await 'hoopd serves' serves

# own_numbers COMMAND...: as process 1 of a PID namespace, with its /proc.
own_numbers() {
  in_room c unshare --pid --fork --kill-child --mount-proc "$@"
}

# other_numbers COMMAND...: as a child of such a process 1, with a number that
# only this rank's namespace has.
other_numbers() {
  own_numbers sh -c 'n=0
    while [ $n -lt $((10 * HOOP_RANK)) ]; do (:); n=$((n + 1)); done
    "$@"
    exit $?' sh "$@"
}

# no_processes COMMAND...: among all others, as a user who sees none of them.
no_processes() {
  in_room c unshare --mount sh -c \
    'mount -t proc -o hidepid=invisible proc /proc &&
      id=$((60000 + HOOP_RANK)) &&
      exec setpriv --reuid $id --regid $id --clear-groups "$@"' sh "$@"
}

# job_start JOB SPACE: three workers; worker_pids gets the numbers of their own
# processes, as they are here.
job_start() {
  local job=$1 space=$2 rank pid
  worker_pids=()
  for rank in 0 1 2; do
    (
      export HOOP_COORDINATOR=$coordinator HOOP_JOB=$job HOOP_RANK=$rank
      export HOOP_WORLD_SIZE=3 HOOP_TRANSPORT=tcp
      export HOOP_FAILURE_TIMEOUT=2 HOOP_TIMEOUT=60
      "$space" "$steady" "$scratch/$job.stop"
    ) >"$scratch/$job.$rank.log" 2>&1 &
    pids+=($!)
    worker_pids+=($!)
  done
  touch "$scratch/$job.stop.mark"
  runs() {
    [ ! -e "$scratch/$job.stop.mark" ]
  }
  await "$job runs" runs
  for rank in 0 1 2; do
    pid=${worker_pids[$rank]}
    while pgrep -P "$pid" >"$scratch/child"; do
      pid=$(head -n 1 "$scratch/child")
    done
    worker_pids[rank]=$pid
  done
}

# job_says JOB RANK...: each has told what it lost, and so has hoopd.
job_says() {
  local job=$1 rank
  shift
  grep -q "of job \"$job\" is lost" "$scratch/hoopd.log" || return 1
  for rank in "$@"; do
    grep -q '^steady: ' "$scratch/$job.$rank.log" || return 1
  done
}

# decided_ms JOB: when the coordinator wrote that a rank is lost.
decided_ms() {
  local line
  line=$(grep "of job \"$1\" is lost" "$scratch/hoopd.log" | head -n 1)
  echo $(($(date -d "${line%% *}" +%s%N) / 1000000))
}

# expect_lost JOB LOST RANK...: and nobody tells of its process.
expect_lost() {
  local job=$1 lost=$2 rank
  shift 2
  for rank in "$@"; do
    grep -q "rank $lost (.*) is lost" "$scratch/$job.$rank.log" ||
      fail "$job: rank $rank does not name rank $lost"
    ! grep -q 'process has ended\|killed by\|: stopped' "$scratch/$job.$rank.log" ||
      fail "$job: rank $rank tells of a process that it cannot see"
  done
}

# expect_unblamed JOB RANK: nobody names it, the one that is lost included.
expect_unblamed() {
  ! grep "rank $2 ([^)]*) is lost" "$scratch/$1".*.log ||
    fail "$1: rank $2 is blamed, too"
}

# connection_cut RANK RANK: all that the two have with each other.
connection_cut() {
  local one=${worker_pids[$1]} two=${worker_pids[$2]} ports
  # Ports of both ends of what either has open.
  ports=$(ip netns exec "$name-c" ss -Htnp state established |
    awk -v one="pid=$one," -v two="pid=$two," '
      { split($3, a, ":"); split($4, b, ":") }
      index($0, one) { of_one[a[2] " " b[2]] = 1 }
      index($0, two) { of_two[b[2] " " a[2]] = a[2] }
      END { for (pair in of_one) if (pair in of_two) print pair }')
  [ -n "$ports" ] || fail "ranks $1 and $2 are not connected"
  while read -r from to; do
    ip netns exec "$name-c" ss -K state established \
      sport = ":$from" dport = ":$to" >>"$scratch/cut.out" 2>&1 || true
  done <<<"$ports"
  grep -q ESTAB "$scratch/cut.out" || grep -q "$from" "$scratch/cut.out" ||
    refuse 'this kernel resets no connection of others'
}

# cut_is_told JOB SPACE
cut_is_told() {
  local job=$1 began took lost
  job_start "$job" "$2"
  began=$(now_ms)
  connection_cut 1 2
  await 'all know' job_says "$job" 0 1 2
  took=$(($(decided_ms "$job") - began))
  lost=$(sed -n "s/.*rank \([0-9]\) (.*) of job \"$job\" is lost.*/\1/p" \
    "$scratch/hoopd.log")
  [ "$lost" = 1 ] || [ "$lost" = 2 ] || fail "$job: lost: ${lost//$'\n'/ and }"
  expect_lost "$job" "$lost" 0 $((3 - lost))
  expect_unblamed "$job" $((3 - lost))
  grep -h '^steady: ' "$scratch/$job".*.log
  echo "after $took ms"
  [ "$took" -le "$cut_ms" ] || fail "decided after $took ms"
}

# stop_is_told JOB SPACE
stop_is_told() {
  local job=$1 began took
  job_start "$job" "$2"
  began=$(now_ms)
  kill -STOP "${worker_pids[1]}"
  await 'both know' job_says "$job" 0 2
  took=$(($(decided_ms "$job") - began))
  expect_lost "$job" 1 0 2
  grep -h '^steady: ' "$scratch/$job".*.log
  echo "after $took ms"
  kill -KILL "${worker_pids[1]}"
  [ "$took" -le "$stop_ms" ] || fail "decided after $took ms"
}

for space in own_numbers other_numbers no_processes; do
  # It is chance which end speaks first.
  for turn in 1 2 3; do
    echo "== $space: a connection between two that live is cut"
    cut_is_told "cut-$space-$turn" "$space"
  done
  echo "== $space: one is stopped"
  stop_is_told "stop-$space" "$space"
done
echo 'pid_namespaces_check.sh: ok'
