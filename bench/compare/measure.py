#!/usr/bin/env python3
"""bench/compare/measure.py - runs the cases in turns, keeps what they print

measure.py BUILD RESULTS [--profile short|default|long] [--rounds N]
[--only WORDS]: appends to a new file RESULTS/<time>.csv, whose columns are those
of results.py. Every row is labelled with how far apart the processors were:
bench/peers/watch.c says it for each batch, to the programs themselves. Where it
may not, they are asked before and after a case (bench/peers/mode.c). A case in
which that changed, or that was mostly far, is done again, twice at most; of one
that was not watched only what is of one state is kept.
"""

import argparse
import csv
import datetime
import os
import signal
import subprocess
import sys
import tempfile
import time

import cases
from results import COLUMNS, STATELESS

FAR_NS = 300
WATCH_NEAR = b'\1'  # bench/peers/watch.h, on little-endian machines
PATIENCE_S = 2
TRIES = 3
N_CELLS = 11  # of a row that bench/peers/schedule.h reports
ROUNDS = {'short': 1, 'default': 3, 'long': 10}


class Bench:
    def __init__(self, options):
        self.build = options.build
        started = datetime.datetime.now().replace(microsecond=0)
        path = os.path.join(options.results,
                            started.strftime('%Y%m%d-%H%M%S.csv'))
        os.makedirs(options.results, exist_ok=True)
        self.errors = open(path.replace('.csv', '.log'), 'w', encoding='utf-8')
        self.file = open(path, 'w', encoding='utf-8', newline='')
        self.rows = csv.DictWriter(self.file, COLUMNS)
        self.rows.writeheader()
        self.hosts = None
        self.watcher, self.watch = None, None
        self.run = {'run': started.isoformat(), 'commit': commit(),
                    'load': '%.1f' % os.getloadavg()[0]}

    def say(self, text):
        print(text, file=sys.stderr, flush=True)

    def watch_start(self):
        """Whoever may not watch says why, and ends at once."""
        file, self.watch = tempfile.mkstemp(prefix='watch.')
        os.close(file)
        self.watcher = subprocess.Popen(
            [os.path.join(self.build, 'watch'), self.watch, str(FAR_NS)],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            why = self.watcher.communicate(timeout=1)[1].strip()
            self.say(f'states are looked at before and after cases: {why}')
            self.watch_stop()
        except subprocess.TimeoutExpired:
            pass

    def near_await(self):
        """For a while: comparisons are made of that state."""
        deadline = time.monotonic() + PATIENCE_S
        while self.watcher and time.monotonic() < deadline:
            with open(self.watch, 'rb') as file:
                if file.read(1) == WATCH_NEAR:
                    break
            time.sleep(0.01)

    def watch_stop(self):
        if self.watcher:
            self.watcher.kill()
            self.watcher.wait()
            os.unlink(self.watch)
            self.watcher = None

    def is_watched(self, case):
        """Where time slices or a slow wire decide, the state does not."""
        return (self.watcher is not None and self.watcher.poll() is None and
                not case.is_rare and case.link not in STATELESS)

    def state(self):
        name = os.path.join(self.build, 'mode')
        ns = float(subprocess.run([name], check=True, capture_output=True,
                                  text=True).stdout)
        return 'far' if ns > FAR_NS else 'near'

    def command(self, case):
        """The whole command; the network it runs in."""
        if case.link in cases.RATES:
            return case.arguments()
        return ['bench/peers/in_ns.sh', 'cubic', *case.arguments()]

    def start(self, case):
        """What the case prints, and the seconds it took; None if it failed."""
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(('HOOP_', 'BENCH_'))}
        environment.update(
            case.environment, OMPI_ALLOW_RUN_AS_ROOT='1',
            OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1', OMP_NUM_THREADS='1',
            STARTED_US=str(time.monotonic_ns() / 1000))
        if case.link in cases.RATES:
            environment['HOSTS'] = self.hosts
        if self.is_watched(case):
            environment['BENCH_WATCH'] = self.watch
        begin = time.monotonic()
        program = subprocess.Popen(
            self.command(case), env=environment, text=True,
            stdout=subprocess.PIPE, stderr=self.errors,
            stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            text = program.communicate(timeout=case.seconds)[0]
        except subprocess.TimeoutExpired:
            text = None
        finally:
            end_group(program)
        passed = time.monotonic() - begin
        if text is None or program.returncode != 0:
            self.say(f'failed, see {self.errors.name}: '
                     f'{" ".join(case.arguments())}')
            return None
        return text, passed

    def measure(self, case, turn):
        if self.is_watched(case):
            rows = self.rows_watched(case, turn)
        else:
            rows = self.rows_unwatched(case, turn)
        self.rows.writerows(rows)
        self.file.flush()

    def rows_watched(self, case, turn):
        """One of each operation, size and state: the first of a few tries."""
        rows = {}
        for _ in range(TRIES):
            self.near_await()
            printed = self.start(case)
            if printed is None:
                break
            if not self.is_watched(case):
                self.say('the watch has ended')
                return self.rows_unwatched(case, turn)
            for row in self.rows_of(case, turn, None, *printed):
                rows.setdefault((row['op'], row['bytes'], row['state']), row)
            if is_mostly_near(case, rows):
                break
        else:
            self.say(f'mostly far: {case.name()}')
        return rows.values()

    def rows_unwatched(self, case, turn):
        """Of a program during which the state did not change."""
        for _ in range(TRIES):
            before = self.state()
            printed = self.start(case)
            if printed is None:
                return []
            # Where time slices or a slow wire decide, the state does not.
            is_slow = case.is_rare or case.link in STATELESS
            if is_slow or before == self.state():
                return self.rows_of(case, turn, before, *printed)
        self.say(f'dropped, the processors moved: {case.name()}')
        return []

    def rows_of(self, case, turn, state, text, passed_s):
        """What it printed; of the state, unless it says which."""
        rows = []
        for line in text.splitlines():
            cells = line.split(',')
            if len(cells) != N_CELLS or cells[0] != case.peer:
                continue
            row = dict(zip(('peer', 'transport', 'op', 'n', 'bytes',
                            'median_us', 'min_us'), cells), cpu_us=cells[9],
                       round=turn, state=cells[10] or state, link=case.link,
                       **self.run)
            rows.append(row)
            if row['op'] == 'startup':
                us = f'{passed_s * 1e6:.0f}'
                rows.append({**row, 'op': 'whole', 'median_us': us,
                             'min_us': us})
        return rows

    def hosts_set(self, link, n):
        """The hosts for these cases: none, when link is None."""
        if self.hosts:
            subprocess.run(['bench/peers/hosts.sh', 'down', self.hosts],
                           check=False)
            self.hosts = None
        if link:
            self.hosts = f'bench{os.getpid()}'
            made = subprocess.run(
                ['bench/peers/hosts.sh', 'up', self.hosts, str(n), link,
                 'cubic'], stderr=self.errors, check=False)
            if made.returncode != 0:
                self.say(f'no hosts here, see {self.errors.name}')
                self.hosts_set(None, 0)

    def turn(self, all_cases, turn):
        place = None
        for case in all_cases:
            is_rated = case.link in cases.RATES
            if (case.link, case.n) != place:
                place = case.link, case.n
                self.say(f'round {turn}: {case.link}, {case.n} ranks')
                self.hosts_set(*(place if is_rated else (None, 0)))
            if is_rated and not self.hosts:
                continue
            for _ in range(2 if case.link == 'startup' else 1):
                self.measure(case, turn)


def is_mostly_near(case, rows):
    """Whether half of what it measures has batches of the near state; rows are
    keyed by operation, size and state."""
    return 2 * sum(state == 'near' for *_, state in rows) >= case.n_rows()


def end_group(program):
    """What a launcher has left behind, and itself, after a time-out."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(program.pid, number)
            program.wait(3)
        except ProcessLookupError:
            break
        except subprocess.TimeoutExpired:
            pass
    program.wait()


def commit():
    return subprocess.run(['git', 'describe', '--always', '--dirty',
                           '--abbrev=7'], capture_output=True, text=True,
                          check=False).stdout.strip() or 'unknown'


def options_read():
    parser = argparse.ArgumentParser()
    parser.add_argument('build')
    parser.add_argument('results')
    parser.add_argument('--profile', choices=ROUNDS, default='default')
    parser.add_argument('--rounds', type=int)
    parser.add_argument('--only', default='')
    return parser.parse_args()


def main():
    options = options_read()
    plan = cases.Plan(options.build, options.profile)
    words = [word for word in options.only.split(',') if word]
    try:
        chosen = list(cases.selected(plan.cases(), words))
    except ValueError as error:
        sys.exit(str(error))
    later = chosen if options.profile == 'long' else [
        left for case in chosen if (left := case.later())]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    bench = Bench(options)
    try:
        bench.watch_start()
        for turn in range(1, (options.rounds or ROUNDS[options.profile]) + 1):
            bench.turn(chosen if turn == 1 else later, turn)
    finally:
        bench.hosts_set(None, 0)
        bench.watch_stop()


if __name__ == '__main__':
    main()
