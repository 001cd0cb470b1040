#!/usr/bin/env python3
"""tests/fault/joins/join_notice_check.py - a join that waits says for whom

join_notice_check.py HOOPD ARRIVAL STEADY [RESOLVER_AWAY]: joins of each kind
cannot end yet. Each must say on standard error, word for word, what it waits
for and how long it may wait, and must succeed as soon as that has come. A
member must likewise report that its coordinator stands still or is gone, and
that it is back. The check waits for every line: a line may be late, but must
not come before its time.
"""

import os
import re
import signal
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
from programs import (Program, Wrong, await_true, check_main, free_addresses,
                      steady_end)

HOST = socket.gethostname()
LINE = re.compile(r'^\S+Z hoop warning wait: (.*) '
                  r'\(since (\d+\.\d) s; HOOP_JOIN_TIMEOUT allows 77 s\)$')
MEMBER_LINE = re.compile(r'^\S+Z (?:hoop|rank 1) warning wait: (?:(.*) \(since '
                         r'(\d+\.\d) s(?:; HOOP_JOIN_TIMEOUT allows \d\d s)?\)|'
                         r'(.* is back after) (\d+\.\d) s)$')
NO_SIZE = ('nobody has given a world size yet: set HOOP_WORLD_SIZE, or world_size '
           'in the options of hoop_join(), for one rank at least, or start hoopd '
           'with --world-size')


class Jobs:
    """This has a hoopd and the workers of its jobs."""

    def __init__(self, programs, folder):
        self.programs = programs
        self.folder = folder
        self.started = []
        (host, port), = free_addresses(1)
        self.address = f'{host}:{port}'
        self.hoopd = None

    def serve(self, *arguments, token='secret'):
        self.hoopd = Program(self.folder, f'hoopd{len(self.started)}', [
            self.programs[0], f'--listen={self.address}',
            '--http=127.0.0.1:0', *arguments], HOOP_TOKEN=token)
        self.started.append(self.hoopd)
        self.hoopd.expect('serves workers')

    def join(self, job, program=None, **settings):
        worker = Program(
            self.folder, f'{job}{len(self.started)}',
            program or [self.programs[1]],
            **({'HOOP_COORDINATOR': self.address, 'HOOP_JOB': job,
                'HOOP_TOKEN': 'secret', 'HOOP_WAIT_NOTICE': '0.1',
                'HOOP_JOIN_TIMEOUT': '77'} | settings))
        self.started.append(worker)
        return worker

    def end(self):
        for program in self.started:
            if program.popen.poll() is None:
                program.popen.send_signal(signal.SIGCONT)
            program.kill()


def notices(worker, form=LINE):
    """Return each notice in the worker's whole lines, and since when it had
    waited."""
    text = worker.text()
    lines = text[:text.rfind('\n') + 1].splitlines()
    found = [form.match(line) for line in lines if ' wait: ' in line]
    if None in found:
        raise Wrong(f'not a notice:\n{text}')
    parts = [[part for part in line.groups() if part] for line in found]
    return [(said, float(since)) for said, since in parts]


def expect(worker, text, form=LINE):
    await_true(f'{worker.name} says "{text}"; its output is {worker.path}',
               lambda: text in [said for said, _ in notices(worker, form)])


def expect_end(*workers):
    for worker in workers:
        if worker.code() != 0:
            raise Wrong(f'{worker.name} fails:\n{worker.text()}')


def check_coordinator(jobs):
    """The coordinator does not listen, then comes, stands still, is killed, and
    comes again."""
    refused = (f'waiting for hoopd at {jobs.address}: cannot connect: '
               'Connection refused; start hoopd there, listening on that '
               'address')
    early = jobs.join('early', HOOP_WORLD_SIZE='2')
    expect(early, refused)
    jobs.serve()
    expect(early, "joined job 'early'; waiting for 1 more worker; 1 of 2 is here: "
                  f'host {HOST}')
    expect_end(early, jobs.join('early'))
    late = jobs.join('late', HOOP_WORLD_SIZE='2')
    jobs.hoopd.expect('joins job "late"')
    jobs.hoopd.popen.send_signal(signal.SIGSTOP)
    expect(late, f'waiting for hoopd at {jobs.address}: it is connected, but does '
                 'not answer')
    jobs.hoopd.kill()
    expect(late, refused)
    jobs.serve()
    expect_end(late, jobs.join('late'))


def check_name(jobs):
    """A name that does not exist ends a join. If the resolver does not answer,
    the name is looked up again."""
    unknown = jobs.join('named', HOOP_COORDINATOR='no-such-host.invalid:7',
                        HOOP_WORLD_SIZE='1', LD_PRELOAD=sys.argv[4])
    text = ("cannot join job 'named' at no-such-host.invalid:7: cannot resolve "
            "'no-such-host.invalid': ")
    advice = '; correct HOOP_COORDINATOR, or let this host know the name'
    if unknown.code() == 0 or text not in unknown.text() or (
            advice not in unknown.text()):
        raise Wrong(f'{unknown.name} does not say "{text}...{advice}":\n'
                    f'{unknown.text()}')
    mark = f'{jobs.folder}/resolver_away'
    with open(mark, 'w', encoding='utf-8'):
        pass
    settings = {'HOOP_COORDINATOR': jobs.address.replace('127.0.0.1', 'localhost'),
                'HOOP_WORLD_SIZE': '1', 'LD_PRELOAD': sys.argv[4],
                'RESOLVER_AWAY': mark}
    text = ("cannot resolve 'localhost': Temporary failure in name resolution; does "
            'the name server answer?')
    late = jobs.join('late', **settings | {'HOOP_JOIN_TIMEOUT': '1'})
    if late.code() == 0 or text not in late.text():
        raise Wrong(f'{late.name} does not say "{text}":\n{late.text()}')
    waits = jobs.join('named', **settings)
    expect(waits, f"waiting for hoopd at {settings['HOOP_COORDINATOR']}: {text}")
    os.unlink(mark)
    expect_end(waits)


def check_ranks(jobs):
    first = jobs.join('ranks', HOOP_WORLD_SIZE='4', HOOP_RANK='1')
    expect(first, "joined job 'ranks' as rank 1; waiting for ranks 0, 2-3; 1 of 4 "
                  f'is here: host {HOST}')
    second = jobs.join('ranks', HOOP_WORLD_SIZE='4', HOOP_RANK='2')
    expect(first, "joined job 'ranks' as rank 1; waiting for ranks 0, 3; 2 of 4 "
                  f'are here: host {HOST}')
    expect(second, "joined job 'ranks' as rank 2; waiting for ranks 0, 3; 2 of 4 "
                   f'are here: host {HOST}')
    expect_end(first, second, jobs.join('ranks', HOOP_RANK='0'),
               jobs.join('ranks', HOOP_RANK='3'))


def check_size(jobs):
    first = jobs.join('size', HOOP_RANK='0')
    expect(first, f"joined job 'size' as rank 0; {NO_SIZE}; 1 is here: host {HOST}")
    jobs.hoopd.expect(' joins job "size": 1 there, no world size yet\n')
    expect_end(first, jobs.join('size', HOOP_WORLD_SIZE='2'))


def check_silence(jobs):
    """Without notices a join waits silently until it fails or succeeds."""
    for setting in ({'HOOP_LOG': 'off'}, {'HOOP_LOG': 'error'},
                    {'HOOP_WAIT_NOTICE': '0'}):
        worker = jobs.join('silent', HOOP_WORLD_SIZE='2', HOOP_JOIN_TIMEOUT='1',
                           **setting)
        if worker.code() == 0 or ' wait: ' in worker.text():
            raise Wrong(f'{setting}: {worker.text()}')


def check_pauses(jobs):
    """The default pauses between notices hold."""
    worker = jobs.join('pauses', HOOP_WORLD_SIZE='2', HOOP_WAIT_NOTICE='')
    since = await_true('two notices', lambda: (
        lambda found: found if len(found) >= 2 else None)(
            [since for _, since in notices(worker)]))
    # Both times are rounded.
    if since[0] < 0.9 or since[1] < since[0] + 1.8:
        raise Wrong(f'notices after {since} s')
    expect_end(worker, jobs.join('pauses'))


def check_member(jobs):
    """The coordinator of a running job stands still, is killed, and comes
    back."""
    at = f'hoopd at {jobs.address}'
    goes_on = '; collectives and messages go on, what asks the coordinator waits'
    data = ('--data-dir', f'{jobs.folder}/data', '--lease', '15')
    jobs.hoopd.kill()
    jobs.serve(*data)
    stop = [sys.argv[3], f'{jobs.folder}/stop']
    settings = {'HOOP_WORLD_SIZE': '2', 'HOOP_TIMEOUT': '66'}
    worker = jobs.join('member', stop, HOOP_RANK='1', **settings)
    silent = jobs.join('member', stop, HOOP_RANK='0',
                       **settings | {'HOOP_WAIT_NOTICE': '0'})
    mark = f'{jobs.folder}/stop.mark'
    with open(mark, 'w', encoding='utf-8'):
        pass
    await_true('the job reduces', lambda: not os.path.exists(mark))
    jobs.hoopd.kill()
    expect(worker, f'waiting for {at}: cannot connect: Connection refused; '
           f'start hoopd there, listening on that address{goes_on}', MEMBER_LINE)
    jobs.serve(*data)
    expect(worker, f'{at} is back after', MEMBER_LINE)
    n_back = len(notices(worker, MEMBER_LINE))
    jobs.hoopd.popen.send_signal(signal.SIGSTOP)
    expect(worker, f'waiting for {at}: it is connected, but does not answer{goes_on}',
           MEMBER_LINE)
    jobs.hoopd.popen.send_signal(signal.SIGCONT)
    await_true(f'{worker.name} says once more that it is back', lambda: any(
        'is back' in said for said, _ in notices(worker, MEMBER_LINE)[n_back:]))
    steady_end(jobs.folder, (worker, silent))
    if ' wait: ' in silent.text():
        raise Wrong(f'not silent:\n{silent.text()}')


def check_forgotten(jobs):
    """The coordinator comes back without its data."""
    jobs.hoopd.kill()
    jobs.serve()
    stop = [sys.argv[3], f'{jobs.folder}/stop_forgotten']
    workers = [jobs.join('forgotten', stop, HOOP_RANK=rank, HOOP_WORLD_SIZE='2')
               for rank in '01']
    mark = f'{jobs.folder}/stop_forgotten.mark'
    with open(mark, 'w', encoding='utf-8'):
        pass
    await_true('the job reduces', lambda: not os.path.exists(mark))
    jobs.hoopd.kill()
    jobs.serve()
    for worker in workers:
        worker.expect(f'wait: hoopd at {jobs.address} is back, but does not know '
                      'this job: ')
        worker.expect('; collectives and messages go on, without leases and '
                      'verdicts on the dead; hoopd keeps its jobs with --data-dir\n')
        if 'is back after' in worker.text():
            raise Wrong(worker.text())
    with open(stop[1], 'w', encoding='utf-8'):
        pass
    for worker in workers:
        worker.popen.wait(60)


def check_many(jobs):
    """In a large world the first ranks of each host speak as early as in a
    small one, and so does a rank that does not know its local rank. The other
    ranks wait longer."""
    settings = {'HOOP_WORLD_SIZE': '128', 'HOOP_WAIT_NOTICE': '4'}
    first = jobs.join('many', HOOP_RANK='64', LOCAL_RANK='0', **settings)
    unknown = jobs.join('many', HOOP_RANK='72', **settings)
    later = jobs.join('many', HOOP_RANK='73', LOCAL_RANK='9', **settings)
    return first, unknown, later


def check_many_end(jobs):
    first, unknown, later = jobs
    for worker in (first, unknown):
        await_true(f'{worker.name} says for whom it waits',
                   lambda worker=worker: notices(worker))
    if notices(later) and notices(later)[0][1] < 39:
        raise Wrong(f'{later.name} speaks with the first:\n{later.text()}')


def check_no_hello(jobs):
    """A join reports that an address answers no connection, or says no hello,
    also after its first attempt."""
    texts = ('nothing answers a connection there: is there a route, or a firewall '
             'between?', 'it accepts connections but does not say hello: is a hoop '
             'coordinator there?')
    waits = []
    for text in texts:
        # Each attempt that is accepted takes one place of the backlog.
        listener = socket.create_server(('127.0.0.1', 0),
                                        backlog=0 if text == texts[0] else 64)
        address = listener.getsockname()
        queue = [socket.socket() for _ in texts]
        if text == texts[0]:
            for full in queue:  # fills the backlog
                full.setblocking(False)
                full.connect_ex(address)
        at = f'127.0.0.1:{address[1]}'
        worker = jobs.join('unanswered', HOOP_COORDINATOR=at, HOOP_WORLD_SIZE='1')
        waits.append((worker, f'waiting for hoopd at {at}: {text}', listener, queue))
    return waits


def check_no_hello_end(waits):
    for worker, text, *_ in waits:
        said = await_true(f'{worker.name} waits for longer than a try', lambda worker=worker: [
            said for said, since in notices(worker) if since > 5.5])
        if set(said) != {text}:
            raise Wrong(f'{worker.name} does not say "{text}":\n{worker.text()}')


def check(programs, folder):
    jobs = Jobs(programs, folder)
    try:
        waits = check_no_hello(jobs)
        check_coordinator(jobs)
        if len(sys.argv) > 4:
            check_name(jobs)
        many = check_many(jobs)
        check_ranks(jobs)
        check_size(jobs)
        check_silence(jobs)
        check_pauses(jobs)
        check_many_end(many)
        check_no_hello_end(waits)
        check_member(jobs)
        check_forgotten(jobs)
    finally:
        jobs.end()


if __name__ == '__main__':
    check_main('join_notice_check', check)
