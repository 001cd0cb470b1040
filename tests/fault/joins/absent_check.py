#!/usr/bin/env python3
"""tests/fault/joins/absent_check.py - a rank ends before it has joined

absent_check.py HOOPRUN STEADY: under hooprun one rank of four ends before it
joins, in several ways and at several times, while the others wait in their
joins. Each of these must end at once, and say which rank has ended and how. In
a job that needs fewer ranks none of them must end.
"""

import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
from programs import Wrong, check_main, environment_clean

RANKS = 4
LATEST_S = 10  # for a join that would otherwise wait for 60 s
WAYS = (
    ('exit 0', '(exit code 0)'),
    ('sleep 0.5; exit 0', '(exit code 0)'),
    ('exit 3', '(exit code 3)'),
    ('kill -9 $$', '(killed by signal 9)'),
)


def run(programs, folder, script, **environment):
    hooprun, steady = programs
    began = time.monotonic()
    done = subprocess.run(
        [hooprun, '-n', str(RANKS), 'sh', '-c',
         f'{script}; exec {steady} {folder}/never'],
        check=False, capture_output=True, text=True, timeout=120,
        env=environment_clean() | {'HOOP_JOIN_TIMEOUT': '60'} | environment)
    return done, time.monotonic() - began


def check(programs, folder):
    """Let each rank end once, each in another way."""
    for absent, (way, how) in enumerate(WAYS):
        done, took_s = run(programs, folder,
                           f'if [ $HOOP_RANK = {absent} ]; then {way}; fi')
        words = f'rank {absent} ended {how} before it joined'
        text = done.stdout + done.stderr
        told = [rank for rank in range(RANKS)
                if any(line.startswith(f'[{rank}]') and words in line
                       for line in text.splitlines())]
        if told != [rank for rank in range(RANKS) if rank != absent]:
            raise Wrong(f'"{way}": ranks {told} say "{words}":\n{text}')
        if took_s > LATEST_S or done.returncode == 0:
            raise Wrong(f'"{way}": code {done.returncode} after {took_s:.1f} s')
        print(f'{way}: {took_s:.2f} s')
    done, _ = run(programs, folder, 'if [ $HOOP_RANK = 3 ]; then exit 0; fi; '
                  'export HOOP_WORLD_SIZE=3 HOOP_TIMEOUT=20; '
                  f'(sleep 1; touch {folder}/never) & true')
    if done.returncode != 0 or 'before it joined' in done.stderr:
        raise Wrong(f'a job of three of four: {done}')


if __name__ == '__main__':
    check_main('absent_check', check)
