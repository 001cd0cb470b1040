#!/usr/bin/env python3
"""bench/selection/report.py - what hoop chose beside the best it could force

report.py FOLDER [all] [near|far]: reads what run.sh wrote and prints two tables
in Markdown: the worst quotient for each collective and number of ranks, and a
row for each size: what was chosen, its time, the best forced algorithm, its
time, and the quotient. A time is the median over the jobs of their medians; the
chosen one is measured twice in each job, as auto and forced, and the mean of
the two counts. Without "all", only rows above LIMIT. With "near" or "far", only
jobs during which the processors were that (FOLDER/states).

The best of several noisy times is partly the luckiest. So a second quotient,
"apart", takes the best by every other job and compares its time with that of
the chosen one on the rest; then the other way round, and the mean. And "at least"
is what chosen over best is beyond in 95 of 100 draws of as many jobs from these
jobs: where it is above LIMIT, it is not the luck of the jobs. "At most" is what
it is not beyond in as many draws: between the two, more jobs would have to tell.

On one node two names may stand for one plan: they count as one, with the mean
of their times.
"""

import csv
import glob
import math
import os
import random
import statistics
import sys

LIMIT = 1.15
CHOSEN = 'chosen'
DRAWS = 400
JOBS_MIN = 4  # fewer say nothing about luck
TWINS = {(op, name): plan
         for op in ('broadcast', 'reduce')
         for name, plan in (('hierarchical', 'chain'),
                            ('hierarchical_tree', 'binomial'))}


def job_of(path):
    """(op, bytes) -> {algorithm: [medians in us]}, and what was chosen."""
    cases, chosen = {}, {}
    with open(path, encoding='utf-8') as file:
        for row in csv.DictReader(file):
            key = row['op'], int(row['bytes'])
            if key[1] == 0 and key[0] != 'barrier':
                continue
            name = row['algorithm'].removeprefix('auto:')
            is_auto = name != row['algorithm']
            name = TWINS.get((key[0], name), name)
            if is_auto:
                chosen[key] = name
            times = cases.setdefault(key, {})
            times.setdefault(name, []).append(float(row['p50_us']))
    return cases, chosen


def states_of(folder):
    """File name -> near, far or mixed."""
    path = os.path.join(folder, 'states')
    if not os.path.exists(path):
        return {}
    with open(path, encoding='utf-8') as file:
        return dict(line.split() for line in file)


def rows_of(folder, wanted):
    """(op, ranks, bytes) -> {algorithm: [us of each job]}; and names of those
    that were chosen. Of one state of the processors, or wanted is None.

    Jobs may have chosen differently: the chosen one stands as CHOSEN.
    """
    cases, names, states = {}, {}, states_of(folder)
    for path in sorted(glob.glob(os.path.join(folder, '*-*.csv'))):
        if wanted and states.get(os.path.basename(path)) != wanted:
            continue
        ranks = int(os.path.basename(path).split('-')[0])
        job, chosen = job_of(path)
        for (op, n_bytes), times in job.items():
            key = op, ranks, n_bytes
            here = cases.setdefault(key, {})
            for name, medians in times.items():
                here.setdefault(name, []).append(statistics.mean(medians))
            name = chosen[op, n_bytes]
            here.setdefault(CHOSEN, []).append(here[name][-1])
            names.setdefault(key, set()).add(name)
    return cases, names


def medians_of(jobs, first=0, step=1):
    """{algorithm: us}, over all jobs or every other one."""
    return {name: statistics.median(times[first::step])
            for name, times in jobs.items()}


def apart_of(jobs):
    """Chosen over best, the best having been found on other jobs."""
    halves = [medians_of(jobs, first, 2) for first in (0, 1)]
    quotients = []
    for found, used in (halves, halves[::-1]):
        best = min(found, key=found.get)
        quotients.append(used[CHOSEN] / used[best] if used[best] > 0 else 1)
    return statistics.mean(quotients)


def bounds_of(jobs):
    """What chosen over best is not below, and not above, but in 5 of 100 draws
    of the jobs."""
    times = medians_of(jobs)
    best = jobs[min(times, key=times.get)]
    n_jobs = len(jobs[CHOSEN])
    draw = random.Random(n_jobs)
    quotients = []
    for _ in range(DRAWS if len(best) == n_jobs >= JOBS_MIN else 0):
        drawn = [draw.randrange(n_jobs) for _ in range(n_jobs)]
        quotients.append(statistics.median(jobs[CHOSEN][i] for i in drawn) /
                         statistics.median(best[i] for i in drawn))
    if not quotients:
        return 0, math.inf
    quotients.sort()
    return quotients[DRAWS // 20], quotients[-1 - DRAWS // 20]


def size_text(n_bytes):
    for unit in ('B', 'KiB', 'MiB'):
        if n_bytes < 1024:
            return f'{n_bytes} {unit}'
        n_bytes //= 1024
    return f'{n_bytes} GiB'


def ratio_of(times):
    best = min(times.values())
    return times[CHOSEN] / best if best > 0 else 1


def print_worst(cases):
    """A row for each collective: the worst quotient for each number of ranks."""
    sizes = sorted({ranks for _, ranks, _ in cases})
    print('| collective | ' + ' | '.join(f'{n} ranks' for n in sizes) + ' |')
    print('|---' + '|---:' * len(sizes) + '|')
    for op in sorted({op for op, _, _ in cases}):
        cells = []
        for n in sizes:
            worst = max(((ratio_of(cases[key]), key[2])
                         for key in cases if key[:2] == (op, n)), default=None)
            cells.append(f'{worst[0]:.2f} ({size_text(worst[1])})'
                         if worst else '')
        print(f'| {op} | ' + ' | '.join(cells) + ' |')
    print()


def print_rows(cases, chosen, apart, bounds, everything):
    print('| collective | ranks | size | chosen | us | best | us | ratio | '
          'apart | at least | at most |')
    print('|------------|------:|-----:|--------|---:|------|---:|------:|'
          '------:|---------:|--------:|')
    for key in sorted(cases):
        op, ranks, n_bytes = key
        times, name = cases[key], ' or '.join(sorted(chosen[key]))
        best = min(times, key=times.get)
        ratio = ratio_of(times)
        if everything or ratio > LIMIT:
            least, most = bounds[key]
            print(f'| {op} | {ranks} | {size_text(n_bytes)} | {name} | '
                  f'{times[CHOSEN]:.1f} | {best} | {times[best]:.1f} | '
                  f'{ratio:.2f} | {apart[key]:.2f} | {least:.2f} | '
                  f'{most:.2f} |')


def print_sum(ratios, how):
    within = sum(ratio <= LIMIT for ratio in ratios)
    print(f'{within} of {len(ratios)} cases within {LIMIT:.2f} of the best, '
          f'worst {max(ratios):.2f}{how}.')


def print_sure(bounds):
    n_beyond = sum(least > LIMIT for least, _ in bounds)
    n_within = sum(most <= LIMIT for _, most in bounds)
    print(f'{n_beyond} cases beyond it in 95 of 100 draws of the jobs, '
          f'{n_within} within it; '
          f'{len(bounds) - n_beyond - n_within} that these jobs cannot tell.')


def print_jobs(folder, jobs):
    counts = sorted(len(times[CHOSEN]) for times in jobs.values())
    states = list(states_of(folder).values())
    print(f'{counts[0]} to {counts[-1]} jobs for each case; of all runs '
          f'{states.count("near")} with processors near to each other, '
          f'{states.count("far")} far, {states.count("mixed")} both.')


def main():
    folder, words = sys.argv[1], sys.argv[2:]
    wanted = next((word for word in words if word in ('near', 'far')), None)
    jobs, chosen = rows_of(folder, wanted)
    if not jobs:
        sys.exit(f'{folder}: nothing was measured')
    cases = {key: medians_of(times) for key, times in jobs.items()}
    apart = {key: apart_of(times) if len(times[CHOSEN]) > 1 else 1
             for key, times in jobs.items()}
    bounds = {key: bounds_of(times) for key, times in jobs.items()}
    print_worst(cases)
    print_rows(cases, chosen, apart, bounds, 'all' in words)
    print()
    print_jobs(folder, jobs)
    print_sum([ratio_of(times) for times in cases.values()], '')
    print_sum(list(apart.values()), ', the best found on other jobs')
    print_sure(list(bounds.values()))


if __name__ == '__main__':
    main()
