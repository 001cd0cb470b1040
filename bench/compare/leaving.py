"""bench/compare/leaving.py - who is too slow to be measured again

A rival that took more than FACTOR times as long as the fastest rival of the
round in each of its first ROUNDS leaves the cell (an operation, size, link and
number of ranks). hoop never does, the fastest rival cannot, and the programs
without a library are compared with each other.
"""

from rivals import LIMITS, RIVALS

# (ROUNDS, FACTOR)
RULES = ((2, 6), (3, 2))
FAILURES_MAX = 3  # in a row from the first: it cannot do it here
GROUPS = (tuple(RIVALS), LIMITS)


def times_by_round(tables, n_bytes):
    """{round: [{variant: us}]}, one for each state, of the tables of the
    states of one place."""
    found = {}
    for table in tables:
        by_round = {}
        for variant in table.libraries():
            for turn, us in table.by_round(variant, n_bytes).items():
                by_round.setdefault(turn, {})[variant] = us
        for turn, times in by_round.items():
            found.setdefault(turn, []).append(times)
    return found


def least_behind(states, variant, group):
    """Its time over that of the fastest of its group, in the state where it is
    best; None if it has no time."""
    return min((times[variant] / min(us for (peer, _), us in times.items()
                                     if peer in group)
                for times in states if variant in times), default=None)


def has_left(tables, n_bytes, variant, before=None):
    """Whether it has, by the rounds before that one; the tables are those of
    the states."""
    group = next((group for group in GROUPS if variant[0] in group), None)
    if group is None:
        return False
    rounds = times_by_round(tables, n_bytes)
    behind = [number for turn in sorted(rounds)
              if (before is None or turn < before) and
              (number := least_behind(rounds[turn], variant, group))
              is not None]
    return any(len(behind) >= n_rounds and
               min(behind[:n_rounds]) > factor
               for n_rounds, factor in RULES)


def has_given_up(outcomes, ok):
    """Whether it has failed in all of its first rounds."""
    return len(outcomes) >= FAILURES_MAX and ok not in outcomes[:FAILURES_MAX]
