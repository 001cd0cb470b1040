#!/usr/bin/env python3
"""tests/fault/security/seal_check.py - the way to the coordinator under TLS

seal_check.py HOOPD HOOPCTL HOOPRUN STEADY: a relay hears what is sent to two
hoopd, of which one stands by. It must never hear the token. Under TLS it must
also hear no name of a job or method, which it does hear without TLS. The first
hoopd is killed. The workers must come to the second, go on and end well. A
client that has another token, or where only one side uses TLS, is told at once
what to do, and hoopd's log says who it was. Meanwhile strangers that stall are
closed.
"""

import os
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
from damage_check import Relay
from programs import (Program, WAIT_S, Wrong, await_true, environment_clean,
                      free_addresses)
from strangers import tls_hello

WORKERS = 2
TOKEN = 'a-token-that-nobody-guesses'
JOB = 'a-job-with-a-name'
SECRETS = [JOB.encode(), b'hoop.v1.']
STALLED_S = 5  # the value of LIMIT_HANDSHAKE_MS
PATIENCE_S = 40  # of hoopctl, which must fail long before it


class Ear(Relay):
    """This relay only listens."""

    def damage(self, piece):
        self.heard += piece
        return piece


class Coordinator:
    """This hoopd uses the folder's data, and has an ear in front of it."""

    def __init__(self, path, folder, name, settings):
        home, = free_addresses(1)
        self.ear = Ear(home)
        self.direct = '%s:%d' % home
        self.address = '%s:%d' % self.ear.address
        self.program = Program(
            folder, name, [path, '--listen', self.direct, '--http', 'none',
                           '--data-dir', f'{folder}/data', '--durability',
                           'process', '--standby', 'on'], **settings)

    def end(self):
        self.program.kill()
        self.ear.close()


class Check:
    def __init__(self, programs, folder):
        self.hoopd, self.hoopctl, self.hooprun, self.steady = programs
        self.folder = folder
        self.programs = []
        self.coordinators = []
        self.token_file = f'{folder}/token'
        with open(self.token_file, 'w', encoding='utf-8',
                  opener=lambda path, how: os.open(path, how, 0o600)) as file:
            file.write(TOKEN + '\n')

    def settings(self, tls):
        return {'HOOP_TLS': tls, 'HOOP_TOKEN_FILE': self.token_file,
                'HOOP_JOB': JOB}

    def coordinator(self, name, tls, words):
        made = Coordinator(self.hoopd, self.folder, name, self.settings(tls))
        self.coordinators.append(made)
        made.program.expect(words)
        return made

    def ask(self, address, **settings):
        """Return the answer of hoopctl. A failure must come at once."""
        began = time.monotonic()
        answer = subprocess.run(
            [self.hoopctl, '-c', address, '-t', str(PATIENCE_S), 'status'],
            env=environment_clean() | settings, capture_output=True, text=True,
            timeout=PATIENCE_S + WAIT_S, check=False)
        if answer.returncode != 0 and time.monotonic() - began > PATIENCE_S / 2:
            raise Wrong('hoopctl takes its time to say:\n' + answer.stderr)
        return answer

    def refused(self, address, words, **settings):
        answer = self.ask(address, **settings)
        if answer.returncode != 77 or words not in answer.stderr:
            raise Wrong(f'"{words}" is not what hoopctl says, but:\n'
                        f'{answer.stdout}{answer.stderr}')
        print(f'refused: {answer.stderr.strip()}')

    def runs(self, address, tls):
        return 'running' in self.ask(address, **self.settings(tls)).stdout

    def workers_start(self, address):
        self.programs = [
            Program(self.folder, f'worker{rank}',
                    [self.steady, f'{self.folder}/stop'],
                    **self.settings('on') |
                    {'HOOP_COORDINATOR': address, 'HOOP_RANK': str(rank),
                     'HOOP_WORLD_SIZE': str(WORKERS),
                     'HOOP_TIMEOUT': str(WAIT_S)})
            for rank in range(WORKERS)]

    def workers_end(self):
        with open(f'{self.folder}/stop', 'w', encoding='utf-8'):
            pass
        for worker in self.programs:
            if worker.code() != 0:
                raise Wrong(f'{worker.name}:\n{worker.text()}')

    def in_the_clear(self):
        """Without TLS the ear hears the names. This shows that it would hear a
        leak under TLS."""
        plain = self.coordinator('plain', 'off', 'serves workers')
        if self.ask(plain.address, **self.settings('off')).returncode != 0:
            raise Wrong('hoopctl does not get an answer without TLS')
        for secret in SECRETS:
            if secret not in plain.ear.heard:
                raise Wrong(f'{secret} is not heard without TLS')
        if TOKEN.encode() in plain.ear.heard:
            raise Wrong('the token is heard')
        self.refused(plain.direct, 'the coordinator does not speak TLS',
                     **self.settings('on'))
        plain.program.kill()

    def mismatches(self, sealed):
        self.refused(sealed.direct, 'set HOOP_TLS=on here, too',
                     **self.settings('off'))
        self.refused(sealed.direct, 'token', HOOP_TLS='on',
                     HOOP_TOKEN='another', HOOP_JOB=JOB)
        sealed.program.expect('refused: ')

    def take_over(self, former, heir):
        """Kill the first hoopd. The workers must find the standby and go on."""
        former.program.kill()
        heir.program.expect('under TLS')
        await_true('the job runs at the standby',
                   lambda: self.runs(heir.address, 'on'))

    def silent(self):
        for coordinator in self.coordinators[1:]:
            for secret in SECRETS + [TOKEN.encode()]:
                if secret in coordinator.ear.heard:
                    raise Wrong(f'{secret} is heard on the way')
            if not coordinator.ear.heard:
                raise Wrong('nothing went by the ear')

    def own_coordinator(self):
        run = subprocess.run(
            [self.hooprun, '--tls', '-n', '2', self.steady,
             f'{self.folder}/stop'], env=environment_clean(),
            capture_output=True, text=True, timeout=WAIT_S, check=False)
        if run.returncode != 0:
            raise Wrong('hooprun --tls:\n' + run.stdout + run.stderr)

    def run(self):
        self.in_the_clear()
        first = self.coordinator('first', 'on', 'under TLS')
        second = self.coordinator('second', 'on', 'standing by')
        host, port = first.direct.split(':')
        stalled = [socket.create_connection((host, int(port)), timeout=WAIT_S)
                   for _ in range(2)]
        stalled[1].sendall(tls_hello()[:40])
        began = time.monotonic()
        self.workers_start(f'{first.address},{second.address}')
        await_true('the job runs', lambda: self.runs(first.address, 'on'))
        self.mismatches(first)
        for stranger in stalled:
            while stranger.recv(100):
                pass
        if time.monotonic() - began < STALLED_S / 2:
            raise Wrong('who has no time to say hello is closed')
        self.take_over(first, second)
        self.workers_end()
        self.silent()
        self.own_coordinator()

    def end(self):
        for program in self.programs:
            program.kill()
        for coordinator in self.coordinators:
            coordinator.end()


def main():
    with tempfile.TemporaryDirectory() as folder:
        check = Check(sys.argv[1:5], folder)
        try:
            check.run()
        except (Wrong, OSError, subprocess.SubprocessError) as error:
            sys.exit(f'seal_check: {error}')
        finally:
            check.end()


if __name__ == '__main__':
    main()
