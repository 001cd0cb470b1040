#!/bin/sh
# bench/peers/hoop_hosts.sh - a hoopd, and N ranks that join it
#
# hoop_hosts.sh N BUILD COMMAND...: on the hosts of hosts.sh, one rank on each,
# when HOSTS says so, else all here, by hooprun. BUILD is the build folder.
# Fails if a rank fails.
n=$1
build=$2
shift 2
HOOP_TOKEN=secret
HOOP_COORDINATOR=127.0.0.1:4667
export HOOP_TOKEN
[ -n "${HOSTS-}" ] && HOOP_COORDINATOR=10.77.0.1:4667
export HOOP_COORDINATOR HOOP_WORLD_SIZE="$n"

# in_first COMMAND...: where the coordinator is.
in_first() {
  if [ -n "${HOSTS-}" ]; then
    exec ip netns exec "$HOSTS-0" "$@"
  fi
  exec "$@"
}

(in_first "$build/server/hoopd" --listen "$HOOP_COORDINATOR" --insecure-open \
  --http none --log-level error) &
coordinator=$!
if [ -n "${HOSTS-}" ]; then
  # shellcheck disable=SC2016
  "$(dirname "$0")/launch.sh" "$n" sh -c 'HOOP_RANK=$RANK exec "$@"' rank "$@"
else
  "$build/tools/hooprun/hooprun" -n "$n" -c "$HOOP_COORDINATOR" --no-prefix "$@"
fi
code=$?
kill "$coordinator"
wait "$coordinator"
exit "$code"
