#!/usr/bin/env python3
"""tests/fault/security/exposure_check.py - hoopd without a token is for its own host

exposure_check.py HOOPD HOOPCTL: hoopd is started in a network namespace of its
own with every kind of token, address and permission. Where it listens is read
from the kernel's tables rather than its log. Without a token it must listen on
127.0.0.1 and ::1 only, and log one line about that. With a token it must listen
on all addresses and ask for that token. Without a token it must refuse an
address that other hosts reach, with a line that says what to set, unless
insecure-open is given. The check exits with 77 where there are no network
namespaces, unless HOOP_REQUIRE_NETNS is set.
"""

import os
import re
import socket
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
import own_network
from own_network import OTHER
from programs import Program, Wrong, await_true

LOOPBACK = {'127.0.0.1', '::1'}
ANY = {'0.0.0.0'}
RPC, HTTP = 4667, 4668
WHAT_TO_SET = ('HOOP_TOKEN', 'HOOP_TOKEN_FILE', '--token-file',
               'HOOP_INSECURE_OPEN=1', '--insecure-open')


def listening(pid, port):
    """Return the addresses on which the process listens at the port."""
    inodes = set()
    for name in os.listdir(f'/proc/{pid}/fd'):
        try:
            at = os.stat(f'/proc/{pid}/fd/{name}')
        except FileNotFoundError:
            continue
        if stat.S_ISSOCK(at.st_mode):
            inodes.add(str(at.st_ino))
    found = set()
    for table, family in (('tcp', socket.AF_INET), ('tcp6', socket.AF_INET6)):
        with open(f'/proc/{pid}/net/{table}', encoding='ascii') as lines:
            for line in list(lines)[1:]:
                fields = line.split()
                host, there = fields[1].split(':')
                if (fields[3] != '0A' or fields[9] not in inodes or
                        int(there, 16) != port):
                    continue
                raw = bytes.fromhex(host)
                raw = b''.join(raw[i:i + 4][::-1]
                               for i in range(0, len(raw), 4))
                found.add(socket.inet_ntop(family, raw))
    return found


class Trial:
    """This starts hoopd once with given arguments and environment."""

    n_trials = 0

    def __init__(self, hoopd, folder, arguments, environment):
        Trial.n_trials += 1
        self.what = f'hoopd {arguments} {environment}'
        self.program = Program(folder, f'hoopd{Trial.n_trials}',
                               [hoopd, *arguments], **environment)

    def wrong(self, text):
        return Wrong(f'{self.what}: {text}\n{self.program.text()}')

    def serves_at(self, rpc, http, line):
        """Check that it listens at these addresses, and that one line of its
        log has the words."""
        await_true(self.what, lambda: 'serves workers' in self.program.text()
                   or self.program.popen.poll() is not None)
        if self.program.popen.poll() is not None:
            raise self.wrong('does not start')
        for port, expected in ((RPC, rpc), (HTTP, http)):
            found = listening(self.program.popen.pid, port)
            if found != expected:
                raise self.wrong(f'listens at port {port} of {found}')
        lines = [text for text in self.program.text().splitlines()
                 if line in text]
        if len(lines) != 1:
            raise self.wrong(f'{len(lines)} lines say "{line}"')
        return self

    def is_refused(self, address):
        if self.program.code() != 1:
            raise self.wrong(f'code {self.program.code()}')
        lines = self.program.text().splitlines()
        if len(lines) != 1:
            raise self.wrong('more than one line')
        for words in (*WHAT_TO_SET, address):
            if words not in lines[0]:
                raise self.wrong(f'does not say {words}')

    def end(self):
        self.program.popen.terminate()
        if self.program.code() != 0:
            raise self.wrong('does not end with 0')


def status(hoopctl, address, token):
    """Return whether hoopctl status succeeds with this token."""
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith('HOOP_')}
    if token:
        environment['HOOP_TOKEN'] = token
    return subprocess.run([hoopctl, '-c', address, 'status'], env=environment,
                          capture_output=True, check=False).returncode == 0


def without_a_token(hoopd, hoopctl, folder):
    trial = Trial(hoopd, folder, [], {})
    trial.serves_at(LOOPBACK, LOOPBACK, 'only processes of this host')
    if not re.search(r'workers on 127\.0\.0\.1:4667 and \[::1\]:4667, http on '
                     r'127\.0\.0\.1:4668 and \[::1\]:4668,',
                     trial.program.text()):
        raise trial.wrong('does not say where it listens')
    for address in ('127.0.0.1:4667', '[::1]:4667', 'localhost:4667'):
        if not status(hoopctl, address, None):
            raise trial.wrong(f'does not serve {address}')
    if status(hoopctl, OTHER + ':4667', None):
        raise trial.wrong('serves other hosts')
    if subprocess.run([hoopd, '--check'], capture_output=True,
                      check=False).returncode != 0:
        raise trial.wrong('does not serve its own check')
    trial.end()
    trial = Trial(hoopd, folder, ['--listen', f'localhost:{RPC},127.0.0.3:{RPC}',
                                  '--http', f'[::1]:{HTTP}'],
                  {'HOOP_INSECURE_OPEN': '0', 'HOOP_TOKEN': ''})
    trial.serves_at(LOOPBACK | {'127.0.0.3'}, {'::1'},
                    'only processes of this host').end()


def with_a_token(hoopd, hoopctl, folder):
    path = os.path.join(folder, 'token')
    with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), 'w',
              encoding='ascii') as out:
        out.write('of the file\n')
    conf = os.path.join(folder, 'conf')
    with open(os.open(conf, os.O_CREAT | os.O_WRONLY, 0o600), 'w',
              encoding='ascii') as out:
        out.write('token = of the settings\n')
    ways = (
        ([], {'HOOP_TOKEN': 'of a variable'}, 'of a variable'),
        ([], {'HOOP_TOKEN_FILE': path}, 'of the file'),
        (['--token-file', path], {}, 'of the file'),
        (['--config', conf], {}, 'of the settings'),
        # The stronger source wins. Of equal ones the token itself wins over a
        # file.
        (['--token-file', path], {'HOOP_TOKEN': 'given'}, 'of the file'),
        ([], {'HOOP_TOKEN': 'given secret', 'HOOP_TOKEN_FILE': path},
         'given secret'),
        (['--config', conf], {'HOOP_TOKEN_FILE': path}, 'of the file'),
        (['--insecure-open'], {'HOOP_TOKEN': 'given secret'}, 'given secret'),
    )
    for arguments, environment, token in ways:
        trial = Trial(hoopd, folder, arguments, environment)
        trial.serves_at(ANY, ANY, 'one token for every job')
        for shown, works in ((token, True), ('guessed', False), (None, False)):
            if status(hoopctl, f'{OTHER}:{RPC}', shown) != works:
                raise trial.wrong(f'token {shown}: not {works}')
        if token in trial.program.text():
            raise trial.wrong('the log tells the token')
        trial.end()


def opened(hoopd, hoopctl, folder):
    for arguments, environment in ((['--insecure-open'], {}),
                                   (['--insecure-open=on'], {}),
                                   ([], {'HOOP_INSECURE_OPEN': '1'}),
                                   ([], {'HOOP_INSECURE_OPEN': 'on'})):
        trial = Trial(hoopd, folder, arguments, environment)
        trial.serves_at(ANY, ANY, 'anybody who can connect')
        if not status(hoopctl, f'{OTHER}:{RPC}', None):
            raise trial.wrong('does not serve others')
        trial.end()


def refused(hoopd, folder):
    for address in ('0.0.0.0:4667', ':4667', '*:4667', '[::]:4667',
                    OTHER + ':4667', 'localhost:4667,' + OTHER + ':4667'):
        Trial(hoopd, folder, ['--listen', address], {}).is_refused(address)
        Trial(hoopd, folder, [], {'HOOP_LISTEN': address,
                                  'HOOP_INSECURE_OPEN': 'off'}).is_refused(
                                      address)
        if ',' not in address:
            address = address.replace('4667', '4668')
            Trial(hoopd, folder, ['--http', address], {}).is_refused(address)
            Trial(hoopd, folder,
                  ['--data-dir', os.path.join(folder, 'data'), '--standby=on',
                   '--http', address], {}).is_refused(address)


def main():
    own_network.enter('exposure_check.py')
    hoopd, hoopctl = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        try:
            without_a_token(hoopd, hoopctl, folder)
            with_a_token(hoopd, hoopctl, folder)
            opened(hoopd, hoopctl, folder)
            refused(hoopd, folder)
        except Wrong as wrong:
            print(f'exposure_check.py: {wrong}')
            return 1
    print(f'exposure_check.py: ok, {Trial.n_trials} ways to start')
    return 0


if __name__ == '__main__':
    sys.exit(main())
