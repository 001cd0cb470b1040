"""bench/compare/traffic.py - did a program use the transport it was told

Each program runs in a network of its own, whose loopback interface has counted
the bytes that passed (bench/peers/in_ns.sh). Over TCP they are at least those
that an operation must move; through memory they are few. A small operation that
is faster than a packet did not wait for one.
"""

import schedules
import targets

ALLOWANCE = 8 << 20  # what launchers may say to each other
LEAST_US = 2  # of an operation in which everybody waits for somebody
WAITING = ('allreduce', 'alltoall', 'allgather', 'barrier', 'pingpong')
TO_CHECK = ('tcp', 'memory', 'cost')


def bytes_needed(case, sizes):
    """What all ranks must send for these (op, bytes)."""
    repetitions = schedules.repetitions(case.schedule)
    return sum(targets.bytes_sent(op, case.n, size) * repetitions[size] *
               (2 if op == 'pingpong' else 1)
               for op, size in sizes if size in repetitions)


def complaint(case, rows, n_passed):
    """What speaks against the transport of the case, or None. n_passed bytes
    went through the loopback interface; None if that is not known."""
    if case.link not in TO_CHECK:
        return None
    sizes = {(row['op'], int(row['bytes'])) for row in rows}
    needed = bytes_needed(case, sizes)
    if case.link == 'memory':
        if n_passed is not None and n_passed > ALLOWANCE + needed / 10:
            return (f'{n_passed >> 20} MiB went through the loopback '
                    f'interface, of {int(needed) >> 20}: not memory')
        return None
    if n_passed is not None and n_passed < needed * 0.9:
        return (f'only {n_passed >> 10} KiB of {int(needed) >> 10} went '
                'through the loopback interface: not TCP')
    for row in rows:
        if row['op'] in WAITING and float(row['median_us']) < LEAST_US:
            return (f'{row["op"]} of {row["bytes"]} bytes took '
                    f'{row["median_us"]} us: not TCP')
    return None
