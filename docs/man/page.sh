#!/bin/sh
# docs/man/page.sh - head, settings and tail of a man page through scdoc
#
# page.sh SCDOC SETTINGS_MAN USER HEAD TAIL OUTPUT
set -eu
{
  cat "$4"
  "$2" "$3"
  cat "$5"
} | "$1" >"$6"
