#!/usr/bin/env python3
"""bench/selection/report.py - what hoop chose beside the best it could force

report.py FOLDER [all]: reads what run.sh wrote and prints two tables in
Markdown: the worst quotient for each collective and number of ranks, and a row
for each size: what was chosen, its median, the best forced algorithm, its
median, and the quotient. What is
chosen is measured twice, as auto and forced: the mean of the two medians
counts. Without "all", only rows above LIMIT.
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
                if key[2] == 0:
                    continue
                name = row['algorithm'].removeprefix('auto:')
                if name != row['algorithm']:
                    chosen[key] = name
                times = cases.setdefault(key, {})
                times.setdefault(name, []).append(float(row['p50_us']))
    return {key: {name: sum(medians) / len(medians)
                  for name, medians in times.items()}
            for key, times in cases.items()}, chosen


def size_text(n_bytes):
    for unit in ('B', 'KiB', 'MiB'):
        if n_bytes < 1024:
            return f'{n_bytes} {unit}'
        n_bytes //= 1024
    return f'{n_bytes} GiB'



def ratio_of(times, name):
    best = min(times.values())
    return times[name] / best if best > 0 else 1


def print_worst(cases, chosen):
    """A row for each collective: the worst quotient for each number of ranks."""
    sizes = sorted({ranks for _, ranks, _ in cases})
    print('| collective | ' + ' | '.join(f'{n} ranks' for n in sizes) + ' |')
    print('|---' + '|---:' * len(sizes) + '|')
    for op in sorted({op for op, _, _ in cases}):
        cells = []
        for n in sizes:
            worst = max((ratio_of(cases[key], chosen[key]), key[2])
                        for key in cases if key[:2] == (op, n))
            cells.append(f'{worst[0]:.2f} ({size_text(worst[1])})')
        print(f'| {op} | ' + ' | '.join(cells) + ' |')
    print()


def print_rows(cases, chosen, everything):
    print('| collective | ranks | size | chosen | us | best | us | ratio |')
    print('|------------|------:|-----:|--------|---:|------|---:|------:|')
    for key in sorted(cases):
        op, ranks, n_bytes = key
        times, name = cases[key], chosen[key]
        best = min(times, key=times.get)
        ratio = ratio_of(times, name)
        if everything or ratio > LIMIT:
            print(f'| {op} | {ranks} | {size_text(n_bytes)} | {name} | '
                  f'{times[name]:.1f} | {best} | {times[best]:.1f} | '
                  f'{ratio:.2f} |')


def main():
    cases, chosen = rows_of(sys.argv[1])
    print_worst(cases, chosen)
    print_rows(cases, chosen, len(sys.argv) > 2)
    ratios = [ratio_of(cases[key], chosen[key]) for key in cases]
    within = sum(ratio <= LIMIT for ratio in ratios)
    print(f'\n{within} of {len(ratios)} cases within {LIMIT:.2f} of the best, '
          f'worst {max(ratios):.2f}.')


if __name__ == '__main__':
    main()
