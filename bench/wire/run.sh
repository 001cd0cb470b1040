#!/bin/sh
# bench/wire/run.sh - the table of docs/compression.md: codecs on slow links
#
# bench/wire/run.sh BUILD [RATE [N...]]: as root. Each of N ranks (2 4) on a host
# of its own, out of network namespaces, whose links are limited to RATE (1gbit).
# The floats are gradients of an MLP at step 60, of another batch on each rank.
set -eu
build=$1
rate=${2-1gbit}
[ $# -gt 2 ] && shift 2 || set -- 2 4
here=$(dirname "$0")
scratch=$(mktemp -d)
HOSTS=wire$$
export HOSTS
trap '"$here/../peers/hosts.sh" down "$HOSTS"; rm -rf "$scratch"' EXIT

"$build/bench/gradient" 60 4 "$scratch/gradient"
# row CODEC[,WIRE_DTYPE] [FILE]: of the ranks in $n.
row() {
  case $1 in
    *,*) export HOOP_WIRE_DTYPE="${1#*,}" ;;
    *) unset HOOP_WIRE_DTYPE ;;
  esac
  printf '%-10s %-9s n=%s ' "$1" "${2+gradient}" "$n"
  if [ $# -gt 1 ]; then
    HOOP_CODEC=${1%,*} "$here/../peers/hoop_hosts.sh" "$n" "$build" \
      sh -c "exec '$build/bench/allreduce_rate' 16 5 '$2'.\$HOOP_RANK"
  else
    HOOP_CODEC=${1%,*} "$here/../peers/hoop_hosts.sh" "$n" "$build" \
      "$build/bench/allreduce_rate" 16 5
  fi
}
for n in "$@"; do
  "$here/../peers/hosts.sh" up "$HOSTS" "$n" "$rate" cubic
  for codec in none auto; do
    row "$codec"
  done
  for codec in ${CODECS-none auto zstd none,bf16 auto,bf16}; do
    row "$codec" "$scratch/gradient"
  done
  "$here/../peers/hosts.sh" down "$HOSTS"
done
