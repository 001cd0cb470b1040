#!/usr/bin/env python3
"""tests/fault/why_check.py - hoopctl why names the rank and the cause

why_check.py HOOPD HOOPCTL MEMBER [--record FOLDER]: for each kind of fault, real
processes get stuck, and `hoopctl why` must say why within 3 s of being asked, in the
sentence below. --record writes what it has seen as the snapshots of
tests/unit/server/diagnosis.
"""

import json
import os
import re
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from programs import (Program, Wrong, await_true, environment_clean,
                      free_addresses)

HOST = socket.gethostname()
ANSWER_S = 3.0
LINES_MAX = 20  # that hoopctl why shows without --all
LINES_SIZE = 24
CALL = 'allreduce #1 (float64, 4 elements, sum)'
WORLD = f"{CALL} of 'world'"


class Relay:
    """Passes bytes on to a rank, and drops none: it only stops to read those from
    one side or the other, as a link that is frozen one way or both."""

    def __init__(self, port):
        self.port = port
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.blocked = set()  # 'to', 'from'
        self.rate = {}
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ, None)
        self.is_over = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def address(self):
        return '127.0.0.1:%d' % self.listener.getsockname()[1]

    def accept(self):
        near, _ = self.listener.accept()
        far = socket.create_connection(('127.0.0.1', self.port))
        for one, other, way in ((near, far, 'to'), (far, near, 'from')):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.selector.register(one, selectors.EVENT_READ, (other, way))

    def carry(self, one, other, way):
        if one.fileno() < 0:  # its other end has been closed just now
            return
        if way in self.rate:
            time.sleep(0.02)
        try:
            data = one.recv(self.rate.get(way, 1 << 16))
            other.sendall(data)
        except OSError:
            data = b''
        if not data:
            for end in (one, other):
                self.selector.unregister(end)
                end.close()

    def run(self):
        while not self.is_over:
            for key, _ in self.selector.select(0.05):
                if key.data is None:
                    self.accept()
                elif key.data[1] not in self.blocked:
                    self.carry(key.fileobj, *key.data)
                else:
                    time.sleep(0.001)

    def close(self):
        self.is_over = True
        self.thread.join()
        self.listener.close()


class Job:
    def __init__(self, programs, folder, size, **settings):
        (host, port), = free_addresses(1)
        self.hoopd, self.hoopctl, self.member = programs
        self.folder = folder
        self.size = size
        self.settings = settings
        self.access = {'HOOP_COORDINATOR': f'{host}:{port}', 'HOOP_TOKEN': 'secret',
                       'HOOP_JOB': 'train'}
        self.members = {}
        self.relays = []
        self.hoopd = Program(folder, 'hoopd', [
            self.hoopd, f'--listen={host}:{port}', '--http=127.0.0.1:0',
            '--lease=600'], HOOP_TOKEN='secret')
        self.hoopd.expect('serves workers')

    def start(self, *ranks, **settings):
        for rank in ranks:
            self.members[rank] = Program(
                self.folder, f'member{rank}', [self.member], stdin=subprocess.PIPE,
                **{'HOOP_RANK': str(rank), 'HOOP_WORLD_SIZE': str(self.size),
                   'HOOP_FAILURE_TIMEOUT': '600'} | self.access | self.settings
                | settings)

    def begin(self):
        self.start(*range(self.size))
        self.await_ready()

    def await_done(self):
        for member in self.members.values():
            member.expect('done')

    def begin_relayed(self):
        """Ranks that reach each other through relays only."""
        for rank, (_, port) in enumerate(free_addresses(self.size)):
            relay = Relay(port)
            self.relays.append(relay)
            self.start(rank, HOOP_PORT=str(port), HOOP_ADVERTISE=relay.address(),
                       HOOP_TRANSPORT='tcp', HOOP_STREAMS='1')
        self.await_ready()

    def await_ready(self):
        for member in self.members.values():
            member.expect('ready')

    def tell(self, command, *ranks):
        for rank in ranks:
            self.members[rank].popen.stdin.write(command.encode() + b'\n')
            self.members[rank].popen.stdin.flush()

    def name(self, rank):
        return f'rank {rank} ({HOST}:{self.members[rank].popen.pid})'

    def why(self):
        """The verdict, and its exit code."""
        began = time.monotonic()
        shown = subprocess.run([self.hoopctl, '--json', 'why', 'train'], text=True,
                               env=environment_clean() | self.access, timeout=30,
                               stdout=subprocess.PIPE, check=False)
        if shown.returncode not in (0, 1, 66):
            raise Wrong(f'hoopctl why exits with {shown.returncode}')
        # Before the first has joined, there is no such job.
        seen = json.loads(shown.stdout or '{"kind": "", "culprits": [], "verdict": ""}')
        seen['code'] = shown.returncode
        seen['took_s'] = time.monotonic() - began
        return seen

    def masked(self, text):
        """Without what differs from run to run."""
        for rank, member in self.members.items():
            text = re.sub(rf'{re.escape(HOST)}:{member.popen.pid}\b', f'host:{1000 + rank}',
                          text)
            text = re.sub(rf'\b{member.popen.pid}\b', str(1000 + rank), text)
        text = text.replace(HOST, 'host')
        return re.sub(r'\b\d+\.\d+ s\b', 'T s', text)

    def end(self):
        for member in self.members.values():
            if member.popen.poll() is None:
                member.popen.send_signal(signal.SIGCONT)
            member.kill()
            member.popen.stdin.close()
        self.hoopd.kill()
        for relay in self.relays:
            relay.close()


# Each makes a job stuck.

def stopped(job):
    job.begin()
    job.tell('allreduce', 0, 1)
    job.members[2].popen.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, job.members[2].popen.pid, os.WSTOPPED)


def killed(job):
    """hoopd hears of it from the others, which are in no call that it fails."""
    job.begin()
    job.tell('try', 0, 1)
    job.members[2].kill()


def link_frozen(job):
    job.begin_relayed()
    job.tell('allreduce', 0, 1)
    job.await_done()
    for relay in job.relays:
        relay.blocked |= {'to', 'from'}
    job.tell('allreduce', 0, 1)


def link_one_way(job):
    """Nothing from rank 1 arrives at rank 0."""
    job.begin_relayed()
    job.tell('allreduce', 0, 1)
    job.await_done()
    job.relays[0].blocked.add('to')
    job.relays[1].blocked.add('from')
    job.tell('allreduce', 0, 1)


def mismatch(job):
    job.begin()
    job.tell('try', 0, 1)
    job.tell('differ', 2)


def missing(job):
    job.start(0, 1, 3)


def computes(job):
    job.begin()
    job.tell('compute', 2)
    job.tell('allreduce', 0, 1)


def link_slow(job):
    job.begin_relayed()
    for relay in job.relays:
        relay.rate |= {'to': 4096, 'from': 4096}
    job.tell('wide', 0, 1)


def slow_rank(job):
    """All moves, at the pace of rank 2."""
    job.begin()
    job.tell('slow', 2)
    job.tell('fast', 0, 1)


def deadlock(job):
    job.begin()
    job.tell('open', 0, 1)
    job.await_done()
    job.tell('a', 0)
    job.tell('b', 1)


def never_calls(job):
    job.begin()
    job.tell('allreduce', 0, 1)


def half_joined(job):
    job.begin()
    job.tell('open', 0, 1)


def ended(job):
    job.begin()
    job.tell('leave', 0, 1)
    job.await_done()


def ended_lost(job):
    """What hoopd remembers of a job that is gone."""
    killed(job)
    for rank in (0, 1):
        job.members[rank].expect('done')
    job.tell('leave', 0, 1)


def ended_failed(job):
    """All leave in good order, since a call had failed."""
    mismatch(job)
    job.await_done()
    job.tell('leave', 0, 1, 2)


def never_formed(job):
    """One of two comes, and gives up."""
    job.start(0, HOOP_JOIN_TIMEOUT='1')
    job.members[0].expect('command_member: ')


def moving(job):
    job.begin()
    job.tell('allreduce', 0, 1, 2)
    job.await_done()


WAITS = f'rank 0 (host:1000) and 1 other wait in {WORLD} for T s'
EITHER = r'[Rr]ank [01] \(host:100[01]\)'
CASES = {
    'stopped': (stopped, 3, {}, 'stopped', [2],
                f'Rank 2 (host:1002) is stopped by a signal or a debugger; {WAITS}.'),
    'never_calls': (never_calls, 3, {}, 'never-calls', [2],
                    f'Rank 2 (host:1002) is in no call of hoop and sleeps in read; {WAITS}.'),
    'computes': (computes, 3, {}, 'computes', [2],
                 f'Rank 2 (host:1002) is in no call of hoop and computes; {WAITS}.'),
    'deadlock': (deadlock, 2, {}, 'deadlock', [0, 1], re.compile(
        'Ranks wait for each other in different calls: '
        r"(rank [01] \(host:100[01]\) waits in allreduce #1 \(float64, 4 elements, sum\)"
        r" of '[ab]' for rank [01] \(host:100[01]\)(, and )?){2}\.")),
    'half_joined': (half_joined, 3, {}, 'half-joined', [2],
                    'A communicator is half joined: rank 2 (host:1002) has not called to '
                    'create it; rank 0 (host:1000) and 1 other wait in hoop_comm_create '
                    'or hoop_comm_split (3 ranks) for T s.'),
    'missing': (missing, 4, {}, 'missing', [2],
                'The job waits for rank 2 to join; 3 of 4 have come in T s.'),
    'mismatch': (mismatch, 3, {}, 'mismatch', [0, 1, 2], re.compile(
        r'The ranks call different things: allreduce #1 \(.*rank \d \(host:\d+\) called '
        r'allreduce #1 \(float\d\d, 4 elements, sum\), but rank \d \(host:\d+\) called '
        r'allreduce #1 \(float\d\d, 4 elements, sum\).*')),
    'killed': (killed, 3, {}, 'lost', [2], re.compile(
        r'Rank 2 \(host:1002\) is lost: its process has ended .*\.')),
    'link_frozen': (link_frozen, 2, {'HOOP_FAILURE_TIMEOUT': '60'}, 'link', [0, 1],
                    re.compile(rf'{EITHER} and {EITHER} do not hear each other, but both '
                               rf'answer hoopd; {EITHER} .* T s\.')),
    'link_one_way': (link_one_way, 2, {'HOOP_FAILURE_TIMEOUT': '60'}, 'link-one-way',
                     [0, 1], re.compile(
                         r'Rank 0 \(host:1000\) does not hear rank 1 \(host:1001\), which '
                         r'hears it: data pass in one direction only; rank 0 .* T s\.')),
    'link_slow': (link_slow, 2, {}, 'slow-link', [0, 1], re.compile(
        rf'Data move slowly between {EITHER} and {EITHER}: [\d.]+ [kM]B of [\d.]+ MB so '
        rf'far, [\d.]+ [kM]B/s; {EITHER} waits in allreduce .* T s\.')),
    'slow_rank': (slow_rank, 3, {'HOOP_FAILURE_TIMEOUT': '10'}, 'slow-rank', [2],
                  re.compile(r'Nothing is stuck, but rank [01] \(host:100[01]\) waited \d+ s '
                             r'of the last minute for rank 2 \(host:1002\)\.')),
    'ended': (ended, 2, {}, 'ended', [],
              'The job ended T s ago: all of its ranks have left in good order.'),
    'ended_lost': (ended_lost, 3, {}, 'ended-lost', [2], re.compile(
        r'The job ended T s ago, and rank 2 \(host:1002\) was lost first: its process has '
        r'ended .*\.')),
    'ended_failed': (ended_failed, 3, {}, 'ended-failed', [0, 1, 2], re.compile(
        r'The job ended T s ago, after a call of rank \d \(host:\d+\) had failed: '
        r'allreduce #1 \(.*rank \d \(host:\d+\) called allreduce #1 \(.*')),
    'never_formed': (never_formed, 2, {}, 'ended', [],
                     'The job ended T s ago: it never formed, since 1 of 2 workers came in '
                     'time.'),
    'moving': (moving, 3, {}, 'moving', [],
               'Nothing is stuck: no rank is in a call of hoop.'),
}


def is_seen(job, seen, kind, culprits, sentence):
    # Either of two that wait has called first.
    text = job.masked(seen['verdict']).replace(
        'rank 1 (host:1001) and 1 other wait', 'rank 0 (host:1000) and 1 other wait')
    is_same = sentence.fullmatch(text) if hasattr(sentence, 'fullmatch') \
        else sentence == text
    return (seen['kind'] == kind and sorted(seen['culprits']) == culprits and is_same
            and seen['code'] == int(kind not in ('moving', 'forming', 'ended')))


def check_communicators(job, seen):
    """The communicators have the numbers of hoopctl groups."""
    shown = subprocess.run([job.hoopctl, '--json', 'groups'], text=True, timeout=30,
                           env=environment_clean() | job.access,
                           stdout=subprocess.PIPE, check=True)
    groups = {group['communicator'] for group in json.loads(shown.stdout)['groups']}
    waits = {rank['call']['communicator_id'] for rank in seen['ranks'] if rank['call']}
    if not waits or waits - groups - {0}:
        raise Wrong(f'calls are of communicators {waits}, groups are {groups}')


def check_last_calls(seen):
    """Those that were left tell what they were in when the rank was lost."""
    for rank in seen['ranks']:
        if rank['state'] == 'left' and not rank['failure'].startswith(f'{CALL}: rank 2 '):
            raise Wrong(f'rank {rank["rank"]} tells of its last call: {rank["failure"]}')


def check(programs, folder, name, record):
    make, size, settings, kind, culprits, sentence = CASES[name]
    job = Job(programs, folder, size, **settings)
    seen = []
    try:
        make(job)
        await_true(f'{name}: hoopctl why', lambda: seen.append(job.why()) or
                   is_seen(job, seen[-1], kind, culprits, sentence))
        if seen[-1]['took_s'] > ANSWER_S:
            raise Wrong(f'{name}: hoopctl why took {seen[-1]["took_s"]:.1f} s')
        if any(rank['call'] and rank['process'] == 'running' for rank in seen[-1]['ranks']):
            raise Wrong(f'{name}: a rank that waits in a call is said to run')
        if name == 'deadlock':
            check_communicators(job, seen[-1])
        if name == 'ended_lost':
            check_last_calls(seen[-1])
    except Wrong as error:
        raise Wrong(f'{error}, but at last:\n{json.dumps(seen[-1:], indent=1)}'
                    f'\n{job.masked(seen[-1]["verdict"]) if seen else ""}') from error
    finally:
        job.end()
    print(f'{name}: {job.masked(seen[-1]["verdict"])}')
    if record:
        snapshot = json.loads(job.masked(json.dumps(seen[-1])))
        del snapshot['code'], snapshot['took_s']
        with open(f'{record}/{name}.json', 'w', encoding='utf-8') as file:
            json.dump(snapshot, file, indent=1)
            file.write('\n')


def are_lines(job, options, n_lines):
    shown = subprocess.run(
        [job.hoopctl, 'why', *options], text=True, stdout=subprocess.PIPE,
        env=environment_clean() | job.access, timeout=30, check=False)
    lines = shown.stdout.splitlines()
    more = f'and {LINES_SIZE - n_lines} more: hoopctl why --all'
    return (lines[0] == 'Nothing is stuck: no rank is in a call of hoop.'
            and shown.returncode == 0
            and len([line for line in lines if re.match(r' +\d+ active ', line)]) == n_lines
            and (more in shown.stdout) == (n_lines < LINES_SIZE))


def check_lines(programs, folder):
    """People see the sentence first, then 20 ranks, or all if they ask. Who waits
    for a processor may be too late to answer once."""
    job = Job(programs, folder, LINES_SIZE)
    try:
        job.begin()
        await_true('20 lines', lambda: are_lines(job, [], LINES_MAX))
        await_true('all lines', lambda: are_lines(job, ['--all'], LINES_SIZE))
    finally:
        job.end()


def main():
    words = sys.argv[1:]
    record = None
    if '--record' in words:
        place = words.index('--record')
        record = words[place + 1]
        del words[place:place + 2]
    with tempfile.TemporaryDirectory() as folder:
        try:
            for name in words[3:] or CASES:
                os.mkdir(f'{folder}/{name}')
                check(words[:3], f'{folder}/{name}', name, record)
            if not words[3:]:
                os.mkdir(f'{folder}/lines')
                check_lines(words[:3], f'{folder}/lines')
        except (Wrong, OSError, subprocess.SubprocessError) as error:
            sys.exit(f'why_check: {error}')


if __name__ == '__main__':
    main()
