#!/usr/bin/env python3
"""tests/fault/which_job_check.py - hoopctl finds the job that is meant

which_job_check.py HOOPD HOOPCTL HOOPRUN MEMBER: without a coordinator it asks the
job that hooprun runs here, without a job the only one that there is, and a script
can tell a job that does not exist from one that something holds up.
"""

import os
import re
import subprocess
import sys

from programs import (Program, Wrong, await_true, check_main, environment_clean,
                      free_addresses)

MOVES = 'Nothing is stuck: no rank is in a call of hoop.\n'
NO_JOB = 66
USAGE = 64
UNAVAILABLE = 69
NAME = f'alone{os.getpid()}'


def asked(hoopctl, *options, **environment):
    done = subprocess.run([hoopctl, *options], text=True, capture_output=True, timeout=30,
                          env=environment_clean() | environment, check=False)
    return done.returncode, done.stdout, done.stderr


def expect(what, is_right, seen):
    if not is_right:
        raise Wrong(f'{what}: {seen}')


def started(hooprun, member, folder, name):
    """A job of two ranks that wait for commands."""
    fifo = f'{folder}/{name}.fifo'
    os.mkfifo(fifo)
    job = Program(folder, name, [hooprun, '-n', '2', '-j', NAME, 'sh', '-c',
                                 'exec "$0" 0<>"$1"', member, fifo])
    await_true(f'{name} is ready', lambda: job.text().count('ready') == 2)
    return job


def end(job):
    job.popen.terminate()
    job.code()


def check_hooprun(hoopctl, hooprun, member, folder):
    first = started(hooprun, member, folder, 'first')
    seen = asked(hoopctl, 'why', NAME)
    expect('the job of hooprun', seen[0] == 0 and seen[1].startswith(MOVES), seen)
    coordinator = re.search(rf'job "{NAME}" of hooprun, whose coordinator is (\S+)', seen[2])
    expect('what is asked is said', coordinator, seen)
    seen = asked(hoopctl, '-j', NAME, 'store', 'set', 'key', 'value')
    expect('only what changes nothing guesses', seen[0] == USAGE, seen)

    second = started(hooprun, member, folder, 'second')
    seen = asked(hoopctl, 'why', NAME)
    expect('two are listed', seen[0] == USAGE and f'-c {coordinator[1]} -j {NAME}' in seen[2]
           and seen[2].count(f'-j {NAME}') == 2, seen)
    seen = asked(hoopctl, '-c', coordinator[1], '-j', NAME, 'why')
    expect('one of two', seen[0] == 0 and seen[1].startswith(MOVES), seen)
    end(first)
    seen = asked(hoopctl, '-c', coordinator[1], '-j', NAME, '-t', '1', 'why')
    expect('the job has ended', seen[0] == UNAVAILABLE
           and 'if hooprun had started it, the job has ended' in seen[2], seen)
    end(second)
    seen = asked(hoopctl, 'why', NAME)
    expect('none is left', seen[0] == USAGE
           and f'hooprun runs no job "{NAME}" of yours on this host' in seen[2], seen)


def check_only(hoopd, hoopctl, member, folder):
    (host, port), = free_addresses(1)
    access = {'HOOP_COORDINATOR': f'{host}:{port}', 'HOOP_TOKEN': 'secret'}
    server = Program(folder, 'hoopd', [hoopd, f'--listen={host}:{port}',
                                       '--http=127.0.0.1:0'], HOOP_TOKEN='secret')
    server.expect('serves workers')
    members = []
    for name in ('train', 'other'):
        members.append(Program(folder, name, [member], stdin=subprocess.PIPE,
                               HOOP_RANK='0', HOOP_WORLD_SIZE='1', HOOP_JOB=name, **access))
        members[-1].expect('ready')
        seen = asked(hoopctl, 'why', **access)
        if name == 'train':
            expect('the only job', seen[0] == 0 and seen[1].startswith(MOVES), seen)
    expect('jobs are listed', seen[0] == NO_JOB and 'hoopctl why train' in seen[2]
           and 'hoopctl why other' in seen[2], seen)
    seen = asked(hoopctl, 'why', 'nosuch', **access)
    expect('no such job', seen[0] == NO_JOB and 'no job "nosuch"' in seen[2], seen)
    members[1].popen.stdin.close()
    members[1].code()
    seen = asked(hoopctl, 'why', **access)
    expect('the only job that runs', seen[0] == 0 and seen[1].startswith(MOVES), seen)
    members[0].popen.stdin.close()
    members[0].code()
    server.kill()


def check(_, folder):
    hoopd, hoopctl, hooprun, member = sys.argv[1:5]
    check_only(hoopd, hoopctl, member, folder)
    check_hooprun(hoopctl, hooprun, member, folder)


if __name__ == '__main__':
    check_main('which_job_check', check)
