#!/bin/sh
# bench/peers/launch.sh - start N ranks that find each other in a folder
#
# launch.sh N COMMAND...: with RANK, SIZE and STORE in the environment; fails
# if one of them fails. With HOSTS, rank r runs in the network namespace
# $HOSTS-r, and ADDRESS is the one it has there (hosts.sh).
n=$1
shift
STORE=$(mktemp -d)
export STORE SIZE="$n"
pids=
rank=0
while [ "$rank" -lt "$n" ]; do
  export RANK="$rank"
  if [ -n "${HOSTS-}" ]; then
    ADDRESS=10.77.0.$((rank + 1)) ip netns exec "$HOSTS-$rank" "$@" &
  else
    "$@" &
  fi
  pids="$pids $!"
  rank=$((rank + 1))
done
code=0
for pid in $pids; do
  wait "$pid" || code=1
done
rm -rf "$STORE"
exit "$code"
