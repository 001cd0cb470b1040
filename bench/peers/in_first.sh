#!/bin/sh
# bench/peers/in_first.sh - run a command on the first host of hosts.sh
#
# in_first.sh COMMAND...: with HOSTS in the environment, and the host's name,
# for launchers that look at it.
# shellcheck disable=SC2016
exec ip netns exec "$HOSTS-0" unshare -u sh -c '
  hostname "$HOSTS-0"
  exec "$@"' in_first "$@"
