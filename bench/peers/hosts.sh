#!/bin/sh
# bench/peers/hosts.sh - hosts with slow links, out of network namespaces
#
# hosts.sh up NAME N RATE CONGESTION: namespaces NAME-0 to NAME-<N-1>, host r
# having 10.77.0.<r+1> on eth0, on a bridge in NAME-switch. Each link is limited
# to RATE (as tc writes it) both ways, and holds some milliseconds of it.
# hosts.sh down NAME: removes them.
set -eu

down() {
  for room in $(ip netns list | cut -d ' ' -f 1 | grep -E "^$1-([0-9]+|switch)$"); do
    ip netns del "$room"
  done
}

# limit NAMESPACE DEVICE RATE: 10 Gbit/s needs more room for a timer's tick.
limit() {
  case $3 in
    10gbit) room='burst 1mb limit 8mb' ;;
    *) room='burst 256kb limit 4mb' ;;
  esac
  # shellcheck disable=SC2086
  ip netns exec "$1" tc qdisc replace dev "$2" root tbf rate "$3" $room
}

up() {
  switch=$1-switch
  ip netns add "$switch"
  ip -n "$switch" link add hub type bridge
  ip -n "$switch" link set hub up
  rank=0
  while [ "$rank" -lt "$2" ]; do
    host=$1-$rank
    ip netns add "$host"
    ip -n "$switch" link add "port$rank" type veth peer name eth0 netns "$host"
    ip -n "$switch" link set "port$rank" master hub up
    ip -n "$host" address add "10.77.0.$((rank + 1))/24" dev eth0
    ip -n "$host" link set eth0 up
    ip -n "$host" link set lo up
    ip netns exec "$host" sh -c "
      echo $4 >/proc/sys/net/ipv4/tcp_congestion_control" 2>/dev/null ||
      ip netns exec "$host" sh -c "
        echo reno >/proc/sys/net/ipv4/tcp_congestion_control"
    limit "$host" eth0 "$3"
    limit "$switch" "port$rank" "$3"
    rank=$((rank + 1))
  done
}

case ${1-} in
  up) up "$2" "$3" "$4" "$5" ;;
  down) down "$2" ;;
  *)
    sed -n '4,7s/^# //p' "$0" >&2
    exit 64
    ;;
esac
