"""tests/fault/control_client.py - a client written from docs/rpc.md alone

It shares no line with the library, so that it finds mistakes that both sides of
the library would share. It makes one call at a time, and sends a call that is
not answered again with the same request ID.
"""

import hashlib
import hmac
import os
import socket
import struct
import time

HELLO = bytes.fromhex('0053500000300000')
HELLO_BACK = bytes.fromhex('0053500000310000')
VERSION = 2


class Refused(Exception):
    """The status of a reply is not OK. A status of None means that no reply
    came."""

    def __init__(self, text, status=None):
        super().__init__(text)
        self.status = status


def pack(value):
    if value is None:
        return b'\xc0'
    if isinstance(value, bool):
        return b'\xc3' if value else b'\xc2'
    if isinstance(value, int):
        if 0 <= value < 128:
            return bytes([value])
        if value >= 0:
            return b'\xcf' + struct.pack('>Q', value)
        return b'\xd3' + struct.pack('>q', value)
    if isinstance(value, str):
        text = value.encode()
        return b'\xda' + struct.pack('>H', len(text)) + text
    if isinstance(value, bytes):
        return b'\xc6' + struct.pack('>I', len(value)) + value
    return b'\xdc' + struct.pack('>H', len(value)) + b''.join(map(pack, value))


class Reader:
    """Decodes the MessagePack types that a reply may contain."""

    FIXED = {0xc4: ('>B', bytes), 0xc5: ('>H', bytes), 0xc6: ('>I', bytes),
             0xcc: ('>B', int), 0xcd: ('>H', int), 0xce: ('>I', int),
             0xcf: ('>Q', int), 0xd0: ('>b', int), 0xd1: ('>h', int),
             0xd2: ('>i', int), 0xd3: ('>q', int), 0xd9: ('>B', str),
             0xda: ('>H', str), 0xdb: ('>I', str), 0xdc: ('>H', list),
             0xdd: ('>I', list)}
    PLAIN = {0xc0: None, 0xc2: False, 0xc3: True}

    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, count):
        self.at += count
        return self.data[self.at - count:self.at]

    def read(self):
        kind = self.take(1)[0]
        if kind < 0x80:
            return kind
        if kind >= 0xe0:
            return kind - 256
        if kind in self.PLAIN:
            return self.PLAIN[kind]
        if 0x90 <= kind < 0xa0:
            return self.body(list, kind & 15)
        if 0xa0 <= kind < 0xc0:
            return self.body(str, kind & 31)
        form, what = self.FIXED[kind]
        return self.body(
            what, struct.unpack(form, self.take(struct.calcsize(form)))[0])

    def body(self, what, number):
        if what is int:
            return number
        if what is list:
            return [self.read() for _ in range(number)]
        data = bytes(self.take(number))
        return data.decode() if what is str else data


class Client:
    """This client of one job tries several addresses, separated by commas, in
    turn."""

    def __init__(self, address, job='default', token=None, patience_s=30):
        self.places = [place.rsplit(':', 1) for place in address.split(',')]
        self.metadata = ['job', job]
        self.token = token
        self.patience_s = patience_s
        self.answer_s = 5  # how long to wait for a reply before sending again
        self.name = os.urandom(16)
        self.last_id = 0
        self.n_sent = 0
        self.link = None

    def close(self):
        if self.link:
            self.link.close()
        self.link = None

    def exactly(self, count):
        data = b''
        while len(data) < count:
            piece = self.link.recv(count - len(data))
            if not piece:
                raise OSError('the connection was closed')
            data += piece
        return data

    def open(self, timeout_s=2):
        self.places.append(self.places.pop(0))
        self.link = socket.create_connection(self.places[-1],
                                             timeout=timeout_s)
        self.link.sendall(HELLO)
        if self.exactly(8) != HELLO_BACK:
            raise Refused('no coordinator answers there')
        if self.token:
            self.prove()

    def prove(self):
        """Both sides prove that they know the token, which is not sent."""
        def digest(key, *parts):
            return hmac.digest(key, b''.join(parts), hashlib.sha256)

        role = next((number for number, name in enumerate(
            ['', 'hoop-operator-', 'hoop-metrics-'])
                     if name and self.token.startswith(name)), 0)
        key = digest(self.token.encode(), b'hoop control key 2')
        nonce = os.urandom(32)
        theirs, proof = self.authenticate('Challenge', [role, nonce])
        both = bytes([role]) + nonce + theirs + b'\0'
        if proof != digest(key, b'hoop control coordinator proof 2', both):
            self.close()
            raise Refused('the coordinator has another token', 16)
        self.authenticate('Prove', [digest(
            key, b'hoop control client proof 2     ', both)])

    def authenticate(self, method, body):
        message = pack([VERSION, 'hoop.v1.Auth/' + method, self.name, 0, 5000,
                        [], pack(body)])
        reply = self.exchange(message, 0)
        if reply[2] != 0:
            self.close()
            raise Refused(f'{method}: status {reply[2]}: {reply[3]}', reply[2])
        return Reader(reply[4]).read() if reply[4] else None

    def attempt(self, message, number):
        if not self.link:
            self.open()
        self.link.settimeout(self.answer_s)
        self.n_sent += 1
        return self.exchange(message, number)

    def exchange(self, message, number):
        self.link.sendall(struct.pack('>QI', len(message) + 4,
                                      0x80000000 | number) + message)
        while True:
            size, frame = struct.unpack('>QI', self.exactly(12))
            reply = Reader(self.exactly(size - 4)).read()
            if frame & 0x7fffffff == number and reply[1] == number:
                return reply

    def call(self, method, body):
        """Return the decoded body of the reply. Raise Refused if the status is
        not OK."""
        self.last_id += 1
        end = time.monotonic() + self.patience_s
        while True:
            left_ms = max(1, int((end - time.monotonic()) * 1000))
            message = pack([VERSION, 'hoop.v1.' + method, self.name, self.last_id,
                            left_ms, self.metadata, pack(body)])
            try:
                reply = self.attempt(message, self.last_id)
                break
            except OSError:
                self.close()
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)
        if reply[2] != 0:
            raise Refused(f'{method}: status {reply[2]}: {reply[3]}', reply[2])
        return Reader(reply[4]).read() if reply[4] else None

    def set(self, key, value):
        return self.call('Store/Set', [key, value, 0])

    def add(self, key, delta):
        return self.call('Store/Add', [key, delta, 0])[2]

    def get(self, key):
        """Return the value, or None if the key does not exist."""
        entry = self.call('Store/Get', [[key]])[4][0]
        return entry[3] if entry[1] else None
