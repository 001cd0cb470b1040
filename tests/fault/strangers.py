"""tests/fault/strangers.py - connections to a port from clients that do not
belong

strangers.py HOST:PORT: a crowd of silent clients connects there until the
program is ended.

The module has the messages of clients that know nothing of hoop, that know its
handshake but not the token, or that replay what they have heard. Crowd makes
many such connections at once.
"""

import heapq
import hmac
import itertools
import random
import selectors
import socket
import struct
import sys
import time

from programs import WAIT_S

HELLO_BYTES = 128
HANDSHAKE_MAC_OFFSET = 34
HANDSHAKE_OFFER_OFFSET = 66
SP_HELLO = bytes.fromhex('0053500000300000')  # an NNG client's first bytes
OPEN_AT_ONCE = 400
STAY_S = 0.3  # how long a client stays that says little or nothing
DRIP_S = 0.02


def dial(address):
    return socket.create_connection(address, timeout=WAIT_S)


def say(address, message):
    """Send a message, then read until the other side closes or has sent 128
    bytes."""
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
            pass  # The other side may close before it has read everything.
    return heard


def tls_hello():
    """Return the record of a TLS 1.2 ClientHello, with which a browser
    begins."""
    body = (b'\x03\x03' + random.randbytes(32) + b'\0' + b'\0\x02\x13\x01' +
            b'\x01\0' + b'\0\0')
    handshake = b'\x01' + len(body).to_bytes(3, 'big') + body
    record = b'\x16\x03\x01' + len(handshake).to_bytes(2, 'big') + handshake
    return record.ljust(2 * HELLO_BYTES, b'\0')


def http_request():
    return (b'GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: ' +
            b'x' * 200 + b'\r\n\r\n')


def frame():
    return b'HOOP\x01\x00\x20\x00'.ljust(HELLO_BYTES, b'\xff')


def hello(version, caller, callee, epoch):
    """Return the first message of a connecting rank (docs/wire-format.md)."""
    message = struct.pack('<8sHIIQQ', b'HOOPHELO', version, caller['rank'],
                          callee['rank'], epoch, int(caller['incarnation'], 16))
    return (message + random.randbytes(32)).ljust(HELLO_BYTES, b'\0')


def peer_key(token, job, epoch):
    return hmac.digest(token.encode(), b'hoop peer key 1' +
                       struct.pack('<Q', epoch) + job.encode(), 'sha256')


def proof(key, said, challenge, letters=b'HOOPPROF'):
    """Return the second message of a connecting rank; it is valid for the job's
    key."""
    mac = hmac.digest(key, letters + b'\0' + said + challenge +
                      bytes(HELLO_BYTES - HANDSHAKE_OFFER_OFFSET), 'sha256')
    return (letters.ljust(HANDSHAKE_MAC_OFFSET, b'\0') + mac).ljust(HELLO_BYTES, b'\0')


def read_all(stranger, n_bytes):
    """Read n_bytes, or fewer if the connection ends before."""
    heard = b''
    try:
        while len(heard) < n_bytes:
            piece = stranger.recv(n_bytes - len(heard))
            if not piece:
                break
            heard += piece
    except ConnectionError:
        pass
    return heard


def request(method, job, token, body):
    """Return a request in version 1 of docs/rpc.md, which carried the token.
    The body is packed."""
    def text(words):
        return bytes([0xd9, len(words)]) + words.encode()

    message = (b'\x80\0\0\x01\x97\x01' + text(method) + b'\xc4\x10' +
               random.randbytes(16) + b'\x01\xcd\x13\x88\x94' + text('job') +
               text(job) + text('token') + text(token) +
               b'\xc4' + bytes([len(body)]) + body)
    return SP_HELLO + len(message).to_bytes(8, 'big') + message


class Stranger:
    """This is one connection of a crowd, which sends its pieces one after
    another."""

    def __init__(self, target, pieces, stays, resets):
        self.pieces = list(pieces)
        self.stays = stays
        self.resets = resets
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.connect_ex(target)

    def speak(self):
        """Send the next piece. Return whether more pieces are left."""
        if self.pieces:
            try:
                self.socket.send(self.pieces.pop(0))
            except OSError:
                self.pieces = []
        return bool(self.pieces)

    def close(self):
        if self.resets:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                   struct.pack('ii', 1, 0))
        self.socket.close()


def drips(message):
    return [message[at:at + 1] for at in range(len(message))]


def silent():
    return [], True, False


# Each kind has its messages, whether it then stays, and whether it resets.
CROWD = [
    lambda: ([], False, False),
    lambda: ([], False, True),
    silent,
    lambda: ([tls_hello()], False, False),
    lambda: ([tls_hello()], True, True),
    lambda: ([http_request()], True, False),
    lambda: (drips(http_request()[:20]), True, False),
    lambda: ([random.randbytes(1000)], False, False),
    lambda: ([frame()], True, False),
    lambda: ([b'HOOPHELO\1\0' + random.randbytes(90)], True, False),
    lambda: (drips(b'HOOPHELO\1\0' + random.randbytes(10)), True, True),
    lambda: ([b'HOOPHELO\1\0' + random.randbytes(118)], False, False),
    lambda: ([SP_HELLO + (1 << 20).to_bytes(8, 'big') + b'\x80\0\0\1'], True,
             False),
    lambda: ([SP_HELLO + (1 << 60).to_bytes(8, 'big') + b'\x80\0\0\1'], False,
             False),
]


class Crowd:
    """Opens n_strangers connections (None: without end) of each kind in turn,
    to each target in turn."""

    def __init__(self, targets, n_strangers, kinds=CROWD):
        self.arrivals = itertools.islice(
            zip(itertools.cycle(kinds), self.turns(targets, len(kinds))),
            n_strangers)
        self.selector = selectors.DefaultSelector()
        self.due = []  # entries (time, serial number, stranger)
        self.numbers = itertools.count()
        self.n_open = 0
        self.n_arrived = 0
        self.n_turned_away = 0  # how many the other side closed first
        self.on_arrival = lambda number: None

    @staticmethod
    def turns(targets, n_kinds):
        """Yield each target once for every kind, so that every kind meets every
        target."""
        for target in itertools.cycle(targets):
            yield from itertools.repeat(target, n_kinds)

    def enter(self, kind, target):
        stranger = Stranger(target, *kind())
        self.n_open += 1
        self.n_arrived += 1
        self.on_arrival(self.n_arrived)
        self.selector.register(stranger.socket, selectors.EVENT_WRITE, stranger)

    def leave(self, stranger):
        try:
            self.selector.unregister(stranger.socket)
        except (KeyError, ValueError):
            return  # This stranger has left already.
        stranger.close()
        self.n_open -= 1

    def later(self, stranger, seconds):
        heapq.heappush(self.due, (time.monotonic() + seconds,
                                  next(self.numbers), stranger))

    def go_on(self, stranger):
        """Continue with a stranger that has connected or whose pause is
        over."""
        if stranger.socket.fileno() < 0:
            return
        if stranger.speak():
            self.later(stranger, DRIP_S)
        elif stranger.stays:
            stranger.stays = False
            self.later(stranger, STAY_S)
        else:
            self.leave(stranger)
            return
        self.selector.modify(stranger.socket, selectors.EVENT_READ, stranger)

    def hear(self, stranger):
        try:
            if stranger.socket.recv(4096):
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        self.n_turned_away += 1
        self.leave(stranger)

    def run(self):
        is_more = True
        while is_more or self.n_open:
            while is_more and self.n_open < OPEN_AT_ONCE:
                arrival = next(self.arrivals, None)
                is_more = arrival is not None
                if is_more:
                    self.enter(*arrival)
            for key, ready in self.selector.select(0.02):
                if ready & selectors.EVENT_READ:
                    self.hear(key.data)
                else:
                    self.go_on(key.data)
            while self.due and self.due[0][0] <= time.monotonic():
                self.go_on(heapq.heappop(self.due)[2])
        self.selector.close()


def main():
    """Print how many have connected. Each connection takes a place, so that all
    places are taken anew within a round trip of a slow network."""
    host, port = sys.argv[1].rsplit(':', 1)
    crowd = Crowd([(host, int(port))], None, [silent])
    crowd.on_arrival = lambda number: number % 500 or print(
        number, 'connections', flush=True)
    crowd.run()


if __name__ == '__main__':
    main()
