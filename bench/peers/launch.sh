#!/bin/sh
# bench/peers/launch.sh - start N ranks that find each other in a folder
#
# launch.sh N COMMAND...: with RANK, SIZE and STORE in the environment; fails
# if one of them fails.
n=$1
shift
STORE=$(mktemp -d)
export STORE SIZE="$n"
pids=
rank=0
while [ "$rank" -lt "$n" ]; do
  RANK=$rank "$@" &
  pids="$pids $!"
  rank=$((rank + 1))
done
code=0
for pid in $pids; do
  wait "$pid" || code=1
done
rm -rf "$STORE"
exit "$code"
