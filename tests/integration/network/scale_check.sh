#!/usr/bin/env bash
# tests/integration/network/scale_check.sh - many workers on one machine
#
# scale_check.sh HOOPRUN ARRIVAL [WORKERS]: that many processes (64; SCALE_RANKS
# in the environment counts more) join through a real coordinator, reduce, split
# and leave. Prints the time and the memory of a worker; only the deadline, the
# number that arrived and the memory that grows with their number can fail.
set -euo pipefail
hooprun=$1
arrival=$2
workers=${SCALE_RANKS:-${3:-64}}
output=$(mktemp)
trap 'rm -f "$output"' EXIT

export HOOP_JOIN_TIMEOUT=60 HOOP_TIMEOUT=60
# meson has malloc() write to all that it gives: each page is touched then.
unset MALLOC_PERTURB_
start_ms=$(date +%s%3N)
"$hooprun" -n "$workers" --timeout 170 "$arrival" >"$output"
end_ms=$(date +%s%3N)

# summary NAME: least, median and greatest of the numbers behind the name.
summary() {
  sed -n "s/.* \{0,1\}$1 \([0-9]*\).*/\1/p" "$output" | sort -n |
    awk -v name="$1" '{ all[NR] = $1 } END {
      printf "  %-12s least %d, median %d, greatest %d\n", name, all[1],
        all[int((NR + 1) / 2)], all[NR] }'
}
arrived=$(grep -c '^\[[0-9]*\] joined_ms .* connections [0-9]*$' "$output") || true
if [ "$arrived" -ne "$workers" ]; then
  cat "$output"
  echo "scale_check.sh: $arrived of $workers passed the barrier"
  exit 1
fi
echo "$workers workers joined, passed a barrier and left in $((end_ms - start_ms)) ms"
for name in joined_ms barrier_ms reduced_ms split_ms peak_kib own_kib threads \
  connections; do
  summary "$name"
done

# Builds with sanitizers, which take more, have fewer workers.
[ "${3:-64}" -ge 128 ] || exit 0
kib=$(summary own_kib | sed 's/.*median \([0-9]*\).*/\1/')
most=$((1536 + 2 * workers))
if [ "$kib" -gt "$most" ]; then
  echo "scale_check.sh: a worker has $kib KiB of its own, more than $most"
  exit 1
fi
