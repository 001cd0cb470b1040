#!/bin/sh
# bench/peers/in_ns.sh - run a command in a network of its own, loopback only
#
# in_ns.sh CONGESTION COMMAND...: with that TCP congestion control, or reno
# where the host does not allow it (as good on loopback; bbr is not).
set -eu
congestion=$1
shift
# shellcheck disable=SC2016
exec unshare -n -- sh -c '
  file=/proc/sys/net/ipv4/tcp_congestion_control
  ip link set lo up || exit 1
  (echo "$0" >$file) 2>/dev/null || echo reno >$file || exit 1
  exec "$@"' "$congestion" "$@"
