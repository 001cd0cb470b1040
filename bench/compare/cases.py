"""bench/compare/cases.py - what is measured: who, over what, how often

A case is one start of one program, which measures operations at the sizes of
its schedule. Its link is tcp or memory (one host), cost (hoop alone over TCP,
as it is, sealed and checked), 1gbit or 10gbit (a host for each rank,
bench/peers/hosts.sh) or startup. A run has parts, one after the other, and each
has rounds, in which the cases take turns.
"""

import dataclasses
import random

import schedules
from rivals import GATHERS, LARGEST, LIMITS, N_PROCESSORS, RIVALS, Rivals

LINKS = ('tcp', 'memory', 'cost', 'startup', '1gbit', '10gbit')
RATES = ('1gbit', '10gbit')
MAIN_OPS = ('allreduce', *GATHERS, 'broadcast')
EXTRA_OPS = ('reduce', 'pingpong', 'barrier')
OPS = MAIN_OPS + EXTRA_OPS
PEERS = ('hoop', *RIVALS, *LIMITS)
# Parts and their rounds.
PARTS = {'quiet': 10, 'busy': 10, 'eight': 10, 'rest': 3}
# One operation a batch: bench/peers/driver.h fills the buffers before each.
RATED = {'1gbit': '1M:1x5,16M:1x3,64M:1x2', '10gbit': '1M:1x7,16M:1x5,64M:1x3'}
CODED = '1M:1x9,16M:1x7,64M:1x5'
COST = ('8:{0}x6,1K:{0}x6,16K:{1}x6,256K:20x6,1M:8x6,4M:3x6,16M:1x5,64M:1x4')
# What hoop does with bytes on request.
COSTS = {'off': {}, 'checksum': {'HOOP_CHECKSUM': 'on'},
         'tls': {'HOOP_TLS': 'on'},
         'tls-checksum': {'HOOP_TLS': 'on', 'HOOP_CHECKSUM': 'on'}}
FEW = '8:2x2,1K:2x2,16K:2x2,1M:1x2,16M:1x1'


@dataclasses.dataclass(frozen=True)
class Case:
    link: str
    n: int
    peer: str
    transport: str  # also the algorithm, the codec: who of this peer it is
    ops: tuple
    schedule: str  # empty: made of sizes, by what an operation took before
    command: tuple  # without PEER TRANSPORT OPS SCHEDULE
    environment: dict = dataclasses.field(default_factory=dict)
    part: str = 'rest'
    sizes: tuple = ()
    slowness: float = 1  # the guess for the first round
    seconds: int = 60  # after which it has failed
    is_library: bool = True  # its arguments are PEER TRANSPORT OPS SCHEDULE

    def name(self):
        """Of it and of no other case of a round, but for twins."""
        return (f'{self.part} {self.link} {self.n} {self.peer} '
                f'{self.transport} {"+".join(self.ops)}')

    def place(self):
        return self.link, self.n

    def is_comparison(self):
        return bool(self.sizes)

    def is_crowded(self):
        return self.part == 'busy' or self.n > N_PROCESSORS

    def n_rows(self):
        """That it prints of each state, if nothing is left out."""
        n_sizes = len(self.schedule.split(','))
        return sum(1 if op == 'barrier' else n_sizes for op in self.ops)

    def arguments(self):
        if not self.is_library:
            return [*self.command, self.schedule]
        return [*self.command, self.peer, self.transport, ','.join(self.ops),
                self.schedule]


def sizes_of(part, op, profile):
    if op == 'barrier':
        return schedules.SIZES[:1]
    if profile == 'short':
        return schedules.SHORT_SIZES
    whole = {'busy': schedules.BUSY_SIZES,
             'eight': schedules.EIGHT_SIZES}.get(part, schedules.SIZES)
    return whole if op in MAIN_OPS else tuple(
        size for size in whole if size in schedules.EXTRA_SIZES)


class Plan:
    """All cases, made of the folder with the programs and the profile."""

    def __init__(self, build, profile):
        self.profile = profile
        self.rivals = Rivals(build)

    def is_short(self):
        return self.profile == 'short'

    # One host, beside the others.

    def places(self, part):
        """(number of ranks, operations)"""
        if part == 'eight':
            return [(8, MAIN_OPS if not self.is_short() else MAIN_OPS[:1])]
        ops = OPS if part == 'quiet' else MAIN_OPS
        if not self.is_short():
            return [(n, ops) for n in (2, 3, 4)]
        if part == 'busy':
            return [(2, MAIN_OPS[:1])]
        return [(2, ops), (3, MAIN_OPS[:1]), (4, MAIN_OPS[:1])]

    def comparisons(self, part, turn):
        """In another order in each round, which is the same if the round is
        done again."""
        for n, ops in self.places(part):
            for link in ('tcp', 'memory'):
                for op in ops:
                    if op == 'pingpong' and n != 2:
                        continue  # the others would be in a barrier
                    some = list(self.compared(part, link, n, op))
                    random.Random(f'{part} {turn} {link} {n} {op}').shuffle(
                        some)
                    yield from some

    def compared(self, part, link, n, op):
        sizes = sizes_of(part, op, self.profile)
        for variant in self.rivals.variants(link, n, op):
            largest = LARGEST.get(variant[:2], sizes[-1])
            yield Case(link, n, variant.peer, variant.transport, (op,), '',
                       variant.command, variant.environment, part,
                       tuple(size for size in sizes if size <= largest and
                             (not variant.crawls or
                              size in schedules.CRAWL_SIZES)),
                       variant.slowness, is_library=variant.is_library)

    # hoop alone.

    def codings(self):
        """That coding costs nothing where it does not pay: noise, loopback."""
        for codec, name in (('none', 'tcp-noise'), ('auto', 'tcp-auto-noise')):
            yield Case('tcp', 2, 'hoop', name, ('allreduce',),
                       FEW if self.is_short() else CODED, self.rivals.hoop(2),
                       {'HOOP_TRANSPORT': 'tcp', 'BENCH_DATA': 'noise',
                        'HOOP_CODEC': codec})

    def costs(self, n):
        """There and back, so that what drifts meanwhile drifts for all."""
        schedule = (FEW if self.is_short() else
                    COST.format(*((200, 100) if n == 2 else (600, 300))))
        ops = ('allreduce', 'pingpong') if n == 2 else ('allreduce',)
        for name in (*COSTS, *reversed(COSTS)):
            yield Case('cost', n, 'hoop', name, ops, schedule,
                       self.rivals.hoop(n),
                       {'HOOP_TRANSPORT': 'tcp', **COSTS[name]})

    # Starting, and slow links.

    def hoopd(self, n):
        return (self.rivals.script('hoop_hosts.sh'), str(n),
                self.rivals.build, self.rivals.program('bench/bench_hoop'))

    def startups(self, n):
        rivals = self.rivals
        row = ('startup', n)
        rest = (('startup',), '8:1x1')
        here = {'GLOO_SOCKET_IFNAME': 'lo'}
        yield Case(*row, 'hoop', 'hooprun', *rest, rivals.hoop(n),
                   {'HOOP_TRANSPORT': 'auto'})
        for name in ('openmpi', 'openmpi4'):
            yield Case(*row, name, 'default', *rest, rivals.openmpi(name, n))
        for name in ('mpich', 'mpich4'):
            yield Case(*row, name, 'default', *rest, rivals.hydra(name, n))
        yield Case(*row, 'impi', 'default', *rest, rivals.hydra('impi', n),
                   {'I_MPI_ROOT': rivals.venv('impi')})
        yield Case(*row, 'hoop', 'hoopd', *rest, self.hoopd(n))
        yield Case(*row, 'gloo', 'files', *rest,
                   rivals.launched(n, rivals.program('bench_gloo')), here)
        if n <= 8:  # one import of torch takes a second
            yield Case(*row, 'torch', 'files', *rest,
                       rivals.python('torch', n), here)

    def coded(self):
        """(name, codec, wire dtype, data) that hoop is measured with on a slow
        link."""
        gradient = self.rivals.program('gradient')
        yield 'tcp', 'none', 'none', 'noise'
        yield 'tcp-auto-noise', 'auto', 'none', 'noise'
        yield 'tcp-bf16', 'none', 'bf16', 'noise'
        yield 'tcp-auto', 'auto', 'none', gradient
        yield 'tcp-bf16+auto', 'auto', 'bf16', gradient

    def rated(self, link, n):
        """One rank on each host. All move noise, unless it says otherwise."""
        row = (link, n)
        rest = (('allreduce',),
                '1M:1x1' if self.is_short() else RATED[link])
        noise = {'BENCH_DATA': 'noise'}
        wire = {**noise, 'GLOO_SOCKET_IFNAME': 'eth0'}
        for name, codec, dtype, data in self.coded():
            yield Case(*row, 'hoop', name, *rest, self.hoopd(n),
                       {'HOOP_TRANSPORT': 'tcp', 'HOOP_CODEC': codec,
                        'HOOP_WIRE_DTYPE': dtype, 'BENCH_DATA': data})
        yield from self.rated_mpis(row, rest, noise)
        gloo = self.rivals.launched(n, self.rivals.program('bench_gloo'))
        for algorithm in ('tcp-ring', 'tcp-bcube'):
            yield Case(*row, 'gloo', algorithm, *rest, gloo, wire)
        if not self.is_short():
            yield Case(*row, 'torch', 'tcp', *rest,
                       self.rivals.python('torch', n), wire)

    def rated_mpis(self, row, rest, noise):
        """Debian's, over all hosts from the first."""
        n = row[1]
        addresses = ','.join(f'10.77.0.{r + 1}' for r in range(n))
        reach = self.rivals.script('reach.sh')
        first = self.rivals.script('in_first.sh')
        yield Case(*row, 'openmpi4', 'tcp', *rest,
                   (first, 'mpirun.openmpi', '-n', str(n), '--host',
                    addresses, '--oversubscribe', '--bind-to', 'none',
                    '--mca', 'plm_rsh_agent', reach, '--mca', 'pml', 'ob1',
                    '--mca', 'btl', 'tcp,self', '--mca', 'btl_tcp_if_include',
                    'eth0', '--mca', 'oob_tcp_if_include', 'eth0',
                    '--mca', 'mpi_yield_when_idle', '1', '-x', 'BENCH_DATA',
                    self.rivals.program('bench_openmpi4')), noise)
        if n <= N_PROCESSORS:
            over = ('-hosts', addresses, '-localhost', '10.77.0.1', '-iface',
                    'eth0', '-launcher', 'ssh', '-launcher-exec', reach)
            yield Case(*row, 'mpich4', 'tcp', *rest,
                       (first, 'mpirun.mpich', '-n', str(n), *over,
                        self.rivals.program('bench_mpich4')),
                       {**noise, 'UCX_TLS': 'tcp,self',
                        'UCX_NET_DEVICES': 'eth0'})

    def rest(self):
        yield from self.codings()
        for n in (2,) if self.is_short() else (2, 4):
            yield from self.costs(n)
        for n in (2, 8) if self.is_short() else (2, 8, 32):
            for _ in range(2):
                yield from self.startups(n)
        for link in RATES:
            for n in (2,) if self.is_short() else (2, 4):
                yield from self.rated(link, n)

    def cases(self, part, turn):
        """All of a round, in its order."""
        if part == 'rest':
            yield from self.rest()
        else:
            yield from self.comparisons(part, turn)


def checked(words):
    """The words, or ValueError for one that names nothing."""
    known = (*OPS, *LINKS, *PEERS, *PARTS)
    unknown = [word for word in words
               if word not in known and not word.isdigit()]
    if unknown:
        raise ValueError(f'{", ".join(unknown)}: no operation '
                         f'({", ".join(OPS)}), link ({", ".join(LINKS)}), '
                         f'part ({", ".join(PARTS)}), '
                         f'peer ({", ".join(PEERS)}) or number of ranks')
    return words


def is_selected(case, words):
    """Whether the words leave it: of each kind of word, any. "memory" means
    the link."""
    kinds = ((PARTS, {case.part}), (LINKS, {case.link}), (OPS, case.ops),
             ([peer for peer in PEERS if peer != 'memory'], {case.peer}),
             ([word for word in words if word.isdigit()], {str(case.n)}))
    chosen = ((set(kind) & set(words), own) for kind, own in kinds)
    return all(not some or some & set(own) for some, own in chosen)
