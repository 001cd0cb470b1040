#!/usr/bin/env python3
"""tests/fault/coordinator/full_disk_check.py - a coordinator whose disk is full

full_disk_check.py HOOPD: a hoopd with --data-dir cannot make its file larger,
as on a full disk. Writes to the store then wait, up to a bound; hoopd refuses
further writes at once and says why. Reads are answered, the log has one line
about the disk, a metric shows it, and /readyz says no. When there is room
again, hoopd acknowledges the writes that waited and accepts those that it
refused. A hoopd that is started afterwards has everything.
"""

import os
import resource
import struct
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
from control_client import Client, Reader, Refused, VERSION, pack
from programs import Program, Wrong, await_true, free_addresses

VALUE = 1 << 20
WRITES = 72  # hoopd lets 64 MiB wait.
EXHAUSTED = 8
JOIN = [1, 1, 0, 1, 0, 0, 0, 1, 'h', 'h', '127.0.0.1:1']


class Hoopd:
    def __init__(self, path, folder):
        self.folder = folder
        self.address, self.http = ('%s:%d' % address
                                   for address in free_addresses(2))
        self.arguments = [path, '--listen', self.address, '--http', self.http,
                          '--lease', '60', '--durability', 'process',
                          '--data-dir', os.path.join(folder, 'data')]
        self.n_lives = 0
        self.begin()

    def begin(self):
        self.n_lives += 1
        self.program = Program(self.folder, f'hoopd{self.n_lives}',
                               self.arguments)
        self.program.expect('serves workers')

    def is_ready(self):
        try:
            with urllib.request.urlopen(f'http://{self.http}/readyz',
                                        timeout=10) as page:
                return page.status == 200
        except urllib.error.HTTPError as error:
            error.close()
            return False

    def limit(self, n_bytes):
        resource.prlimit(self.program.popen.pid, resource.RLIMIT_FSIZE,
                         (n_bytes, resource.RLIM_INFINITY))

    def end(self):
        self.program.popen.terminate()
        if self.program.code() != 0:
            raise Wrong('hoopd failed:\n' + self.program.text())


class Writes:
    """This sends many Store/Set requests on one connection, and reads the
    answers later."""

    def __init__(self, hoopd):
        self.client = Client(hoopd.address)
        self.client.open()
        self.client.link.settimeout(30)
        self.answered = {}

    def send(self, number):
        value = bytes([number]) * VALUE
        message = pack([VERSION, 'hoop.v1.Store/Set', self.client.name, number, 60000,
                        self.client.metadata,
                        pack([f'k{number % 8}', value, 0])])
        self.client.link.sendall(
            struct.pack('>QI', len(message) + 4, 0x80000000 | number) + message)

    def hear(self):
        size, _ = struct.unpack('>QI', self.client.exactly(12))
        reply = Reader(self.client.exactly(size - 4)).read()
        self.answered[reply[1]] = reply
        return reply


def writes_are_bounded(hoopd):
    """Return the numbers of the refused writes; the others wait."""
    writes = Writes(hoopd)
    for number in range(1, WRITES + 1):
        writes.send(number)
    first = writes.hear()
    if first[2] != EXHAUSTED or 'make room' not in first[3]:
        raise Wrong(f'the first answer is {first[:4]}')
    n_waiting = first[1] - 1
    while len(writes.answered) < WRITES - n_waiting:
        writes.hear()
    if any(reply[2] != EXHAUSTED for reply in writes.answered.values()):
        raise Wrong(f'acknowledged, and not written: {writes.answered}')
    if not 1 < n_waiting < WRITES:
        raise Wrong(f'{n_waiting} of {WRITES} wait')
    print(f'{n_waiting} writes wait, the others are refused: {first[3]}')
    return writes


def room_is_made(hoopd, writes):
    refused = sorted(writes.answered)
    writes.answered = {}
    hoopd.limit(resource.RLIM_INFINITY)
    while len(writes.answered) < WRITES - len(refused):
        if writes.hear()[2] != 0:
            raise Wrong('what waited is refused')
    await_true('hoopd is ready', hoopd.is_ready)
    for number in refused:
        writes.send(number)
        if writes.hear()[2] != 0:
            raise Wrong('what was refused cannot be asked for again')
    writes.client.close()


def all_is_there(hoopd):
    client = Client(hoopd.address)
    if client.get('small') != b'v':
        raise Wrong('what was acknowledged before is lost')
    for key in range(8):
        last = max(number for number in range(1, WRITES + 1)
                   if number % 8 == key)
        if client.get(f'k{key}') != bytes([last]) * VALUE:
            raise Wrong(f'k{key} is not what was written last')
    client.close()


def disk_metric(hoopd):
    with urllib.request.urlopen(f'http://{hoopd.http}/metrics',
                                timeout=10) as page:
        lines = page.read().decode().splitlines()
    return [line.split()[1] for line in lines
            if line.startswith('hoop_data_writable ')]


def reads_are_answered(hoopd):
    """Check that every kind of read, also one that waits, is answered
    within five seconds."""
    client = Client(hoopd.address, patience_s=5)
    began = time.monotonic()
    if client.get('small') != b'v':
        raise Wrong('a read is wrong while the disk is full')
    client.call('Store/MultiGet', [['small', 'k1']])
    client.call('Store/List', ['', '', 10])
    client.call('Store/Wait', [['small']])
    client.call('Status/Jobs', [])
    client.close()
    if time.monotonic() - began > 5:
        raise Wrong('reads take as long as the disk is full')
    if disk_metric(hoopd) != ['0']:
        raise Wrong(f'hoop_data_writable is {disk_metric(hoopd)}')
    lines = [line for line in hoopd.program.text().splitlines()
             if 'the disk takes no data' in line]
    if len(lines) != 1:
        raise Wrong(f'{len(lines)} lines speak of the disk')


def check(hoopd):
    client = Client(hoopd.address)
    client.call('Rendezvous/Join', JOIN)
    client.set('small', b'v')
    client.close()
    data = os.path.join(hoopd.folder, 'data', 'hoopd.mdb')
    hoopd.limit(os.path.getsize(data))
    writes = writes_are_bounded(hoopd)
    await_true('hoopd is not ready', lambda: not hoopd.is_ready())
    hoopd.program.expect('make room')
    reads_are_answered(hoopd)
    room_is_made(hoopd, writes)
    all_is_there(hoopd)
    await_true('the metric', lambda: disk_metric(hoopd) == ['1'])
    hoopd.end()
    hoopd.begin()
    all_is_there(hoopd)
    hoopd.end()


def main():
    with tempfile.TemporaryDirectory() as folder:
        hoopd = Hoopd(sys.argv[1], folder)
        try:
            check(hoopd)
        except (Wrong, Refused) as wrong:
            print(f'full_disk_check.py: {wrong}')
            print(hoopd.program.text()[-2000:])
            return 1
        finally:
            hoopd.program.kill()
    print('full_disk_check.py: ok')
    return 0


if __name__ == '__main__':
    sys.exit(main())
