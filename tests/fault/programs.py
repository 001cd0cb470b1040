"""tests/fault/programs.py - programs under test, and waiting for them"""

import errno
import os
import random
import socket
import subprocess
import sys
import tempfile
import time

WAIT_S = 30
PORT_MIN = 12000


class Wrong(Exception):
    """The check has failed, and the text says why."""


def await_true(what, condition):
    """Wait until condition() is true, and return its result."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        result = condition()
        if result:
            return result
        time.sleep(0.02)
    raise Wrong(f'{what}: not within {WAIT_S} s')


def environment_clean():
    """Return the environment without the caller's settings for hoop. Only the
    failure timeout stays, because it suits how busy the caller's machine is."""
    return {key: value for key, value in os.environ.items()
            if not key.startswith('HOOP_') or key == 'HOOP_FAILURE_TIMEOUT'}


class Program:
    """This is a process whose two output streams go to one file."""

    def __init__(self, folder, name, arguments, pass_fds=(), preexec_fn=None,
                 stdin=subprocess.DEVNULL, **environment):
        self.name = name
        self.path = os.path.join(folder, name + '.log')
        with open(self.path, 'wb') as log:
            self.popen = subprocess.Popen(
                arguments, stdin=stdin, stdout=log, stderr=log,
                pass_fds=pass_fds, preexec_fn=preexec_fn,
                env=environment_clean() | environment)

    def text(self):
        with open(self.path, encoding='utf-8', errors='replace') as log:
            return log.read()

    def expect(self, words):
        try:
            await_true(f'{self.name} logs "{words}"',
                       lambda: words in self.text())
        except Wrong as error:
            raise Wrong(f'{error}; its log ends:\n{self.text()[-4000:]}') from None

    def code(self):
        try:
            return self.popen.wait(WAIT_S)
        except subprocess.TimeoutExpired as error:
            raise Wrong(f'{self.name} does not end') from error

    def kill(self):
        if self.popen.poll() is None:
            self.popen.kill()
            self.popen.wait()


def check_main(name, check):
    """Call check(programs, folder), where programs are the first two
    arguments."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            check(sys.argv[1:3], folder)
        except (Wrong, OSError, subprocess.SubprocessError) as error:
            sys.exit(f'{name}: {error}')


def steady_end(folder, workers):
    """Tell the workers (tests/integration/steady.c) to stop. None may have
    failed."""
    with open(f'{folder}/stop', 'w', encoding='utf-8'):
        pass
    for worker in workers:
        if worker.code() != 0:
            raise Wrong(f'{worker.name}:\n{worker.text()}')


def port_draw():
    """Choose a port that the kernel gives only to those who ask for it, so that
    no other test gets it before it is used. Return 0 if the kernel reserves no
    such range."""
    with open('/proc/sys/net/ipv4/ip_local_port_range',
              encoding='ascii') as bounds:
        least = int(bounds.read().split()[0])
    if least <= PORT_MIN:
        return 0
    # The shared generator may have a fixed seed, which gives all tests one
    # port.
    return random.SystemRandom().randrange(PORT_MIN, least)


def listener_open():
    while True:
        try:
            return socket.create_server(('127.0.0.1', port_draw()))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise


def free_addresses(n_addresses):
    """Return free addresses of loopback that all differ."""
    listeners = [listener_open() for _ in range(n_addresses)]
    addresses = [listener.getsockname() for listener in listeners]
    for listener in listeners:
        listener.close()
    return addresses
