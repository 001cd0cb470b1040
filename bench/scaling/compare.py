#!/usr/bin/env python3
"""bench/scaling/compare.py - what hoop-sim predicts beside what was measured

compare.py BUILD: reads BUILD/scaling.csv (bench/scaling/measure.sh), describes
this machine to BUILD/tools/hoop-sim/hoop-sim by six numbers that fit two
algorithms of allreduce on 2 and 8 ranks best, and writes into docs/scaling.md:
those numbers, then for each operation, number of ranks and size which algorithm
was the fastest and which one was predicted, and what was predicted for it.
"""

import collections
import csv
import math
import os
import subprocess
import sys
from statistics import median

import page

FITTED = {'allreduce': ('ring', 'recursive_doubling')}
FITTED_RANKS = (2, 8)
# Where the search begins: us, us, GB/s, GB/s, GB/s.
START = {'overhead': 2.0, 'latency-inside': 2.0, 'send': 8.0, 'receive': 8.0,
         'reduce': 20.0, 'wait': 4.0}
FIXED = {'copy': 10.0}
OPS = ('allreduce', 'reduce', 'broadcast', 'allgather', 'reduce_scatter',
       'gather', 'scatter', 'alltoall', 'scan', 'exscan', 'barrier')


def read(path):
    """{(op, ranks, bytes, algorithm): us}, the medians of the state that more
    rows have, and that state."""
    with open(path, newline='') as file:
        rows = list(csv.DictReader(file))
    states = collections.Counter(row['state'] for row in rows)
    state = states.most_common(1)[0][0]
    times = collections.defaultdict(list)
    for row in rows:
        # "auto:..." is what hoop takes, once more.
        if row['state'] == state and ':' not in row['algorithm']:
            key = (row['op'], int(row['ranks']), int(row['bytes']),
                   row['algorithm'])
            times[key].append(float(row['p50_us']))
    return {key: median(value) for key, value in times.items()}, state


def predict(program, machine, op, ranks, sizes):
    """{(op, ranks, bytes, algorithm): us} on one host."""
    command = [program, '--op', op, '--ranks', str(ranks), '--per-host',
               str(ranks), '--processors', str(os.cpu_count()), '--sizes',
               ','.join(str(max(size, 1)) for size in sizes), '--csv', '-']
    for name, value in {**machine, **FIXED}.items():
        command += ['--' + name, repr(value)]
    text = subprocess.run(command, check=True, capture_output=True,
                          text=True).stdout
    return {(row['op'], ranks, int(row['bytes']), row['algorithm']):
            float(row['time_us']) for row in csv.DictReader(text.splitlines())}


def predict_all(program, machine, measured, ops, all_ranks):
    found = {}
    for op in ops:
        for ranks in all_ranks:
            sizes = sorted({key[2] for key in measured
                            if key[0] == op and key[1] == ranks})
            if sizes:
                found.update(predict(program, machine, op, ranks, sizes))
    return found


def error(program, machine, measured):
    predicted = predict_all(program, machine, measured, FITTED, FITTED_RANKS)
    logs = [math.log(predicted[key] / us) for key, us in measured.items()
            if key in predicted and key[3] in FITTED[key[0]]]
    return sum(log * log for log in logs) / len(logs)


def fit(program, measured):
    """One number at a time, in ever smaller steps."""
    machine = dict(START)
    best = error(program, machine, measured)
    step = 2.0
    while step > 1.03:
        moved = False
        for name in machine:
            for factor in (step, 1 / step):
                other = {**machine, name: machine[name] * factor}
                value = error(program, other, measured)
                if value < best:
                    machine, best, moved = other, value, True
        if not moved:
            step = math.sqrt(step)
    return {name: float(f'{value:.3g}') for name, value in machine.items()}


def size_text(n_bytes):
    for unit in ('', 'K', 'M'):
        if n_bytes < 1024 or n_bytes % 1024:
            return f'{n_bytes}{unit}'
        n_bytes //= 1024
    return f'{n_bytes}G'


def group(times):
    """{(op, ranks, bytes): {algorithm: us}}"""
    groups = collections.defaultdict(dict)
    for (op, ranks, n_bytes, algorithm), us in times.items():
        groups[op, ranks, n_bytes][algorithm] = us
    return groups


def table(measured, predicted):
    """Lines, and for each case how much slower the predicted one is."""
    lines = ['| op | ranks | bytes | fastest measured | us | predicted fastest '
             '| us predicted | us measured | slower by |',
             '|---|--:|--:|---|--:|---|--:|--:|--:|']
    losses = []
    forecasts = group(predicted)
    order = {op: i for i, op in enumerate(OPS)}
    for key, times in sorted(group(measured).items(),
                             key=lambda item: (order[item[0][0]], item[0])):
        forecast = {name: us for name, us in forecasts.get(key, {}).items()
                    if name in times}
        # Those for several nodes are forced here, too, and pointless.
        times = {name: us for name, us in times.items() if name in forecast}
        if not times:
            continue
        fastest = min(times, key=times.get)
        chosen = min(forecast, key=forecast.get)
        loss = times[chosen] / times[fastest] - 1
        losses.append(loss)
        lines.append(
            f'| {key[0]} | {key[1]} | {size_text(key[2])} | {fastest} | '
            f'{times[fastest]:.1f} | {chosen} | {forecast[chosen]:.1f} | '
            f'{times[chosen]:.1f} | {loss * 100:.0f} % |')
    return lines, losses


def summary(measured, predicted, losses):
    ratios = collections.defaultdict(list)
    for key, us in measured.items():
        if key in predicted and us > 0:
            ratios[key[1]].append(predicted[key] / us)
    lines = ['| ranks | cases | predicted over measured: median | within 1.5 '
             'times | within 2 times |', '|--:|--:|--:|--:|--:|']
    for ranks, values in sorted(ratios.items()):
        within = [sum(1 / limit <= value <= limit for value in values) /
                  len(values) * 100 for limit in (1.5, 2)]
        lines.append(f'| {ranks} | {len(values)} | {median(values):.2f} | '
                     f'{within[0]:.0f} % | {within[1]:.0f} % |')
    close = sum(loss <= 0.15 for loss in losses)
    return [*lines, '',
            'The algorithm that was predicted to be the fastest is within 15 % '
            f'of the fastest in {close} of {len(losses)} cases.']


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = os.path.join(sys.argv[1], 'tools/hoop-sim/hoop-sim')
    measured, state = read(os.path.join(sys.argv[1], 'scaling.csv'))
    machine = fit(program, measured)
    predicted = predict_all(program, machine, measured, OPS,
                            sorted({key[1] for key in measured}))
    options = ' '.join(f'--{name} {value:g}'
                       for name, value in {**machine, **FIXED}.items())
    lines, losses = table(measured, predicted)
    page.replace('measured', '\n'.join([
        f'Processors: {os.cpu_count()}, {state} to each other. Fitted: '
        f'`{options}`.', '', *summary(measured, predicted, losses), '',
        *lines]))


if __name__ == '__main__':
    main()
