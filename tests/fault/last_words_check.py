#!/usr/bin/env python3
"""tests/fault/last_words_check.py - errors say how a rank ended

last_words_check.py HOOPRUN STEADY: one rank of four is killed, exits or stops
in the middle of its calls. Every other rank must soon report it, and all in the
same words: which rank, what happened to it, in which call and of what data, how
long after its last byte, which rank waited for which, for how many bytes, and
how much of the timeout had passed. The launcher must name that rank too, rather
than a rank that noticed.
"""

import os
import re
import subprocess
import sys
import tempfile
import time

RANKS = 4
WAIT_S = 60  # enough for a sanitizer on a busy machine
KILLED = 'killed by signal 9 (Killed)'
STOPPED = 'stopped (nothing has come from it for 2.0 s)'
# Each case has transport, rank, fault, the cause that the other ranks give, and
# the verdict of the launcher.
CASES = [
    ('tcp', 2, 'kill', KILLED, 'was ' + KILLED),
    ('tcp', 0, 'exit:3', 'exited with code 3', 'exited with code 3'),
    ('auto', 1, 'exit:0', 'exited with code 0', None),
    ('shm', 3, 'kill', KILLED, 'was ' + KILLED),
    ('tcp', 2, 'stop', STOPPED, 'is stopped (SIGSTOP); rank '),
]
NAME = r'rank \d+ \([^()]+:\d+\)'
TEXT = re.compile(
    r'steady: (?P<call>allreduce #\d+ \(int64, 20000 elements, sum\)): '
    rf'(?P<core>(?P<who>{NAME}) is lost: (?P<how>[^,;]+))'
    r'(, (more than |less than )?\d+\.\d+ s after its last byte)?'
    rf', reported by (?:{NAME}|ranks \d+(?:, \d+)* and \d+)'
    rf'(; {NAME} waited for {NAME} to (send|receive) \(\d+ of \d+ bytes\))?'
    r'; after \d+\.\d+ s of the 77 s that HOOP_TIMEOUT allows$')


class Wrong(Exception):
    """A rank or the launcher did not say what it must."""


def run(hooprun, steady, case, folder):
    transport, rank, what, _, _ = case
    # The fault strikes in the middle of the job.
    settings = {'HOOP_TRANSPORT': transport, 'HOOP_TIMEOUT': '77',
                'HOOP_DEBUG_FAULT': f'rank={rank},op=allreduce,seq=20,do={what}'}
    if what == 'stop':
        settings['HOOP_FAILURE_TIMEOUT'] = '2'
    ended = subprocess.run([hooprun, '-n', str(RANKS), steady, folder + '/stop'],
                           env={**os.environ, **settings}, timeout=WAIT_S,
                           capture_output=True, text=True, check=False)
    return ended.stderr


def judge_launcher(case, said):
    _, rank, _, _, verdict = case
    lines = [line for line in said.splitlines() if line.startswith('hooprun:')]
    # A rank that exits with 0 has done nothing wrong that the launcher knows
    # of.
    if verdict is not None and not re.match(
            rf'hooprun: rank {rank} \(pid \d+\) {re.escape(verdict)}', lines[0]):
        raise Wrong(f'hooprun said first: {lines[0]}')
    # The launcher lists the ranks that ended later below the first one.
    for line in lines[1:]:
        if not line.startswith('hooprun: then '):
            raise Wrong(f'hooprun said after the first: {line}')


def judge(case, said):
    _, rank, _, how, _ = case
    cores = set()
    lines = [line.split('] ', 1) for line in said.splitlines()
             if 'steady: ' in line]
    if len(lines) != RANKS - 1:
        raise Wrong(f'{len(lines)} ranks said something')
    for who, text in lines:
        match = TEXT.fullmatch(text)
        if not match:
            raise Wrong(f'{who}] said: {text}')
        if match['how'] != how or not match['who'].startswith(f'rank {rank} '):
            raise Wrong(f'{who}] blames: {match["core"]}')
        cores.add(match['core'])
    if len(cores) != 1:
        raise Wrong(f'they differ: {cores}')
    judge_launcher(case, said)


def is_told(hooprun, steady, case, folder):
    said = run(hooprun, steady, case, folder)
    try:
        judge(case, said)
    except Wrong as wrong:
        print(f'{case}: {wrong}\n{said}')
        return False
    return True


def main():
    hooprun, steady = sys.argv[1:]
    n_wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            began = time.monotonic()
            # On a busy machine the launcher may be too late once, so try again.
            n_wrong += not (is_told(hooprun, steady, case, folder) or
                            is_told(hooprun, steady, case, folder))
            print(f'{case}: {time.monotonic() - began:.1f} s')
    return 1 if n_wrong else 0


if __name__ == '__main__':
    sys.exit(main())
