#!/usr/bin/env python3
"""tests/fault/security/hostile_member_check.py - a member that does its worst costs little

hostile_member_check.py HOOPD STEADY: rank 0 of a job of three is this program.
It knows the token, has joined and is connected to rank 1. It sends rank 1 more
bytes than its window permits without a grant, or short questions whose answers
it never reads. It never reads heartbeats either. Both workers must lose it, for
a reason that says what it did, and rank 1 must not grow by more than
docs/security.md says.
"""

import os
import socket
import struct
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
from control_client import Client
from hostile_check import is_instrumented, resident_kib
from programs import (Program, Wrong, await_true, check_main, free_addresses,
                      listener_open)
from strangers import HELLO_BYTES, dial, hello, peer_key, proof, read_all

TOKEN = 'secret'
RANK = 0  # the lower rank opens the connection
VICTIM = 1
WORLD = 3
INCARNATION = 4711
ANY_MS = 60000

# These are from docs/wire-format.md.
HEADER_BYTES = 128
MESSAGE, HEARTBEAT = 2, 7
POINT_TO_POINT, EAGER, ASKS = 1, 2, 8
CALL_SEND, DTYPE_UINT8 = 9, 1
PAYLOAD = bytes(65536)
WINDOW = 1024 * 1024

# These are the bounds of docs/security.md for early messages and for unread
# replies, with some slack. The last one bounds what the worker may read before
# it notices.
EARLY_KIB = (16 + 8) * 1024
UNREAD_KIB = (32 + 24) * 1024
SENT_MAX = 1024 * 1024 * 1024


def pack_number(number):
    """Return the shortest form of the number in MessagePack."""
    if number < 128:
        return bytes([number])
    for letter, kind, bits in (('B', 0xcc, 8), ('H', 0xcd, 16), ('I', 0xce, 32)):
        if number < 1 << bits:
            return bytes([kind]) + struct.pack('>' + letter, number)
    return b'\xcf' + struct.pack('>Q', number)


def frame_pack(payload=b'', *, kind, flags, epoch, comm, op, tag=0, call=(0,) * 5):
    fields = [kind, flags, epoch, comm, op, 0, tag, 0, 0, len(payload), 0,
              len(payload), len(payload), 0, *call]
    header = b'\xdc' + struct.pack('>H', len(fields)) + b''.join(
        map(pack_number, fields))
    return (b'HOOP\x01\0' + struct.pack('<H', len(header)) + header).ljust(
        HEADER_BYTES, b'\0') + payload


class Job:
    """This has hoopd, two workers, and a third member whose messages this
    program writes."""

    def __init__(self, programs, folder):
        hoopd, steady = programs
        token_file = os.path.join(folder, 'token')
        with open(token_file, 'w', encoding='utf-8',
                  opener=lambda path, how: os.open(path, how, 0o600)) as file:
            file.write(TOKEN + '\n')
        self.address = '%s:%d' % free_addresses(1)[0]
        self.hoopd = Program(folder, 'hoopd', [
            hoopd, '--listen', self.address, '--token-file', token_file,
            '--lease', '600'])
        self.hoopd.expect('serves workers')
        self.workers = [
            Program(folder, f'worker{rank}', [steady, f'{folder}/stop'],
                    HOOP_COORDINATOR=self.address, HOOP_TOKEN=TOKEN,
                    HOOP_RANK=str(rank), HOOP_WORLD_SIZE=str(WORLD),
                    HOOP_LOG='warning', HOOP_FAILURE_TIMEOUT='60')
            for rank in range(VICTIM, WORLD)]

    def join(self):
        """Join. The member listens, as all do, but answers no connection."""
        self.listener = listener_open()
        self.client = Client(self.address, 'default', TOKEN)
        self.client.answer_s = ANY_MS / 1000
        address = '%s:%d' % self.listener.getsockname()
        reply = self.client.call('Rendezvous/Join', [
            INCARNATION, 1, RANK, WORLD, 0, 0, ANY_MS, os.getpid(), 'elsewhere',
            'elsewhere', address])
        # Between peers communicator IDs begin at 1, and 0 is none.
        self.epoch, self.world = reply[0], reply[2] + 1
        self.rows = {row[0]: {'rank': row[0], 'incarnation': f'{row[2]:x}',
                              'address': row[5]} for row in reply[7]}

    def connect(self, rank):
        """Return a connection to the rank over which frames may be sent."""
        host, port = self.rows[rank]['address'].rsplit(':', 1)
        link = dial((host.strip('[]'), int(port)))
        said = hello(1, self.rows[RANK], self.rows[rank], self.epoch)
        link.sendall(said)
        challenge = read_all(link, HELLO_BYTES)
        link.sendall(proof(peer_key(TOKEN, 'default', self.epoch), said, challenge))
        answer = read_all(link, HELLO_BYTES)
        if answer[:9] != b'HOOPWELC\0':
            raise Wrong(f'rank {rank} does not welcome a member: {answer[:9]}')
        return link

    def close(self):
        for program in [self.hoopd] + self.workers:
            program.kill()
        self.client.close()
        self.listener.close()


def send_until_closed(link, frames):
    """Return how many bytes rank 1 accepts from a sender that never reads."""
    n_sent = 0
    try:
        for frame in frames:
            link.sendall(frame)
            n_sent += len(frame)
            if n_sent > SENT_MAX:
                raise Wrong(f'rank 1 takes {n_sent} bytes and more')
    except ConnectionError:
        pass
    return n_sent


def peak_kib(worker):
    """Return the peak resident memory of the worker, which must end with a
    failure."""
    deadline = threading.Timer(60, worker.popen.kill)
    deadline.start()
    _, status, usage = os.wait4(worker.popen.pid, 0)
    deadline.cancel()
    worker.popen.returncode = os.waitstatus_to_exitcode(status)
    if worker.popen.returncode != 1:
        raise Wrong(f'{worker.name} ends with {worker.popen.returncode}, where '
                    f'a member is lost:\n{worker.text()}')
    return usage.ru_maxrss


def attack(programs, folder, frames_of, reason, growth_kib):
    """Attack rank 1 with the frames that frames_of(job) yields."""
    job = Job(programs, folder)
    try:
        job.join()
        with job.connect(VICTIM) as link:
            before = resident_kib(job.workers[0].popen.pid)
            n_sent = send_until_closed(link, frames_of(job))
            peaks = [peak_kib(worker) for worker in job.workers]
    finally:
        job.close()
    for worker in job.workers:
        if f'rank {RANK}' not in worker.text() or reason not in worker.text():
            raise Wrong(f'{worker.name} does not say of rank {RANK} that '
                        f'"{reason}":\n{worker.text()}')
    print(f'"{reason}": {n_sent} bytes came, rank 1 grew from {before} to '
          f'{peaks[0]} KiB')
    if peaks[0] > before + growth_kib and not is_instrumented():
        raise Wrong(f'rank 1 grew by {peaks[0] - before} KiB')
    return n_sent


def early_messages(job):
    """Yield whole messages that no rank receives, as large as unrequested ones
    may be."""
    op = 0
    while True:
        op += 1
        yield frame_pack(PAYLOAD, kind=MESSAGE, flags=POINT_TO_POINT | EAGER,
                         epoch=job.epoch, comm=job.world, op=op, tag=op,
                         call=(CALL_SEND, DTYPE_UINT8, 0, 0, len(PAYLOAD)))


def questions(job):
    """Ask whether rank 1 has called an operation. It has not, and answers each
    time."""
    op = 1000000
    while True:
        yield b''.join(
            frame_pack(kind=HEARTBEAT, flags=ASKS, epoch=job.epoch,
                       comm=job.world, op=op + i, call=(1, 1, 0, 0, 1))
            for i in range(1000))
        op += 1000


def check(programs, folder):
    n_sent = attack(programs, folder, early_messages,
                    'more bytes than its window permits without a grant', EARLY_KIB)
    if n_sent < WINDOW:
        raise Wrong(f'rank 1 takes only {n_sent} bytes of a window of {WINDOW}')
    attack(programs, folder, questions,
           'it does not read the frames that it asked for', UNREAD_KIB)


if __name__ == '__main__':
    check_main('hostile_member_check', check)
