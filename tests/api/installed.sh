#!/bin/sh
# tests/api/installed.sh - an installed copy is found, compiled and linked
#
# installed.sh BUILD MESON: installs BUILD into a fresh folder and builds a
# program against it, as users do, by pkg-config; in C and, if there is a
# compiler, in C++; then runs it.
set -eu
build=$1
shift
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

"$@" install -C "$build" --no-rebuild --destdir "$root" >"$root/log" 2>&1 || {
  cat "$root/log"
  exit 1
}

pc=$(find "$root" -name hoop.pc)
PKG_CONFIG_PATH=$(dirname "$pc")
PKG_CONFIG_SYSROOT_DIR=$root
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH")
export LD_LIBRARY_PATH

cat >"$root/program.c" <<'C'
#include <hoop/coordinator.h>
#include <hoop/hoop.h>
#include <stdio.h>

int
main(void)
{
    static struct hoop_join_options options;
    hoop_session_t *session = NULL;

    options.coordinator = "not an address";
    if (hoop_join(&options, &session) == HOOP_OK)
        return 1;
    printf("%s\n", hoop_error_text());
    hoop_coordinator_destroy(NULL);
    return 0;
}
C
cp "$root/program.c" "$root/program.cc"

# compile_and_run COMPILER SOURCE
compile_and_run() {
  # shellcheck disable=SC2046
  "$1" -Wall -Wextra -Werror -o "$root/program" "$2" \
    $(pkg-config --cflags --libs hoop hoop-coordinator)
  "$root/program"
  echo "installed.sh: $1 ok"
}

compile_and_run "${CC:-cc}" "$root/program.c"
if command -v c++ >/dev/null; then
  compile_and_run c++ "$root/program.cc"
fi

# Nobody must get NNG's threads (docs/ARCHITECTURE.md).
if readelf -d "$LD_LIBRARY_PATH/libhoop.so.0" | grep 'NEEDED.*nng'; then
  echo 'installed.sh: libhoop needs libnng'
  exit 1
fi

# What else an installation must hold.
for name in libhoop.so.0 libhoop-coordinator.so.0 hoop-coordinator.pc hoop.h \
  hoopd hooprun hoop-checkpoint hoop-perf hoop-sim hoopctl hoopd.8 \
  hooprun.1 hoop-checkpoint.1 hoop-perf.1 hoop-sim.1 hoop.7; do
  [ -n "$(find "$root" -name "$name" -o -name "$name.gz")" ] || {
    echo "installed.sh: $name is not installed"
    exit 1
  }
done
