"""bench/compare/schedules.py - which sizes, and how often

A batch shall last as long for everybody: the number of operations in it follows
from what one took in earlier rounds, and in the first from a guess.
"""

import re

K, M = 1 << 10, 1 << 20
SIZES = (8, 64, 256, K, 4 * K, 12 * K, 16 * K, 64 * K, 100 * K, 256 * K,
         700 * K, M, 3 * M, 4 * M, 16 * M, 40 * M, 64 * M, 256 * M)
BUSY_SIZES = (8, K, 16 * K, 100 * K, 256 * K, M, 3 * M, 16 * M, 64 * M)
EIGHT_SIZES = (8, K, 16 * K, 256 * K, M, 16 * M, 64 * M)
SHORT_SIZES = (8, 16 * K, M)
CRAWL_SIZES = (8, 16 * K, 256 * K)
EXTRA_SIZES = tuple(size for size in SIZES if size <= 16 * M)
LARGE = 16 * M  # beyond it a batch is one operation, and there are few
INNER_MAX = 20000

# Of the first round: us of an empty operation, and GB/s of a large one.
GUESSES = {('tcp', 2): (10, 3), ('tcp', 3): (30, 1.2), ('tcp', 4): (40, 0.8),
           ('tcp', 8): (130, 0.3), ('memory', 2): (0.4, 8),
           ('memory', 3): (4, 3), ('memory', 4): (6, 2),
           ('memory', 8): (15, 0.8)}


def size_text(n_bytes):
    for unit, text in ((M, 'M'), (K, 'K')):
        if n_bytes >= unit and n_bytes % unit == 0:
            return f'{n_bytes // unit}{text}'
    return str(n_bytes)


def size_of(text):
    return int(text.rstrip('KM')) * {'K': K, 'M': M}.get(text[-1], 1)


def guess_us(link, n, n_bytes, slowness=1):
    """For who is that many times slower when an operation is small."""
    small_us, rate = GUESSES[link, n]
    return small_us * slowness + n_bytes / rate / 1e3 * min(slowness, 4)


def batches_of(n_bytes, is_crowded, profile):
    """(number of batches, us that each shall last): where ranks outnumber
    processors or something else is busy, a batch is long beside a time slice,
    as in a short one it is chance who has which."""
    if profile == 'short':
        return (1, 0) if n_bytes > M else (2, 500)
    if n_bytes > LARGE:
        return (1 if n_bytes > 64 * M else 2), 0
    return (3, 25000) if is_crowded else (5, 4000)


def schedule(sizes, us_of, is_crowded, profile):
    """As bench/peers/schedule.h reads it; us_of gives the time of a size."""
    rows = []
    for n_bytes in sizes:
        n_batches, batch_us = batches_of(n_bytes, is_crowded, profile)
        inner = min(max(round(batch_us / us_of(n_bytes)), 1), INNER_MAX)
        rows.append(f'{size_text(n_bytes)}:{inner}x{n_batches}')
    return ','.join(rows)


def repetitions(text):
    """{bytes: operations} that a schedule makes: a checked one before its
    batches."""
    rows = (re.split('[:x]', row) for row in text.split(','))
    return {size_of(size): 1 + int(inner) * int(batches)
            for size, inner, batches in rows}
