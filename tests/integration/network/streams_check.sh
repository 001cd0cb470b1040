#!/usr/bin/env bash
# tests/integration/network/streams_check.sh - several connections between hosts
#
# streams_check.sh HOOPD HOOP_PERF STEADY ROUGH_NETWORK: three hosts out of network
# namespaces on a bridge, the first two also with a line between them that
# delays and loses. There HOOP_STREAMS=auto, the default, tries more streams, and
# results stay right; so they do with eight on a bad line, and whatever each rank
# says. A peer that is killed, one whose link is cut, one connection that is
# reset and calls that do not match end the job at once, or at its deadline, with
# the right name. Exits with 77 where namespaces cannot be made, unless
# HOOP_REQUIRE_NETNS is set.
set -euo pipefail
hoopd=$1
perf=$2
steady=$3
rough_network=$4

name=hoops$$
net=10.79.0
near=$net.11:7077
far=10.78.0.1:7077
coordinator=$near
# shellcheck source=tests/integration/network/namespaces.sh
. "${0%/*}/namespaces.sh"

# line MBIT DELAY_MS LOSS COMMAND...: with that line between the first two.
line() {
  local line_pid
  # What the line before has said is not this one's.
  : >"$scratch/line.out"
  /usr/bin/env python3 -B "$rough_network" --mbit "$1" --delay-ms "$2" \
    --one-in "$3" "$name-0" "$name-1" >"$scratch/line.out" 2>&1 &
  line_pid=$!
  pids+=("$line_pid")
  await 'the line' grep -q ready "$scratch/line.out"
  shift 3
  coordinator=$far "$@"
  kill -9 "$line_pid"
  wait "$line_pid" 2>/dev/null || true
}

# rank_start JOB SIZE RANK COMMAND...: with HOOP_STREAMS as it is.
rank_start() {
  local job=$1 size=$2 rank=$3
  shift 3
  (
    export HOOP_COORDINATOR=$coordinator HOOP_JOB=$job HOOP_RANK=$rank
    export HOOP_WORLD_SIZE=$size HOOP_TOKEN=secret HOOP_JOIN_TIMEOUT=20
    export HOOP_NODE=host$rank HOOP_LOG=debug
    in_room "$rank" "$@"
  ) >"$scratch/$job.$rank.log" 2>&1 &
  worker_pids[rank]=$!
  pids+=($!)
}

# job_start JOB SIZE COMMAND...
job_start() {
  local job=$1 size=$2 rank
  shift 2
  worker_pids=()
  for rank in $(seq 0 $((size - 1))); do
    rank_start "$job" "$size" "$rank" "$@"
  done
}

# job_ends SECONDS RANK...: these fail, within that time.
job_ends() {
  local deadline=$(($(date +%s%N) + $1 * 1000000000)) rank
  shift
  for rank in "$@"; do
    while kill -0 "${worker_pids[$rank]}" 2>/dev/null; do
      [ "$(date +%s%N)" -lt "$deadline" ] || fail "rank $rank runs on"
      sleep 0.02
    done
    ! wait "${worker_pids[$rank]}" || fail "rank $rank has not failed"
  done
}

# all_right JOB: rank 0's table has rows, and no wrong element.
all_right() {
  awk '/^ *allreduce/ { rows++; wrong += $NF }
    END { exit rows == 0 || wrong != 0 }' "$scratch/$1.0.log" ||
    fail "$1: wrong results"
}

# streams_of JOB RANK PEER: how many there are from one to the other.
streams_of() {
  sed -n "s/.*peer: rank $3: \([0-9]*\) streams\$/\1/p" "$scratch/$1.$2.log"
}

has_streams() {
  local rank peer
  for rank in 0 1 2; do
    for peer in 0 1 2; do
      [ "$rank" -eq "$peer" ] ||
        [ "$(streams_of "$1" "$rank" "$peer" | tail -n 1)" = "$2" ] ||
        return 1
    done
  done
}

for room in 0 1 2; do
  room_add "$room" "$net.$((room + 11))"
  ip -n "$name-$room" link set lo up
done
(umask 077 && echo secret >"$scratch/token")
(in_room 0 "$hoopd" --token-file "$scratch/token" --listen 0.0.0.0:7077 \
  --http none) \
  >"$scratch/hoopd.log" 2>&1 &
hoopd_pid=$!
pids+=("$hoopd_pid")
serves() {
  (in_room 1 "$hoopd" --check "$near") >"$scratch/check.out" 2>&1
}
await 'hoopd serves' serves
export HOOP_TIMEOUT=20 HOOP_FAILURE_TIMEOUT=2

auto_tries() {
  job_start auto 2 "$perf" --op allreduce --min 8M --max 8M --iters 8 --check
  job_wait
  all_right auto
  for rank in 0 1; do
    streams_of auto "$rank" $((1 - rank)) | grep -qx 2 ||
      fail "auto: rank $rank has not tried two streams"
  done
}
echo '== auto tries more, and may go back'
line 400 1 5000 auto_tries

eight() {
  HOOP_STREAMS=8 job_start bad 2 "$perf" --op allreduce --min 8 --max 2M \
    --factor 8 --iters 2 --check
  job_wait
  all_right bad
  [ "$(streams_of bad 0 1)" = 8 ] || fail 'bad: there are not eight streams'
}
echo '== eight on a bad line'
line 200 3 100 eight

echo '== each says something else: the lower rank counts'
worker_pids=()
for rank in 0 1 2; do
  said=(3 8 auto)
  HOOP_STREAMS=${said[$rank]} rank_start differ 3 "$rank" "$perf" \
    --op allreduce --min 8 --max 2M --factor 16 --iters 2 --check
done
job_wait
all_right differ
for pair in '0 1 3' '1 0 3' '0 2 3' '2 0 3' '1 2 8' '2 1 8'; do
  # shellcheck disable=SC2086
  set -- $pair
  [ "$(streams_of differ "$1" "$2" | tail -n 1)" = "$3" ] ||
    fail "differ: rank $1 has not $3 streams to rank $2"
done

# steady_start JOB: three that reduce for ever, over four streams each.
steady_start() {
  HOOP_STREAMS=4 job_start "$1" 3 "$steady" "$scratch/never"
  await "$1: four streams everywhere" has_streams "$1" 4
}
# names JOB RANK...: each of these says that rank 2 is to blame.
names() {
  local job=$1 rank
  shift
  for rank in "$@"; do
    grep -q 'steady: .*rank 2 ' "$scratch/$job.$rank.log" ||
      fail "$job: rank $rank does not name rank 2"
  done
}

echo '== a peer is killed'
steady_start killed
kill -9 "${worker_pids[2]}"
job_ends 10 0 1
names killed 0 1

echo '== one of its connections is reset'
steady_start reset
# The last that rank 0 has to rank 2: one beside the first.
port=$(ip netns exec "$name-0" ss -Htn state established dst "$net.13" |
  awk -v "to=$net.13:" 'index($4, to) == 1 { split($3, at, ":"); print at[2] }' |
  sort -n | tail -n 1)
ip netns exec "$name-0" ss -K state established dst "$net.13" \
  sport = ":$port" >"$scratch/reset.out" 2>&1 || true
if [ "$(grep -c ESTAB "$scratch/reset.out")" -eq 0 ] &&
  ! grep -q "$port" "$scratch/reset.out"; then
  echo 'streams_check.sh: this kernel resets no connection of others'
  kill -9 "${worker_pids[@]}"
else
  job_ends 10 0 1 2
fi

echo '== its link is cut'
HOOP_TIMEOUT=3 steady_start cut
ip -n "$name-2" link set near down
job_ends 15 0 1
names cut 0 1
kill -9 "${worker_pids[2]}"
ip -n "$name-2" link set near up

echo '== calls that do not match'
worker_pids=()
operations=(allreduce allreduce broadcast)
for rank in 0 1 2; do
  HOOP_STREAMS=4 rank_start mismatch 3 "$rank" "$perf" \
    --op "${operations[$rank]}" --min 4M --max 4M --iters 2
done
job_ends 10 0 1 2
grep -q 'called broadcast' "$scratch/mismatch.0.log" ||
  fail 'mismatch: rank 0 does not say what was called'

kill -TERM "$hoopd_pid"
wait "$hoopd_pid"
echo 'streams_check.sh: ok'
