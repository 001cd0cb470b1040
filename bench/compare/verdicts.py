"""bench/compare/verdicts.py - the targets, and what was reached"""

import targets
from tables import (LINKS, OPS, cpu, heading, name_of, row, size_text)


def allreduce_targets(results):
    for (link, n), rows in targets.ALLREDUCE.items():
        table = results.table('near', link, 'allreduce', n)
        yield from heading([f'allreduce, {LINKS[link]}, {n} ranks',
                            *map(size_text, targets.SIZES)])
        for what, peers, bounds in rows:
            yield row([f'of {what}, at most',
                       *('' if bound is None else bound for bound in bounds)])
            yield row(['reached', *(
                targets.judged(table.ratio(size, peers), bound)
                if table and bound is not None else ''
                for size, bound in zip(targets.SIZES, bounds))])
        yield ''


def worst(table, sizes):
    """(ratio, size) of the least good size, or None."""
    return max(((ratio, size) for size in sizes
                if (ratio := table.ratio(size)) is not None), default=None)


def worst_text(found, bound):
    if not found:
        return ''
    ratio, size = found
    place = f' at {size_text(size)}' if size else ''
    return f'{targets.judged(ratio, bound)}{place}'


def other_targets(results):
    yield from heading(['the others, worst hoop / best rival',
                        f'below 1 MiB, at most {targets.OTHERS_SMALL}',
                        f'from 1 MiB, at most {targets.OTHERS_LARGE}'])
    for op in OPS[1:]:
        for link in ('tcp', 'memory'):
            for n in (2, 4, 8):
                table = results.table('near', link, op, n)
                if not table:
                    continue
                small = [size for size in table.sizes() if size < 1 << 20]
                large = [size for size in table.sizes() if size >= 1 << 20]
                yield row([f'{op}, {LINKS[link]}, {n} ranks',
                           worst_text(worst(table, small),
                                      targets.OTHERS_SMALL),
                           worst_text(worst(table, large),
                                      targets.OTHERS_LARGE)])
    yield ''


def line_targets(results):
    """(what, bound, reached) of slow links, and of what cannot be coded."""
    size = 64 << 20
    for (link, n), bounds in targets.LINE.items():
        table = results.table('any', link, 'allreduce', n)
        where = f'{LINKS[link]}, {n} hosts, 64M'
        for codec, bound in bounds.items():
            time = table.time(('hoop', codec), size) if table else None
            share = targets.line_share(link, n, size, time) if time else None
            yield (f'{where}, {name_of(("hoop", codec))}: of the line',
                   f'>= {bound}', targets.judged(share, bound, True))
        if 'tcp-auto' in bounds or link == '10gbit':
            yield (f'{where}, auto on noise: of the speed without',
                   f'>= {targets.NOISE}',
                   coding_cost(table, size, 'tcp', 'tcp-auto-noise'))
    table = results.table('near', 'tcp', 'allreduce', 2)
    yield ('TCP, 2 ranks, 64M, auto on noise: of the speed without',
           f'>= {targets.NOISE}',
           coding_cost(table, size, 'tcp-noise', 'tcp-auto-noise'))


def coding_cost(table, size, without, with_codec):
    plain = table and table.time(('hoop', without), size)
    coded = table and table.time(('hoop', with_codec), size)
    return targets.judged(plain / coded if plain and coded else None,
                          targets.NOISE, True)


def startup_target(results):
    table = results.table('any', 'startup', 'whole', 32)
    reached = table.ratio(0, ('openmpi',)) if table else None
    yield ("start-up of 32 ranks, a barrier, the end: of Open MPI's",
           f'<= {targets.STARTUP}', targets.judged(reached, targets.STARTUP))


def cpu_targets(results):
    """The worst size from 1 MiB up."""
    for n in (2, 4, 8):
        table = results.table('near', 'tcp', 'allreduce', n)
        ratios = [] if not table else [
            (own / least, size) for size in table.sizes() if size >= 1 << 20
            if (own := cpu(table, 'allreduce', n, ('hoop', 'tcp'), size)) and
            (least := min((number for library in table.libraries()
                           if library[0] == 'gloo' and
                           (number := cpu(table, 'allreduce', n, library,
                                          size))),
                          default=None))]
        yield (f"CPU s/GB, allreduce, TCP, {n} ranks: of Gloo's least, worst",
               '<= 1', worst_text(max(ratios, default=None), 1))


def target_lines(results):
    yield from allreduce_targets(results)
    yield from other_targets(results)
    yield from heading(['what', 'target', 'reached'])
    for what in (line_targets, startup_target, cpu_targets):
        yield from map(row, what(results))
