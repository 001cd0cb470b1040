#!/usr/bin/env python3
"""tests/fault/activity_check.py - hoopctl ranks says what each rank is in

activity_check.py HOOPD HOOPCTL MEMBER: a job hangs. hoopctl must show each rank
that waits with the words of that rank's own warning, and the rank that calls
nothing as such. For a rank that cannot answer, or that has left, it must give
the reason.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys

from programs import (Program, Wrong, await_true, check_main, environment_clean,
                      free_addresses)

HOST = socket.gethostname()
CALL = 'allreduce #1 (float64, 4 elements, sum)'
SIZE = 3


class Job:
    def __init__(self, programs, folder, transport):
        (host, port), = free_addresses(1)
        self.hoopctl = programs[1]
        self.settings = {'HOOP_COORDINATOR': f'{host}:{port}',
                         'HOOP_TOKEN': 'secret'}
        self.members = []
        self.hoopd = Program(folder, 'hoopd', [
            programs[0], f'--listen={host}:{port}', '--http=127.0.0.1:0',
            '--lease=600'], HOOP_TOKEN='secret')
        self.folder = folder
        self.member = programs[2]
        self.transport = transport

    def begin(self):
        self.hoopd.expect('serves workers')
        for rank in range(SIZE):
            self.members.append(Program(
                self.folder, f'member{rank}', [self.member],
                stdin=subprocess.PIPE, HOOP_RANK=str(rank),
                HOOP_WORLD_SIZE=str(SIZE), HOOP_LATE_WARNING='0.3',
                HOOP_TRANSPORT=self.transport,
                **self.settings | {'HOOP_FAILURE_TIMEOUT': '600'}))
        for member in self.members:
            member.expect('ready')

    def tell(self, command, *ranks):
        for rank in ranks:
            self.members[rank].popen.stdin.write(command.encode() + b'\n')
            self.members[rank].popen.stdin.flush()

    def ask(self, *options):
        return subprocess.run(
            [self.hoopctl, *options, 'ranks'], check=True, text=True,
            stdout=subprocess.PIPE, timeout=30,
            env=environment_clean() | self.settings).stdout

    def activities(self):
        return [rank['activity'] for rank in json.loads(self.ask('--json'))['ranks']]

    def await_shown(self, what, condition):
        """Retry, because a rank that gets no processor may answer too late."""
        seen = []
        try:
            await_true(what, lambda: seen.append(self.activities()) or
                       condition(seen[-1]))
        except Wrong as error:
            raise Wrong(f'{error}, but {seen[-1:]}') from error

    def name(self, rank):
        return f'rank {rank} ({HOST}:{self.members[rank].popen.pid})'

    def end(self):
        for member in self.members:
            member.popen.send_signal(signal.SIGCONT)
            member.popen.stdin.close()
            member.kill()
        self.hoopd.kill()


def warning_of(job, rank):
    """Return what the rank says in its own warning about whom it waits for."""
    found = re.search(rf'late: {re.escape(CALL)}: {re.escape(job.name(rank))} waits '
                      r'for (.*); \d+\.\d+ s of ', job.members[rank].text())
    return found and found.group(1)


def has(activity, **fields):
    return {key: activity.get(key) for key in fields} == fields


def check_late(job):
    """Rank 2 does not call the collective."""
    job.await_shown('nobody is in a call', lambda shown: shown == [{'calls': 0}] * SIZE)
    job.tell('allreduce', 0, 1)
    for rank in range(2):
        await_true(f'rank {rank} warns', lambda r=rank: warning_of(job, r))
    # The algorithm decides which rank waits for rank 2, but one of them does.
    rank = 0 if warning_of(job, 0).startswith(job.name(2)) else 1
    whom = warning_of(job, rank).split(' bytes', maxsplit=1)[0]
    # hoopctl may have asked the other ranks only after the warning.
    job.await_shown(f'rank {rank} waits for {whom}', lambda shown: (
        shown[rank].get('waits_for', '').startswith(
            whom + ' bytes; it has not called this)')))
    job.await_shown('two wait, and one calls nothing', lambda shown: (
        shown[2] == {'calls': 0} and all(
            has(shown[rank], calls=1, call=CALL, number=1, communicator='world')
            and shown[rank]['age_ms'] >= 300 for rank in range(2))))
    for line in (rf" +in {re.escape(CALL)} of communicator 'world' for \d+\.\d s, "
                 rf'waits for {re.escape(job.name(2))} to .* \(0 of .*', ' +in no call'):
        await_true(f'a line "{line}"', lambda line=line: re.search(
            f'^{line}$', job.ask(), re.MULTILINE))


def check_stopped(job):
    job.members[2].popen.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, job.members[2].popen.pid, os.WSTOPPED)
    job.await_shown('one is stopped', lambda shown: (
        has(shown[0], call=CALL) and re.fullmatch(
            r'no answer within 0\.8 s: stopped, dead or cut off\? hoopd last heard '
            r'of it \d+\.\d s ago', shown[2].get('silence', ''))))
    job.members[2].popen.send_signal(signal.SIGCONT)
    job.tell('allreduce', 2)
    for member in job.members:
        member.expect('done')


def check_left(job):
    job.tell('leave', 2)
    job.hoopd.expect(f'{job.name(2)} leaves')
    job.await_shown('one has left', lambda shown: (
        shown == [{'calls': 0}] * 2 + [{'silence': 'it has left the job'}]))


def check(programs, folder, transport):
    """Run the checks in a folder of their own."""
    os.mkdir(f'{folder}/{transport}')
    job = Job(programs, f'{folder}/{transport}', transport)
    try:
        job.begin()
        check_late(job)
        check_stopped(job)
        check_left(job)
    finally:
        job.end()


if __name__ == '__main__':
    check_main('activity_check', lambda _, folder: [
        check(sys.argv[1:4], folder, transport) for transport in ('auto', 'tcp')])
