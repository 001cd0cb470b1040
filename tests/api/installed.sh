#!/bin/sh
# tests/api/installed.sh - an installed copy is found, compiled and linked
#
# installed.sh BUILD MESON: installs BUILD into a fresh folder and builds a
# program against it, as users do, by pkg-config; in C and, if there is a
# compiler, in C++; against the static libraries and those of BUILD, too; then
# runs it, without LD_LIBRARY_PATH, as the installed programs.
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
export PKG_CONFIG_PATH
libraries=$(dirname "$PKG_CONFIG_PATH")
# As if the prefix had been below $root.
prefix=$root$(pkg-config --variable=prefix hoop)
unset LD_LIBRARY_PATH

cat >"$root/program.c" <<'C'
#include <hoop/coordinator.h>
#include <hoop/hoop.h>
#include <stdio.h>

int
main(void)
{
#ifndef WITHOUT_WORKER
    static struct hoop_join_options options;
    hoop_session_t *session = NULL;

    options.coordinator = "not an address";
    if (hoop_join(&options, &session) == HOOP_OK)
        return 1;
    printf("%s\n", hoop_error_text());
#endif
#ifndef WITHOUT_COORDINATOR
    hoop_coordinator_destroy(NULL);
#endif
    return 0;
}
C
cp "$root/program.c" "$root/program.cc"

# compile_and_run COMPILER SOURCE
compile_and_run() {
  # shellcheck disable=SC2046
  "$1" -Wall -Wextra -Werror -o "$root/program" "$2" \
    $(pkg-config --define-variable=prefix="$prefix" --cflags --libs \
      hoop hoop-coordinator)
  "$root/program"
  echo "installed.sh: $1 ok"
}

compile_and_run "${CC:-cc}" "$root/program.c"
if command -v c++ >/dev/null; then
  compile_and_run c++ "$root/program.cc"
fi

# Before it is installed, out of the folder of the build.
# uninstalled_run DEFINE PACKAGE...
uninstalled_run() {
  define=$1
  shift
  # shellcheck disable=SC2046
  "${CC:-cc}" "$define" -o "$root/program" "$root/program.c" \
    $(PKG_CONFIG_PATH="$build/meson-uninstalled" pkg-config --cflags --libs \
      "$@")
  "$root/program"
  echo "installed.sh: uninstalled $* ok"
}

uninstalled_run -DWITHOUT_COORDINATOR hoop
uninstalled_run -DWITHOUT_WORKER hoop-coordinator

# Whole programs without a shared library, of what distributions have as static
# ones. The linker warns of getaddrinfo(), which wants the same C library.
# static_run DEFINE PACKAGE...
static_run() {
  define=$1
  shift
  # shellcheck disable=SC2046
  "${CC:-cc}" "$define" -static -o "$root/program" "$root/program.c" \
    $(pkg-config --define-variable=prefix="$prefix" --static --cflags --libs \
      "$@") >"$root/log" 2>&1 || {
    cat "$root/log"
    exit 1
  }
  "$root/program"
  echo "installed.sh: static $* ok"
}

static_run -DWITH_BOTH hoop hoop-coordinator
static_run -DWITHOUT_COORDINATOR hoop
static_run -DWITHOUT_WORKER hoop-coordinator

for name in hoopctl hoop-perf hoop-sim hoop-checkpoint hooprun hoopd; do
  "$prefix/bin/$name" --version
done

# Nobody must get NNG's threads (docs/ARCHITECTURE.md).
if readelf -d "$libraries/libhoop.so.0" | grep 'NEEDED.*nng'; then
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
