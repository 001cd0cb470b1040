#!/usr/bin/env bash
# tests/integration/pipeline/draw_schedule_check.sh - docs have the schedules as drawn
#
# draw_schedule_check.sh DRAW_SCHEDULE DOCS
set -euo pipefail
draw=$1
docs=$2

# compare PICTURE KIND STAGES MICRO_BATCHES [CHUNKS]
compare() {
  local picture=$1
  shift
  if ! "$draw" "$@" svg | cmp - "$docs/$picture"; then
    echo "draw it: build/examples/draw_schedule $* svg > docs/$picture"
    exit 1
  fi
}

# refuse TEXT ARGUMENTS...
refuse() {
  local text=$1 output
  shift
  if output=$("$draw" "$@" 2>&1); then
    echo "draw_schedule $* was drawn"
    exit 1
  fi
  grep -q "$text" <<<"$output"
}

compare schedule-gpipe.svg gpipe 4 8
compare schedule-1f1b.svg 1f1b 4 8
compare schedule-interleaved.svg interleaved 4 8 2

text=$("$draw" 1f1b 4 8)
if [[ $(<"$docs/schedule.md") != *"$text"* ]]; then
  echo "docs/schedule.md has not the text of: draw_schedule 1f1b 4 8"
  exit 1
fi

refuse usage spiral 4 8
refuse usage 1f1b 4
refuse 'several are for HOOP_INTERLEAVED' 1f1b 4 8 2
refuse 'one of each at least' gpipe 0 8
