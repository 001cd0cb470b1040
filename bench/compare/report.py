#!/usr/bin/env python3
"""bench/compare/report.py - docs/benchmarks.md out of bench/compare/run.sh's rows

report.py RESULTS.csv LOAD: rows of round,state,peer,transport,op,n,bytes,
median_us,min_us,algbw,busbw; LOAD is the load average before the first run.
Prints the document.
"""

import collections
import csv
import datetime
import itertools
import os
import re
import subprocess
import sys
from statistics import median

NAMES = {
    ('hoop', 'tcp'): 'hoop',
    ('openmpi', 'tcp'): 'Open MPI',
    ('hoop', 'shm'): 'hoop',
    ('openmpi', 'shm'): 'Open MPI',
    ('gloo', 'tcp-ring'): 'Gloo, ring',
    ('gloo', 'tcp-bcube'): 'Gloo, bcube',
    ('gloo', 'tcp-hd'): 'Gloo, halving-doubling',
    ('gloo', 'tcp-hd-busy'): 'Gloo, halving-doubling, busy',
    ('sockets', 'ring-spin'): '(plain sockets, ring, spinning)',
    ('sockets', 'ring-poll'): '(plain sockets, ring, poll)',
    ('sockets', 'doubling-spin'): '(plain sockets, doubling, spinning)',
    ('sockets', 'doubling-poll'): '(plain sockets, doubling, poll)',
}
OPS = ('allreduce', 'allgather', 'reduce_scatter', 'broadcast')
# Outside allreduce one algorithm of Gloo takes part, whose name says nothing.
GLOO = 'Gloo'

HEAD = '''\
# Benchmarks

hoop beside Open MPI and Gloo, on one machine: over its loopback interface, and
through memory that the ranks share. Written by `bench/compare/run.sh`; do not
edit.

    ./bench/compare/run.sh           # about seven minutes
    ./bench/compare/run.sh --long    # fifteen rounds
    ./bench/compare/run.sh --short   # only: does everything run?

It needs root on Debian 12, for packages and network namespaces, and an
otherwise idle machine.

## How to read the tables

- Microseconds for one operation, least is best: the median over rounds of the
  median over batches, where a batch lasts as long as its slowest rank. Size is
  nccl-tests': the larger of a rank's two buffers. Elements are f32, reductions
  sums. Every program checks its first result.
- All programs run the same loop (`bench/peers/driver.h`), in turns, each in a
  fresh network namespace with a loopback interface and cubic congestion
  control. Who has several transports is told which to take: **TCP**, or
  **memory** (Open MPI's vader), which Gloo has not.
- **hoop / best** is hoop's time over that of the fastest other library at that
  size: below 1 hoop is faster.
- Gloo's busy mode stops at 16M: both sides write before they read, and more
  does not fit the sockets' buffers.
- Plain sockets are no library: a hand-written allreduce without headers,
  matching or failures (`bench/peers/ideal.c`). They show what is left to gain.
- **near** and **far** are states of the machine. Where a hypervisor moves
  virtual processors, a cache line's round trip between them changes by a factor
  (`bench/peers/mode.c`; near is up to 300 ns), and every transport with it.
  Runs of different states are not comparable and stand in different tables; a
  run during which the state changed is dropped.
- Even in one state runs differ: a quarter between the highest and the lowest is
  usual. Differences below 15 % are no findings.
'''


def output(*command):
    """What a command says, or an empty text."""
    try:
        return subprocess.run(command, capture_output=True, text=True,
                              check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ''


def processor():
    with open('/proc/cpuinfo', encoding='utf-8') as file:
        found = re.search(r'^model name\s*:\s*(.*)$', file.read(), re.M)
    return found.group(1) if found else 'unknown'


def memory_gib():
    with open('/proc/meminfo', encoding='utf-8') as file:
        return int(re.search(r'MemTotal:\s*(\d+)', file.read()).group(1)) >> 20


def version(package):
    return output('dpkg-query', '-W', '-f', '${Version}', package) or 'none'


def machine(n_rounds, load):
    yield '## Machine\n'
    yield '| | |'
    yield '|---|---|'
    yield f'| date | {datetime.date.today().isoformat()}, {n_rounds} round{"s" * (n_rounds > 1)} |'
    yield (f'| processors | {os.cpu_count()} x {processor()}'
           f'{", virtual" if output("systemd-detect-virt") != "none" else ""} |')
    yield f'| load before (1 and 5 minutes) | {load} |'
    yield f'| memory | {memory_gib()} GiB |'
    yield f'| kernel | {os.uname().release} |'
    yield f'| hoop | {output("git", "describe", "--always", "--dirty")} |'
    yield f'| Open MPI | {version("openmpi-bin")} |'
    yield f'| Gloo | {version("libgloo-dev")} |'
    yield f'| compiler | gcc {output("gcc", "-dumpfullversion")} |'


def size_text(n_bytes):
    if n_bytes >= 1 << 20:
        return f'{n_bytes >> 20}M'
    return f'{n_bytes >> 10}K' if n_bytes >= 1 << 10 else str(n_bytes)


def time_text(time_us):
    if time_us is None:
        return ''
    return f'{time_us:.0f}' if time_us >= 100 else f'{time_us:.3g}'


def medium(library):
    return 'memory' if library[1] == 'shm' else 'TCP'


class Results:
    """(state, op, n, medium, library, bytes) to the medians of the rounds."""

    def __init__(self, path):
        self.times = collections.defaultdict(list)
        self.rounds = set()
        with open(path, encoding='utf-8') as file:
            for row in csv.reader(file):
                library = (row[2], row[3])
                key = (row[1], row[4], int(row[5]), medium(library), library,
                       int(row[6]))
                self.times[key].append(float(row[7]))
                self.rounds.add(row[0])

    def time(self, *key):
        return median(self.times[key]) if key in self.times else None

    def libraries(self, *table):
        found = {key[4] for key in self.times if key[:4] == table}
        return [library for library in NAMES if library in found]

    def sizes(self, *table):
        return sorted({key[5] for key in self.times if key[:4] == table})

    def n_runs(self, *table_and_library):
        return max(len(times) for key, times in self.times.items()
                   if key[:5] == table_and_library)


def ratio_texts(results, table, sizes):
    rivals = [library for library in results.libraries(*table)
              if library[0] in ('openmpi', 'gloo')]
    own_library = next(library for library in NAMES if library[0] == 'hoop'
                       and medium(library) == table[3])
    for n_bytes in sizes:
        own = results.time(*table, own_library, n_bytes)
        best = min((time for rival in rivals if
                    (time := results.time(*table, rival, n_bytes))),
                   default=None)
        yield f'**{own / best:.2f}**' if own and best else ''


def table_lines(results, table):
    state, op, n, way = table
    sizes = results.sizes(*table)
    yield (f'| {op}, {way}, {n} ranks, {state} | runs | ' +
           ' | '.join(map(size_text, sizes)) + ' |')
    yield '|---|---:|' + '---:|' * len(sizes)
    for library in results.libraries(*table):
        name = NAMES[library]
        if op != 'allreduce' and library[0] == 'gloo':
            name = GLOO
        cells = [time_text(results.time(*table, library, n_bytes))
                 for n_bytes in sizes]
        yield (f'| {name} | {results.n_runs(*table, library)} | ' +
               ' | '.join(cells) + ' |')
    yield ('| **hoop / best** | | ' +
           ' | '.join(ratio_texts(results, table, sizes)) + ' |')
    yield ''


def document(results, load):
    yield HEAD
    yield from machine(len(results.rounds), load)
    for op in OPS:
        yield f'\n## {op}\n'
        tables = itertools.product(('TCP', 'memory'), (2, 4), ('near', 'far'))
        for way, n, state in tables:
            if results.sizes(state, op, n, way):
                yield from table_lines(results, (state, op, n, way))


def main():
    text = '\n'.join(document(Results(sys.argv[1]), sys.argv[2]))
    print(re.sub(r'\n{3,}', '\n\n', text).rstrip('\n'))


if __name__ == '__main__':
    main()
