#!/usr/bin/env python3
"""tests/fault/hostile_check.py - a job runs on while strangers knock

hostile_check.py HOOPD HOOPCTL STEADY: three workers reduce in a loop. To the
port of each and to hoopd's come a port scan, random bytes, an HTTP request, a
TLS hello, silence, half a greeting, a greeting of another version, one without
the token and one of another rank; to hoopd besides a worker with a wrong
token, and a request of another version. Each must be refused with a line in
the log, and every result of the run must be right.
"""

import json
import os
import random
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

from programs import Program, WAIT_S, Wrong, await_true, free_addresses

WORKERS = 3
NMAP_S = 20
HELLO_BYTES = 128
SP_HELLO = bytes.fromhex('0053500000300000')  # an NNG client's first bytes


def dial(address):
    return socket.create_connection(address, timeout=WAIT_S)


def say(address, message):
    """Send, then read until the other side closes or has said 128 bytes."""
    heard = b''
    with dial(address) as stranger:
        try:
            stranger.sendall(message)
            while len(heard) < HELLO_BYTES:
                piece = stranger.recv(HELLO_BYTES - len(heard))
                if not piece:
                    break
                heard += piece
        except ConnectionError:
            pass  # It need not listen to the end.
    return heard


def hello(version, caller, callee, epoch):
    """A dialer's first message (docs/wire-format.md)."""
    message = struct.pack('<8sHIIQQ', b'HOOPHELO', version, caller['rank'],
                          callee['rank'], epoch, int(caller['incarnation'], 16))
    return (message + random.randbytes(32)).ljust(HELLO_BYTES, b'\0')


def tls_hello():
    """The record of a TLS 1.2 client hello, as a browser begins."""
    body = (b'\x03\x03' + random.randbytes(32) + b'\0' + b'\0\x02\x13\x01' +
            b'\x01\0' + b'\0\0')
    handshake = b'\x01' + len(body).to_bytes(3, 'big') + body
    record = b'\x16\x03\x01' + len(handshake).to_bytes(2, 'big') + handshake
    return record.ljust(2 * HELLO_BYTES, b'\0')


STRANGERS = {
    'random bytes': lambda: random.randbytes(65536),
    'an HTTP request': lambda: (
        b'GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: ' +
        b'x' * 200 + b'\r\n\r\n'),
    'a TLS hello': tls_hello,
    'a frame': lambda: b'HOOP\x01\x00\x20\x00'.ljust(HELLO_BYTES, b'\xff'),
}


class Job:
    """hoopd, the workers, and what hoopctl says of them."""

    def __init__(self, programs, folder):
        self.hoopd_path, self.hoopctl_path, self.steady_path = programs
        self.folder = folder
        self.stop_file = os.path.join(folder, 'stop')
        self.address, = free_addresses(1)
        self.started = []
        self.workers = []
        self.roster = None
        self.open_ends = []

    def start(self, name, arguments, **environment):
        program = Program(self.folder, name, arguments, **environment)
        self.started.append(program)
        return program

    def worker(self, name, **environment):
        return self.start(
            name, [self.steady_path, self.stop_file],
            **{'HOOP_COORDINATOR': '%s:%d' % self.address,
               'HOOP_TOKEN': 'secret', 'HOOP_WORLD_SIZE': str(WORKERS),
               'HOOP_LOG': 'warning', 'HOOP_TIMEOUT': '60',
               'HOOP_JOIN_TIMEOUT': '30'} | environment)

    def ranks(self):
        """hoopctl ranks, once all are members; else None."""
        answer = subprocess.run(
            [self.hoopctl_path, '-c', '%s:%d' % self.address, 'ranks',
             '--json'], env=os.environ | {'HOOP_TOKEN': 'secret'},
            capture_output=True, text=True, check=False)
        if answer.returncode != 0:
            return None
        roster = json.loads(answer.stdout)
        is_whole = len(roster['ranks']) == WORKERS and all(
            row['rank'] is not None for row in roster['ranks'])
        return roster if is_whole and roster['epoch'] else None

    def begin(self):
        self.hoopd = self.start(
            'hoopd', [self.hoopd_path, '--listen', '%s:%d' % self.address,
                      '--http', 'none'], HOOP_LOG='warning')
        self.workers = [self.worker(f'worker{rank}', HOOP_RANK=str(rank))
                        for rank in range(WORKERS)]
        self.roster = await_true('three members', self.ranks)
        self.roster['ranks'].sort(key=lambda row: row['rank'])

    def peers(self):
        """(the worker's row, its address, its log) of each."""
        for row, worker in zip(self.roster['ranks'], self.workers):
            host, port = row['address'].rsplit(':', 1)
            yield row, (host.strip('[]'), int(port)), worker

    def still_runs(self):
        for program in [self.hoopd] + self.workers:
            if program.popen.poll() is not None:
                raise Wrong(f'{program.name} has ended:\n{program.text()}')

    def end(self):
        for stranger in self.open_ends:
            stranger.close()
        with open(self.stop_file, 'w', encoding='utf-8'):
            pass
        for worker in self.workers:
            if worker.code() != 0:
                raise Wrong(f'{worker.name} failed:\n{worker.text()}')
            print(f'{worker.name}: {worker.text().splitlines()[-1]}')
        self.hoopd.popen.terminate()
        if self.hoopd.code() != 0:
            raise Wrong('hoopd failed:\n' + self.hoopd.text())

    def kill(self):
        for program in self.started:
            program.kill()


def count_refused(worker):
    return worker.text().count('refused a connection')


def strangers_knock(job):
    """What knows nothing of hoop: closed, with a line each."""
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


def silence_waits(job):
    """Connections that say nothing, or half of a greeting, and stay."""
    for row, address, _ in job.peers():
        silent, halting = dial(address), dial(address)
        halting.sendall(hello(1, row, row, job.roster['epoch'])[:100])
        job.open_ends += [silent, halting]
    silent, halting = dial(job.address), dial(job.address)
    halting.sendall(SP_HELLO + (1 << 20).to_bytes(8, 'big') + b'\x80\0\0\1')
    job.open_ends += [silent, halting]
    job.still_runs()


def scan(job):
    """A port scan by hand, and by nmap where it is installed."""
    addresses = [address for _, address, _ in job.peers()] + [job.address]
    for address in addresses * 20:
        dial(address).close()
    for address in addresses * 20:
        stranger = dial(address)
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                            struct.pack('ii', 1, 0))
        stranger.close()
    if shutil.which('nmap'):
        ports = ','.join(str(port) for _, port in addresses)
        report = subprocess.run(
            ['nmap', '-sT', '-sV', '-Pn', '-n', '--version-light',
             '--host-timeout', f'{NMAP_S}s', '-p', ports, addresses[0][0]],
            capture_output=True, text=True, check=False).stdout
        print('nmap: ' + ' '.join(report.split()[-20:]))
    for _, _, worker in job.peers():
        worker.expect('closed during the handshake')
    job.still_runs()


def impatience_shows(job):
    """silence_waits() has ended by now."""
    for _, _, worker in job.peers():
        worker.expect('(0 of 128 bytes)')
        worker.expect('(100 of 128 bytes)')
        print(f'{worker.name} did not wait for silence')


def impostors_greet(job):
    """Who speaks the protocol but not this version, epoch or token."""
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
    if heard[20:24] != b'\x95\x01\x01\x0c':
        raise Wrong(f'not UNIMPLEMENTED: {heard[20:]}')
    job.hoopd.expect('version')
    job.still_runs()
    print('hoopd refused another version')


def main():
    random.seed(6)
    with tempfile.TemporaryDirectory() as folder:
        job = Job(sys.argv[1:4], folder)
        try:
            job.begin()
            silence_waits(job)
            strangers_knock(job)
            impostors_greet(job)
            wrong_token_joins(job)
            wrong_version_asks(job)
            scan(job)
            impatience_shows(job)
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
