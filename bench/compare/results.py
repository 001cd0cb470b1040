"""bench/compare/results.py - what measure.py has written, as tables

A table is of one state, link, operation and number of ranks, and comes from one
run, the newest that has measured hoop and another library there: only runs of
one time can be compared. The states near and far say how far apart the
processors were; busy is near, and busy-far is far, beside a busy process.
"""

import collections
import csv
import glob
import os
from statistics import median

import intervals
from rivals import RIVALS

# case is of the row that closes a case: its round, its name.
COLUMNS = ('run', 'commit', 'load', 'round', 'state', 'link', 'peer',
           'transport', 'op', 'n', 'bytes', 'median_us', 'min_us', 'cpu_us',
           'case')
CLOSED = 'done'  # its op
PLAIN = ('tcp', 'shm', 'hooprun')  # hoop with nothing coded
# There the processors' distance decides nothing.
STATELESS = ('startup', '1gbit', '10gbit')

Run = collections.namedtuple('Run', 'name commit load')


class Table:
    """(peer, transport) and bytes to the medians of the rounds."""

    def __init__(self, run):
        self.run = run
        self.times = collections.defaultdict(list)
        self.cpu = collections.defaultdict(list)
        # ... to round to those of it
        self.turns = collections.defaultdict(
            lambda: collections.defaultdict(list))

    def add(self, row):
        key = (row['peer'], row['transport']), int(row['bytes'])
        self.times[key].append(float(row['median_us']))
        self.cpu[key].append(float(row['cpu_us']))
        self.turns[key][int(row['round'])].append(float(row['median_us']))

    def libraries(self):
        return list(dict.fromkeys(library for library, _ in self.times))

    def sizes(self):
        return sorted({n_bytes for _, n_bytes in self.times})

    def time(self, library, n_bytes):
        times = self.times.get((library, n_bytes))
        return median(times) if times else None

    def processor_time(self, library, n_bytes):
        times = self.cpu.get((library, n_bytes))
        return median(times) if times else None

    def n_runs(self, library):
        return max(len(times) for (other, _), times in self.times.items()
                   if other == library)

    def own(self):
        """hoop with nothing coded, or None."""
        return next((library for library in self.libraries()
                     if library[0] == 'hoop' and library[1] in PLAIN), None)

    def hoop(self, n_bytes):
        """Its time."""
        return self.time(self.own(), n_bytes)

    def least(self, n_bytes, peers):
        """(time, library) of the fastest of these peers, or None."""
        return min(((time, library) for library in self.libraries()
                    if (library[0] in peers or library in peers) and
                    (time := self.time(library, n_bytes))), default=None)

    def ratio(self, n_bytes, peers=RIVALS):
        """hoop's time over that of the fastest of the peers, or None."""
        own, best = self.hoop(n_bytes), self.least(n_bytes, peers)
        return own / best[0] if own and best else None

    def by_round(self, library, n_bytes):
        """{round: us}, the median of those of the round."""
        return {turn: median(times) for turn, times in
                self.turns.get((library, n_bytes), {}).items()}

    def ratios(self, n_bytes, peers=RIVALS):
        """{round: hoop's time over that of the best of the peers}, as
        intervals.py has it."""
        return intervals.ratios(
            self.by_round(self.own(), n_bytes),
            {library: self.by_round(library, n_bytes)
             for library in self.libraries() if library[0] in peers})

    def quotients(self, library, base, n_bytes):
        """Its times over those of base, each with the one of the same round,
        the first with the first; none of a round that misses one."""
        others = self.turns.get((base, n_bytes), {})
        return [own / other for turn, times in
                self.turns.get((library, n_bytes), {}).items()
                if len(others.get(turn, ())) == len(times)
                for own, other in zip(times, others[turn])]

    def is_comparison(self):
        peers = {peer for peer, _ in self.libraries()}
        return 'hoop' in peers and bool(peers.intersection(RIVALS))


class Results:
    """Tables by (state, link, op, n), of rows."""

    def __init__(self, rows):
        by_run = {}
        self.rounds = collections.defaultdict(set)
        self.troubles = collections.Counter()  # (case, how it ended)
        for row in rows:
            self.add(by_run, row)
        self.tables = {}
        # Runs are named by their time; the newest that compares comes last.
        for key in sorted(by_run, key=lambda key: key[-1]):
            table, place = by_run[key], key[:-1]
            before = self.tables.get(place)
            if not before or table.is_comparison() or \
                    not before.is_comparison():
                self.tables[place] = table

    def add(self, by_run, row):
        if row['op'] == CLOSED:
            if row['state'] != 'ok':
                name = row['case'].split(' ', 1)[1]
                self.troubles[name, row['state']] += 1
            return
        state = 'any' if row['link'] in STATELESS else row['state']
        run = Run(row['run'], row['commit'], row['load'])
        key = state, row['link'], row['op'], int(row['n']), run.name
        self.rounds[run.name].add(row['round'])
        by_run.setdefault(key, Table(run)).add(row)

    def table(self, *place):
        return self.tables.get(place)

    def runs(self):
        """Those that tables come from, in their order."""
        return sorted({table.run for table in self.tables.values()})


def rows_of(folder):
    """Of all runs in it. The last row may be written at the moment."""
    for path in sorted(glob.glob(os.path.join(folder, '*.csv'))):
        with open(path, encoding='utf-8') as file:
            for row in csv.DictReader(file):
                if None not in row.values():
                    yield row
