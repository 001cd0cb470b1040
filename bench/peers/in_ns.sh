#!/bin/sh
# bench/peers/in_ns.sh - run a command in a network of its own, loopback only
#
# in_ns.sh CONGESTION COMMAND...: with that TCP congestion control, or reno
# where the host does not allow it (as good on loopback; bbr is not), and with
# processes and a /dev/shm of its own, which end when the command or the caller
# does. If LO_BYTES is in the environment, it names a file for the number of
# bytes that passed the loopback interface.
set -eu
congestion=$1
shift
# shellcheck disable=SC2016
exec setpriv --pdeathsig KILL unshare -n -p --fork --kill-child --mount-proc \
  -- sh -c '
  file=/proc/sys/net/ipv4/tcp_congestion_control
  mount -t tmpfs -o size=75% tmpfs /dev/shm || exit 1
  ip link set lo up || exit 1
  (echo "$0" >$file) 2>/dev/null || echo reno >$file || exit 1
  "$@"
  code=$?
  while [ -n "${LO_BYTES-}" ] && read -r name received rest; do
    [ "$name" != lo: ] || echo "$received" >"$LO_BYTES"
  done </proc/net/dev
  exit "$code"' "$congestion" "$@"
