#!/usr/bin/env python3
"""tests/fault/security/hostile_check.py - a job runs on while strangers knock

hostile_check.py HOOPD HOOPCTL STEADY [--connections N]: three workers reduce in
a loop. The ports of the workers and of hoopd get a port scan, random bytes, an
HTTP request, a TLS ClientHello, silence, half a handshake, and handshakes of
another version, without the token, of another rank, and replayed from a valid
one. hoopd also gets a worker with a wrong token, a request of another version,
one that sends the token, and requests of a former epoch and of another job.
Each must be refused, with a line in the log unless the client says nothing. A
client that greets hoopd and is then idle is closed, without a line for each. A
client that has the token sends messages of the greatest size, and halves of
such messages. Then a crowd comes to all ports at once. The last worker may open
few files and so has little room for strangers. Every result of the run must be
right. At the end memory and descriptors must be as before. How long the calls
took with strangers and without is printed.
"""

import argparse
import json
import os
import random
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
from control_client import VERSION, Client, Refused, pack
from programs import Program, Wrong, await_true, free_addresses
from strangers import (Crowd, HELLO_BYTES, SP_HELLO, dial, frame, hello,
                       http_request, peer_key, proof, read_all, request, say,
                       tls_hello)

WORKERS = 3
NMAP_S = 8
IDLERS = 300
# This bounds hoopd's log, which has some twenty lines of each kind in ten
# seconds.
LINES_MAX = 1000
TOKEN = 'secret'
# A process may grow by so much after strangers have visited it.
RSS_GROWTH_KIB = 24 * 1024
DESCRIPTORS_GROWTH = 12
# The last worker has this limit: what it needs, plus a quarter for strangers.
FILES = 24
# These are the gRPC status codes of docs/rpc.md.
INVALID = 3
UNAUTHENTICATED = 16
MESSAGE_MAX = 4 * 1024 * 1024
HALVES = 6

STRANGERS = {
    'random bytes': lambda: random.randbytes(65536),
    'an HTTP request': http_request,
    'a TLS hello': tls_hello,
    'a frame': frame,
}


class Job:
    """This has hoopd and the workers, and what hoopctl says of them."""

    def __init__(self, programs, folder):
        self.hoopd_path, self.hoopctl_path, self.steady_path = programs
        self.other = None
        self.folder = folder
        self.stop_file = os.path.join(folder, 'stop')
        self.address, self.http_address = free_addresses(2)
        self.started = []
        self.workers = []
        self.roster = None
        self.open_ends = []
        self.idlers = []

    def start(self, name, arguments, **environment):
        program = Program(self.folder, name, arguments, **environment)
        self.started.append(program)
        return program

    def worker(self, name, n_files=None, **environment):
        stop_file = self.stop_file + environment.get('HOOP_JOB', '')
        limit = ['sh', '-c', f'ulimit -n {n_files}; exec "$@"', 'sh']
        return self.start(
            name, (limit if n_files else []) + [self.steady_path, stop_file],
            **{'HOOP_COORDINATOR': '%s:%d' % self.address,
               'HOOP_TOKEN': TOKEN, 'HOOP_WORLD_SIZE': str(WORKERS),
               'HOOP_LOG': 'warning', 'HOOP_TIMEOUT': '60',
               'HOOP_JOIN_TIMEOUT': '30', 'HOOP_TRANSPORT': 'tcp'} |
            environment)

    def ranks(self):
        """Return the output of hoopctl ranks once all workers are members, or
        None."""
        answer = subprocess.run(
            [self.hoopctl_path, '-c', '%s:%d' % self.address, 'ranks',
             '--json'], env=os.environ | {'HOOP_TOKEN': TOKEN},
            capture_output=True, text=True, check=False)
        if answer.returncode != 0:
            return None
        roster = json.loads(answer.stdout)
        is_whole = len(roster['ranks']) == WORKERS and all(
            row['rank'] is not None for row in roster['ranks'])
        return roster if is_whole and roster['epoch'] else None

    def begin(self):
        token_file = os.path.join(self.folder, 'token')
        with open(token_file, 'w', encoding='utf-8',
                  opener=lambda path, how: os.open(path, how, 0o600)) as file:
            file.write(TOKEN + '\n')
        self.hoopd = self.start(
            'hoopd', [self.hoopd_path, '--token-file', token_file, '--listen', '%s:%d' % self.address,
                      '--http', '%s:%d' % self.http_address],
            HOOP_LOG='warning')
        self.workers = [
            self.worker(f'worker{rank}', FILES if rank == WORKERS - 1 else None,
                        HOOP_RANK=str(rank)) for rank in range(WORKERS)]
        self.roster = await_true('three members', self.ranks)
        self.roster['ranks'].sort(key=lambda row: row['rank'])

    def peers(self):
        """Yield each worker's row, address and program."""
        for row, worker in zip(self.roster['ranks'], self.workers):
            host, port = row['address'].rsplit(':', 1)
            yield row, (host.strip('[]'), int(port)), worker

    def mark(self):
        """Return how long the calls of rank 0 took since the last mark."""
        said = self.workers[0].text().count('p99')
        with open(self.stop_file + '.mark', 'w', encoding='utf-8'):
            pass
        await_true('rank 0 says how long its calls took',
                   lambda: self.workers[0].text().count('p99') > said)
        return [line for line in self.workers[0].text().splitlines()
                if 'p99' in line][-1]

    def look(self):
        """Return the resident KiB and the descriptors of hoopd and each
        worker."""
        return {program.name: (resident_kib(program.popen.pid),
                               len(os.listdir(f'/proc/{program.popen.pid}/fd')))
                for program in [self.hoopd] + self.workers}

    def still_runs(self):
        for program in [self.hoopd] + self.workers:
            if program.popen.poll() is not None:
                raise Wrong(f'{program.name} has ended:\n{program.text()}')

    def end(self):
        for stranger in self.open_ends:
            stranger.close()
        for job in ('', 'other'):
            with open(self.stop_file + job, 'w', encoding='utf-8'):
                pass
        for worker in self.workers:
            if worker.code() != 0:
                raise Wrong(f'{worker.name} failed:\n{worker.text()}')
            print(f'{worker.name}: {worker.text().splitlines()[-1]}')
        if self.other and self.other.code() != 0:
            raise Wrong('the other job failed:\n' + self.other.text())
        self.hoopd.popen.terminate()
        if self.hoopd.code() != 0:
            raise Wrong('hoopd failed:\n' + self.hoopd.text())

    def kill(self):
        for program in self.started:
            program.kill()


def resident_kib(pid):
    with open(f'/proc/{pid}/status', encoding='utf-8') as lines:
        for line in lines:
            if line.startswith('VmRSS:'):
                return int(line.split()[1])
    return 0


def count_refused(worker):
    return worker.text().count('refused a connection')


def strangers_knock(job):
    """A client that does not speak the protocol is closed, and each gets a
    line."""
    for _, address, worker in job.peers():
        for what, message in STRANGERS.items():
            before = count_refused(worker)
            if say(address, message()) != b'':
                raise Wrong(f'{worker.name} answers {what}')
            await_true(f'{worker.name} logs {what}',
                       lambda: count_refused(worker) > before)
            job.still_runs()
        print(f'{worker.name} refused {len(STRANGERS)} kinds of strangers')
    for what, message in STRANGERS.items():
        say(job.address, message())
        job.still_runs()
        print(f'hoopd outlived {what}')


def idlers_come(job):
    """Open connections to hoopd that greet as a client does and say no more."""
    job.idlers = [dial(job.address) for _ in range(IDLERS)]
    for number, idler in enumerate(job.idlers):
        idler.sendall(SP_HELLO)
        if number % 2:
            idler.sendall((1 << 10).to_bytes(8, 'big') + b'\x80\0\0\1')
    job.open_ends += job.idlers
    job.still_runs()


def idlers_are_gone(job):
    """hoopd must have closed them itself, and its log must have few lines on
    them."""
    for idler in job.idlers:
        if len(read_all(idler, HELLO_BYTES)) > len(SP_HELLO):
            raise Wrong('hoopd has more to say than hello')
    job.hoopd.expect('it has not shown a token')
    lines = job.hoopd.text().splitlines()
    if len(lines) > LINES_MAX:
        raise Wrong(f'strangers have written {len(lines)} lines of hoopd log')
    print(f'hoopd closed {IDLERS} idlers; its log has {len(lines)} lines')


def silence_waits(job):
    """Open connections that say nothing, or half a handshake, and stay."""
    for row, address, _ in job.peers():
        silent, halting = dial(address), dial(address)
        halting.sendall(hello(1, row, row, job.roster['epoch'])[:100])
        job.open_ends += [silent, halting]
    silent, halting = dial(job.address), dial(job.address)
    halting.sendall(SP_HELLO + (1 << 20).to_bytes(8, 'big') + b'\x80\0\0\1')
    job.open_ends += [silent, halting]
    job.still_runs()


def is_told_of(address, worker):
    """End a handshake early. Return whether the worker has logged such an end.
    It refuses a stranger that comes while others take all places."""
    with dial(address) as stranger:
        stranger.sendall(b'HOOP')
    return 'closed during the handshake' in worker.text()


def scan(job):
    """Scan the ports by hand, and with nc if it is installed. A client that
    ends before it has said anything gives no warning, as it may be the probe of
    a path."""
    addresses = [address for _, address, _ in job.peers()]
    addresses += [job.address, job.http_address]
    for address in addresses * 20:
        dial(address).close()
    for address in addresses * 20:
        with dial(address) as stranger:
            stranger.sendall(b'HOOP')
    for address in addresses * 20:
        stranger = dial(address)
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                            struct.pack('ii', 1, 0))
        stranger.close()
    if shutil.which('nc'):
        for host, port in addresses:
            subprocess.run(['nc', '-z', '-w', '2', host, str(port)],
                           capture_output=True, check=True)
    for _, address, worker in job.peers():
        await_true(f'{worker.name} tells who ended the handshake',
                   lambda at=address, of=worker: is_told_of(at, of))
    job.still_runs()


def nmap_start(job):
    """Start nmap. Return None if it is not installed."""
    if not shutil.which('nmap'):
        return None
    ports = [port for _, (_, port), _ in job.peers()]
    ports += [job.address[1], job.http_address[1]]
    return job.start('nmap', [
        'nmap', '-sT', '-sV', '-Pn', '-n', '--version-intensity', '0',
        '--host-timeout', f'{NMAP_S}s', '-p', ','.join(map(str, ports)), job.address[0]])


def nmap_end(job, nmap):
    """Wait for nmap, if it was started."""
    if nmap:
        nmap.code()
        print('nmap: ' + ' '.join(nmap.text().split()[-12:]))
    job.still_runs()


def impatience_shows(job):
    """The connections of silence_waits() must have ended by now. Where files
    are few, they end to make room."""
    for row, _, worker in job.peers():
        if row['rank'] == WORKERS - 1:
            worker.expect('connections wait for their handshake')
            continue
        worker.expect('(0 of 128 bytes)')
        worker.expect('(100 of 128 bytes)')
        print(f'{worker.name} did not wait for silence')


def impostors_greet(job):
    """Greet with another version, another epoch or without the token."""
    epoch = job.roster['epoch']
    rows = [row for row, _, _ in job.peers()]
    for row, address, worker in job.peers():
        other = rows[(row['rank'] + 1) % WORKERS]
        for version, at in ((0, epoch), (1, epoch + 1)):
            before = count_refused(worker)
            answer = say(address, hello(version, other, row, at))
            if not answer.startswith(b'HOOPCHAL'):
                raise Wrong(f'{worker.name} does not say its version')
            await_true(f'{worker.name} logs version {version}, epoch {at}',
                       lambda: count_refused(worker) > before)
        with dial(address) as impostor:
            before = count_refused(worker)
            impostor.sendall(hello(1, other, row, epoch))
            if not impostor.recv(HELLO_BYTES).startswith(b'HOOPCHAL'):
                raise Wrong(f'{worker.name} does not challenge')
            proof = b'HOOPPROF'.ljust(34, b'\0') + random.randbytes(32)
            impostor.sendall(proof.ljust(HELLO_BYTES, b'\0'))
            if impostor.recv(HELLO_BYTES) != b'':
                raise Wrong(f'{worker.name} welcomes a proof of nothing')
            await_true(f'{worker.name} logs the wrong proof',
                       lambda: count_refused(worker) > before)
        before = count_refused(worker)
        say(address, hello(1, row, row, epoch))
        await_true(f'{worker.name} logs that it is no peer of its own',
                   lambda: count_refused(worker) > before)
        job.still_runs()
        print(f'{worker.name} refused another version, epoch and token')


def wrong_token_joins(job):
    worker = job.worker('wrong_token', HOOP_TOKEN='guess', HOOP_RANK='1')
    if worker.code() == 0:
        raise Wrong('a worker with a wrong token has joined')
    if 'token' not in worker.text():
        raise Wrong('it does not say why: ' + worker.text())
    job.hoopd.expect('token')
    print('hoopd and the worker: ' + worker.text().splitlines()[-1])
    job.still_runs()


def wrong_version_asks(job):
    """A request of version 9 (docs/rpc.md) gets status 12, UNIMPLEMENTED."""
    method = b'hoop.v1.Health/Check'
    message = (b'\x80\0\0\x01' + b'\x97\x09' + bytes([0xa0 | len(method)]) +
               method + b'\xc4\x10' + random.randbytes(16) +
               b'\x01\xcd\x13\x88\x90\xc4\x01\x90')
    with dial(job.address) as client:
        client.sendall(SP_HELLO + len(message).to_bytes(8, 'big') + message)
        heard = b''
        while b'version' not in heard:
            piece = client.recv(4096)
            if not piece:
                raise Wrong(f'no answer to another version: {heard}')
            heard += piece
    if heard[20:24] != b'\x95\x02\x01\x0c':
        raise Wrong(f'not UNIMPLEMENTED: {heard[20:]}')
    job.hoopd.expect('version')
    job.still_runs()
    print('hoopd refused another version')


def status_of(job, call, name, token):
    """Return the status of a call by a client that proves its token, if it has
    one."""
    client = Client('%s:%d' % job.address, name, token)
    try:
        client.call(*call)
        return 0
    except Refused as refused:
        return refused.status
    finally:
        client.close()


def an_old_client_asks(job):
    """A client of version 1, which sent the token, gets a refusal that it can
    read."""
    with dial(job.address) as client:
        client.sendall(request('hoop.v1.Store/Get', 'default', TOKEN, b'\x90'))
        heard = b''
        while b'never sent' not in heard:
            piece = client.recv(4096)
            if not piece:
                raise Wrong(f'no answer to version 1: {heard}')
            heard += piece
    if heard[20:24] != b'\x95\x01\x01\x0c':
        raise Wrong(f'not UNIMPLEMENTED, in version 1: {heard[20:]}')
    print('hoopd refused a client that sent the token')


def large_messages_come(job):
    """A client that has the token may send 4 MiB, and not a byte more."""
    clients = [Client('%s:%d' % job.address, 'default', TOKEN)
               for _ in range(HALVES)]
    clients[0].open()
    head = [VERSION, 'hoop.v1.Store/Set', clients[0].name, 1, 5000,
            clients[0].metadata]
    spare = len(pack(head + [b''])) + len(pack(['key', b'', 0]))
    value = bytes(MESSAGE_MAX - spare)
    for more, wanted in ((0, INVALID), (1, None)):
        message = pack(head + [pack(['key', value + bytes(more), 0])])
        if len(message) != MESSAGE_MAX + more:
            raise Wrong(f'a message of {len(message)} bytes')
        try:
            status = clients[0].exchange(message, 1)[2]
        except OSError:
            status = None
        if status != wanted:
            raise Wrong(f'status {status} of a message of {len(message)} bytes')
        job.still_runs()
    clients[0].close()
    for client in clients:
        client.open()
        client.link.sendall((MESSAGE_MAX + 4).to_bytes(8, 'big') +
                            b'\x80\0\0\1' + value[:MESSAGE_MAX // 2])
    job.mark()
    for client in clients:
        client.close()
    job.still_runs()
    print(f'hoopd answered {MESSAGE_MAX} bytes, and bore {HALVES} halves')


def greet(address, said, answer):
    """Send the first message, and the answer to the challenge. Return what
    follows."""
    with dial(address) as guest:
        guest.sendall(said)
        challenge = read_all(guest, HELLO_BYTES)
        if not challenge.startswith(b'HOOPCHAL'):
            raise Wrong(f'no challenge but {challenge[:8]}')
        guest.sendall(answer(challenge))
        return read_all(guest, HELLO_BYTES)


def listeners_replay(job):
    """A listener that has heard a whole handshake, but does not know the token,
    proves nothing by a replay, to another rank or in another order."""
    epoch = job.roster['epoch']
    rows = [row for row, _, _ in job.peers()]
    key = peer_key(TOKEN, 'default', epoch)
    for row, address, worker in job.peers():
        said = hello(1, rows[(row['rank'] + 1) % WORKERS], row, epoch)
        heard = []

        def honest(challenge):
            heard.append(proof(key, said, challenge))
            return heard[0]

        # The answer shows that the proof is right: the peer is connected
        # already.
        answer = greet(address, said, honest)
        if not answer.startswith(b'HOOPWELC') or answer[8] == 0:
            raise Wrong(f'{worker.name} answers a second peer: {answer[:9]}')
        before = count_refused(worker)
        attempts = [
            lambda challenge: heard[0],
            lambda challenge: proof(key, said, challenge, b'HOOPWELC'),
            lambda challenge: proof(key, challenge, said),
            lambda challenge: challenge,
            lambda challenge: said,
            lambda challenge: answer,
            lambda challenge: heard[0][::-1],
            lambda challenge: proof(peer_key(TOKEN, 'default', epoch - 1), said,
                                    challenge),
            lambda challenge: proof(peer_key('other', 'other', epoch), said,
                                    challenge),
            lambda challenge: proof(peer_key(TOKEN, 'other', epoch), said,
                                    challenge),
        ]
        for attempt in attempts:
            if greet(address, said, attempt) != b'':
                raise Wrong(f'{worker.name} believes what it has heard before')
        # Send both messages at once without waiting, and in the wrong order.
        for message in (said + heard[0], heard[0] + said, answer + said):
            if b'HOOPWELC' in say(address, message):
                raise Wrong(f'{worker.name} welcomes a recording')
        n_refused = len(attempts) + 3
        await_true(f'{worker.name} logs {n_refused} recordings',
                   lambda: count_refused(worker) >= before + n_refused)
        job.still_runs()
        print(f'{worker.name} refused {n_refused} recordings')


def others_ask(job):
    """A worker of a former epoch and one of another job call the
    coordinator."""
    epoch = job.roster['epoch']
    rows = [row for row, _, _ in job.peers()]
    incarnations = [int(row['incarnation'], 16) for row in rows]
    job.other = job.worker('other', HOOP_JOB='other', HOOP_WORLD_SIZE='1')
    wanted = 'Rendezvous/'
    former = [
        ('Renew', [epoch - 1, incarnations[0]]),
        ('Renew', [epoch + 1, incarnations[0]]),
        ('Renew', [epoch, incarnations[0] ^ 1]),
        ('Leave', [epoch, incarnations[1] ^ 1]),
        ('Report', [epoch - 1, incarnations[0], 1, incarnations[1], 'gone']),
        ('Report', [epoch, incarnations[0] ^ 1, 1, incarnations[1], 'gone']),
        ('Report', [epoch, incarnations[0], 1, incarnations[1] ^ 1, 'gone']),
    ]
    for method, body in former:
        status_of(job, (wanted + method, body), 'default', TOKEN)
        job.still_runs()
    for method, body in former + [
            ('Leave', [epoch, incarnations[1]]),
            ('Report', [epoch, incarnations[0], 1, incarnations[1], 'gone'])]:
        for token in ('other', None):
            status = status_of(job, (wanted + method, body), 'default', token)
            if status != UNAUTHENTICATED:
                raise Wrong(f'{method} with token "{token}": {status}')
        status_of(job, (wanted + method, body), 'other', TOKEN)
    roster = await_true('the members', job.ranks)
    if (roster['epoch'] != epoch or
            sorted(row['incarnation'] for row in roster['ranks']) !=
            sorted(row['incarnation'] for row in rows)):
        raise Wrong(f'the members are others now: {roster}')
    job.still_runs()
    print('hoopd heard nobody of a former epoch or another job')


def a_crowd_comes(job, n_strangers):
    targets = [address for _, address, _ in job.peers()]
    crowd = Crowd(targets + [job.address, job.http_address], n_strangers)
    begin = time.monotonic()
    crowd.run()
    job.still_runs()
    print(f'{n_strangers} connections in {time.monotonic() - begin:.1f} s, '
          f'{crowd.n_turned_away} closed by the other side')


def nothing_has_grown(job, before):
    """Check memory and descriptors after all strangers have gone."""
    def is_flat():
        return all(now[1] <= before[name][1] + DESCRIPTORS_GROWTH
                   for name, now in job.look().items())

    await_true('descriptors are closed', is_flat)
    for name, now in job.look().items():
        print(f'{name}: {before[name][0]} KiB and {before[name][1]} '
              f'descriptors before, {now[0]} and {now[1]} after')
        if now[0] > before[name][0] + RSS_GROWTH_KIB and not is_instrumented():
            raise Wrong(f'{name} has grown by {now[0] - before[name][0]} KiB')


def is_instrumented():
    return any(name in os.environ for name in ('ASAN_OPTIONS', 'TSAN_OPTIONS'))


def visits(job, options):
    nmap = nmap_start(job)
    idlers_come(job)
    silence_waits(job)
    strangers_knock(job)
    impostors_greet(job)
    listeners_replay(job)
    others_ask(job)
    wrong_token_joins(job)
    wrong_version_asks(job)
    an_old_client_asks(job)
    large_messages_come(job)
    scan(job)
    a_crowd_comes(job, options.connections)
    impatience_shows(job)
    idlers_are_gone(job)
    nmap_end(job, nmap)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument('programs', nargs=3, metavar='PROGRAM')
    parser.add_argument('--connections', type=int, default=10000)
    parser.add_argument('--calm', type=float, default=0.5,
                        help='seconds before the first stranger comes')
    return parser.parse_args()


def main():
    random.seed(6)
    options = arguments()
    with tempfile.TemporaryDirectory() as folder:
        job = Job(options.programs, folder)
        try:
            job.begin()
            job.mark()
            time.sleep(options.calm)
            print('calm: ' + job.mark())
            before = job.look()
            visits(job, options)
            print('with strangers: ' + job.mark())
            nothing_has_grown(job, before)
            job.end()
        except Wrong as wrong:
            print(f'hostile_check.py: {wrong}')
            for program in job.started:
                print(f'== {program.name}\n{program.text()[-2000:]}')
            return 1
        finally:
            job.kill()
    print('hostile_check.py: ok')
    return 0


if __name__ == '__main__':
    sys.exit(main())
