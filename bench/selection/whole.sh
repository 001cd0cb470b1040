#!/bin/sh
# bench/selection/whole.sh - measure, record what was fastest, write the page
#
# whole.sh BUILD OUT: some 20 minutes on a quiet machine, in OUT, which may
# have jobs of before. Leaves worker/select/record_*.c, built, and
# docs/selection.md changed: what hoop chooses by the new record, judged by the
# jobs that the record was made from, and by halves of them. To judge it by others,
# go on with run.sh BUILD OTHER and page.py OTHER.
set -eu
build=$1 out=$2
here=$(dirname "$0")

"$here/run.sh" "$build" "$out" || [ $? -eq 3 ]
python3 -B "$here/record.py" "$out"
ninja -C "$build" tools/hoop-perf/hoop-perf tools/hooprun/hooprun \
  tests/unit/worker/tune/record_test
"$build/tests/unit/worker/tune/record_test"
ONLY=choices "$here/run.sh" "$build" "$out"
python3 -B "$here/page.py" "$out"
