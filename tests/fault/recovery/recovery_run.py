#!/usr/bin/env python3
"""tests/fault/recovery/recovery_run.py - what fails while others recover

recovery_run.py HOOPD CHURN_MEMBER [--cells N] [--seeds N] [--first N]

A job of five members calls collectives, loses one, shrinks, and admits a
newcomer (churn_member.c). It does so until the faults of HOOP_DEBUG_FAULT have
struck and all five members are well. There are two kinds of runs:

- a cell: hoopd is killed, stopped, or loses its answer, at one call: before it
  has done anything, when all is stored and no answer is sent, or when one is;
- a seed: ranks die while their job shrinks, agrees and grows, and others while
  it does so for the second time, and hoopd dies in the middle of it.

Beside the job a client adds to a counter, and every addition that was
acknowledged must count once. Without --cells and --seeds all cells and twenty
seeds run. --commit-of selects the first of them by the commit, so that short
runs of different commits run different ones.
"""

import argparse
import concurrent.futures
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
from churn_run import DONE, IN, Job
from control_client import Client, Refused
from coordinator_deaths import Coordinator
from programs import Program, Wrong

SIZE = 5
CALLS = 15  # calls of each member after all faults
RUN_S = 60
STOPPED_S = 0.1
NOTE_BYTES = 16  # the size of a note, see common/fault/fault.c
TRIES = 3  # attempts at a cell whose fault comes too late

# These are calls of hoopd, each with its number among those that a run makes.
OPS = [('rendezvous_join', 1), ('rendezvous_join', 5), ('rendezvous_join', 6),
       ('rendezvous_renew', 3), ('rendezvous_report', 1),
       ('rendezvous_watch', 4), ('rendezvous_leave', 1),
       ('store_add', 2), ('store_add', 4), ('store_set', 1), ('store_get', 1),
       ('store_delete', 1), ('groups_agree', 1), ('groups_agree', 4),
       ('groups_agree', 5), ('groups_agree', 8), ('groups_agree', 10),
       ('groups_agree', 14), ('groups_leave', 1)]
DEEDS = ['kill', 'exit:3', 'stop', 'delay:100ms', 'reset', 'drop']
POINTS = ['begin', 'send', 'end']
# A client asks for a lost answer on a living connection only when its patience
# is over, so only some calls lose their answers.
DROPPED = ('store_add', 'rendezvous_renew', 'groups_leave')


def cells_all():
    cells = []
    for deed in DEEDS:
        for op, number in OPS:
            for point in POINTS:
                if deed == 'drop' and (point == 'end' or op not in DROPPED):
                    continue
                cells.append(f'rank=coordinator,op={op},seq={number},'
                             f'at={point},do={deed}')
    return cells


def scenario_of(seed):
    """Return the faults of the members by slot, of the newcomers, and of each
    hoopd."""
    chance = random.Random(seed)
    places = ['op=shrink', 'op=shrink,at=send', 'op=shrink,at=receive',
              'op=shrink,at=send,segment=2', 'op=shrink,at=receive,segment=2',
              'op=shrink,at=end', 'op=shrink,at=send,round=2',
              'op=shrink,at=receive,round=2', 'op=shrink,seq=2',
              'op=shrink,seq=2,at=receive', 'op=agree', 'op=agree,at=receive',
              'op=grow', 'op=grow,at=receive', 'op=grow,at=end',
              'op=allgather,seq=2', 'op=allgather,seq=2,at=end']
    members = {2: f'op=allreduce,seq={chance.randrange(2, 30)},do=kill'}
    for slot in (3, 4):
        members[slot] = chance.choice(places) + ',do=kill'
    newcomers = ['op=allgather,do=kill', '', 'op=agree,do=kill', '',
                 'op=allreduce,seq=3,do=kill']
    lives = [f'rank=coordinator,op=groups_agree,seq={chance.randrange(1, 12)},'
             f'at={chance.choice(POINTS)},do=kill'
             for _ in range(chance.randrange(1, 4))]
    chance.shuffle(newcomers)
    return members, newcomers, lives


class Missed(Exception):
    """The run succeeded only because the fault did not happen."""


class Mortal(Coordinator):
    """This hoopd has a fault in each of its first lives."""

    def __init__(self, path, folder, faults):
        super().__init__(path, folder, 'process')
        self.faults = list(faults)
        self.notes_path = os.path.join(folder, 'notes')

    def start(self):
        fault = self.faults.pop(0) if self.faults else ''
        self.n_lives += 1
        with open(self.notes_path, 'ab') as notes:
            if fault:
                fault += f',note={notes.fileno()}'
            self.program = Program(self.folder, f'hoopd{self.n_lives}',
                                   self.arguments, HOOP_DEBUG_FAULT=fault,
                                   pass_fds=(notes.fileno(),))
        self.program.expect('serves workers on')

    def n_strikes(self):
        """Return how many faults have struck. Each has written a note."""
        return os.path.getsize(self.notes_path) // NOTE_BYTES

    def look(self):
        """Start hoopd again if it has ended, or continue it if it is stopped.
        Return whether one of these was necessary."""
        popen = self.program.popen
        if popen.poll() is not None:
            if popen.returncode not in (-signal.SIGKILL, 3):
                raise Wrong(f'hoopd ended with {popen.returncode}:\n'
                            + self.program.text())
            self.start()
            return True
        with open(f'/proc/{popen.pid}/stat', encoding='utf-8') as file:
            state = file.read().rsplit(')', 1)[1].split()[0]
        if state != 'T':
            return False
        time.sleep(STOPPED_S)
        popen.send_signal(signal.SIGCONT)
        return True


class Adder(threading.Thread):
    """Adds 1 now and then. The counter must grow by exactly 1 each time."""

    def __init__(self, address, job):
        super().__init__(daemon=True)
        self.client = Client(address, job, patience_s=RUN_S)
        self.client.answer_s = 1
        self.is_ending = threading.Event()
        self.n_added = 0
        self.is_right = False
        self.error = None

    def run(self):
        try:
            while not self.is_ending.is_set() or self.n_added < 5:
                total = self.client.add('counter', 1)
                self.n_added += 1
                if total != self.n_added:
                    raise Refused(f'{self.n_added} were added, it says {total}')
                time.sleep(0.01)
            self.client.set('key', b'value')
            value = self.client.get('counter')
            if int(value) != self.n_added:
                raise Refused(f'{self.n_added} were added, {value} are there')
            if self.client.call('Store/Delete', [['key']])[2] != 1:
                raise Refused('a key was set and is not there')
            self.is_right = True
        except (OSError, Refused) as error:
            self.error = error


class Recovery:
    """This is one run, in a folder of its own."""

    def __init__(self, options, folder, number, members, newcomers, lives):
        self.options = options
        self.folder = folder
        self.members = members
        self.newcomers = list(newcomers)
        self.coordinator = Mortal(options.hoopd, folder, lives)
        # A cell is about one fault. Some faults of a seed may come too late.
        self.must_strike = not newcomers
        self.n_ids = 0
        self.n_died = 0
        self.n_struck = 0
        # Jobs with an odd number use HOOP_ON_FAILURE=retry, see churn_run.py.
        self.job = Job(self, number % 2)

    def dead_replace(self):
        """Replace the members that have died by their faults."""
        for slot, member in enumerate(self.job.members):
            code = member.popen.poll()
            if code is None:
                continue
            if code != -signal.SIGKILL:
                raise Wrong(f'{member.name} ended with {code}:\n'
                            + member.text()[-3000:])
            self.n_died += 1
            self.job.count(slot)
            self.job.board.clear(slot)
            self.job.start(slot, 'newcomer',
                           self.newcomers.pop(0) if self.newcomers else '')

    def is_well(self, calls_before):
        """Return whether all members are in, know of each other, and have made
        CALLS calls since."""
        if self.n_died == 0:
            return False
        for slot in range(SIZE):
            line = self.job.board.line(slot)
            if (line['state'] != IN or line['size'] != SIZE or
                    line['calls'] < calls_before.get(slot, 0) + CALLS):
                return False
        return True

    def go_on(self, end):
        """Wait until no fault strikes any more and all members are well."""
        calls = {}
        while not self.is_well(calls):
            if time.monotonic() > end:
                raise Wrong(f'not well after {RUN_S} s: ' + ', '.join(
                    str(self.job.board.line(slot)) for slot in range(SIZE)))
            if self.coordinator.look():
                self.n_struck += 1
            n_died = self.n_died
            self.dead_replace()
            if self.n_died > n_died:
                calls = {slot: self.job.board.line(slot)['calls']
                         for slot in range(SIZE)}
            self.job.look(may_die=True)
            time.sleep(0.005)

    def end_reach(self, end):
        self.job.board.head_write(0, 1)
        while any(self.job.board.line(slot)['state'] != DONE and
                  member.popen.poll() is None
                  for slot, member in enumerate(self.job.members)):
            self.coordinator.look()
            if time.monotonic() > end:
                raise Wrong('it does not end')
            time.sleep(0.005)
        for member in self.job.members:
            while member.popen.poll() is None and time.monotonic() < end:
                self.coordinator.look()
                time.sleep(0.005)
            # A member may die of its fault even now.
            if member.code() not in (0, -signal.SIGKILL):
                raise Wrong(f'{member.name}:\n' + member.text()[-3000:])

    def run(self):
        end = time.monotonic() + RUN_S
        adder = None
        try:
            self.coordinator.start()
            for slot in range(SIZE):
                self.job.start(slot, 'founder', self.members.get(slot, ''))
            self.job.board.head_write(1, 0)
            self.founders_await(end)
            adder = Adder(self.coordinator.address, self.job.name)
            adder.start()
            self.go_on(end)
            self.counter_verify(adder, end)
            self.end_reach(end)
            if self.must_strike and self.coordinator.n_strikes() == 0:
                raise Missed('the fault has not struck: nothing is proved')
        finally:
            for member in self.job.members:
                if member:
                    member.kill()
            self.coordinator.kill()
            if adder:
                adder.is_ending.set()

    def counter_verify(self, adder, end):
        adder.is_ending.set()
        while adder.is_alive() and time.monotonic() < end:
            if self.coordinator.look():
                self.n_struck += 1
            time.sleep(0.005)
        if not adder.is_right:
            raise Wrong(f'the counter: {adder.error or "no answer"}')

    def founders_await(self, end):
        """Wait until the job has begun, because before that others cannot find
        it."""
        while any(self.job.board.line(slot)['joined'] == 0
                  for slot in range(SIZE)):
            if self.coordinator.look():
                self.n_struck += 1
            if time.monotonic() > end:
                raise Wrong('the job does not begin')
            time.sleep(0.005)


def run_one(options, name, *scenario):
    """Run a scenario, again if its fault was missed. Return what is wrong, or
    None."""
    for _ in range(TRIES):
        try:
            return run_once(options, name, *scenario)
        except Missed as missed:
            wrong = f'{name}: {scenario}: {missed}'
    return wrong


def run_once(options, name, *scenario):
    """Run a scenario once. Raise Missed if its fault did not strike."""
    with tempfile.TemporaryDirectory(prefix='recovery_run.') as folder:
        recovery = Recovery(options, folder, *scenario)
        began = time.monotonic()
        try:
            recovery.run()
        except (Wrong, OSError, Refused) as wrong:
            return (f'{name}\n  ' + '\n  '.join(map(str, scenario)) +
                    f'\n  {wrong}\n'
                    f'{recovery.coordinator.program.text()[-3000:]}')
        if options.verbose:
            print(f'{name}: {recovery.n_died} died, hoopd {recovery.n_struck}'
                  f', {time.monotonic() - began:.1f} s', flush=True)
        options.n_struck += recovery.n_struck
        options.n_died += recovery.n_died
    return None


def commit_number(folder):
    result = subprocess.run(['git', '-C', folder, 'rev-parse', 'HEAD'],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            check=False)
    return int(result.stdout.decode().strip() or '0', 16) % 10 ** 6


def options_read():
    parser = argparse.ArgumentParser()
    parser.add_argument('hoopd')
    parser.add_argument('member')
    parser.add_argument('--cells', type=int)
    parser.add_argument('--seeds', type=int)
    parser.add_argument('--first', type=int, default=0)
    parser.add_argument('--commit-of')
    parser.add_argument('--parallel', type=int, default=3)
    parser.add_argument('--log', default='error')
    parser.add_argument('--verbose', action='store_true')
    options = parser.parse_args()
    if options.commit_of:
        options.first = commit_number(options.commit_of)
    if options.cells is None and options.seeds is None:
        options.cells, options.seeds = len(cells_all()), 20
    options.size, options.residents = SIZE, 2
    options.n_struck = options.n_died = 0
    return options


def runs_of(options):
    """Yield the name, the number and the faults of each run."""
    cells = cells_all()
    # Neighbours are alike, and a few runs should differ.
    random.Random(1).shuffle(cells)
    for i in range(options.cells or 0):
        at = (options.first + i) % len(cells)
        # Only a job that shrinks leaves a group before its end.
        number = 0 if 'op=groups_leave' in cells[at] else at
        yield (f'cell {at} (--cells 1 --first {at})', number,
               {2: 'op=allreduce,seq=10,do=kill'}, [], [cells[at]])
    for i in range(options.seeds or 0):
        seed = options.first + i
        yield (f'seed {seed} (--seeds 1 --first {seed})', seed,
               *scenario_of(seed))


def main():
    options = options_read()
    with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
        results = list(pool.map(
            lambda run: run_one(options, *run), runs_of(options)))
    failures = [result for result in results if result]
    for failure in failures:
        print(failure)
    print(f'{len(results)} runs, {len(failures)} failed: {options.n_died} ranks '
          f'died, hoopd was struck {options.n_struck} times')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
