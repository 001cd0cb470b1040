"""tests/fault/kinds.py - the kinds of fault that hoopctl why and the page must name

For tests/fault/why_check.py and tests/web/page_check.py. A kind makes real processes get
stuck, or slow, and says which sentence, and which ranks, must be told of them. The kinds
of links have each rank on a host of its own, a network namespace (network_hosts.py).
"""

import json
import os
import re
import socket
import subprocess
import time
from collections import namedtuple

import network_hosts
from jobs import Hoopd, Job
from programs import Wrong, await_true, environment_clean

HOST = socket.gethostname()
CALL = 'allreduce #1 (float64, 4 elements, sum)'
# The promise, and how much more it is on a busy machine: as much as the failure timeout,
# whose default is 2 s.
NAMED_S = 3.0
SLACK = float(os.environ.get('HOOP_FAILURE_TIMEOUT', 10)) / 2
SLOW_LINK = 'root tbf rate 10mbit burst 16kb latency 200ms'.split()


class FaultyJob(Job):
    """A job with a hoopd of its own. Rank `at` is the one that will be at fault."""

    def __init__(self, programs, folder, size, at, hosts=None, **settings):
        hoopd, self.hoopctl, member = programs
        super().__init__(
            Hoopd(hoopd, folder, host=network_hosts.HERE if hosts else None,
                  HOOP_INSECURE_OPEN='on'),
            member, 'train', size, absent=range(size), hosts=hosts, **settings)
        self.at = at
        self.others = [rank for rank in range(size) if rank != at]
        self.page = self.hoopd.page
        self.fault_at = None

    def begin(self):
        self.start(*range(self.size))
        self.ready()

    def drop(self, at, sender):
        """From now on nothing that one rank sends arrives at the other."""
        network_hosts.run(*self.hosts.on(
            f'h{at}', 'iptables', '-A', 'INPUT', '-s', self.hosts.addresses[f'h{sender}'],
            '-j', 'DROP'))

    def slow_down(self, rank):
        network_hosts.run('tc', 'qdisc', 'add', 'dev', f'to-h{rank}', *SLOW_LINK)
        network_hosts.run(*self.hosts.on(
            f'h{rank}', 'tc', 'qdisc', 'add', 'dev', 'near', *SLOW_LINK))

    def why(self):
        """The verdict, and its exit code."""
        began = time.monotonic()
        shown = subprocess.run([self.hoopctl, '--json', 'why', 'train'], text=True,
                               env=environment_clean() | self.access, timeout=30,
                               stdout=subprocess.PIPE, check=False)
        if shown.returncode not in (0, 1, 66):
            raise Wrong(f'hoopctl why exits with {shown.returncode}')
        # Before the first has joined, there is no such job.
        seen = json.loads(shown.stdout or
                          '{"kind": "", "culprits": [], "verdict": "", "ranks": []}')
        seen['code'] = shown.returncode
        seen['took_s'] = time.monotonic() - began
        return seen

    def masked(self, text):
        """Without what differs from run to run."""
        for rank, worker in self.workers.items():
            text = re.sub(rf'{re.escape(HOST)}:{worker.popen.pid}\b', f'host:{1000 + rank}',
                          text)
            text = re.sub(rf'\b{worker.popen.pid}\b', str(1000 + rank), text)
        text = text.replace(HOST, 'host')
        return re.sub(r'\b\d+\.\d+ s\b', 'T s', text)

    def end(self):
        super().end()
        self.hoopd.kill()
        for name in self.hosts.addresses if self.hosts else ():
            subprocess.run(self.hosts.on(name, 'iptables', '-F'), check=True)
            for words in (['tc'], self.hosts.on(name, 'tc')):
                subprocess.run(words + ['qdisc', 'del', 'dev', f'to-{name}' if words == ['tc']
                                        else 'near', 'root'], check=False,
                               stderr=subprocess.DEVNULL)


# Each makes a job, and at `yield` all is well; then somebody who waits sees the fault.

def stopped(job):
    job.begin()
    yield
    job.tell('allreduce', *job.others)
    job.stop(job.at)


def killed(job):
    """hoopd hears of it from the others, which are in no call that it fails."""
    job.begin()
    job.tell('try', *job.others)
    yield
    job.workers[job.at].kill()


def link_frozen(job):
    """No rank hears that one, and it hears none; hoopd hears all."""
    job.begin()
    job.tell('allreduce', *range(job.size))
    job.await_done(*range(job.size))
    yield
    for rank in job.others:
        job.drop(rank, job.at)
        job.drop(job.at, rank)
    job.tell('allreduce', *range(job.size))


def link_one_way(job):
    """No rank hears that one, which hears all."""
    job.begin()
    job.tell('allreduce', *range(job.size))
    job.await_done(*range(job.size))
    yield
    for rank in job.others:
        job.drop(rank, job.at)
    job.tell('allreduce', *range(job.size))


def mismatch(job):
    job.begin()
    yield
    job.tell('try', *job.others)
    job.tell('differ', job.at)


def missing(job):
    job.start(job.others[0])
    await_true('a rank is missing', lambda: job.why()['kind'] == 'missing')
    yield
    job.start(*job.others[1:])


def computes(job):
    job.begin()
    yield
    job.tell('compute', job.at)
    job.tell('allreduce', *job.others)


def slow_rank(job):
    """All moves, at the pace of one rank."""
    job.begin()
    yield
    job.tell('slow', job.at)
    job.tell('fast', *job.others)


def link_slow(job):
    """One call takes long."""
    job.begin()
    yield
    job.slow_down(job.at)
    job.tell('wide', *range(job.size))


def link_slow_lately(job):
    """Each of many calls is done in less than a second."""
    job.begin()
    yield
    job.slow_down(job.at)
    job.tell('repeat', *range(job.size))


def deadlock(job):
    job.begin()
    job.tell('open', *range(job.size))
    job.await_done(*range(job.size))
    yield
    job.tell('a', job.at)
    job.tell('b', *job.others)


def never_calls(job):
    job.begin()
    yield
    job.tell('allreduce', *job.others)


def calls_alone(job):
    """One rank makes a call more than the others."""
    job.begin()
    yield
    job.tell('allreduce', job.at)


def half_joined(job):
    job.begin()
    yield
    job.tell('open', *job.others)


def ended(job):
    job.begin()
    yield
    job.tell('leave', *range(job.size))


def ended_lost(job):
    """What hoopd remembers of a job that is gone."""
    yield from killed(job)
    for rank in job.others:
        job.workers[rank].expect('done')
    job.tell('leave', *job.others)


def ended_failed(job):
    """All leave in good order, since a call had failed."""
    yield from mismatch(job)
    job.await_done(*range(job.size))
    job.tell('leave', *range(job.size))


def never_formed(job):
    """One of two comes, and gives up."""
    yield
    job.start(0, HOOP_JOIN_TIMEOUT='1')


def moving(job):
    job.begin()
    yield
    job.tell('allreduce', *range(job.size))


# What to make, of how many ranks of which one is at fault, whether each has a host of its
# own, the kind that is told, the ranks that are named (end: two, of which it is one), and
# the sentence. In it, AT is the rank at fault, WAIT stands for "rank 0 (host:1000) and 1
# other wait", or however many wait, and ANY is some rank.
Kind = namedtuple('Kind', 'make size at links kind culprits sentence')
WAIT = rf"WAIT in {re.escape(CALL)} of 'world' for T s"
ANY = r'rank \d \(host:100\d\)'
DATA = r'[\d.]+ [kM]B of [\d.]+ MB so far, [\d.]+ [kM]B/s'
KINDS = {
    'stopped': Kind(stopped, 3, 2, False, 'stopped', 'at',
                    rf'AT is stopped by a signal or a debugger; {WAIT}\.'),
    'killed': Kind(killed, 3, 2, False, 'lost', 'at',
                   r'AT is lost: its process has ended .*\.'),
    'link_frozen': Kind(link_frozen, 3, 1, True, 'link', 'end', (
        rf'{ANY} (and {ANY} do not hear each other|does not hear {ANY}), but both answer '
        rf'hoopd; {ANY} waits in allreduce .* T s\.')),
    'link_one_way': Kind(link_one_way, 3, 1, True, 'link-one-way', 'end', (
        rf'{ANY} does not hear AT, which hears it: data pass in one direction only; {ANY} '
        r'waits in allreduce .* T s\.')),
    'mismatch': Kind(mismatch, 3, 2, False, 'mismatch', 'all', (
        rf'The ranks call different things: allreduce #1 \(.*{ANY} called '
        rf'allreduce #1 \(float\d\d, 4 elements, sum\), but {ANY} called '
        r'allreduce #1 \(float\d\d, 4 elements, sum\).*')),
    'missing': Kind(missing, 4, 2, False, 'missing', 'at',
                    r'The job waits for rank NUMBER to join; \d of \d have come in T s\.'),
    'slow_rank': Kind(slow_rank, 3, 2, False, 'slow-rank', 'at', (
        rf'Nothing is stuck, but {ANY} waited (T s of the last T s|\d+ s of the last minute) '
        r'for AT to call\.')),
    'link_slow': Kind(link_slow, 3, 1, True, 'slow-link', 'end',
                      rf'Data move slowly between {ANY} and {ANY}: {DATA}; .* T s\.'),
    'link_slow_lately': Kind(link_slow_lately, 3, 1, True, 'slow-link', 'end', (
        rf'Nothing is stuck, but data move slowly between {ANY} and {ANY}: {ANY} waited T s '
        r'of the last T s for bytes\.')),
    'deadlock': Kind(deadlock, 2, 0, False, 'deadlock', 'end', (
        'Ranks wait for each other in different calls: '
        rf"({ANY} waits in {re.escape(CALL)} of '[ab]' for {ANY}(, and )?){{2,}}\.")),
    'never_calls': Kind(never_calls, 3, 2, False, 'never-calls', 'at',
                        rf'AT is in no call of hoop and sleeps in read; {WAIT}\.'),
    'computes': Kind(computes, 3, 2, False, 'computes', 'at',
                     rf'AT is in no call of hoop and computes; {WAIT}\.'),
    'calls_alone': Kind(calls_alone, 3, 1, False, 'calls-alone', 'end', (
        rf'Only AT has made its call, and the \d others are in no call of hoop, {ANY} among '
        rf'them; {WAIT}\.')),
    'half_joined': Kind(half_joined, 3, 2, False, 'half-joined', 'at', (
        r'A communicator is half joined: AT has not called to create it; WAIT in '
        r'hoop_comm_create or hoop_comm_split \(\d ranks\) for T s\.')),
    'ended': Kind(ended, 2, 0, False, 'ended', 'none',
                  r'The job ended T s ago: all of its ranks have left in good order\.'),
    'ended_lost': Kind(ended_lost, 3, 2, False, 'ended-lost', 'at', (
        r'The job ended T s ago, and AT was lost first: its process has ended .*\.')),
    'ended_failed': Kind(ended_failed, 3, 2, False, 'ended-failed', 'all', (
        rf'The job ended T s ago, after a call of {ANY} had failed: allreduce #1 \(.*{ANY} '
        r'called allreduce #1 \(.*')),
    'never_formed': Kind(never_formed, 2, 1, False, 'ended', 'none', (
        r'The job ended T s ago: it never formed, since \d of \d workers came in time\.')),
    'moving': Kind(moving, 3, 0, False, 'moving', 'none',
                   r'Nothing is stuck: no rank is in a call of hoop\.'),
}
# The kinds that the page is asked for; the others are of the end of a job.
PAGE_KINDS = [name for name in KINDS if name not in (
    'ended', 'ended_lost', 'ended_failed', 'never_formed', 'moving')]


def are_culprits(job, kind, culprits):
    named = sorted(culprits)
    return {'at': named == [job.at], 'all': named == list(range(job.size)), 'none': not named,
            'end': len(named) == 2 and job.at in named}[kind.culprits]


def is_sentence(job, kind, told):
    """Whether a sentence is the one of the kind."""
    text = re.sub(r'; rank \d+ \([^)]*\)( and \d+ others?)? waits? in', '; WAIT in',
                  job.masked(told)) if 'WAIT' in kind.sentence else job.masked(told)
    wanted = kind.sentence.replace('NUMBER', str(job.at)).replace(
        'AT', rf'rank {job.at} \(host:{1000 + job.at}\)')
    return re.fullmatch(wanted, text[:1].lower() + text[1:]) or re.fullmatch(wanted, text)


class Named:
    """Notes when the right answer came, from the moment of the fault."""

    def __init__(self, job, name):
        self.what = f'{name}, rank {job.at} of {job.size}'
        self.began = time.monotonic()
        self.load = os.getloadavg()[0]

    def check(self, who):
        took_s = time.monotonic() - self.began
        is_busy = max(self.load, os.getloadavg()[0]) > os.cpu_count()
        print(f'{self.what}: {who} has named it after {took_s:.1f} s', flush=True)
        if took_s > NAMED_S * (max(1, SLACK) if is_busy else 1):
            raise Wrong(f'{self.what}: that is too long')


def hosts_make(size):
    """Return hosts for so many ranks; the caller closes them."""
    hosts = network_hosts.Hosts()
    for rank in range(size):
        hosts.add(f'h{rank}')
    return hosts
