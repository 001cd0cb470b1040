#!/usr/bin/env python3
"""tests/fault/joins/join_again_check.py - workers that are killed are started again

join_again_check.py HOOPD STEADY: leases last longer than this check, so that
nothing happens because one has ended. A newcomer takes the place of a process
whose end it sees at once. Where it cannot see whether the members live, it
waits and says for what. Where they live, it fails at once.
"""

import os
import re
import signal
import socket
import sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
from control_client import Client
from join_notice_check import Jobs, expect, expect_end
from programs import Program, Wrong, await_true, check_main

HOST = socket.gethostname()
NO_PROCESS = 4194304  # greater than any PID of the kernel
FULL = 'job "{}" is full: 2 of 2 ranks have joined, epoch {} '


class Restarts(Jobs):
    """These jobs have workers that reduce until a file of their job stops
    them."""

    def __init__(self, programs, folder):
        super().__init__(programs, folder)
        self.options = ['--lease=600', f'--data-dir={folder}/data']

    def serve(self):
        self.hoopd = Program(self.folder, f'hoopd{len(self.started)}', [
            self.programs[0], f'--listen={self.address}', '--http=127.0.0.1:0',
            *self.options], HOOP_TOKEN='secret')
        self.started.append(self.hoopd)
        self.hoopd.expect('serves workers')

    def join(self, job, **settings):
        worker = Program(
            self.folder, f'{job}{len(self.started)}',
            [self.programs[1], f'{self.folder}/{job}'],
            **({'HOOP_COORDINATOR': self.address, 'HOOP_JOB': job,
                'HOOP_TOKEN': 'secret', 'HOOP_WAIT_NOTICE': '0.1',
                'HOOP_WORLD_SIZE': '2', 'HOOP_JOIN_TIMEOUT': '77',
                'HOOP_TIMEOUT': '60'} | settings))
        self.started.append(worker)
        return worker

    def pair(self, job, **settings):
        """Start two workers that form a world. Return them and its epoch."""
        words = f'job "{job}" has formed: 2 ranks on 1 host, epoch '
        before = self.hoopd.text().count(words)
        workers = [self.join(job, HOOP_RANK=rank, **settings) for rank in '01']
        await_true(f'{job} forms again',
                   lambda: self.hoopd.text().count(words) > before)
        epoch = self.hoopd.text().rsplit(words, 1)[1].split()[0]
        return workers, int(epoch)

    def stop(self, job, *workers):
        with open(f'{self.folder}/{job}', 'w', encoding='utf-8'):
            pass
        expect_end(*workers)


def pid_of(worker):
    return f'{HOST}:{worker.popen.pid}'


def check_all(jobs):
    """Kill both workers twice. The second pair has ended, but is not reaped, when
    the third comes."""
    first, _ = jobs.pair('all')
    for worker in first:
        worker.kill()
    second, _ = jobs.pair('all')
    for worker in second:
        worker.popen.kill()
    for worker in second:
        os.waitid(os.P_PID, worker.popen.pid, os.WEXITED | os.WNOWAIT)
    third, _ = jobs.pair('all')
    jobs.hoopd.expect(f'rank 1 ({pid_of(second[1])}) of job "all" is lost: its '
                      'process has ended, reported by ')
    jobs.stop('all', *third)


def check_one(jobs):
    """Kill one worker. Its successor must wait until the other one has
    ended."""
    (alive, dead), epoch = jobs.pair('one')
    alive.popen.send_signal(signal.SIGSTOP)
    dead.kill()
    again = jobs.join('one', HOOP_RANK='1')
    expect(again, "waiting to join job 'one': " + FULL.format('one', epoch) +
           '(1 active, 0 left, 1 lost); it ends when these have left, too: rank '
           f'0 ({pid_of(alive)})')
    alive.popen.send_signal(signal.SIGCONT)
    if alive.code() == 0:
        raise Wrong(f'{alive.name} has missed nobody')
    jobs.stop('one', again, jobs.join('one', HOOP_RANK='0'))


def check_return(jobs):
    """Kill both workers while no coordinator runs."""
    first, _ = jobs.pair('return')
    jobs.hoopd.kill()
    for worker in first:
        worker.kill()
    jobs.serve()
    second, _ = jobs.pair('return')
    jobs.stop('return', *second)


def refusal(jobs, job, **settings):
    worker = jobs.join(job, HOOP_JOIN_TIMEOUT='600', HOOP_WAIT_NOTICE='0',
                       **settings)
    if worker.code() != 1:
        raise Wrong(f'{worker.name} ended with {worker.code()}')
    return re.sub(r'127\.0\.0\.1:\d+', 'ADDRESS', worker.text())


def check_living(jobs):
    """A stopped process counts as living if it waits for changes."""
    workers, epoch = jobs.pair('living')
    operator = Client(jobs.address, 'living', 'secret')
    await_true('both wait for changes',
               lambda: operator.call('Status/Job', [])[6] == len(workers))
    operator.close()
    workers[0].popen.send_signal(signal.SIGSTOP)
    for settings, text in (
            ({'HOOP_RANK': '0'}, f'rank 0 is taken by {pid_of(workers[0])} at '
             'ADDRESS: give each worker a HOOP_RANK of its own, or none'),
            ({}, FULL.format('living', epoch) + '(2 active, 0 left, '
             '0 lost); it takes others when its members call hoop_comm_grow()')):
        line = f"cannot join job 'living' at ADDRESS: {text}\n"
        said = refusal(jobs, 'living', **settings)
        if not said.endswith(line):
            raise Wrong(f'{settings}: said\n{said}instead of\n{line}')
    workers[0].popen.send_signal(signal.SIGCONT)
    jobs.stop('living', *workers)


def elsewhere_join(client, rank):
    """Join as a worker whose host numbers processes separately, so that a
    newcomer learns nothing from the absence of its PID here. Return the
    epoch."""
    return client.call('Rendezvous/Join', [
        rank + 1, 1, rank, 2, 0, 0, 60000, NO_PROCESS + rank, 'other', '',
        '10.0.0.1:1', 0, 12345])[0]


def check_elsewhere(jobs):
    """Close the connections of members whose processes no newcomer can see."""
    members = [Client(jobs.address, 'elsewhere', 'secret') for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        epoch, _ = pool.map(elsewhere_join, members, range(2))
    for member in members:
        member.close()
    newcomers = [jobs.join('elsewhere', HOOP_RANK=rank) for rank in '01']
    for newcomer in newcomers:
        expect(newcomer, "waiting to join job 'elsewhere': " +
               FULL.format('elsewhere', epoch) + '(2 active, 0 left, 0 lost); not '
               'connected, and lost unless they come back before their leases '
               f'end: rank 0 (other:{NO_PROCESS}), rank 1 (other:{NO_PROCESS + 1})')
    if 'of job "elsewhere" is lost' in jobs.hoopd.text():
        raise Wrong('who cannot be seen is lost')
    for rank, member in enumerate(members):
        member.call('Rendezvous/Leave', [epoch, rank + 1])
    jobs.stop('elsewhere', *newcomers)
    for member in members:
        member.close()


def check(programs, folder):
    jobs = Restarts(programs, folder)
    try:
        jobs.serve()
        check_all(jobs)
        check_one(jobs)
        check_return(jobs)
        check_living(jobs)
        check_elsewhere(jobs)
    finally:
        jobs.end()


if __name__ == '__main__':
    check_main('join_again_check', check)
