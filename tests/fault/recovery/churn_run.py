#!/usr/bin/env python3
"""tests/fault/recovery/churn_run.py - members are killed and replaced all the time

churn_run.py HOOPD CHURN_MEMBER [--seconds N] [--pause S] [--deaths S] ...

Each of several jobs has residents, which stay, and mortals. Every --pause
seconds one of the mortals is killed with SIGKILL, whatever it is doing. Another
process takes its place, and the job admits it with hoop_comm_grow(). Every
--deaths seconds hoopd is killed as well and started again on its data. Half of
the jobs shrink when a rank is lost; the others have HOOP_ON_FAILURE=retry. Each
member recomputes every result from exactly the contributors that are named
(churn_member.c). hoopd must list each job once, by its name, and at the end
with the members that live; its log must report each death once. No member may
fail or stand still. The memory and the descriptors of residents and hoopd must
not grow. --seconds 600 is the long run, and --seed repeats the choice of
victims.
"""

import argparse
import mmap
import os
import random
import re
import signal
import statistics
import struct
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
from control_client import Client
from coordinator_deaths import Coordinator
from programs import Program, Wrong

HEAD, LINE, SLOTS = 8, 16, 64
IN, DONE = 2, 3  # lower states: joining, or not started
FIELDS = ('state', 'calls', 'wrong', 'shrunk', 'grown', 'barren', 'seen_ns',
          'joined', 'orphaned', 'size', 'heap_kib')
HANG_S = 60  # how long a resident may make no progress
END_S = 60
LOOK_S = 0.5


def usage_of(pid):
    """Return the memory in KiB and the number of descriptors, or None if it has
    ended."""
    try:
        with open(f'/proc/{pid}/status', encoding='utf-8') as lines:
            resident = [line for line in lines if line.startswith('VmRSS')]
        n_descriptors = len(os.listdir(f'/proc/{pid}/fd'))
    except OSError:
        return None
    return (int(resident[0].split()[1]), n_descriptors) if resident else None


class Board:
    """The members of one job write to this; see churn_member.c."""

    def __init__(self, path):
        self.path = path
        with open(path, 'wb') as file:
            file.truncate((HEAD + SLOTS * LINE) * 8)
        with open(path, 'r+b') as file:
            self.words = mmap.mmap(file.fileno(), 0)

    def head_write(self, place, value):
        struct.pack_into('=Q', self.words, place * 8, value)

    def line(self, slot):
        words = struct.unpack_from(f'={len(FIELDS)}Q', self.words,
                                   (HEAD + slot * LINE) * 8)
        return dict(zip(FIELDS, words))

    def clear(self, slot):
        """Clear the line for the next member of the slot."""
        struct.pack_into(f'={LINE}Q', self.words, (HEAD + slot * LINE) * 8,
                         *([0] * LINE))


class Job:
    """A job has slots, of which the first are residents."""

    def __init__(self, run, number):
        self.run = run
        self.number = number
        self.name = f'churn-{number}'
        self.board = Board(os.path.join(run.folder, self.name))
        self.members = [None] * run.options.size
        self.totals = dict.fromkeys(FIELDS, 0)
        self.n_killed = 0
        self.n_started = 0

    def start(self, slot, role, fault=''):
        options = self.run.options
        self.run.n_ids += 1
        self.n_started += role == 'newcomer'
        extra = {'HOOP_ON_FAILURE': 'retry'} if self.number % 2 else {}
        self.members[slot] = Program(
            self.run.folder, f'{self.name}-{self.run.n_ids}',
            [options.member, self.board.path, str(slot), str(self.run.n_ids),
             str(options.size), role],
            HOOP_COORDINATOR=self.run.coordinator.address,
            HOOP_JOB=self.name, HOOP_TIMEOUT='30', HOOP_FAILURE_TIMEOUT='20',
            HOOP_LATE_WARNING='0',
            HOOP_LOG=options.log, HOOP_DEBUG_FAULT=fault, **extra)

    def replace(self, slot):
        """Kill the member of a slot and start another one there."""
        member = self.members[slot]
        member.kill()
        self.n_killed += 1
        self.count(slot)
        self.board.clear(slot)
        os.unlink(member.path)
        self.start(slot, 'newcomer')

    def count(self, slot):
        """Add up what a member has done that has ended."""
        member, line = self.members[slot], self.board.line(slot)
        if line['wrong']:
            raise Wrong(f'{member.name}: a wrong result\n' + member.text())
        for field in FIELDS:
            self.totals[field] += line[field]

    def look(self, may_die=False):
        """Check that no member has ended, is wrong or stands still."""
        lines = [self.board.line(slot) for slot in range(len(self.members))]
        self.board.head_write(1, sum(line['state'] < IN for line in lines))
        now_ns = time.monotonic_ns()
        for slot, member in enumerate(self.members):
            code = member.popen.poll()
            if (code is not None and lines[slot]['state'] != DONE and
                    not (may_die and code == -signal.SIGKILL)):
                raise Wrong(f'{member.name} ended with {code}:\n'
                            + member.text()[-3000:])
            if lines[slot]['wrong']:
                raise Wrong(f'{member.name}: a wrong result\n' + member.text())
            if (slot < self.run.options.residents and
                    lines[slot]['seen_ns'] < now_ns - HANG_S * 10 ** 9):
                raise Wrong(f'{member.name} stands still for {HANG_S} s: '
                            f'{lines[slot]}\n' + member.text()[-3000:])

    def stop(self):
        """Let all members leave together. Kill newcomers that still wait."""
        self.board.head_write(0, 1)
        end = time.monotonic() + END_S
        while any(self.board.line(slot)['state'] != DONE
                  for slot in range(self.run.options.residents)):
            self.look()
            if time.monotonic() > end:
                raise Wrong(f'{self.name} does not end')
            time.sleep(0.02)
        for slot, member in enumerate(self.members):
            if self.board.line(slot)['state'] < IN:
                member.kill()
            elif member.code() != 0:
                raise Wrong(f'{member.name}:\n' + member.text()[-3000:])
            self.count(slot)


class Watch:
    """This records the memory and descriptors of one process over time."""

    def __init__(self, name):
        self.name = name
        self.samples = []

    def take(self, moment, pid, heap_kib=0, kept_kib=0):
        """Take a sample. kept_kib of the memory has a bound of its own."""
        usage = usage_of(pid)
        if usage:
            self.samples.append((moment, usage[0] - kept_kib, usage[1],
                                 heap_kib))

    def at(self, begin, end):
        """Return the medians of the samples between two fractions of the
        time."""
        if not self.samples:
            return 0, 0, 0
        last = self.samples[-1][0]
        chosen = [sample for sample in self.samples
                  if begin * last <= sample[0] <= end * last]
        chosen = chosen or self.samples[-1:]
        return tuple(int(statistics.median(sample[i] for sample in chosen))
                     for i in (1, 2, 3))

    def looks(self):
        return self.at(.1, .3), self.at(.45, .6), self.at(.85, 1)

    def text(self):
        return self.name + ': ' + ', '.join(
            f'{kib} KiB ' + (f'({heap_kib} in use) ' if heap_kib else '') +
            f'{n} fds' for kib, n, heap_kib in self.looks())

    def grows(self):
        """Return whether the process grows steadily. Memory that is kept for
        reuse grows only once."""
        first, middle, last = self.looks()
        return (last[0] > middle[0] * 1.05 + 256 > first[0] * 1.05 + 512 and
                last[0] > first[0] * 1.3 + 1024 or
                last[1] > first[1] + 24 or
                last[2] > first[2] * 1.3 + 512)


class Run:
    """This runs the whole check once."""

    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.chance = random.Random(options.seed)
        self.coordinator = Coordinator(options.hoopd, folder, 'process')
        self.n_ids = 0
        self.n_deaths = 0
        self.n_told = 0  # deaths of members that hoopd's log reports
        self.jobs = [Job(self, number) for number in range(options.jobs)]
        self.watches = {}

    def mortals(self):
        return [(job, slot) for job in self.jobs
                for slot in range(self.options.residents, self.options.size)]

    def begin(self):
        self.coordinator.start()
        for job in self.jobs:
            for slot in range(self.options.size):
                job.start(slot, 'founder')
        end = time.monotonic() + END_S
        while any(job.board.line(slot)['calls'] == 0 for job in self.jobs
                  for slot in range(self.options.size)):
            for job in self.jobs:
                for member in job.members:
                    if member.popen.poll() is not None:
                        raise Wrong('a founder: ' + member.text())
            if time.monotonic() > end:
                raise Wrong('the jobs do not begin')
            time.sleep(0.02)

    def sample(self, moment):
        for job in self.jobs:
            for slot in range(self.options.residents):
                name = f'{job.name} resident {slot}'
                self.watches.setdefault(name, Watch(name)).take(
                    moment, job.members[slot].popen.pid,
                    job.board.line(slot)['heap_kib'])
        # Replies that a new hoopd inherits are kept as long as new ones.
        kept_kib = self.coordinator.metric('hoop_rpc_kept_bytes') // 1024
        self.watches.setdefault('hoopd', Watch('hoopd')).take(
            moment, self.coordinator.program.popen.pid, 0, kept_kib)

    def lines(self):
        """Return the line of each job that lives: name, state, epoch, size,
        members, ..."""
        client = Client(self.coordinator.address)
        try:
            return [line for line in client.call('Status/Jobs', [])[3]
                    if line[1] != 'ended']
        finally:
            client.close()

    def lists_check(self):
        """Check that each job is listed once, by its name, however often it has
        grown."""
        lines = self.lines()
        if sorted(line[0] for line in lines) != sorted(
                job.name for job in self.jobs):
            raise Wrong(f'the jobs are said to be {lines}')
        return lines

    def members_check(self):
        """Wait until the listed members are those that live. None is killed any
        more."""
        end = time.monotonic() + END_S
        while True:
            for job in self.jobs:
                job.look()
            lines = self.lists_check()
            if all(line[3] == line[4] == self.options.size for line in lines):
                return
            if time.monotonic() > end:
                raise Wrong(f'not all who live are members: {lines}')
            time.sleep(0.05)

    def log_check(self):
        """Check that each hoopd reports a death once, and for a job that users
        know."""
        n_told = 0
        for life in range(1, self.coordinator.n_lives + 1):
            path = os.path.join(self.folder, f'hoopd{life}.log')
            with open(path, encoding='utf-8', errors='replace') as log:
                text = log.read()
            told = re.findall(r'\(([^()\s]+:\d+)\) of job "[^"]*" is lost: ', text)
            n_told += len(told)
            if len(told) != len(set(told)):
                twice = sorted({who for who in told if told.count(who) > 1})
                raise Wrong(f'hoopd{life}: told lost more than once: {twice}')
            if re.search(r'job "churn-\d+\+', text):
                raise Wrong(f'hoopd{life} names a world of a job')
        return n_told

    def coordinator_die(self):
        self.coordinator.kill()
        self.n_deaths += 1
        self.coordinator.start()

    def churn(self):
        begin = time.monotonic()
        next_kill = begin
        next_death = begin + self.options.deaths
        next_look = begin
        while (now := time.monotonic()) < begin + self.options.seconds:
            if now >= next_kill:
                job, slot = self.chance.choice(self.mortals())
                job.replace(slot)
                # Delays must not make two kills follow at once.
                next_kill = max(next_kill + self.options.pause,
                                now + self.options.pause / 2)
            if now >= next_death and self.options.deaths > 0:
                self.coordinator_die()
                next_death = time.monotonic() + self.options.deaths
            if now >= next_look:
                self.sample(now - begin)
                self.lists_check()
                next_look = now + LOOK_S
            for job in self.jobs:
                job.look()
            time.sleep(0.005)

    def newcomer_await(self):
        """Wait until a job has admitted a newcomer, which takes long on a busy
        machine."""
        end = time.monotonic() + END_S
        while not any(job.board.line(0)['grown'] for job in self.jobs):
            for job in self.jobs:
                job.look()
            if time.monotonic() > end:
                raise Wrong('no newcomer has ever been taken in')
            time.sleep(0.02)

    def summary(self):
        totals = {field: sum(job.totals[field] for job in self.jobs)
                  for field in FIELDS}
        print(f'{self.options.seconds:.0f} s, {len(self.jobs)} jobs of '
              f'{self.options.size}, seed {self.options.seed}: '
              f'{sum(job.n_killed for job in self.jobs)} killed, '
              f'{sum(job.n_started for job in self.jobs)} came, '
              f'{totals["joined"]} joined, {totals["calls"]} results, '
              f'{totals["wrong"]} wrong, 0 hang; {totals["shrunk"]} shrunk, '
              f'{totals["grown"]} grown, {totals["barren"]} growths in vain, '
              f'{totals["orphaned"]} joined nobody; hoopd died '
              f'{self.n_deaths} times, and told {self.n_told} deaths, each once')
        for job in self.jobs:
            line = job.board.line(0)
            print(f'{job.name}: resident 0 has {line["calls"]} results, shrank '
                  f'{line["shrunk"]} and grew {line["grown"]} times')
        print('memory and descriptors in the beginning, the middle and the end:')
        for watch in self.watches.values():
            print('  ' + watch.text())
        data = os.path.join(self.folder, 'data')
        print('  data on disk: ' + ', '.join(
            f'{name} {os.stat(os.path.join(data, name)).st_blocks // 2} KiB'
            for name in sorted(os.listdir(data))))
        if self.options.flat:
            growing = [watch.name for watch in self.watches.values()
                       if watch.grows()]
            if growing:
                raise Wrong('growing: ' + ', '.join(growing))

    def run(self):
        try:
            self.begin()
            self.churn()
            self.newcomer_await()
            self.members_check()
            for job in self.jobs:
                job.stop()
            self.n_told = self.log_check()
            self.summary()
        finally:
            for job in self.jobs:
                for member in job.members:
                    if member:
                        member.kill()
            self.coordinator.kill()


def options_read():
    parser = argparse.ArgumentParser()
    parser.add_argument('hoopd')
    parser.add_argument('member')
    parser.add_argument('--seconds', type=float, default=3)
    parser.add_argument('--pause', type=float, default=0.05)
    parser.add_argument('--deaths', type=float, default=5,
                        help='between those of hoopd; 0: it lives')
    parser.add_argument('--jobs', type=int, default=4)
    parser.add_argument('--size', type=int, default=6)
    parser.add_argument('--residents', type=int, default=2)
    parser.add_argument('--seed', type=int, default=time.time_ns() % 10 ** 6)
    parser.add_argument('--log', default='error')
    parser.add_argument('--keep', action='store_true',
                        help='leave the logs where they are when it fails')
    options = parser.parse_args()
    options.flat = options.seconds >= 60
    return options


def main():
    options = options_read()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = tempfile.mkdtemp(prefix='churn_run.')
    run = Run(options, folder)
    has_failed = False
    try:
        run.run()
    except (Wrong, OSError) as wrong:
        has_failed = True
        print(f'churn_run.py: --seed {options.seed}: {wrong}')
        if run.coordinator.program:
            print(run.coordinator.program.text()[-2000:])
    if has_failed and options.keep:
        print(f'logs: {folder}')
    else:
        for name, _, files in os.walk(folder, topdown=False):
            for file in files:
                os.unlink(os.path.join(name, file))
            os.rmdir(name)
    return 1 if has_failed else 0


if __name__ == '__main__':
    sys.exit(main())
