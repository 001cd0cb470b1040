"""bench/compare/cases.py - what is measured: who, over what, how often

A case is one start of one program, which measures one or more operations at
all sizes of its schedule. Its link is tcp or memory (one host), cost (hoop alone
over TCP, as it is, sealed and checked), 1gbit or 10gbit (a host for each rank,
bench/peers/hosts.sh) or startup.
"""

import dataclasses
import os
import re

LINKS = ('tcp', 'memory', 'cost', 'startup', '1gbit', '10gbit')
RATES = ('1gbit', '10gbit')
GATHERS = ('allgather', 'reduce_scatter', 'alltoall')
ROOTED = ('broadcast', 'reduce', 'barrier', 'pingpong')
OPS = ('allreduce',) + GATHERS + ROOTED
LIBRARIES = ('hoop', 'openmpi', 'mpich', 'gloo', 'torch')
PEERS = LIBRARIES + ('sockets', 'memory')

# BYTES:INNERxBATCHES, as bench/peers/schedule.h reads it.
FEW = '8:2x2,1K:2x2,16K:2x2,1M:1x2,16M:1x1'
# A batch is long beside a time slice where ranks outnumber processors: in a
# short one it is chance who has which.
SMALL = {
    ('memory', 2): '8:1000x11,1K:1000x11,16K:300x11',
    ('memory', 4): '8:4000x9,1K:4000x9,16K:1000x9',
    ('memory', 8): '8:2000x7,1K:2000x7,16K:500x7',
    ('tcp', 2): '8:200x11,1K:200x11,16K:100x11',
    ('tcp', 4): '8:600x9,1K:600x9,16K:300x9',
    ('tcp', 8): '8:500x7,1K:500x7,16K:200x7',
}
LARGE = {
    2: '256K:20x9,1M:8x9,4M:3x9,16M:1x7,64M:1x5',
    4: '256K:8x7,1M:4x7,4M:2x5,16M:1x5,64M:1x3',
    8: '256K:4x5,1M:2x5,4M:1x5,16M:1x3,64M:1x2',
}
LARGEST = {2: '256M:1x3', 4: '256M:1x2', 8: '256M:1x2'}
# Who never yields waits for a time slice in every step when ranks outnumber
# processors.
CRAWL = '8:2x3,1K:2x3,16K:2x3,256K:1x3,1M:1x3,4M:1x2,16M:1x2,64M:1x1'
CRAWL_OTHERS = '1K:1x3,1M:1x2,64M:1x1'
# One operation a batch: bench/peers/driver.h fills the buffers before each.
RATED = {'1gbit': '1M:1x5,16M:1x3,64M:1x2', '10gbit': '1M:1x7,16M:1x5,64M:1x3'}
CODED = '1M:1x9,16M:1x7,64M:1x5'
# What hoop does with bytes on request.
COSTS = {'off': {}, 'checksum': {'HOOP_CHECKSUM': 'on'},
         'tls': {'HOOP_TLS': 'on'},
         'tls-checksum': {'HOOP_TLS': 'on', 'HOOP_CHECKSUM': 'on'}}


@dataclasses.dataclass
class Case:
    link: str
    n: int
    peer: str
    transport: str  # also the algorithm, the codec: who of this peer it is
    ops: tuple
    schedule: str
    command: tuple  # without PEER TRANSPORT OPS SCHEDULE
    environment: dict = dataclasses.field(default_factory=dict)
    is_rare: bool = False  # only in the first round
    seconds: int = 60  # after which it has failed
    is_library: bool = True  # its arguments are PEER TRANSPORT OPS SCHEDULE

    def later(self):
        """What is left of it after the first round: of many ranks, not the
        largest size, which takes as long as all others; None of the rare."""
        if self.is_rare or self.n == 2:
            return None if self.is_rare else self
        return dataclasses.replace(self,
                                   schedule=self.schedule.split(',256M:')[0])

    def name(self):
        return f'{self.peer} {self.transport} {self.link} {self.n}'

    def n_rows(self):
        """That it prints of each state, if nothing is left out."""
        n_sizes = len(self.schedule.split(','))
        return sum(1 if op == 'barrier' else n_sizes for op in self.ops)

    def arguments(self):
        if not self.is_library:
            return [*self.command, self.schedule]
        return [*self.command, self.peer, self.transport, ','.join(self.ops),
                self.schedule]


def rescaled(schedule, n_inner=lambda n: n, n_batches=lambda n: n):
    """A schedule with other numbers of operations, or of batches."""
    rows = (re.split('[:x]', row) for row in schedule.split(','))
    return ','.join(f'{size}:{n_inner(int(inner))}x{n_batches(int(batches))}'
                    for size, inner, batches in rows)


def tenth(schedule):
    """Of the operations of long batches, a tenth: for who sleeps in each."""
    return rescaled(schedule, n_inner=lambda n: n // 10 if n >= 100 else n)


def fewer(schedule):
    """Two thirds of the batches."""
    return rescaled(schedule, n_batches=lambda n: (2 * n + 1) // 3)


class Plan:
    """All cases, made of the folder with the programs and the profile."""

    def __init__(self, build, profile):
        self.build = os.path.abspath(build)
        self.profile = profile
        self.has_torch = os.path.exists('/usr/lib/python3/dist-packages/torch')
        self.peers = os.path.abspath('bench/peers')

    def program(self, name):
        return os.path.join(self.build, name)

    # How each library is started.

    def hoop(self, n, transport):
        return ((self.program('tools/hooprun/hooprun'), '-n', str(n),
                 '--no-prefix', self.program('bench/bench_hoop')),
                {'HOOP_TRANSPORT': transport})

    def openmpi(self, n, transport):
        ways = {'tcp': ('--mca', 'pml', 'ob1', '--mca', 'btl', 'tcp,self',
                        '--mca', 'btl_tcp_if_include', 'lo'),
                'shm': ('--mca', 'pml', 'ob1', '--mca', 'btl', 'vader,self'),
                'any': ()}
        yields = str(int(n > (os.cpu_count() or 1)))
        return (('mpirun.openmpi', '-n', str(n), '--oversubscribe',
                 '--bind-to', 'none', '--mca', 'mpi_yield_when_idle', yields,
                 *ways[transport], self.program('bench_openmpi')), {})

    def mpich(self, n, transport):
        """Debian's is UCX, and takes memory for ranks of one host unless it
        must not know that they are."""
        over_tcp = {'MPIR_CVAR_NOLOCAL': '1', 'UCX_TLS': 'tcp,self',
                    'UCX_NET_DEVICES': 'lo'}
        return (('mpirun.mpich', '-n', str(n), self.program('bench_mpich')),
                over_tcp if transport == 'tcp' else {})

    def launched(self, n, *command):
        return ((os.path.join(self.peers, 'launch.sh'), str(n), *command),
                {'GLOO_SOCKET_IFNAME': 'lo'})

    def gloo(self, n):
        return self.launched(n, self.program('bench_gloo'))

    def torch(self, n):
        return self.launched(n, os.path.join(self.peers, 'bench_torch.py'))

    # What takes part.

    def loopback(self, link, n):
        """Everybody's allreduce, then the other operations in two parts, so
        that a case is short beside the stretches in which the processors stay
        near each other."""
        few = self.profile == 'short'
        transport = 'tcp' if link == 'tcp' else 'shm'
        small = FEW if few else SMALL[link, n]
        others = FEW if few else fewer(f'{small},{LARGE[n]}')
        largest = FEW if few else f'{small},{LARGE[n]},{LARGEST[n]}'
        crawls = n > (os.cpu_count() or 1)
        for ops in (('allreduce',), GATHERS, ROOTED):
            is_first = ops == ('allreduce',)
            schedule = largest if is_first else others
            # Between two ranks only; the others would be in a barrier.
            ops = tuple(op for op in ops if op != 'pingpong' or n == 2)
            common = (link, n)
            yield Case(*common, 'hoop', transport, ops, schedule,
                       *self.hoop(n, transport))
            yield Case(*common, 'openmpi', transport, ops, schedule,
                       *self.openmpi(n, transport))
            if not crawls or is_first or n < 8:
                crawl = CRAWL if is_first else CRAWL_OTHERS
                yield Case(*common, 'mpich', transport, ops,
                           crawl if crawls else schedule,
                           *self.mpich(n, transport), is_rare=crawls,
                           seconds=120 if crawls else 60)
            if link == 'tcp':
                yield from self.gloos(n, ops,
                                      tenth(schedule) if crawls else schedule)
            if is_first:
                yield from self.limits(link, n, small, largest)

    def gloos(self, n, ops, schedule):
        """Gloo's newer functions; its older classes, which shall not share a
        context with those; and torch, which calls the newer ones."""
        newer = tuple(op for op in ops if op != 'reduce_scatter')
        yield Case('tcp', n, 'gloo', 'tcp-ring', newer, schedule,
                   *self.gloo(n))
        if ops == ('allreduce',):
            yield Case('tcp', n, 'gloo', 'tcp-bcube', ops, schedule,
                       *self.gloo(n))
            if n == 2:
                # Both sides write before they read: 64M fits no buffers.
                yield Case('tcp', n, 'gloo', 'tcp-hd-busy', ops,
                           schedule.split(',64M:')[0], *self.gloo(n))
        elif newer != ops:
            yield Case('tcp', n, 'gloo', 'tcp-hd', ('reduce_scatter',),
                       schedule, *self.gloo(n))
        has = tuple(op for op in newer if op != 'alltoall')
        if self.has_torch and (self.profile != 'short' or n == 2):
            yield Case('tcp', n, 'torch', 'tcp', has, schedule, *self.torch(n))

    def limits(self, link, n, small, whole):
        def limit(peer, program, words, schedule):
            return Case(link, n, peer, words[-1] if peer == 'memory' else
                        '-'.join(words), ('allreduce',), schedule,
                        (self.program(program), str(n), *words),
                        is_library=False)

        medium = ','.join(row for row in whole.split(',')
                          if row.split(':')[0] in ('256K', '1M', '4M'))
        if link == 'tcp' and n <= (os.cpu_count() or 1):
            yield limit('sockets', 'ideal', ('doubling', 'spin'),
                        f'{small},{medium}')
            yield limit('sockets', 'ideal', ('ring', 'spin'), whole)
        elif link == 'tcp':
            yield limit('sockets', 'ideal', ('doubling', 'poll'), small)
            yield limit('sockets', 'ideal', ('doubling', 'yield'),
                        f'{small},{medium}')
            yield limit('sockets', 'ideal', ('ring', 'yield'), medium)
            yield limit('sockets', 'ideal', ('ring', 'poll'), whole)
        else:
            yield limit('memory', 'ideal_memory', ('flat',), small)
            yield limit('memory', 'ideal_memory', ('staged',), whole)

    def codings(self):
        """That coding costs nothing where it does not pay: noise, loopback."""
        command, environment = self.hoop(2, 'tcp')
        schedule = FEW if self.profile == 'short' else CODED
        for codec, name in (('none', 'tcp-noise'), ('auto', 'tcp-auto-noise')):
            yield Case('tcp', 2, 'hoop', name, ('allreduce',), schedule,
                       command, {**environment, 'BENCH_DATA': 'noise',
                                 'HOOP_CODEC': codec})

    def costs(self, n):
        """There and back, so that what drifts meanwhile drifts for all."""
        command, environment = self.hoop(n, 'tcp')
        schedule = (FEW if self.profile == 'short' else
                    fewer(f'{SMALL["tcp", n]},{LARGE[n]}'))
        ops = ('allreduce', 'pingpong') if n == 2 else ('allreduce',)
        for name in (*COSTS, *reversed(COSTS)):
            yield Case('cost', n, 'hoop', name, ops, schedule, command,
                       {**environment, **COSTS[name]})

    def startups(self, n):
        row = ('startup', n)
        rest = (('startup',), '8:1x1')
        yield Case(*row, 'hoop', 'hooprun', *rest, *self.hoop(n, 'auto'))
        yield Case(*row, 'openmpi', 'default', *rest,
                   *self.openmpi(n, 'any'))
        yield Case(*row, 'mpich', 'default', *rest, *self.mpich(n, 'shm'))
        yield Case(*row, 'hoop', 'hoopd', *rest,
                   (os.path.join(self.peers, 'hoop_hosts.sh'), str(n),
                    self.build, self.program('bench/bench_hoop')), {})
        yield Case(*row, 'gloo', 'files', *rest, *self.gloo(n))
        if self.has_torch and n <= 8:  # one import of torch takes a second
            yield Case(*row, 'torch', 'files', *rest, *self.torch(n))

    def coded(self):
        """(name, codec, wire dtype, data) that hoop is measured with on a slow link."""
        yield 'tcp', 'none', 'none', 'noise'
        yield 'tcp-auto-noise', 'auto', 'none', 'noise'
        yield 'tcp-bf16', 'none', 'bf16', 'noise'
        yield 'tcp-auto', 'auto', 'none', self.program('gradient')
        yield 'tcp-bf16+auto', 'auto', 'bf16', self.program('gradient')

    def rated(self, link, n):
        """One rank on each host. All move noise, unless it says otherwise."""
        schedule = '1M:1x1' if self.profile == 'short' else RATED[link]
        addresses = ','.join(f'10.77.0.{r + 1}' for r in range(n))
        noise = {'BENCH_DATA': 'noise'}
        wire = {**noise, 'GLOO_SOCKET_IFNAME': 'eth0'}
        row = (link, n)
        rest = (('allreduce',), schedule)
        for name, codec, dtype, data in self.coded():
            yield Case(*row, 'hoop', name, *rest,
                       (os.path.join(self.peers, 'hoop_hosts.sh'), str(n),
                        self.build, self.program('bench/bench_hoop')),
                       {'HOOP_TRANSPORT': 'tcp', 'HOOP_CODEC': codec,
                        'HOOP_WIRE_DTYPE': dtype, 'BENCH_DATA': data})
        reach = os.path.join(self.peers, 'reach.sh')
        first = (os.path.join(self.peers, 'in_first.sh'),)
        yield Case(*row, 'openmpi', 'tcp', *rest,
                   (*first, 'mpirun.openmpi', '-n', str(n), '--host',
                    addresses, '--oversubscribe', '--bind-to', 'none',
                    '--mca', 'plm_rsh_agent', reach, '--mca', 'pml', 'ob1',
                    '--mca', 'btl', 'tcp,self', '--mca', 'btl_tcp_if_include',
                    'eth0', '--mca', 'oob_tcp_if_include', 'eth0',
                    '--mca', 'mpi_yield_when_idle', '1',
                    '-x', 'BENCH_DATA', self.program('bench_openmpi')), noise)
        if n <= (os.cpu_count() or 1):
            over = ('-hosts', addresses, '-localhost', '10.77.0.1', '-iface',
                    'eth0', '-launcher', 'ssh', '-launcher-exec', reach)
            yield Case(*row, 'mpich', 'tcp', *rest,
                       (*first, 'mpirun.mpich', '-n', str(n), *over,
                        self.program('bench_mpich')),
                       {**noise, 'UCX_TLS': 'tcp,self',
                        'UCX_NET_DEVICES': 'eth0'})
        for algorithm in ('tcp-ring', 'tcp-bcube'):
            yield Case(*row, 'gloo', algorithm, *rest, self.gloo(n)[0], wire)
        if self.has_torch and self.profile != 'short':
            yield Case(*row, 'torch', 'tcp', *rest, self.torch(n)[0], wire)

    def cases(self):
        """All, in the order of a round."""
        few = self.profile == 'short'
        for link in ('tcp', 'memory'):
            for n in (2, 4) if few else (2, 4, 8):
                yield from self.loopback(link, n)
        yield from self.codings()
        for n in (2,) if few else (2, 4):
            yield from self.costs(n)
        for n in (2, 8) if few else (2, 8, 32):
            yield from self.startups(n)
        for link in RATES:
            for n in (2,) if few else (2, 4):
                yield from self.rated(link, n)


def selected(cases, words):
    """Those that the words leave: operations, links, peers, numbers of ranks;
    of each kind any. Cases keep only the operations that are named."""
    known = {'op': OPS, 'link': LINKS, 'peer': PEERS}
    wanted = {kind: {word for word in words if word in names}
              for kind, names in known.items()}
    wanted['n'] = {int(word) for word in words if word.isdigit()}
    unknown = set(words) - set().union(OPS, LINKS, PEERS) - {
        str(n) for n in wanted['n']}
    if unknown:
        raise ValueError(f'{", ".join(sorted(unknown))}: no operation '
                         f'({", ".join(OPS)}), link ({", ".join(LINKS)}), '
                         f'peer ({", ".join(PEERS)}) or number of ranks')
    if 'memory' in wanted['link'] or 'memory' in wanted['peer']:
        wanted['peer'].discard('memory')  # the word means the link
    for case in cases:
        ops = tuple(op for op in case.ops
                    if not wanted['op'] or op in wanted['op'])
        if (ops and case.link in (wanted['link'] or LINKS) and
                case.peer in (wanted['peer'] or PEERS) and
                case.n in (wanted['n'] or {case.n})):
            yield dataclasses.replace(case, ops=ops)
