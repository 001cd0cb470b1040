"""bench/compare/texts.py - what the document says beside its numbers"""

HEAD = '''\
# Benchmarks

This page compares hoop with Intel MPI, Open MPI, MPICH, oneCCL, Gloo, torch and
MLX on one machine: over its loopback interface, through memory that the ranks
share, and over links of 1 and 10 Gbit/s between network namespaces.
`bench/compare/run.sh` writes it; do not edit it.

    ./bench/compare/run.sh             # everything, in parts: quiet, busy, eight, rest
    ./bench/compare/run.sh --short     # only: does everything run?
    ./bench/compare/run.sh --only quiet    # one part: 2, 3 and 4 ranks, nothing else running
    ./bench/compare/run.sh --only allreduce,memory,2    # less of it
    ./bench/compare/run.sh --part allreduce,memory,2    # beside another machine's
    ./bench/compare/run.sh --report    # write this page anew

It needs root on Debian 12, for packages and network namespaces, and an
otherwise idle machine. It can be stopped, also by a kill: the same command goes
on where it was. Each run keeps its numbers in a file of its own. A table shows
the newest run that has measured it; the time of that run and the commit of
hoop are below the table. The table "Machine" says how busy the machine was
before each run ("load": a machine is not idle if it is greater than the number
of processors).

## How to read the tables

- Times are microseconds for one operation, and less is better: the median over
  rounds of the median over batches, where a batch lasts as long as its slowest
  rank. Sizes are those of nccl-tests: the larger of a rank's two buffers.
  Elements are f32, reductions are sums, and roots are rank 0. A ping-pong time
  is half the round trip. Every program checks its first result.
- **hoop / best rival** is hoop's time divided by that of the best rival in the
  same round, over all rounds: the median of the geometric means of all pairs of
  rounds. Below 1, hoop is faster. Who is best is decided for each round by the
  others, so that a rival that had luck in one round does not count for it. The
  **interval** (of Wilcoxon's signed-rank test) holds the true ratio in at least
  95 of 100 cases, if rounds are independent.
- The tables here show some sizes; [all cells](benchmarks/cells.md) have a page.
- The **verdict** is faster or slower if the interval has only such ratios, and
  else **not to be told** (`~` in summaries, where slower cells are bold). Of
  cells that were equal, at most one in forty would be told slower by chance.
- **†**: this rival does not take part there any more, since it took more than 6
  times as long as the fastest rival in each of the first two rounds, or more than
  twice as long in each of the first three. Its time is that of those rounds.
- All programs run the same loop (`bench/peers/driver.h`), in turns whose order
  changes from round to round, each in a fresh network namespace with cubic
  congestion control, or with reno if the kernel allows no other there; none of
  them uses bbr. A batch lasts about as long for everybody. Each program is told
  its transport, **TCP** or **memory** (`bench/compare/rivals.py`), and is
  believed if as many bytes passed the loopback interface as it needs, or hardly
  any (`bench/compare/traffic.py`). Gloo, torch and MLX have only TCP.
- If ranks outnumber processors, Open MPI yields, and Intel MPI yields or sleeps,
  which are options of theirs. MPICH through memory cannot, nor can MPICH 4 and
  oneCCL: each step waits for a time slice, so they have few sizes there. Gloo's older
  classes run on contexts of their own, since they leave the sockets with send
  buffers that are too small for the newer functions. The busy one stops at 16M:
  both sides write before they read. oneCCL has no ping-pong without a GPU.
- **hoop / limit** is hoop's time divided by that of the best of programs without
  a library, which do an allreduce by hand without headers, matching or failure
  handling (`bench/peers/ideal.c`, `bench/peers/ideal_memory.c`). These are good,
  but they are not a lower bound: below 1, hoop is faster than they are.
- **near** and **far** are states of the machine. If a hypervisor moves virtual
  processors, the round trip of a cache line between them changes by a factor
  (near is up to three times the shortest that was seen), and the speed of every
  transport changes with it. So
  the state is measured forty times a second (`bench/peers/watch.c`) if real-time
  priority is allowed. Each batch counts for the state in which it ran, and does
  not count if the state changed meanwhile; a ratio is of two times of the same
  state. Tables are of the state near, but for those of the last section. Over
  slow links and at start-up nothing depends on the state.

[Decision 32](decisions/0032-comparison-by-rounds.md) says why.
'''

ALL_CELLS = '''\
# All cells

Beside [benchmarks](../benchmarks.md), which say what the columns mean:
microseconds, and the ratio of hoop's time to that of the best rival with its
interval and verdict. † marks who does not take part in a cell any more.
`bench/compare/run.sh` writes this page; do not edit it.
'''

PART = '''\
## Measured later: a part

`bench/compare/run.sh --part` has measured these tables after all the others. The
targets and pictures above are not of them.
'''

CELLS = '''
## 2, 3 and 4 ranks, quiet

Nothing else runs. The first table counts cells: an operation of one size, on one
link, among a number of ranks. The second one shows some sizes, and the geometric
mean of all. The third one has every cell that is told slower.
'''

BUSY = '''
## Beside a busy process

Another process computes all the time.
'''

EIGHT = '''
## 8 ranks
'''

TARGETS = '''
## Targets

Ratios of times, from the near state; ✓ is met, ✗ is missed. An empty field was
not measured.
'''

FAR = '''
## With the processors far from each other
'''

TROUBLES = '''
## What failed

A case that fails in its first three rounds is not tried again. Numbers that it
printed before count.
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
