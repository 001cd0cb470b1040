#!/bin/sh
# deploy/install-deps.sh - install what building and testing need (Debian 12)
#
# install-deps.sh       to build and test
# install-deps.sh ci    also clang, nmap, ssh, promtool, a browser and what runs
#                       containers
set -eu
packages='
  gcc
  g++
  libc6-dev
  meson
  ninja-build
  pkg-config
  libnng-dev
  libmbedtls-dev
  libevent-dev
  libmsgpack-dev
  libzstd-dev
  libssl-dev
  libxxhash-dev
  liblmdb-dev
  libjansson-dev
  uthash-dev
  libcmocka-dev
  scdoc
  python3
  python3-dev
  python3-venv
  clang-format
  universal-ctags
  valgrind
  strace
'
if [ "${1-}" = ci ]; then
  packages="$packages
  clang
  libclang-rt-14-dev
  curl
  iproute2
  openssh-client
  openssh-server
  chromium
  chromium-driver
  nmap
  podman
  podman-compose
  prometheus
  buildah
  runc
  conmon
  catatonit
  golang-github-containers-common
  netavark
  aardvark-dns
  iptables
"
fi
missing=
for package in $packages; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || :
  [ "$status" = installed ] || missing="$missing $package"
done
[ -z "$missing" ] && exit 0
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
# shellcheck disable=SC2086
apt-get install -q -y --no-install-recommends $missing
