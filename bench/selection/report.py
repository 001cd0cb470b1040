#!/usr/bin/env python3
"""bench/selection/report.py - what hoop chose beside the best it could force

report.py FOLDER [all] [near|far]: reads what run.sh wrote for one transport and
prints two tables in Markdown: the worst quotient for each collective and number
of ranks, and a row for each case: what was chosen, its time, the best
algorithm, its time, and the quotient. Without "all", only rows above LIMIT. With
"near" or "far", only jobs during which the processors were that.

The best of several noisy times is partly the luckiest. So a second quotient,
"apart", takes the best by every other job and compares its time with that of
the chosen one on the rest; then the other way round, and the mean. And "at least"
is what chosen over best is beyond in 95 of 100 draws of as many jobs from these
jobs: where it is above LIMIT, it is not the luck of the jobs. "At most" is what
it is not beyond in as many draws: between the two, more jobs would have to tell.
"""

import statistics
import sys

from jobs import LIMIT, cases_of, size_text, states_of


def worst_table(cases):
    """A row for each collective: the worst quotient for each number of ranks."""
    sizes = sorted({ranks for _, ranks, _ in cases})
    yield '| collective | ' + ' | '.join(f'{n} ranks' for n in sizes) + ' |'
    yield '|---' + '|---:' * len(sizes) + '|'
    for op in sorted({op for op, _, _ in cases}):
        cells = []
        for n in sizes:
            worst = max(((case.chosen_ratio(), key[2])
                         for key, case in cases.items() if key[:2] == (op, n)),
                        default=None)
            cells.append(f'{worst[0]:.2f} ({size_text(worst[1])})'
                         if worst else '')
        yield f'| {op} | ' + ' | '.join(cells) + ' |'


def case_row(key, case):
    times = case.times()
    best = min(times, key=times.get)
    names = sorted(case.chosen)
    us = statistics.mean(times.get(name, 0) for name in names)
    least, most = case.bounds()
    return (f'| {key[0]} | {key[1]} | {size_text(key[2])} | '
            f'{" or ".join(names)} | {us:.1f} | {best} | {times[best]:.1f} | '
            f'{case.chosen_ratio():.2f} | {case.apart():.2f} | {least:.2f} | '
            f'{most:.2f} |')


def case_table(cases, everything):
    yield ('| collective | ranks | size | chosen | us | best | us | ratio | '
           'apart | at least | at most |')
    yield ('|------------|------:|-----:|--------|---:|------|---:|------:|'
           '------:|---------:|--------:|')
    for key in sorted(cases):
        if everything or cases[key].chosen_ratio() > LIMIT:
            yield case_row(key, cases[key])


def ratios_text(ratios, how):
    within = sum(ratio <= LIMIT for ratio in ratios)
    return (f'{within} of {len(ratios)} cases within {LIMIT:.2f} of the best, '
            f'worst {max(ratios):.2f}{how}.')


def sums(cases):
    yield ratios_text([case.chosen_ratio() for case in cases.values()], '')
    yield ratios_text([case.apart() for case in cases.values()],
                      ', the best found on other jobs')
    bounds = [case.bounds() for case in cases.values()]
    n_beyond = sum(least > LIMIT for least, _ in bounds)
    n_within = sum(most <= LIMIT for _, most in bounds)
    yield (f'{n_beyond} cases beyond it in 95 of 100 draws of the jobs, '
           f'{n_within} within it; {len(bounds) - n_beyond - n_within} that '
           'these jobs cannot tell.')


def jobs_text(folder, cases):
    counts = [len(case.jobs) for case in cases.values()]
    states = list(states_of(folder).values())
    return (f'{min(counts)} to {max(counts)} jobs for each case; of all runs '
            f'{states.count("near")} with processors near to each other, '
            f'{states.count("far")} far, {states.count("mixed")} both.')


def main():
    folder, words = sys.argv[1], sys.argv[2:]
    wanted = next((word for word in words if word in ('near', 'far')), None)
    cases = cases_of(folder, wanted)
    if not cases:
        sys.exit(f'{folder}: nothing was measured')
    for lines in (worst_table(cases), case_table(cases, 'all' in words),
                  [jobs_text(folder, cases)], sums(cases)):
        print('\n'.join(lines), end='\n\n')


if __name__ == '__main__':
    main()
