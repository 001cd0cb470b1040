#!/usr/bin/env python3
"""tests/fault/damage_check.py - a bit flips between two ranks

damage_check.py HOOPD STEADY: two workers reduce in a loop, and reach each other
through a relay that inverts one bit of a payload. With HOOP_CHECKSUM=on both
must fail before a result is wrong, and the receiver of the payload must name
the connection. Without it a wrong result shows that the relay does invert a
bit. The relay sees frames, but never the token. With HOOP_TLS=on it sees no
frame, and the inverted bit ends the connection before a result is wrong.
"""

import os
import socket
import threading

from programs import (Program, WAIT_S, Wrong, await_true, check_main,
                      free_addresses)

WORKERS = 2
FLIPPED_BYTE = 500000  # past the handshake, in the payload of a later round
PIECE = 65536
WRONG = 'is wrong\n'  # what steady says of a wrong result
TOKEN = 'a-token-that-nobody-guesses'


class Relay:
    """Forwards connections to a worker, and inverts one bit of what it
    receives."""

    def __init__(self, target):
        self.target = target
        self.n_bytes = 0
        self.heard = b''  # the first bytes that were sent to the target
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.address = self.listener.getsockname()
        self.ends = [self.listener]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        try:
            while True:
                caller, _ = self.listener.accept()
                try:
                    callee = socket.create_connection(self.target,
                                                      timeout=WAIT_S)
                except ConnectionRefusedError:
                    caller.close()  # The target does not listen yet.
                    continue
                callee.settimeout(None)
                self.ends += [caller, callee]
                for ends, turn in (((caller, callee), self.damage),
                                   ((callee, caller), self.answer)):
                    threading.Thread(target=self.pump, args=(*ends, turn),
                                     daemon=True).start()
        except OSError:
            pass  # close() has closed the listener.

    def damage(self, piece):
        self.heard = (self.heard + piece)[:2 * PIECE]
        piece = bytearray(piece)
        at = FLIPPED_BYTE - self.n_bytes
        if 0 <= at < len(piece):
            piece[at] ^= 0x10
        self.n_bytes += len(piece)
        return piece

    def answer(self, piece):
        """Return what to forward of a piece that the target has sent."""
        return piece

    @staticmethod
    def pump(source, sink, turn):
        try:
            while piece := source.recv(PIECE):
                sink.sendall(turn(piece))
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # The other end is not told; the coordinator must tell it.

    def close(self):
        for end in self.ends:
            end.close()


def run(programs, folder, name, settings, **environment):
    """Run both workers until they fail. Return their texts, and the first bytes
    that the relays saw. settings has one dictionary per rank, and environment
    is that of hoopd."""
    hoopd_path, steady_path = programs
    home, *ports = free_addresses(1 + WORKERS)
    address = '%s:%d' % home
    with open(f'{folder}/token-{name}', 'w', encoding='utf-8',
              opener=lambda path, how: os.open(path, how, 0o600)) as file:
        file.write(settings[0].get('HOOP_TOKEN', '') + '\n')
    hoopd = Program(folder, f'hoopd-{name}',
                    [hoopd_path, '--listen', address, '--http', 'none'] +
                    (['--token-file', f'{folder}/token-{name}']
                     if 'HOOP_TOKEN' in settings[0] else []), **environment)
    relays = [Relay(port) for port in ports]
    workers = [
        Program(folder, f'worker{rank}-{name}', [steady_path, f'{folder}/never'],
                **{'HOOP_COORDINATOR': address,
                   'HOOP_RANK': str(rank),
                   'HOOP_WORLD_SIZE': str(WORKERS),
                   'HOOP_PORT': str(ports[rank][1]),
                   'HOOP_TRANSPORT': 'tcp',
                   'HOOP_ADVERTISE': '%s:%d' % relays[rank].address,
                   # A given link model keeps the workers from measuring the
                   # link.
                   'HOOP_DEBUG_LINK': 'latency=20us,bandwidth=1GB/s',
                   'HOOP_TIMEOUT': str(WAIT_S)} | settings[rank])
        for rank in range(WORKERS)]
    try:
        await_true('the workers fail', lambda: all(
            worker.popen.poll() is not None for worker in workers))
        for worker in workers:
            if worker.code() != 1:
                raise Wrong(f'{worker.name} exits with {worker.code()}:\n'
                            f'{worker.text()}')
        return ([worker.text() for worker in workers],
                b''.join(relay.heard for relay in relays))
    finally:
        for program in workers + [hoopd]:
            program.kill()
        for relay in relays:
            relay.close()


def check_checksum(programs, folder):
    """Run the workers with checksums and without."""
    texts, heard = run(programs, folder, 'on',
                       [{'HOOP_CHECKSUM': 'on', 'HOOP_TOKEN': TOKEN}] * WORKERS)
    if b'HOOP\1' not in heard:
        raise Wrong('no frame was heard on the way')
    if TOKEN.encode() in heard:
        raise Wrong('the token was heard on the way')
    for words in ('damaged on the way to rank',
                  'the checksum of a payload is wrong (TCP, 127.0.0.1:'):
        if not any(words in text for text in texts):
            raise Wrong(f'"{words}" is not in:\n' + ''.join(texts))
    for text in texts:
        if 'allreduce #' not in text or WRONG in text:
            raise Wrong(f'no failed allreduce, but:\n{text}')
    texts, _ = run(programs, folder, 'off', [{}] * WORKERS)
    if not any(WRONG in text for text in texts):
        raise Wrong('no bit was inverted:\n' + ''.join(texts))


def all_say(texts, *words):
    for text in texts:
        if not any(word in text for word in words):
            raise Wrong(f'none of {words} is in:\n{text}')


def check_tls(programs, folder):
    """Check what a relay between two ranks sees, and can do, under TLS."""
    token_file = f'{folder}/token'
    with open(token_file, 'w', encoding='utf-8',
              opener=lambda path, how: os.open(path, how, 0o600)) as file:
        file.write('secret\n')
    settings = {'HOOP_TLS': 'on', 'HOOP_TOKEN_FILE': token_file}
    texts, heard = run(programs, folder, 'tls', [settings] * WORKERS,
                       **settings)
    if b'HOOP' in heard or b'secret' in heard:
        raise Wrong('a frame or the token was heard on the way')
    if not any('the TLS seal of a record is wrong (TCP' in text for text in texts):
        raise Wrong('nobody noticed what was inverted:\n' + ''.join(texts))
    all_say(texts, 'allreduce #')
    if any(WRONG in text for text in texts):
        raise Wrong('a result is wrong:\n' + ''.join(texts))
    print('an inverted bit: ' + texts[1].splitlines()[-1])


def check(programs, folder):
    check_checksum(programs, folder)
    check_tls(programs, folder)


if __name__ == '__main__':
    check_main('damage_check', check)
