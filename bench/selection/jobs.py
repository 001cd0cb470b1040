"""bench/selection/jobs.py - what run.sh measured: times by case, and choices

A case is (collective, ranks, bytes). A job's times of one case were taken in
turns and compare with each other; those of two jobs do not, as the processors
may be near to each other in one and far in the other. So an algorithm's time is
the median over the jobs of its quotient to all others of the same job, times
what a job takes in the middle.

On one node two names may stand for one plan: they count as one.
"""

import csv
import glob
import math
import os
import random
import statistics

LIMIT = 1.15
DRAWS = 100
JOBS_MIN = 4  # fewer say nothing about luck
TWINS = {(op, name): plan
         for op in ('broadcast', 'reduce')
         for name, plan in (('hierarchical', 'chain'),
                            ('hierarchical_tree', 'binomial'))}


def name_of(op, algorithm):
    return TWINS.get((op, algorithm), algorithm)


def states_of(folder):
    """File name -> near, far or mixed."""
    path = os.path.join(folder, 'states')
    if not os.path.exists(path):
        return {}
    with open(path, encoding='utf-8') as file:
        return dict(line.split() for line in file)


class Case:
    """Algorithms in turns, in several jobs."""

    def __init__(self):
        self.jobs = []    # {algorithm: us}
        self.chosen = {}  # algorithm: in how many jobs

    def times(self, which=None):
        """{algorithm: us}, by these jobs; None: by all."""
        jobs = self.jobs if which is None else [self.jobs[i] for i in which]
        names = set.intersection(*(set(job) for job in jobs))
        means = [statistics.mean(math.log(job[name]) for name in names)
                 for job in jobs]
        middle = statistics.median(means)
        return {name: math.exp(middle + statistics.median(
                    math.log(job[name]) - mean
                    for job, mean in zip(jobs, means)))
                for name in names}

    def ratio(self, name, which=None):
        """Of name's time and the best."""
        times = self.times(which)
        return times[name] / min(times.values()) if name in times else math.inf

    def chosen_ratio(self, which=None):
        """Jobs may have chosen differently: their mean."""
        n_all = sum(self.chosen.values())
        return sum(self.ratio(name, which) * n
                   for name, n in self.chosen.items()) / n_all

    def apart(self):
        """Chosen over best, the best having been found on other jobs."""
        halves = [range(first, len(self.jobs), 2) for first in (0, 1)]
        if not halves[1]:
            return 1
        quotients = []
        for found, used in (halves, halves[::-1]):
            times = self.times(found)
            best = min(times, key=times.get)
            quotients.append(self.chosen_ratio(used) / self.ratio(best, used))
        return statistics.mean(quotients)

    def bounds(self):
        """What chosen over best is not below, and not above, but in 5 of 100
        draws of the jobs."""
        n_jobs = len(self.jobs)
        if n_jobs < JOBS_MIN:
            return 0, math.inf
        draw = random.Random(n_jobs)
        times = self.times()
        best = min(times, key=times.get)
        quotients = sorted(
            self.chosen_ratio(which) / self.ratio(best, which)
            for which in ([draw.randrange(n_jobs) for _ in range(n_jobs)]
                          for _ in range(DRAWS)))
        return quotients[DRAWS // 20], quotients[-1 - DRAWS // 20]


def _times_read(path, ranks, cases):
    jobs = {}
    with open(path, encoding='utf-8') as file:
        for row in csv.DictReader(file):
            if row['algorithm'].startswith('auto') or float(row['p50_us']) <= 0:
                continue
            key = row['op'], ranks, int(row['bytes'])
            if key[2] == 0 and key[0] != 'barrier':
                continue
            name = name_of(key[0], row['algorithm'])
            jobs.setdefault(key, {}).setdefault(name, []).append(
                float(row['p50_us']))
    for key, times in jobs.items():
        cases.setdefault(key, Case()).jobs.append(
            {name: statistics.mean(us) for name, us in times.items()})


def _chosen_read(path, ranks, cases):
    with open(path, encoding='utf-8') as file:
        for line in file:
            words = line.split()
            if line.startswith('#') or len(words) < 3:
                continue
            case = cases.get((words[0], ranks, int(words[1])))
            if case:
                name = name_of(words[0], words[2])
                case.chosen[name] = case.chosen.get(name, 0) + 1


def _ranks_of(path):
    return int(os.path.basename(path).split('-')[0])


def cases_of(folder, wanted=None):
    """(op, ranks, bytes) -> Case, where there was a choice. wanted: of one state
    of the processors alone."""
    cases, states = {}, states_of(folder)
    for path in sorted(glob.glob(os.path.join(folder, '*-*.csv'))):
        if not wanted or states.get(os.path.basename(path)) == wanted:
            _times_read(path, _ranks_of(path), cases)
    for path in sorted(glob.glob(os.path.join(folder, '*.chosen'))):
        _chosen_read(path, _ranks_of(path), cases)
    return {key: case for key, case in cases.items()
            if case.chosen and len(case.times()) > 1}


def size_text(n_bytes):
    for unit in ('B', 'KiB', 'MiB'):
        if n_bytes < 1024:
            return f'{n_bytes} {unit}'
        n_bytes //= 1024
    return f'{n_bytes} GiB'
