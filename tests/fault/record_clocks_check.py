#!/usr/bin/env python3
"""tests/fault/record_clocks_check.py - records of ranks whose clocks differ are on one clock

Usage: record_clocks_check.py HOOPRUN HOOPCTL PROGRAM CLOCK_AHEAD TRACE_CHECK.py

In one job the coordinator's clock is 1000 s ahead of this machine's, and each
rank's is ahead by another number of hours. In another one, two ranks have time
namespaces of their own, as on another host: their CLOCK_MONOTONIC is 5000 s
ahead, and only the coordinator can tell. All times must be the coordinator's,
and agree, within the error that is stated.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time

HOOPRUN, HOOPCTL, PROGRAM, CLOCK_AHEAD, TRACE_CHECK = sys.argv[1:6]
RANKS = 4
AHEAD_S = 1000
NAMESPACE = ['unshare', '--map-root-user', '--time', '--monotonic', '5000', '--fork', '--kill-child']
# No error that is stated may be larger; the clocks differ by far more.
ERROR_MAX_NS = 10_000_000_000


def record(folder, *options):
    return json.loads(subprocess.run([HOOPCTL, 'record', folder, *options], stdout=subprocess.PIPE, timeout=60,
                                     check=True).stdout)


def job(folder, rank_command, **environment):
    """Runs a job; its records in hoop's format, and when it ran, on this machine's clock."""
    before_ns = time.time_ns()
    done = subprocess.run([HOOPRUN, '-n', str(RANKS), 'sh', '-c', rank_command, PROGRAM, 'good'],
                          env=dict(os.environ, HOOP_RECORDER_DIR=folder, **environment),
                          capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done
    return record(folder, '--json'), before_ns, time.time_ns()


def check(folder, whole, begin_ns, end_ns):
    """All times lie within the job's, and agree."""
    spec = importlib.util.spec_from_file_location('trace_check', TRACE_CHECK)
    trace_check = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(trace_check)
    assert whole['clock']['of'] == 'coordinator', whole['clock']
    error_ns = whole['clock']['error_ns']
    assert error_ns < ERROR_MAX_NS, whole['clock']
    assert len(whole['ranks']) == RANKS
    for rank in whole['ranks']:
        for call in rank['calls']:
            assert begin_ns - error_ns <= call['called_ns'] <= call['ended_ns'] <= end_ns + error_ns, \
                (rank['rank'], call, begin_ns, end_ns)
    n_collectives, n_messages = trace_check.check(record(folder, '--format', 'chrome'), whole)
    assert n_collectives > 20 and n_messages >= 3 * RANKS, (n_collectives, n_messages)


def check_wall_clocks(folder):
    """Ranks of one host: they stay exact beside each other."""
    command = 'CLOCK_AHEAD_S=$((HOOP_RANK * 3600)) exec "$0" "$@"'
    whole, begin_ns, end_ns = job(folder, command, LD_PRELOAD=CLOCK_AHEAD, CLOCK_AHEAD_S=str(AHEAD_S))
    check(folder, whole, begin_ns + AHEAD_S * 10**9, end_ns + AHEAD_S * 10**9)
    clock = whole['clock']
    assert clock['rank_error_ns'] == 2 * max(rank['clock_error_ns'] for rank in whole['ranks']), clock


def check_hosts(folder):
    """Two of the ranks are as on hosts of their own; None: they cannot be here."""
    if subprocess.run([*NAMESPACE, 'true'], stderr=subprocess.DEVNULL).returncode != 0:
        assert not os.environ.get('HOOP_REQUIRE_NETNS'), 'there are no time namespaces'
        return None
    command = f'test "$HOOP_RANK" -lt 2 || set -- {" ".join(NAMESPACE)} "$0" "$@"; ' \
              'test "$HOOP_RANK" -ge 2 || set -- "$0" "$@"; exec "$@"'
    whole, begin_ns, end_ns = job(folder, command, HOOP_TRANSPORT='tcp')
    check(folder, whole, begin_ns, end_ns)
    clock = whole['clock']
    assert clock['rank_error_ns'] == 2 * clock['error_ns'], clock
    return clock


def main():
    with tempfile.TemporaryDirectory() as root:
        check_wall_clocks(os.path.join(root, 'one host'))
        clock = check_hosts(os.path.join(root, 'hosts'))
    print(f'clocks that differ agree: {clock}' if clock else 'skipped: there are no time namespaces here')


main()
