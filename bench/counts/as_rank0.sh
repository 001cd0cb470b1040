#!/bin/sh
# bench/counts/as_rank0.sh - run a program, rank 0 of it below $COUNT_TOOL
#
# Rank 0 does not spin, so that what it waits for is not counted.
if [ "${HOOP_RANK-}" = 0 ]; then
  # Words on purpose: a command line.
  # shellcheck disable=SC2086
  HOOP_DEBUG_SPIN=never exec ${COUNT_TOOL-} "$@"
fi
exec "$@"
