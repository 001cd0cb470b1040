#!/bin/sh
# bench/peers/state.sh - prints whether two processors are near each other or far
#
# state.sh MODE NEAREST: MODE is mode.c, built. The file NEAREST keeps the least
# distance so far in ns, and is made if it is not there. More than three times as
# much is far, as in watch.c.
set -eu
ns=$("$1")
least=$(cat "$2" 2>/dev/null || echo "$ns")
awk -v ns="$ns" -v least="$least" -v file="$2" 'BEGIN {
  if (ns < least) least = ns
  print least > file
  print (ns > 3 * least) ? "far" : "near"
}'
