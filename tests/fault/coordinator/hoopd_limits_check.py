#!/usr/bin/env python3
"""tests/fault/coordinator/hoopd_limits_check.py - what others can make hoopd hold is bounded

hoopd_limits_check.py HOOPD [SECONDS]: each load comes near a limit of a hoopd
of its own, which has a token. Strangers take all of its descriptors, 64 and
then 1024. An operator, and then a worker, parks 1,000 watches whose bodies have
the size of the largest message. Strangers and workers send only the beginnings
of messages. A worker asks for more than it reads. hoopd keeps replies for
100,000 clients. Jobs have groups and waiting requests. There are 10,000
connections. Last, most of these happen at once for SECONDS (default 4). Each
time hoopd's memory must stay below a bound, and hoopd must answer an honest
client and /healthz.
"""

import os
import resource
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
from control_client import Client, Reader, Refused, VERSION, pack
from programs import Program, Wrong, await_true, free_addresses
from strangers import dial

TOKEN = 'a secret of all jobs'
INCARNATION = 77
JOIN = [INCARNATION, 1, 0, 1, 0, 0, 0, 1, 'h', 'h', '127.0.0.1:1']
EXHAUSTED = 8
MESSAGE = 4 * 1024 * 1024  # the largest message of docs/rpc.md
SMALL = 64 * 1024
MIB = 1024 * 1024
WATCHES = 1000
HEALTH_S = 1
QUEUE = 3000  # more than 60 times the 64 descriptors
QUEUE_S = 30
JOBS, JOB_GROUPS, JOB_WAITS = 200, 10, 10
SLACK = 16 * MIB  # for connections, kept replies and overhead of malloc
CPU_MAX = 0.5  # of one processor, while strangers hold all descriptors
LOG_LINES_MAX = 60  # in the same time
AT_ONCE = 256  # how many requests wait for replies at a time
SECONDS = 4


class Coordinator:
    """This is a hoopd with n_files descriptors, and a job of one rank that has
    set a key."""

    def __init__(self, hoopd, folder, name, n_files=None):
        self.places = free_addresses(2)
        self.address = '%s:%d' % self.places[0]
        token_file = os.path.join(folder, 'token')
        with open(token_file, 'w', encoding='utf-8',
                  opener=lambda path, how: os.open(path, how, 0o600)) as file:
            file.write(TOKEN + '\n')
        words = [hoopd, '--listen', self.address, '--http',
                 '%s:%d' % self.places[1], '--token-file', token_file,
                 '--lease', '600']
        if n_files:
            words = ['sh', '-c', f'ulimit -n {n_files}; exec "$@"', 'sh', *words]
        self.program = Program(folder, name, words)
        self.program.expect('serves workers')
        self.operator = self.token(hoopd, 'operator')
        self.metrics = self.token(hoopd, 'metrics')
        worker = self.client()
        self.epoch = worker.call('Rendezvous/Join', JOIN)[0]
        worker.set('large', bytes(MIB - 64))
        worker.close()

    @staticmethod
    def token(hoopd, role):
        return subprocess.run(
            [os.path.join(os.path.dirname(hoopd), '..', 'tools', 'hoopctl',
                          'hoopctl'), 'token', role],
            capture_output=True, text=True, check=True,
            env=os.environ | {'HOOP_TOKEN': TOKEN}).stdout.strip()

    def client(self, token=TOKEN):
        return Client(self.address, 'default', token)

    def figure(self, name):
        """Return the value of a metric of /metrics."""
        page = urllib.request.Request(
            'http://%s:%d/metrics' % self.places[1],
            headers={'Authorization': 'Bearer ' + self.metrics})
        with urllib.request.urlopen(page, timeout=30) as lines:
            return next(int(line.split()[1]) for line in lines
                        if line.split()[0] == name.encode())

    def rss(self):
        with open(f'/proc/{self.program.popen.pid}/status',
                  encoding='ascii') as lines:
            return next(int(line.split()[1]) for line in lines
                        if line.startswith('VmRSS')) * 1024

    def cpu_s(self):
        with open(f'/proc/{self.program.popen.pid}/stat',
                  encoding='ascii') as line:
            fields = line.read().rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

    def serves(self):
        """Check that hoopd runs and answers an honest client. Return how long
        it took."""
        if self.program.popen.poll() is not None:
            raise Wrong('hoopd has ended:\n' + self.program.text())
        began = time.monotonic()
        client = self.client()
        client.set('k', b'v')
        if client.get('k') != b'v':
            raise Wrong('the store has forgotten')
        client.close()
        return time.monotonic() - began

    def is_healthy(self):
        began = time.monotonic()
        with urllib.request.urlopen(
                'http://%s:%d/healthz' % self.places[1],
                timeout=10 * HEALTH_S) as page:
            if page.status != 200:
                raise Wrong(f'/healthz: {page.status}')
        taken = time.monotonic() - began
        if taken > HEALTH_S and not is_slow_build():
            raise Wrong(f'/healthz took {taken:.1f} s')
        return taken

    def below(self, what, n_bytes):
        """Check that hoopd answers and holds no more than n_bytes."""
        taken, rss = self.serves(), self.rss()
        health = self.is_healthy()
        print(f'{what}: {rss / MIB:.0f} MiB, an honest client was answered in '
              f'{taken * 1000:.0f} ms, /healthz in {health * 1000:.0f} ms',
              flush=True)
        if rss > n_bytes and not is_slow_build():
            raise Wrong(f'{what}: hoopd has {rss / MIB:.0f} MiB')

    def end(self):
        self.program.popen.terminate()
        if self.program.code() != 0:
            raise Wrong('hoopd failed:\n' + self.program.text())


def is_slow_build():
    return any(name in os.environ for name in ('ASAN_OPTIONS', 'TSAN_OPTIONS'))


def frame(client, number, method, body):
    message = pack([VERSION, 'hoop.v1.' + method, client.name, number, 60000,
                    client.metadata, body])
    return struct.pack('>QI', len(message) + 4, 0x80000000 | number) + message


def reply_read(client):
    size, _ = struct.unpack('>QI', client.exactly(12))
    return Reader(client.exactly(size - 4)).read()


def connected(coordinator, token=TOKEN):
    client = coordinator.client(token)
    client.open(timeout_s=30)
    return client


def strangers_hold_all_descriptors(hoopd, folder, n_files, n_strangers):
    coordinator = Coordinator(hoopd, folder, f'files{n_files}', n_files)
    strangers = []
    before_s, began = coordinator.cpu_s(), time.monotonic()
    for _ in range(n_strangers):
        strangers.append(dial(coordinator.places[0]))
    for _ in range(5):
        coordinator.below(f'{n_strangers} silent connections at {n_files} '
                          'descriptors', 100 * MIB)
        time.sleep(0.5)
    taken_s = time.monotonic() - began
    share = (coordinator.cpu_s() - before_s) / taken_s
    n_lines = len(coordinator.program.text().splitlines())
    print(f'hoopd used {share:.0%} of a processor and wrote {n_lines} lines')
    if share > CPU_MAX and not is_slow_build():
        raise Wrong(f'hoopd used {share:.0%} of a processor')
    if n_lines > LOG_LINES_MAX:
        raise Wrong(f'{n_lines} lines:\n' + coordinator.program.text())
    for stranger in strangers:
        stranger.close()
    coordinator.end()


def silence_costs_no_time(hoopd, folder):
    """A client that speaks at once must not wait a second for each time that
    earlier, silent connections fill the descriptors."""
    coordinator = Coordinator(hoopd, folder, 'queue', 64)
    strangers = [dial(coordinator.places[0]) for _ in range(QUEUE)]
    taken_s = coordinator.serves()
    print(f'behind {QUEUE} silent connections an honest client waited for '
          f'{taken_s:.1f} s')
    if taken_s > QUEUE_S:
        raise Wrong(f'an honest client waited for {taken_s:.1f} s')
    for stranger in strangers:
        stranger.close()
    coordinator.end()


def parks_watches(coordinator, token, method, fields, n_watches=WATCHES):
    """Send watches that each fill a message, over ten connections. Return how
    many got each status; None stands for no reply."""
    body = pack(fields + [bytes(MESSAGE - 8192)])
    clients = [connected(coordinator, token) for _ in range(10)]
    for number in range(n_watches):
        client = clients[number % len(clients)]
        client.link.sendall(frame(client, 1000 + number, method, body))
    statuses = {}
    for client in clients:
        # This request follows all watches of the same connection.
        client.link.sendall(frame(client, 5000, 'Health/Check', pack([''])))
        while True:
            reply = reply_read(client)
            if reply[1] == 5000:
                break
            statuses[reply[2]] = statuses.get(reply[2], 0) + 1
            if reply[2] == EXHAUSTED and not any(
                    word.isdigit() for word in reply[3].split()):
                raise Wrong('no limit and no value: ' + reply[3])
    return clients, statuses


def watches_are_bounded(hoopd, folder):
    coordinator = Coordinator(hoopd, folder, 'watches')
    asker = coordinator.client()
    revision = asker.call('Store/Get', [['large']])[0]
    members = asker.call('Status/Job', [])[2]
    asker.close()
    clients, statuses = parks_watches(
        coordinator, coordinator.operator, 'Rendezvous/Watch',
        [coordinator.epoch, members])
    coordinator.below(f'{WATCHES} watches of an operator, 4 MiB each', 100 * MIB)
    if statuses != {EXHAUSTED: WATCHES}:
        raise Wrong(f'watches of an operator: {statuses}')
    others, statuses = parks_watches(coordinator, TOKEN, 'Store/Watch',
                                     ['p', False, revision])
    coordinator.below(f'{WATCHES} watches of a worker, 4 MiB each', 200 * MIB)
    if not statuses.get(EXHAUSTED):
        raise Wrong(f'watches of a worker: {statuses}')
    small = connected(coordinator, coordinator.operator)
    small.link.sendall(frame(small, 1, 'Rendezvous/Watch',
                             pack([coordinator.epoch, members])))
    small.link.sendall(frame(small, 2, 'Health/Check', pack([''])))
    if reply_read(small)[1] != 2:
        raise Wrong('a small watch is not parked')
    for client in clients + others + [small]:
        client.close()
    coordinator.end()


def beginnings_are_bounded(hoopd, folder):
    """Send the beginnings of messages whose ends never come."""
    coordinator = Coordinator(hoopd, folder, 'beginnings')
    strangers = []
    for _ in range(2000):
        stranger = dial(coordinator.places[0])
        strangers.append(stranger)
        stranger.sendall(bytes.fromhex('0053500000300000') +
                         struct.pack('>QI', SMALL, 0x80000001) +
                         bytes(SMALL - 1024))
    coordinator.below('2,000 beginnings of a stranger, 63 KiB each', 150 * MIB)
    members = [connected(coordinator) for _ in range(300)]
    for member in members:
        member.link.sendall(struct.pack('>QI', MESSAGE - 64, 0x80000001) +
                            bytes(2 * MIB))
    coordinator.below('300 beginnings of a worker, 2 MiB each', 600 * MIB)
    for end in strangers + members:
        end.close()
    coordinator.end()


def asks_before_it_reads(coordinator, n_replies, between):
    """Ask for replies of 1 MiB each. Call between() before the first is
    read."""
    client = connected(coordinator)
    for number in range(1, n_replies + 1):
        client.link.sendall(frame(client, number, 'Store/Get',
                                  pack([['large']])))
    between()
    statuses = [reply_read(client)[2] for _ in range(n_replies)]
    if statuses != [0] * n_replies:
        raise Wrong(f'not all replies came: {set(statuses)}')
    client.close()


def unread_replies_are_bounded(hoopd, folder):
    """A client asks for 600 MiB before it reads. It must then get all of it."""
    coordinator = Coordinator(hoopd, folder, 'unread')
    before = coordinator.rss()
    asks_before_it_reads(coordinator, 600, lambda: coordinator.below(
        '600 MiB of replies that are not read', before + 100 * MIB))
    coordinator.end()


def kept_replies_are_bounded(hoopd, folder, n_clients):
    """Send each request as a client of its own, so that the overhead per client
    and reply counts for most. hoopd keeps 64 MiB of replies."""
    coordinator = Coordinator(hoopd, folder, 'kept')
    coordinator.client().set('small', bytes(450))
    before = coordinator.rss()
    client = connected(coordinator)
    request = frame(client, 1, 'Store/CompareSet',
                    pack(['small', True, b'', b'', 0]))
    for _ in range(n_clients // AT_ONCE):
        client.link.sendall(b''.join(
            request.replace(client.name, os.urandom(16))
            for _ in range(AT_ONCE)))
        for _ in range(AT_ONCE):
            reply = reply_read(client)
            if reply[2] != 0 or len(reply[4]) < 450:
                raise Wrong(f'no such reply: {reply}')
    coordinator.below(f'replies of 500 bytes kept for {n_clients} clients',
                      before + 96 * MIB)
    client.close()
    coordinator.end()


def parks_and_leaves(coordinator, revision):
    """Park few watches and leave. The share of all workers (384 MiB) then still
    has room for watches whose clients hoopd has yet to find gone, and for
    replies to others."""
    clients, _ = parks_watches(coordinator, TOKEN, 'Store/Watch',
                               ['p', False, revision], 20)
    for client in clients:
        client.close()


def all_at_once(hoopd, folder, n_seconds):
    """Load hoopd with endless strangers at both ports, with watches of the
    largest size and with replies that are read late."""
    coordinator = Coordinator(hoopd, folder, 'all')
    asker = coordinator.client()
    revision = asker.call('Store/Get', [['large']])[0]
    asker.close()
    until = time.monotonic() + n_seconds
    failures = []

    def again_and_again(load, *args):
        try:
            while time.monotonic() < until:
                load(coordinator, *args)
        except (Wrong, Refused, OSError) as error:
            failures.append(error)

    script = os.path.join(os.path.dirname(__file__), '../strangers.py')
    crowds = [Program(folder, f'crowd{port}', [sys.executable, '-B', script,
                                              f'{host}:{port}'])
              for host, port in coordinator.places]
    threads = [threading.Thread(target=again_and_again, args=load) for load in [
        (parks_and_leaves, revision), (asks_before_it_reads, 100, lambda: None)]]
    for thread in threads:
        thread.start()
    try:
        while time.monotonic() < until and not failures:
            coordinator.below('all kinds at once', 600 * MIB)
            time.sleep(0.5)
    finally:
        until = 0
        for thread in threads:
            thread.join()
        for crowd in crowds:
            crowd.kill()
    if failures:
        raise failures[0]
    coordinator.end()


def job_begin(coordinator, name):
    """Begin a job of one rank, with groups and with requests that wait for many
    short keys. Return its client and its epoch."""
    client = Client(coordinator.address, name, TOKEN)
    epoch = client.call('Rendezvous/Join', JOIN)[0]
    for number in range(JOB_GROUPS):
        client.call('Groups/Create', [epoch, INCARNATION, f'g{number}', [0]])
    for number in range(JOB_WAITS):
        client.link.sendall(frame(client, 1000 + number, 'Store/Wait',
                                  pack([list('abcdefgh' * 128)])))
    return client, epoch


def jobs_are_counted(hoopd, folder):
    """What hoopd counts as allocated for jobs, and as held for their
    connections, must account for its growth. All of it must be given back."""
    coordinator = Coordinator(hoopd, folder, 'jobs')
    before, jobs_before = coordinator.rss(), coordinator.figure('hoop_job_bytes')
    n_waits = coordinator.figure('hoop_requests_parked') + JOBS * JOB_WAITS
    jobs = [job_begin(coordinator, f'job{number}') for number in range(JOBS)]
    await_true('all requests wait', lambda: coordinator.figure(
        'hoop_requests_parked') == n_waits)
    n_jobs = coordinator.figure('hoop_job_bytes') - jobs_before
    n_held = coordinator.figure('hoop_rpc_held_bytes')
    grown = coordinator.rss() - before
    print(f'{JOBS} jobs: {n_jobs / MIB:.1f} MiB are allocated for them and '
          f'{n_held / MIB:.1f} held for their connections, and hoopd grew by '
          f'{grown / MIB:.1f} MiB')
    # Most of it is the keys' texts and their pointers, 8 bytes each.
    if n_jobs < JOBS * JOB_WAITS * 1024 * 10:
        raise Wrong(f'only {n_jobs} bytes are charged')
    if grown > n_jobs + n_held + SLACK and not is_slow_build():
        raise Wrong(f'hoopd has grown by {grown} bytes')
    for client, epoch in jobs:
        client.close()
        client.call('Rendezvous/Leave', [epoch, INCARNATION])
        client.close()
    # hoopd frees an ended job at its next request.
    asker = coordinator.client()
    await_true('nothing is charged any more', lambda: asker.get('large') and
               coordinator.figure('hoop_job_bytes') == jobs_before)
    asker.close()
    coordinator.end()


def many_connections(hoopd, folder, n_connections):
    coordinator = Coordinator(hoopd, folder, 'many')
    before, clients = coordinator.rss(), []
    for _ in range(n_connections):
        clients.append(connected(coordinator))
    coordinator.below(f'{n_connections} connections of workers',
                      before + n_connections * 16 * 1024)
    for client in clients:
        client.close()
    await_true('hoopd has given back what they held',
               lambda: coordinator.rss() < before + 64 * MIB)
    coordinator.end()


def check(hoopd, folder, n_seconds):
    # hoopd may open so many descriptors, and this process holds the other ends.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    n_many = min(10000, hard - 1000) if not is_slow_build() else 500
    strangers_hold_all_descriptors(hoopd, folder, 64, 120)
    strangers_hold_all_descriptors(hoopd, folder, 1024, 3000)
    silence_costs_no_time(hoopd, folder)
    watches_are_bounded(hoopd, folder)
    beginnings_are_bounded(hoopd, folder)
    unread_replies_are_bounded(hoopd, folder)
    kept_replies_are_bounded(hoopd, folder,
                             100000 if not is_slow_build() else 2000)
    jobs_are_counted(hoopd, folder)
    many_connections(hoopd, folder, n_many)
    all_at_once(hoopd, folder, n_seconds)


def main():
    with tempfile.TemporaryDirectory() as folder:
        try:
            check(sys.argv[1], folder,
                  float(sys.argv[2]) if len(sys.argv) > 2 else SECONDS)
        except (Wrong, Refused, OSError) as error:
            sys.exit(f'hoopd_limits_check: {error}')


if __name__ == '__main__':
    main()
