#!/usr/bin/env python3
"""bench/selection/report.py - what hoop chose beside the best it could force

report.py FOLDER [all]: reads what run.sh wrote and prints a table in Markdown,
a row for each collective, number of ranks and size: what was chosen, its
median, the best forced algorithm, its median, and the quotient. What is
chosen runs as auto and forced, both measured: the smaller of the two medians
counts, since they are the same thing. Without "all", only rows above LIMIT.
"""

import csv
import glob
import os
import sys

LIMIT = 1.15


def rows_of(folder):
    """(op, ranks, bytes) -> {algorithm: median in us}; auto: its name."""
    cases, chosen = {}, {}
    for path in glob.glob(os.path.join(folder, '*-*.csv')):
        ranks = int(os.path.basename(path).split('-')[0])
        with open(path, encoding='utf-8') as file:
            for row in csv.DictReader(file):
                key = row['op'], ranks, int(row['bytes'])
                name = row['algorithm'].removeprefix('auto:')
                if name != row['algorithm']:
                    chosen[key] = name
                times = cases.setdefault(key, {})
                median = float(row['p50_us'])
                times[name] = min(times.get(name, median), median)
    return cases, chosen


def size_text(n_bytes):
    for unit in ('B', 'KiB', 'MiB'):
        if n_bytes < 1024:
            return f'{n_bytes} {unit}'
        n_bytes //= 1024
    return f'{n_bytes} GiB'


def main():
    cases, chosen = rows_of(sys.argv[1])
    everything = len(sys.argv) > 2
    ratios = []
    print('| collective | ranks | size | chosen | us | best | us | ratio |')
    print('|------------|------:|-----:|--------|---:|------|---:|------:|')
    for key in sorted(cases):
        op, ranks, n_bytes = key
        times, name = cases[key], chosen[key]
        best = min(times, key=times.get)
        ratio = times[name] / times[best] if times[best] > 0 else 1
        ratios.append(ratio)
        if everything or ratio > LIMIT:
            print(f'| {op} | {ranks} | {size_text(n_bytes)} | {name} | '
                  f'{times[name]:.1f} | {best} | {times[best]:.1f} | '
                  f'{ratio:.2f} |')
    within = sum(ratio <= LIMIT for ratio in ratios)
    print(f'\n{within} of {len(ratios)} cases within {LIMIT:.2f} of the best, '
          f'worst {max(ratios):.2f}.')


if __name__ == '__main__':
    main()
