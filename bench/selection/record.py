#!/usr/bin/env python3
"""bench/selection/record.py - what was fastest, for the library to keep

record.py OUT: reads what run.sh wrote and writes worker/select/defaults_rows.c, for
each transport, number of ranks and collective up to which size which algorithm
is to be taken. The rows of a transport that was not measured stay. record.py --judge OUT changes nothing and says how near to the
best such a record is that half of the jobs make, on the other half, beside what
was chosen while measuring.

Neighbouring sizes help each other out, and so does what was chosen before: of
all ways through the sizes the one is taken that loses least in sum, where a
change of the algorithm from one size to the next costs as much as SWITCH of lost
time, and another algorithm than was chosen as much as STAY. So a lucky time
changes nothing. Of 0 to 0.2 for both, these did best on jobs that others had
been left out. What is beyond LIMIT of the best is no luck any more: it costs
BEYOND on top.
"""

import math
import os
import re
import subprocess
import sys

from jobs import LIMIT, cases_of

ROOT = os.path.join(os.path.dirname(__file__), '../..')
TARGET = os.path.join(ROOT, 'worker/select/defaults_rows.c')
KINDS = ('tcp', 'shm', 'direct')
SWITCH = 0.1
STAY = 0.03
BEYOND = 0.5
POINTS = 12  # TABLE_SWITCH_POINTS_MAX

ROW = '    {DEFAULTS_%s, %d, %d, COLLECTIVE_%s, %s, "%s"},'


def losses_of(case, which, stay):
    """{algorithm: what it takes more than the best, as a log, and for not being
    the chosen one}."""
    times = case.times(None if which is None else which(case))
    best = min(times.values())
    n_all = sum(case.chosen.values())
    return {name: math.log(us / best) + BEYOND * (us > LIMIT * best) +
            stay * (1 - case.chosen.get(name, 0) / n_all)
            for name, us in times.items()}


def uneven_of(cases, key):
    """The case of the form with uneven blocks that is next in size, or None."""
    op, ranks, size = key
    sizes = [other[2] for other in cases if other[:2] == (f'{op}v', ranks)]
    if not sizes or not size:
        return None
    near = min(sizes, key=lambda other: abs(other - size))
    return cases[f'{op}v', ranks, near] if near > size / 2 else None


def joint_losses(cases, key, which, stay):
    """Of both forms alike, as one row serves both, but for algorithms that only
    the even one has."""
    losses = losses_of(cases[key], which, stay)
    uneven = uneven_of(cases, key)
    if uneven:
        more = losses_of(uneven, which, stay)
        losses = {name: (loss + more.get(name, loss)) / 2
                  for name, loss in losses.items()}
    return losses


def path_of(losses):
    """An algorithm for each size: the least loss, changes counted."""
    names = sorted(set().union(*losses))
    far = 10
    ways = {name: (losses[0].get(name, far), [name]) for name in names}
    for loss in losses[1:]:
        best = min(ways.values())
        ways = {name: (min(ways[name][0], best[0] + SWITCH)
                       + loss.get(name, far),
                       (ways[name] if ways[name][0] <= best[0] + SWITCH
                        else best)[1] + [name])
                for name in names}
    return min(ways.values())[1]


def records_of(cases, which=None, stay=STAY):
    """(op, ranks) -> [(bytes, algorithm)], of those that are not v-forms."""
    rows = {}
    for op, ranks in sorted({key[:2] for key in cases}):
        if op.endswith('v'):
            continue
        sizes = sorted(key[2] for key in cases if key[:2] == (op, ranks))
        losses = [joint_losses(cases, (op, ranks, size), which, stay)
                  for size in sizes]
        rows[op, ranks] = list(zip(sizes, path_of(losses)))
    return rows


def points_of(row):
    """Up to how many bytes, and what: half way to the next, by quotient."""
    points = []
    for (size, name), (after, other) in zip(row, row[1:]):
        if name != other:
            points.append((str(math.isqrt(size * after)), name))
    return points[:POINTS - 1] + [('UINT64_MAX', row[-1][1])]


def row_texts(kind, n_processors, rows):
    for (op, ranks), row in sorted(rows.items(), key=lambda item: (item[0][1], item[0][0])):
        for up_to, name in points_of(row):
            yield ROW % (kind.upper(), n_processors, ranks, op.upper(), up_to, name)


def processors_of(out):
    with open(os.path.join(out, 'processors'), encoding='utf-8') as file:
        return int(file.read())


def write(out):
    n_processors = processors_of(out)
    with open(TARGET, encoding='utf-8') as file:
        head, rest = re.split(r'(?<=rows\[\] = \{\n)', file.read())
    old, tail = rest.split('};\n', 1)
    texts = []
    for kind in KINDS:
        rows = records_of(cases_of(os.path.join(out, kind)))
        if not rows:
            print(f'{out}/{kind}: nothing was measured: it stays',
                  file=sys.stderr)
            texts += re.findall(r'    {DEFAULTS_%s,[^}]*},' % kind.upper(), old)
        texts += row_texts(kind, n_processors, rows)
    with open(TARGET, 'w', encoding='utf-8') as file:
        file.write(head + '\n'.join(texts) + '\n};\n' + tail)
    subprocess.run(['clang-format', '-i', TARGET], check=True)


def half(first):
    return lambda case: range(first, len(case.jobs), 2)


def judged(cases):
    """How many cases a record of the other half of the jobs has within LIMIT,
    of how many: v-forms and those with one job left out. What was chosen may
    have been made from all of these jobs: it has no part in it."""
    ratios = []
    for found, used in ((0, 1), (1, 0)):
        for (op, ranks), row in records_of(cases, half(found), 0).items():
            for size, name in row:
                case = cases[op, ranks, size]
                ratios.append(case.ratio(name, half(used)(case)))
    return sum(ratio <= LIMIT for ratio in ratios), len(ratios)


def chosen_judged(cases):
    """The same of what was chosen."""
    ratios = [case.chosen_ratio(half(used)(case))
              for used in (0, 1) for key, case in cases.items()
              if not key[0].endswith('v')]
    return sum(ratio <= LIMIT for ratio in ratios), len(ratios)


def judge_texts(cases):
    cases = {key: case for key, case in cases.items() if len(case.jobs) > 1}
    if not cases:
        return
    yield ('a record of every other job, judged by the rest: %d of %d within '
           '%.2f of the best' % (*judged(cases), LIMIT))
    yield ('what was chosen, by each half: %d of %d' % chosen_judged(cases))


def main():
    if sys.argv[1] != '--judge':
        write(sys.argv[1])
        return
    for kind in KINDS:
        for text in judge_texts(cases_of(os.path.join(sys.argv[2], kind))):
            print(f'{kind}: {text}')


if __name__ == '__main__':
    main()
