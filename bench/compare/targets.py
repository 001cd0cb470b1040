"""bench/compare/targets.py - what hoop sets out to reach, and what it did

Ratios of times: below the bound a target is met. Bounds against the best other
library are those against whoever was fastest in the run.
"""

from results import RIVALS

K, M = 1 << 10, 1 << 20
SIZES = (8, K, 16 * K, 256 * K, M, 4 * M, 16 * M, 64 * M, 256 * M)
SLOWER = (('gloo', 'tcp-ring'), 'openmpi')

# (link, ranks): rows of what hoop is compared with, who that is, and the
# bound at each of SIZES.
ALLREDUCE = {
    ('tcp', 2): (
        ('best rival', RIVALS,
         (.9, .8, .56, .87, .95, .95, .85, .85, .95)),
        ("Gloo's ring, Open MPI", SLOWER,
         (None, None, None, None, .85, .85, None, None, None)),
        ('limit', ('sockets',),
         (1.15, 1.15, 1.15, 1.1, 1.05, 1.05, 1.05, 1.05, 1.05))),
    ('tcp', 4): (
        ('best rival', RIVALS, (.55, .6, .35, .65, .85, .85, 1, 1, 1)),
        ('limit', ('sockets',),
         (1.2, 1.2, 1.2, 1.2, 1.05, 1.05, 1.05, 1.05, 1.05))),
    ('tcp', 8): (
        ('best rival', RIVALS, (.8, .8, .8, .8, .95, .95, .95, .95, .95)),),
    ('memory', 2): (
        ('best rival', RIVALS, (1.4, .8, .7, .65, .5, .5, .4, .22, .22)),
        ('limit', ('memory',), (1.2,) * 9)),
    ('memory', 4): (
        ('best rival', RIVALS, (.7, .5, .4, .5, .6, .6, .4, .25, .25)),
        ('limit', ('memory',), (1.25,) * 4 + (1.2,) * 5)),
    ('memory', 8): (
        ('best rival', RIVALS, (.7, .5, .4, .5, .6, .6, .4, .25, .25)),
        ('limit', ('memory',), (1.25,) * 4 + (1.2,) * 5)),
}
OTHERS_SMALL, OTHERS_LARGE = 1.0, 0.8  # below 1 MiB, from there on
STARTUP = 0.4  # of Open MPI's, 32 ranks
# Of the line, at 64 MiB: (link, ranks) to codec to share.
LINE = {
    ('1gbit', 2): {'tcp': .95, 'tcp-auto': 1.35, 'tcp-bf16': 1.9,
                   'tcp-bf16+auto': 3},
    ('1gbit', 4): {'tcp': .95, 'tcp-auto': 1.35, 'tcp-bf16': 1.9,
                   'tcp-bf16+auto': 3},
    ('10gbit', 2): {'tcp': .88},
    ('10gbit', 4): {'tcp': .70},
}
NOISE = 0.98  # of the speed without a codec, when nothing can be coded
LINE_BITS = {'1gbit': 1e9, '10gbit': 1e10}


def bus_factor(op, n):
    """Bytes that each rank must send, over the size of the operation."""
    if op == 'allreduce':
        return 2 * (n - 1) / n
    if op in ('allgather', 'reduce_scatter', 'alltoall'):
        return (n - 1) / n
    return 1


def line_share(link, n, n_bytes, time_us):
    """How much of the line's rate an allreduce would need that sends every
    byte as it is."""
    bits = bus_factor('allreduce', n) * n_bytes * 8
    return bits / (time_us * 1e-6) / LINE_BITS[link]


def cpu_s_per_gb(op, n, n_bytes, cpu_us):
    """Processor seconds of all ranks over the GB that all of them send."""
    senders = n if bus_factor(op, n) != 1 or op == 'allreduce' else n - 1
    if op == 'pingpong':
        senders = 1
    sent = senders * bus_factor(op, n) * n_bytes
    return cpu_us * 1e-6 / (sent / 1e9)


def mark(is_met):
    return '✓' if is_met else '✗'


def judged(reached, bound, is_least=False):
    """The number with its mark; empty where there is no number."""
    if reached is None:
        return ''
    is_met = reached >= bound if is_least else reached <= bound
    return f'{reached:.2f} {mark(is_met)}'
