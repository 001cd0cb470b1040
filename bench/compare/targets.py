"""bench/compare/targets.py - what hoop sets out to reach, and what it did

Ratios of times: below the bound a target is met.
"""

# link: (share of the cells that may be told slower, geometric mean).
CELLS = {'memory': (0.1, 0.65), 'tcp': (0.15, 0.8)}
WORST = {'near': 1.2, 'busy': 1.3}  # of a cell that is told slower, by state
# Against programs without a library, two ranks: (first size, last size, bound).
LIMITS = {'tcp': ((8, 16 << 10, 1.15), (64 << 10, 256 << 20, 1.1)),
          'memory': ((8, 256 << 20, 1.25),)}
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


def bytes_sent(op, n, n_bytes):
    """What all ranks send, at least."""
    senders = n if bus_factor(op, n) != 1 or op == 'allreduce' else n - 1
    if op == 'pingpong':
        senders = 1
    return senders * bus_factor(op, n) * n_bytes


def cpu_s_per_gb(op, n, n_bytes, cpu_us):
    """Processor seconds of all ranks over the GB that all of them send."""
    return cpu_us * 1e-6 / (bytes_sent(op, n, n_bytes) / 1e9)


def mark(is_met):
    return '✓' if is_met else '✗'


def judged(reached, bound, is_least=False):
    """The number with its mark; empty where there is no number."""
    if reached is None:
        return ''
    is_met = reached >= bound if is_least else reached <= bound
    return f'{reached:.2f} {mark(is_met)}'
