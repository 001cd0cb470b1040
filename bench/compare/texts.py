"""bench/compare/texts.py - what the document says beside its numbers"""

HEAD = '''\
# Benchmarks

This page compares hoop with Open MPI, MPICH, Gloo and torch on one machine:
over its loopback interface, through memory that the ranks share, and over links
of 1 and 10 Gbit/s between network namespaces. `bench/compare/run.sh` writes it;
do not edit it.

    ./bench/compare/run.sh             # three rounds of everything
    ./bench/compare/run.sh --short     # only: does everything run?
    ./bench/compare/run.sh --only allreduce,memory,2    # a part, again
    ./bench/compare/run.sh --part allreduce,memory,2    # beside another machine's
    ./bench/compare/run.sh --only cost    # what TLS and checksums cost

It needs root on Debian 12, for packages and network namespaces, and an
otherwise idle machine. Each run keeps its numbers in a file of its own. A table
shows the newest run that has measured it; the time of that run and the commit of
hoop are below the table. The table "Machine" says how busy the machine was
before each run ("load": a machine is not idle if it is greater than the number
of processors). `--report` writes this page anew.

## How to read the tables

- Times are microseconds for one operation, and less is better: the median over
  rounds of the median over batches, where a batch lasts as long as its slowest
  rank. Sizes are those of nccl-tests: the larger of a rank's two buffers.
  Elements are f32, reductions are sums, and roots are rank 0. A ping-pong time
  is half the round trip. Every program checks its first result.
- All programs run the same loop (`bench/peers/driver.h`), in turns, each in a
  fresh network namespace with cubic congestion control, or with reno if the
  kernel allows no other there; none of them uses bbr. A program with several
  transports is told which one to use: **TCP** or **memory** (vader of Open MPI,
  UCX over memory of MPICH). Gloo and torch have only TCP.
- **hoop / best rival** is hoop's time divided by that of the fastest other
  library at that size: below 1, hoop is faster. **hoop / limit** is hoop's time
  divided by that of programs without a library, which do an allreduce by hand
  without headers, matching or failure handling (`bench/peers/ideal.c`,
  `bench/peers/ideal_memory.c`). These are good, but they are not a lower bound:
  below 1, hoop is faster than they are. For 8 bytes through memory, they send
  the payload in the cache line that says that it is there.
- **spread** is the difference between the highest and the lowest round, divided
  by the median; the larger value of hoop and the best rival is shown.
  Differences below 15 % mean nothing.
- If ranks outnumber processors, Open MPI yields, which is one of its options.
  MPICH cannot: each step then waits for a time slice, so it has fewer sizes and
  one round there. Gloo's older classes run on contexts of their own, since they
  leave the sockets with send buffers that are too small for the newer functions.
  The busy one stops at 16M: both sides write before they read, and more does not
  fit into the buffers of the sockets. torch's Gloo has no reduce-scatter and no
  alltoall.
- **near** and **far** are states of the machine. If a hypervisor moves virtual
  processors, the round trip of a cache line between them changes by a factor
  (near is up to 300 ns), and the speed of every transport changes with it; at
  worst this happens several times a second. So the state is measured forty times
  a second (`bench/peers/watch.c`) if real-time priority is allowed. Each batch
  counts for the state in which it ran, as far as that was seen in time, and does
  not count if the state changed meanwhile. Otherwise, programs during which the
  state changed are run again. The states are not comparable and are in different
  tables. Over slow links and at start-up nothing depends on the state.
'''

PART = '''\
## Measured later: a part

`bench/compare/run.sh --part` has measured these tables after all the others. The
targets and pictures above are not of them.
'''

TARGETS = '''
## Targets

Ratios of times, as above, from the near state; ✓ is met, ✗ is missed. An empty
field was not measured.
'''

LINKS = '''
## Slow links

Each rank has a host of its own: network namespaces on one bridge, with each link
limited in both directions (`bench/peers/hosts.sh`). The numbers are shares of
the rate of the line. The rate used is that of an allreduce that sends every byte
once and unchanged, which is 2 (n - 1) / n times its size. TCP over Ethernet
leaves 0.957; more is possible only by sending fewer bytes. All programs send
noise, of which no codec saves a byte, except where a gradient is named. That is
the gradient of another batch on each rank, of a network that has learned for 60
steps (`bench/wire/gradient.c`). 1M at 10 Gbit/s is what a link lets pass at
once. Beyond that, the processors of this machine are the limit and not the wire:
they do the work of all hosts and of the switch.
'''

COST = '''
## What encryption and checksums cost

The times of hoop over TCP with `HOOP_CHECKSUM=on`, which adds a checksum to
every frame, and with `HOOP_TLS=on`, which is TLS 1.3 with a key derived from the
job's token (AES-128-GCM), divided by its time with neither. A number is the
median over runs, each divided by a run without from the same round; the spread
is the difference between the highest and the lowest run, divided by that. A
round runs the four variants in one order and then in the reverse order.
Processor seconds of all ranks are per GB that all of them send. Between ranks
that share memory nothing is encrypted.
'''

STARTUP = '''
## Start-up

Seconds from the start of the launcher until rank 0 has passed a barrier, and
until the launcher has ended. hoop is started by hooprun, which runs the
coordinator, or by hoopd and hooprun. The ranks of Gloo and torch are started by
a shell, and meet in a folder. torch with 32 ranks is left out: importing it
takes a second for each rank.
'''

CPU = '''
## Processor time

Processor seconds of all ranks, user and system, per GB that all of them send,
which is 2 (n - 1) times the size. Ranks that wait by spinning use processor time
for it.
'''
