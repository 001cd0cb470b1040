"""bench/compare/texts.py - what the document says beside its numbers"""

HEAD = '''\
# Benchmarks

hoop beside Open MPI, MPICH, Gloo and torch, on one machine: over its loopback
interface, through memory that the ranks share, and over links of 1 and 10
Gbit/s between network namespaces. Written by `bench/compare/run.sh`; do not
edit.

    ./bench/compare/run.sh             # three rounds of everything
    ./bench/compare/run.sh --short     # only: does everything run?
    ./bench/compare/run.sh --only allreduce,memory,2    # a part, again
    ./bench/compare/run.sh --only cost    # what TLS and checksums cost

It needs root on Debian 12, for packages and network namespaces, and an
otherwise idle machine. The numbers of each run stay in a file of their own; a
table is of the newest run that has measured it, whose time and hoop stand below
it; how busy the machine was before each, its table says ("load": more than there
are processors is not idle). `--report` writes the document anew.

## How to read the tables

- Microseconds for one operation, least is best: the median over rounds of the
  median over batches, where a batch lasts as long as its slowest rank. Size is
  nccl-tests': the larger of a rank's two buffers. Elements are f32, reductions
  sums, roots rank 0; ping-pong is half the way there and back. Every program
  checks its first result.
- All programs run the same loop (`bench/peers/driver.h`), in turns, each in a
  fresh network namespace with cubic congestion control, or reno where a kernel
  allows no other there; bbr is none's. Who has several
  transports is told which to take: **TCP** or **memory** (Open MPI's vader,
  MPICH's UCX over memory). Gloo and torch have only TCP.
- **hoop / best rival** is hoop's time over that of the fastest other library at
  that size: below 1 hoop is faster. **hoop / limit** is the same over programs
  without a library, an allreduce by hand without headers, matching or failures
  (`bench/peers/ideal.c`, `bench/peers/ideal_memory.c`). They are good, and no
  law of nature: below 1 hoop is faster than they are. For 8 bytes through
  memory they send the payload in the cache line that says that it is there.
- **spread** is the highest less the lowest round over the median, the larger
  one of hoop and the best rival. Differences below 15 % are no findings.
- Open MPI yields when ranks outnumber processors, as it can be told to. MPICH
  cannot: each step then waits for a time slice, so it has fewer sizes and one
  round there. Gloo's older classes run on contexts of their own, since they
  leave the sockets with send buffers too small for the newer functions; the
  busy one stops at 16M: both sides write before they read, and more does not
  fit the sockets' buffers. torch's Gloo has no reduce-scatter and no alltoall.
- **near** and **far** are states of the machine. Where a hypervisor moves
  virtual processors, a cache line's round trip between them changes by a factor
  (near is up to 300 ns), and every transport with it; at its worst several times
  a second. So it is asked forty times a second (`bench/peers/watch.c`), where
  real-time priority is allowed: each batch counts for the state that it ran in,
  as far as that was seen in time, or, if it changed meanwhile, not at all.
  Elsewhere programs are run again during which the state changed. States are not
  comparable and stand in different tables. Over slow links and at start-up
  nothing depends on it.
'''

TARGETS = '''
## Targets

Ratios of times, as above, from the near state; ✓ is met, ✗ is missed. Empty is
not measured.
'''

LINKS = '''
## Slow links

A host for each rank: network namespaces on one bridge, each link limited both
ways (`bench/peers/hosts.sh`). The share of the line's rate that an allreduce
needs which sends every byte once, as it is, 2 (n - 1) / n times its size; 0.957
is what TCP over Ethernet leaves, and more takes fewer bytes. Everybody moves
noise, of which no codec saves a byte, but where a gradient is named: that of
another batch on each rank, of a network that has learned for 60 steps
(`bench/wire/gradient.c`). 1M at 10 Gbit/s is what a link lets pass at once.
Beyond that this machine's processors are the limit there, not the wire: they do
all hosts' work and the switch's.
'''

COST = '''
## What sealing and checking cost

hoop over TCP with `HOOP_CHECKSUM=on`, a sum of every frame, and with
`HOOP_TLS=on`, TLS 1.3 by a key made of the job's token (AES-128-GCM), as
quotients of its time with neither: the median over runs, each over one without
from the same round, and the highest less the lowest over that. In a round the
four go there and back. Processor seconds of all ranks are over the GB that all
of them send. Between ranks that share memory nothing is sealed.
'''

STARTUP = '''
## Start-up

Seconds from the start of the launcher until rank 0 is through a barrier, and
until the launcher has ended. hoop is started by hooprun, which coordinates, or
by hoopd and hooprun; Gloo's and torch's ranks by a shell, and they meet in a
folder. torch with 32 ranks is left out: importing it takes each of them a
second.
'''

CPU = '''
## Processor time

Processor seconds of all ranks, user and system, over the GB that all of them
send, 2 (n - 1) times the size. Who waits by spinning takes time for it.
'''
