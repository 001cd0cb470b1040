#!/usr/bin/env python3
"""tests/fault/join_refused_check.py - a join that cannot succeed fails at once

join_refused_check.py HOOPD ARRIVAL: joins that contradict what others have said, show
another token or none, or speak another protocol. Each must say so, word for word, and
long before its own deadline: with that it would wait far longer than this looks on.
The last one finds no coordinator until then, and names that cause first.
"""

import re
import socket

from join_notice_check import Jobs
from programs import Wrong, check_main

HOST = socket.gethostname()
FOREVER = '600'  # against WAIT_S of programs.py


def said(worker, where):
    """Its one line, without what differs from run to run."""
    if worker.code() != 1:
        raise Wrong(f'{worker.name} ended with {worker.code()}')
    text = re.sub(r'127\.0\.0\.1:\d+', 'ADDRESS',
                  worker.text().replace(where, 'HOOPD'))
    return re.sub(rf'{re.escape(HOST)}:\d+', 'HOST:PID', text)


def expect(jobs, text, job='first', where=None, **settings):
    where = where or jobs.address
    worker = jobs.join(job, **({'HOOP_JOIN_TIMEOUT': FOREVER,
                                'HOOP_WAIT_NOTICE': '0',
                                'HOOP_COORDINATOR': where} | settings))
    line = f"arrival: cannot join job '{job}' at HOOPD: {text}\n"
    if said(worker, where) != line:
        raise Wrong(f'{settings}: said\n{said(worker, where)}instead of\n{line}')


def check_contradictions(jobs):
    """One waits for two others."""
    jobs.join('first', HOOP_WORLD_SIZE='3', HOOP_RANK='0')
    jobs.hoopd.expect('joins job "first"')
    expect(jobs, 'this worker says that the world size of job "first" is 4, but '
           'rank 0 (HOST:PID) said 3: use one value for all workers',
           HOOP_WORLD_SIZE='4')
    expect(jobs, 'rank 0 is taken by HOST:PID at ADDRESS: give each worker a '
           'HOOP_RANK of its own, or none', HOOP_RANK='0')
    expect(jobs, 'rank 3 is out of range: the world has 3 ranks, 0 to 2',
           HOOP_RANK='3')


def check_strangers(jobs):
    expect(jobs, 'no connection to the coordinator at HOOPD: what answers there '
           "does not know the token: give hoopd the job's, by --token-file or "
           'HOOP_TOKEN, and the same one here', HOOP_TOKEN='guessed')
    expect(jobs, 'the token is not that of job "first": give the same HOOP_TOKEN '
           'or HOOP_TOKEN_FILE everywhere', HOOP_TOKEN='')
    expect(jobs, 'no connection to the coordinator at HOOPD: the coordinator does '
           'not speak TLS: start hoopd with --tls on, or set HOOP_TLS=off here, '
           'too', HOOP_TLS='on')


def check_nobody(jobs):
    jobs.hoopd.kill()
    expect(jobs, 'no connection to the coordinator at HOOPD: cannot connect: '
           'Connection refused; hoop.v1.Rendezvous/Join was tried for 4000 ms',
           HOOP_JOIN_TIMEOUT='4')


def check(programs, folder):
    jobs = Jobs(programs, folder)
    try:
        jobs.serve()
        check_contradictions(jobs)
        check_strangers(jobs)
        check_nobody(jobs)
    finally:
        jobs.end()


if __name__ == '__main__':
    check_main('join_refused_check', check)
