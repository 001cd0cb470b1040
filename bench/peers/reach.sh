#!/bin/sh
# bench/peers/reach.sh - how an MPI launcher reaches a host of hosts.sh
#
# reach.sh [OPTION...] 10.77.0.K COMMAND...: in place of ssh, with HOSTS in the
# environment. Each host has its name, as Open MPI tells hosts by it.
while [ "${1#10.77.0.}" = "$1" ]; do
  shift
done
host=$HOSTS-$((${1##*.} - 1))
shift
exec ip netns exec "$host" unshare -u sh -c "hostname $host; $*"
