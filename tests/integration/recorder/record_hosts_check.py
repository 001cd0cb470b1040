#!/usr/bin/env python3
"""tests/integration/recorder/record_hosts_check.py - records that other hosts keep

record_hosts_check.py HOOPD HOOPCTL PROGRAM: the ranks of a job keep their records in two
folders, which stand for two hosts: hoopctl is told of neither, so it has them from the
coordinator. Of a job that hangs, of a rank that is stopped and of one that was killed it
must show what the files themselves say; who keeps no record must be named.
"""

import json
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../../fault'))
from programs import Program, Wrong, await_true, check_main, environment_clean, free_addresses

SIZE = 4
LATE = 2  # the rank that pauses while the others wait for it (recorded.c)
STOPPED = 0
SPARE = 1  # it answers for the one that is stopped


def require(condition, told):
    if not condition:
        raise Wrong(told)


def stop(pid):
    os.kill(pid, signal.SIGSTOP)
    os.waitid(os.P_PID, pid, os.WSTOPPED)


class Job:
    """One hoopd, and ranks of which two each have a folder."""

    def __init__(self, programs, folder, without=()):
        (host, port), = free_addresses(1)
        self.hoopctl = programs[1]
        self.coordinator = f'{host}:{port}'
        self.folders = [f'{folder}/left', f'{folder}/right']
        self.hoopd = Program(folder, 'hoopd', [
            programs[0], f'--listen={self.coordinator}', '--http=127.0.0.1:0', '--lease=600'],
            HOOP_TOKEN='secret')
        self.hoopd.expect('serves workers')
        self.members = [self.member(programs[2], folder, rank, rank in without)
                        for rank in range(SIZE)]

    def member(self, program, folder, rank, is_without):
        settings = {} if is_without else {'HOOP_RECORDER_DIR': self.folders[rank // 2]}
        return Program(folder, f'member{rank}', [program, 'stays'], HOOP_RANK=str(rank),
                       HOOP_WORLD_SIZE=str(SIZE), HOOP_JOB='far', HOOP_TOKEN='secret',
                       HOOP_COORDINATOR=self.coordinator, HOOP_FAILURE_TIMEOUT='600',
                       **settings)

    def run(self, *arguments, token='secret'):
        return subprocess.run([self.hoopctl, *arguments], text=True, capture_output=True,
                              timeout=60, env=environment_clean() | {'HOOP_TOKEN': token},
                              check=False)

    def far(self, *options):
        """What hoopctl shows that knows the coordinator alone."""
        return self.run('-c', self.coordinator, '-j', 'far', 'record', *options)

    def end(self):
        for member in self.members:
            member.popen.send_signal(signal.SIGCONT)
            member.kill()
        self.hoopd.kill()


def records(done):
    require(done.returncode == 0, f'hoopctl ends with {done.returncode}: {done.stderr}')
    return json.loads(done.stdout)


def without_times(value):
    """Clocks are compared again meanwhile, so times may differ by an error."""
    if isinstance(value, list):
        return [without_times(item) for item in value]
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items()
                if not key.endswith('_ns')}
    return value


def first_difference(one, other, where='the record'):
    """Return where two values differ, or ''."""
    if isinstance(one, (dict, list)) and isinstance(other, type(one)) and len(one) == len(other):
        keys = one if isinstance(one, dict) else range(len(one))
        return next(filter(None, (
            first_difference(one[key], other[key], f'{where}[{key!r}]') for key in keys)), '')
    return '' if one == other else f'{where} is {one!r} instead of {other!r}'


def last_states(whole):
    return [rank['calls'][-1]['state'] for rank in whole['ranks']]


def require_same(job, what):
    """The coordinator's records are those of the files."""
    near = records(job.run('record', *job.folders, '--json'))
    done = job.far('--json')
    far = records(done)
    require(not done.stderr, f'{what}: {done.stderr}')
    require([rank['rank'] for rank in far['ranks']] == list(range(SIZE)),
            f'{what}: the ranks are {[rank["rank"] for rank in far["ranks"]]}')
    difference = first_difference(without_times(far), without_times(near))
    require(not difference, f'{what}: {difference}')
    slack_ns = 2 * (far['clock']['error_ns'] + near['clock']['error_ns'])
    for ranks in zip(far['ranks'], near['ranks']):
        for one, other in zip(ranks[0]['calls'], ranks[1]['calls']):
            require(abs(one['called_ns'] - other['called_ns']) <= slack_ns,
                    f'{what}: {one} instead of {other}')
    return far


def check_formats(job, folder):
    text = job.far().stdout
    require(f'the records of {SIZE} of {SIZE} ranks' in text, text)
    lines = [line for line in text.splitlines() if re.match(r' +\d ', line)]
    require(len(lines) == SIZE and 'in no call' in lines[LATE] and all(
        'in allreduce #' in line for rank, line in enumerate(lines) if rank != LATE), text)
    trace = records(job.far('--format', 'chrome'))
    require({event['pid'] for event in trace['traceEvents']} == set(range(SIZE)), 'the trace lacks ranks')
    require(job.far('--format', 'torch', '-o', f'{folder}/torch').returncode == 0 and
            len(os.listdir(f'{folder}/torch')) == SIZE, "PyTorch's files")


def check_hanging(programs, folder):
    """All hang but one; then one is stopped, and that one is killed."""
    job = Job(programs, folder)
    try:
        job.members[LATE].expect('pauses')
        await_true('all others wait', lambda: last_states(records(job.far('--json'))) == [
            'done' if rank == LATE else 'begun' for rank in range(SIZE)])
        require_same(job, 'hanging')
        check_formats(job, folder)
        stop(job.members[STOPPED].popen.pid)
        require_same(job, 'stopped')
        os.kill(job.members[LATE].popen.pid, signal.SIGKILL)
        await_true('the others fail', lambda: last_states(records(job.far('--json'))) == [
            'begun', 'failed', 'done', 'failed'])
        require_same(job, 'killed')
        check_no_sibling(job)
    finally:
        job.end()


def check_no_sibling(job):
    """Nobody of the first folder can answer: its ranks are named, the others shown."""
    stop(job.members[SPARE].popen.pid)
    done = job.far('--json')
    require([rank['rank'] for rank in records(done)['ranks']] == [2, 3], done.stdout)
    for rank in (STOPPED, SPARE):
        require(re.search(rf'rank {rank} \(\S+:{job.members[rank].popen.pid}\) cannot be had: '
                          r'no answer within \d\.\d s: stopped, dead or cut off', done.stderr), done.stderr)


def check_without(programs, folder):
    """A rank that keeps no record is named, and so is a job of which none does."""
    job = Job(programs, folder, without=[SPARE])
    try:
        job.members[LATE].expect('pauses')
        done = job.far('--json')
        require([rank['rank'] for rank in records(done)['ranks']] == [0, 2, 3], done.stdout)
        require(done.stderr.count('\n') == 1 and re.search(
            rf'the record of rank {SPARE} .* cannot be had: .*it records nothing', done.stderr), done.stderr)
        done = job.run('-c', job.coordinator, '-j', 'nobody', 'record')
        require(done.returncode == 1 and 'there is no job "nobody"' in done.stderr, str(done))
        done = job.run('-c', job.coordinator, '-j', 'far', 'record', token='wrong')
        require(done.returncode == 77 and 'UNAUTHENTICATED' in done.stderr, str(done))
        operator = job.run('token', 'operator').stdout.strip()
        require(len(records(job.run('-c', job.coordinator, '-j', 'far', 'record', '--json',
                                    token=operator))['ranks']) == 3, 'an operator is refused')
        job.hoopd.kill()
        done = job.run('-c', job.coordinator, '-j', 'far', '-t', '0.5', 'record')
        require(done.returncode == 69 and 'hoopctl: UNAVAILABLE: ' in done.stderr, str(done))
    finally:
        job.end()


def check(programs, folder):
    for number, each in enumerate((check_hanging, check_without)):
        own = f'{folder}/{number}'
        os.mkdir(own)
        each([*programs, PROGRAM], own)


if __name__ == '__main__':
    PROGRAM = sys.argv[3]
    check_main('record_hosts_check', check)
