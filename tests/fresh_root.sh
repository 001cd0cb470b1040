#!/usr/bin/env bash
# tests/fresh_root.sh - a command of the README in a bare Debian 12
#
# fresh_root.sh [--with FILE] [COMMAND]: by hand, as root, with mmdebstrap
# installed; takes minutes. A root folder with apt and nothing else is made from
# the machine's own package sources, a clone of this tree put in, and FILE in the
# clone, COMMAND (./tests/run.sh) run there, and the folder removed.
set -euo pipefail
cd "$(dirname "$0")/.."
file=
if [ "${1-}" = --with ]; then
  file=$2
  shift 2
fi
command=${*:-./tests/run.sh}
parent=$(mktemp -d)
root=$parent/root
mounted=()

clean_up() {
  local at
  for at in ${mounted[@]+"${mounted[@]}"}; do
    umount -l "$root/$at"
  done
  rm -rf --one-file-system "$parent"
}
trap clean_up EXIT

# The machine's mirrors, proxies and keys: there may be no other way out.
sources=/etc/apt/sources.list
[ ! -f /etc/apt/sources.list.d/debian.sources ] ||
  sources=/etc/apt/sources.list.d/debian.sources
mmdebstrap --variant=apt bookworm "$root" "$sources"
cp -a /etc/apt/apt.conf.d "$root/etc/apt/"
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
[ ! -f /etc/pip.conf ] || cp /etc/pip.conf "$root/etc/"
# Not where Debian's own stand, which a package writes anew.
[ ! -f "${PIP_CERT-}" ] || cp -L "$PIP_CERT" "$root/root/pip.crt"

for at in proc sys dev; do
  mount --rbind "/$at" "$root/$at"
  mount --make-rslave "$root/$at"
  mounted+=("$at")
done

git clone -q . "$root/hoop"
[ -z "$file" ] || cp "$file" "$root/hoop/"
env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb \
  http_proxy="${http_proxy-}" https_proxy="${https_proxy-}" \
  ${PIP_CERT:+PIP_CERT=/root/pip.crt} \
  chroot "$root" sh -c "cd /hoop && $command"
