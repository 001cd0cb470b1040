#!/usr/bin/env bash
# tests/run.sh - install, build, run every suite; ends with "N passed, N failed"
set -euo pipefail
cd "$(dirname "$0")/.."
./deploy/install-deps.sh
[ -d build ] || meson setup build
ninja -C build
status=0
meson test -C build --print-errorlogs || status=$?
python3 - <<'PY' || true
import json
rows = [json.loads(line) for line in open('build/meson-logs/testlog.json')]
good = sum(row['result'] in ('OK', 'EXPECTEDFAIL') for row in rows)
skipped = sum(row['result'] == 'SKIP' for row in rows)
print(f'{good} passed, {len(rows) - good - skipped} failed, {skipped} skipped')
PY
exit "$status"
