#!/usr/bin/env bash
# tests/fuzz/run.sh - fuzz for long, beyond what the suites replay
#
# run.sh [--seconds N] [--runs N] [TARGET]...: each target in turn, or those
# named, for so long (60 s) or so many inputs, under AddressSanitizer and UBSan,
# in build-fuzz. What is found to be new is kept there, in corpus/TARGET; an
# input that fails is written to build-fuzz, and "fuzz_TARGET FILE" plays it
# again. Ends with "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds=60
runs=-1
targets=()
while [ $# -gt 0 ]; do
  case $1 in
    --seconds | --runs)
      [ $# -ge 2 ] || { sed -n '4s/^# /usage: /p' "$0" >&2 && exit 64; }
      [ "$1" = --runs ] && runs=$2 seconds=0 || seconds=$2
      shift
      ;;
    -*) sed -n '4s/^# /usage: /p' "$0" >&2 && exit 64 ;;
    *) targets+=("$1") ;;
  esac
  shift
done

build="build-fuzz"
if [ ! -f "$build/build.ninja" ]; then
  CC=clang meson setup "$build" -Dfuzz=true \
    -Db_sanitize=address,undefined -Db_lundef=false
fi
ninja -C "$build" -j "$(nproc)" fuzzers
if [ ${#targets[@]} -eq 0 ]; then
  for path in tests/fuzz/corpus/*/; do
    targets+=("$(basename "$path")")
  done
fi

export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1
export LSAN_OPTIONS=print_suppressions=0:suppressions=$PWD/tests/lsan.supp
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export HOOP_TRANSPORT=tcp CMOCKA_TEST_ABORT=1
passed=0 failed=0
for target in "${targets[@]}"; do
  log=$build/fuzz_$target.log
  kept=$build/corpus/$target
  mkdir -p "$kept"
  # What is cut is not what was meant, such as a file of whole pages.
  longest=$(stat -c %s "tests/fuzz/corpus/$target"/* | sort -n | tail -n 1)
  # Without the schedule by entropy, which costs more than most inputs. None
  # takes seconds, unless it hangs.
  if "$build/tests/fuzz/fuzz_$target" -max_total_time="$seconds" \
    -runs="$runs" -max_len=$((longest > 4096 ? longest : 4096)) \
    -timeout=60 -entropic=0 -print_final_stats=1 \
    -artifact_prefix="$build/$target-" "$kept" \
    "tests/fuzz/corpus/$target" >"$log" 2>&1; then
    passed=$((passed + 1))
    printf '%-10s %s\n' "$target" \
      "$(grep -E '^Done |frames$' "$log" | tr '\n' ' ')"
  else
    failed=$((failed + 1))
    printf '%-10s failed:\n' "$target"
    tail -n 40 "$log"
  fi
done
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
