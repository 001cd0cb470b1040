#!/usr/bin/env python3
"""tests/fault/job_metrics_check.py - /metrics says what the ranks of a job have done

job_metrics_check.py HOOPD MEMBER: the totals of hoopd must be what the members were told
to do, also after one has left or was killed, and after hoopd was killed and started again.
A late member must be seen in the time that the others wait.
"""

import os
import re
import signal
import subprocess
import time
import urllib.request

from programs import Program, Wrong, await_true, check_main, free_addresses

SIZE = 3
VALUES_BYTES = 32  # of each call of a member
LATE_S = 1.5


def series_read(text):
    """Names without job and host, which are the same for all of the job."""
    found = {}
    for line in text.splitlines():
        match = re.fullmatch(r'(hoop_job_\w+)\{hoop_job="m",host="[^"]+",?(.*)\} (.*)', line)
        if match:
            name = match.group(1) + (f'{{{match.group(2)}}}' if match.group(2) else '')
            if name in found:
                raise Wrong(f'{name} is there twice')
            found[name] = float(match.group(3))
    return found


class Job:
    def __init__(self, programs, folder, settings):
        (host, port), (_, http_port) = free_addresses(2)
        self.programs = programs
        self.folder = folder
        self.http = f'127.0.0.1:{http_port}'
        self.address = f'{host}:{port}'
        self.settings = settings | {'HOOP_COORDINATOR': self.address, 'HOOP_JOB': 'm'}
        self.n_starts = 0
        self.members = []
        self.hoopd = None
        self.hoopd_start()

    def hoopd_start(self):
        self.n_starts += 1
        self.hoopd = Program(self.folder, f'hoopd{self.n_starts}', [
            self.programs[0], f'--listen={self.address}', f'--http={self.http}',
            f'--data-dir={self.folder}/data', '--lease=3'])
        self.hoopd.expect('serves workers')

    def begin(self):
        for rank in range(SIZE):
            self.members.append(Program(
                self.folder, f'member{rank}', [self.programs[1]],
                stdin=subprocess.PIPE, HOOP_RANK=str(rank),
                HOOP_WORLD_SIZE=str(SIZE), **self.settings))
        for member in self.members:
            member.expect('ready')

    def tell(self, command, *ranks):
        for rank in ranks or range(SIZE):
            self.members[rank].popen.stdin.write(command.encode() + b'\n')
            self.members[rank].popen.stdin.flush()

    def await_done(self, n_done, *ranks):
        for rank in ranks or range(SIZE):
            member = self.members[rank]
            await_true(f'{member.name} has done {n_done} commands',
                       lambda m=member: m.text().count('done') >= n_done)

    def series(self):
        with urllib.request.urlopen(f'http://{self.http}/metrics', timeout=30) as page:
            return series_read(page.read().decode())

    def await_series(self, what, condition):
        seen = []
        try:
            await_true(what, lambda: seen.append(self.series()) or condition(seen[-1]))
        except Wrong as error:
            raise Wrong(f'{error}, but {seen[-1:]}') from error
        return seen[-1]

    def end(self):
        for member in self.members:
            member.popen.stdin.close()
            member.kill()
        self.hoopd.kill()


def calls_of(series):
    return series.get('hoop_job_calls_total')


def wait_of(series, kind):
    return series[f'hoop_job_wait_seconds_total{{kind="{kind}"}}']


def ranks_of(series):
    return {state: int(series[f'hoop_job_ranks{{state="{state}"}}'])
            for state in ('joining', 'active', 'left', 'lost')}


def check_grown(before, after):
    for name, value in before.items():
        if not name.startswith('hoop_job_ranks') and after.get(name, -1) < value:
            raise Wrong(f'{name} was {value} and is {after.get(name)}')


def check_joined(job):
    """The calls of the library itself are not counted."""
    series = job.await_series('all have told their join', lambda shown: (
        calls_of(shown) is not None and shown['hoop_job_join_seconds'] > 0))
    if calls_of(series) != 0 or ranks_of(series) != {
            'joining': 0, 'active': 3, 'left': 0, 'lost': 0}:
        raise Wrong(f'before the first call: {series}')


def check_calls(job):
    """Each call counts once on each rank, a ring as a send and a receive."""
    for command, times in (('allreduce', 20), ('barrier', 5), ('ring', 4)):
        for _ in range(times):
            job.tell(command)
    job.await_done(29)
    n_calls = SIZE * (20 + 5 + 2 * 4)
    series = job.await_series(f'{n_calls} calls', lambda shown: (
        calls_of(shown) == n_calls))
    sent = series['hoop_job_bytes_total{direction="sent"}']
    received = series['hoop_job_bytes_total{direction="received"}']
    # No allreduce of three sends less than a tree, or more than all to all both ways.
    least = VALUES_BYTES * (SIZE * 4 + 20 * (SIZE - 1))
    most = VALUES_BYTES * (SIZE * 4 + 20 * 2 * SIZE * (SIZE - 1))
    if not least <= sent <= most or not least <= received <= most:
        raise Wrong(f'{sent} bytes sent and {received} received, not {least} to {most}')
    return series


def check_late(job, before):
    """Two wait while one does not call, and all the time more."""
    began = time.monotonic()
    job.tell('allreduce', 0, 1)
    waits = [wait_of(before, 'collective')]
    while time.monotonic() < began + LATE_S or len(waits) < 4:
        series = job.await_series('others wait longer', lambda shown: (
            wait_of(shown, 'collective') > waits[-1]))
        if calls_of(series) != calls_of(before):
            raise Wrong(f'a call has ended that one rank has not made: {series}')
        waits.append(wait_of(series, 'collective'))
    late_s = time.monotonic() - began
    job.tell('allreduce', 2)
    job.await_done(30)
    took_s = time.monotonic() - began
    series = job.await_series('the late call', lambda shown: (
        calls_of(shown) == calls_of(before) + SIZE))
    gain_s = wait_of(series, 'collective') - waits[0]
    # Both may have had to wait for a processor before they called.
    if gain_s < late_s or (job.settings.get('HOOP_DEBUG_SPIN') == 'never' and
                           gain_s > SIZE * took_s):
        raise Wrong(f'two waited {gain_s} s for one that was {late_s} s late')
    return series


def check_restart(job, before):
    """Of what living ranks have done nothing is missing, and nothing is there twice."""
    job.hoopd.kill()
    job.hoopd_start()

    def is_told(series):
        if not calls_of(series) and any(name.startswith('hoop_job_calls')
                                        for name in series):
            raise Wrong(f'less than before the restart: {series}')
        return calls_of(series)

    series = job.await_series('the ranks tell a restarted hoopd', is_told)
    check_grown(before, series)
    if calls_of(series) != calls_of(before):
        raise Wrong(f'{calls_of(before)} calls became {calls_of(series)}')


def check_end(job, before):
    """One is killed in a call of the others; the two leave with what they know."""
    job.tell('fail', 0, 1)
    job.members[2].popen.send_signal(signal.SIGKILL)
    job.await_done(31, 0, 1)
    series = job.await_series('one is lost', lambda shown: ranks_of(shown)['lost'] == 1)
    check_grown(before, series)
    job.tell('leave', 0, 1)
    job.await_done(32, 0, 1)
    series = job.await_series('two have left', lambda shown: ranks_of(shown) == {
        'joining': 0, 'active': 0, 'left': 2, 'lost': 1})
    check_grown(before, series)
    failures = {name: value for name, value in series.items()
                if name.startswith('hoop_job_failures') and value > 0}
    if failures != {'hoop_job_failures_total{kind="lost"}': 2}:
        raise Wrong(f'two calls failed by the loss of a rank: {failures}')


def check(programs, folder, settings):
    """In a folder of its own."""
    os.mkdir(folder)
    job = Job(programs, folder, settings)
    try:
        job.begin()
        check_joined(job)
        series = check_late(job, check_calls(job))
        check_restart(job, series)
        check_end(job, series)
    finally:
        job.end()


if __name__ == '__main__':
    check_main('job_metrics_check', lambda programs, folder: [
        check(programs, f'{folder}/{transport}-{spin}',
              {'HOOP_TRANSPORT': transport, 'HOOP_DEBUG_SPIN': spin})
        for transport, spin in (('auto', 'auto'), ('auto', 'never'), ('tcp', 'never'))])
