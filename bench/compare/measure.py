"""bench/compare/measure.py - runs the cases in turns, keeps what they print

measure.py BUILD RESULTS [--profile short|default] [--rounds N] [--only WORDS]
[--new]: keeps a run in RESULTS/<time>.csv, whose columns are those of
results.py. It can be stopped at any time: if the newest run there is of the
same programs and words, it goes on with that one. A case during which the
processors' state changed, or that was mostly far, is done again, twice at most;
of one that was not watched only what is of one state is kept.
"""

import argparse
import collections
import dataclasses
import datetime
import hashlib
import os
import signal
import subprocess
import sys
import time
from statistics import median

import cases
import journal
import leaving
import programs
import schedules
import traffic
from results import STATELESS, Results

TRIES = {'short': 1, 'default': 3}
STATES = {'quiet': ('near', 'far'), 'busy': ('busy', 'busy-far')}


class Knowledge:
    """What earlier rounds of the run tell of a case of this one."""

    def __init__(self, rows, turn):
        self.turn = turn
        self.results = Results(
            row for row in rows if int(row['round']) < turn)

    def tables(self, case):
        states = STATES.get(case.part, STATES['quiet'])
        return [table for state in states for table in [self.results.table(
            state, case.link, case.ops[0], case.n)] if table]

    def us(self, case, n_bytes):
        variant = case.peer, case.transport
        cell = 0 if case.ops == ('barrier',) else n_bytes
        times = [us for table in self.tables(case)
                 for us in table.by_round(variant, cell).values()]
        return (median(times) if times else
                schedules.guess_us(case.link, case.n, n_bytes, case.slowness))

    def scheduled(self, case, profile):
        """The case with its schedule, or None if it has left everything."""
        if not case.is_comparison():
            return case
        tables = self.tables(case)
        variant = case.peer, case.transport
        sizes = [size for size in case.sizes if not leaving.has_left(
            tables, 0 if case.ops == ('barrier',) else size, variant,
            self.turn)]
        if not sizes:
            return None
        return dataclasses.replace(case, schedule=schedules.schedule(
            sizes, lambda size: self.us(case, size), case.is_crowded(),
            profile))


class Bench:
    def __init__(self, options, book, columns):
        self.build = options.build
        self.profile = options.profile
        self.book = book
        self.columns = columns  # of every row
        self.errors = open(  # noqa: SIM115
            book.path.replace('.csv', '.log'), 'a', encoding='utf-8')
        self.hosts = programs.Hosts(self.errors)
        self.busy = programs.Busy()
        self.watch = None
        self.nearest_ns = float('inf')  # that was not watched

    def say(self, text):
        print(text, file=sys.stderr, flush=True)

    def close(self):
        self.hosts.want(None, 0)
        self.busy.want(False)
        if self.watch:
            self.watch.stop()
        self.errors.close()
        self.book.close()

    def watch_start(self):
        self.watch = programs.Watch(os.path.join(self.build, 'watch'),
                                    self.book.path.replace('.csv', '.nearest'),
                                    self.say)

    def is_watched(self, case):
        """Where a slow wire decides, the state does not."""
        return (self.watch is not None and self.watch.is_running() and
                case.link not in STATELESS)

    def state(self):
        ns = programs.distance_ns(os.path.join(self.build, 'mode'))
        self.nearest_ns = min(self.nearest_ns, ns)
        return ('far' if ns > programs.FAR_FACTOR * self.nearest_ns else
                'near')

    def start(self, case):
        """(rows, outcome)"""
        text, is_well, passed_s, n_passed = programs.start(
            case, self.hosts, self.watch if self.is_watched(case) else None,
            self.errors)
        rows = programs.rows_printed(case, text, passed_s)
        wrong = traffic.complaint(case, rows, n_passed)
        if wrong:
            self.say(f'{case.name()}: {wrong}')
            return [], journal.WRONG
        if not is_well:
            self.say(f'failed, see {self.errors.name}: '
                     f'{" ".join(case.arguments())}')
        return rows, journal.OK if is_well else journal.FAILED

    def measure(self, case, turn, name):
        rows, outcome = (self.rows_watched(case) if self.is_watched(case) else
                         self.rows_unwatched(case))
        for row in rows:
            row.update(self.columns, round=turn)
            if case.part == 'busy':
                row['state'] = 'busy-far' if row['state'] == 'far' else 'busy'
        self.book.close_case(turn, name, rows, outcome, **self.columns,
                             link=case.link, n=case.n, peer=case.peer,
                             transport=case.transport)

    def rows_watched(self, case):
        """One of each operation, size and state: the first of a few tries."""
        rows = {}
        for _ in range(TRIES[self.profile]):
            self.watch.near_await()
            printed, outcome = self.start(case)
            if not self.is_watched(case):
                self.say('the watch has ended')
                return self.rows_unwatched(case)
            for row in printed:
                rows.setdefault((row['op'], row['bytes'], row['state']), row)
            if outcome != journal.OK or is_mostly_near(case, rows):
                break
        return list(rows.values()), outcome

    def rows_unwatched(self, case):
        """Of a program during which the state did not change."""
        for _ in range(TRIES[self.profile]):
            is_stateless = case.link in STATELESS
            before = 'any' if is_stateless else self.state()
            rows, outcome = self.start(case)
            if (outcome != journal.OK or is_stateless or
                    before == self.state()):
                return [{**row, 'state': row['state'] or before}
                        for row in rows], outcome
        self.say(f'dropped, the processors moved: {case.name()}')
        return [], journal.OK

    def turn(self, some, turn):
        """A round of these cases, as far as it was not done before."""
        knowledge = Knowledge(self.book.rows, turn)
        twins = collections.Counter()
        place = None
        for case in some:
            name = case.name()
            twins[name] += 1
            if twins[name] > 1:
                name += f' #{twins[name]}'
            if (self.book.is_done(turn, name) or leaving.has_given_up(
                    self.book.outcomes[name], journal.OK)):
                continue
            case = knowledge.scheduled(case, self.profile)
            if case is None:
                continue
            if case.place() != place:
                place = case.place()
                self.say(f'round {turn} of {case.part}: {case.link}, '
                         f'{case.n} ranks')
                self.hosts.want(*(place if case.link in cases.RATES else
                                  (None, 0)))
            if case.link in cases.RATES and not self.hosts.name:
                self.say(f'no hosts here, see {self.errors.name}')
                continue
            self.busy.want(case.part == 'busy')
            self.measure(case, turn, name)
        self.busy.want(False)


def is_mostly_near(case, rows):
    """Whether half of what it measures has batches of the near state; rows are
    keyed by operation, size and state."""
    return 2 * sum(state == 'near' for *_, state in rows) >= case.n_rows()


def commit():
    return subprocess.run(['git', 'describe', '--always', '--dirty',
                           '--abbrev=7'], capture_output=True, text=True,
                          check=False).stdout.strip() or 'unknown'


def processor():
    with open('/proc/cpuinfo', encoding='utf-8') as file:
        return next((line.split(':', 1)[1].strip() for line in file
                     if line.startswith('model name')), 'unknown')


def digest(build):
    """Of what hoop runs."""
    found = hashlib.sha256()
    for name in ('bench/bench_hoop', 'worker/libhoop.so'):
        with open(os.path.join(build, name), 'rb') as file:
            found.update(file.read())
    return found.hexdigest()


def options_read():
    parser = argparse.ArgumentParser()
    parser.add_argument('build')
    parser.add_argument('results')
    parser.add_argument('--profile', choices=('short', 'default'),
                        default='default')
    parser.add_argument('--rounds', type=int)
    parser.add_argument('--only', default='')
    parser.add_argument('--new', action='store_true')
    return parser.parse_args()


def bench_open(options, words):
    """Of a new run, or of the one that was stopped."""
    identity = {'processor': processor(), 'profile': options.profile, 'words': words,
                'hoop': digest(options.build)}
    os.makedirs(options.results, exist_ok=True)
    path = None if options.new else journal.newest(options.results, identity)
    path = path or os.path.join(
        options.results, datetime.datetime.now().strftime('%Y%m%d-%H%M%S.csv'))
    book = journal.Journal(path, identity)
    started = datetime.datetime.strptime(os.path.basename(path),
                                         '%Y%m%d-%H%M%S.csv')
    first = book.rows[0] if book.rows else {
        'commit': commit(), 'load': f'{os.getloadavg()[0]:.1f}'}
    bench = Bench(options, book, {'run': started.isoformat(),
                                  'commit': first['commit'],
                                  'load': first['load']})
    bench.say(f'{path}: {"goes on" if book.is_continued else "begins"}')
    return bench


def run(bench, plan, words, n_rounds):
    """All parts that the words leave; n_rounds instead of each one's own."""
    for part, n_usual in cases.PARTS.items():
        for turn in range(1, (n_rounds or n_usual) + 1):
            begin = time.monotonic()
            some = [case for case in plan.cases(part, turn)
                    if cases.is_selected(case, words)]
            if some:
                bench.turn(some, turn)
                bench.say(f'round {turn} of {part}: '
                          f'{(time.monotonic() - begin) / 60:.0f} minutes')


def main():
    options = options_read()
    try:
        words = cases.checked(
            sorted({word for word in options.only.split(',') if word}))
    except ValueError as error:
        sys.exit(str(error))
    n_rounds = options.rounds or (1 if options.profile == 'short' else None)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    bench = bench_open(options, words)
    try:
        bench.watch_start()
        run(bench, cases.Plan(options.build, options.profile), words, n_rounds)
    except KeyboardInterrupt:
        sys.exit('stopped: the same command goes on from here')
    finally:
        bench.close()


if __name__ == '__main__':
    main()
