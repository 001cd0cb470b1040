#!/bin/sh
# deploy/install-deps.sh - install what building and testing need (Debian 12)
set -eu
packages='gcc meson ninja-build pkg-config libnng-dev libmbedtls-dev
  libevent-dev libmsgpack-dev libzstd-dev libssl-dev uthash-dev libcmocka-dev
  libjansson-dev'
missing=
for package in $packages; do
  dpkg -s "$package" >/dev/null 2>&1 || missing="$missing $package"
done
[ -z "$missing" ] && exit 0
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
# shellcheck disable=SC2086
apt-get install -q -y --no-install-recommends $missing
