#!/usr/bin/env python3
"""tests/fault/coordinator_deaths.py - a job outlives its coordinator

coordinator_deaths.py HOOPD HOOPCTL STEADY [--seconds N] [--pause S]
                      [--workers N] [--durability process|disk] [--strict]

Workers reduce in a loop and compare every result. A client written from
docs/rpc.md sets keys and adds to a counter. Every S seconds hoopd is killed
with SIGKILL and started again on its data. At the end no operation has failed
and no rank is lost, another client sees every write that was acknowledged, and
nothing was added twice. With --strict, which needs a quiet machine, all clients
must be back within a second each time.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from control_client import Client, Refused
from programs import Program, WAIT_S, Wrong, await_true, free_addresses

PROMISED_S = 1


class Coordinator:
    """Starts hoopd with the same address and data folder each time."""

    def __init__(self, path, folder, durability, **environment):
        (self.address, self.http) = (
            '%s:%d' % address for address in free_addresses(2))
        self.arguments = [
            path, '--listen', self.address, '--http', self.http,
            '--data-dir', os.path.join(folder, 'data'),
            '--durability', durability, '--lease', '10']
        self.folder = folder
        self.environment = environment
        self.n_lives = 0
        self.program = None

    def start(self):
        self.n_lives += 1
        self.program = Program(self.folder, f'hoopd{self.n_lives}',
                               self.arguments, **self.environment)
        self.program.expect('serves workers on')

    def kill(self):
        self.program.kill()

    def metric(self, name):
        """Return the value of a metric of hoopd, or 0 if hoopd does not
        answer."""
        try:
            with urllib.request.urlopen(f'http://{self.http}/metrics',
                                        timeout=5) as page:
                for line in page.read().decode().splitlines():
                    if line.startswith(name + ' '):
                        return int(float(line.split()[1]))
        except OSError:
            pass
        return 0

    def connections(self):
        return self.metric('hoop_rpc_connections')

    def refuses_another(self):
        """Check that a second hoopd on the same data refuses to start and says
        why."""
        other = list(self.arguments)
        other[2] = other[4] = '127.0.0.1:0'
        result = subprocess.run(other, timeout=WAIT_S, stderr=subprocess.PIPE,
                                stdout=subprocess.PIPE, check=False)
        if (result.returncode == 0 or
                f'pid {self.program.popen.pid} on' not in
                result.stderr.decode()):
            raise Wrong('a second hoopd on the same data: exit code '
                        f'{result.returncode}, {result.stderr.decode()}')


class Writer(threading.Thread):
    """Sets a new key and adds 1 to a counter, until it is stopped."""

    def __init__(self, address):
        super().__init__(daemon=True)
        self.client = Client(address)
        self.is_ending = threading.Event()
        self.n_set = 0
        self.error = None

    def run(self):
        try:
            while not self.is_ending.is_set():
                self.client.set(f'key{self.n_set + 1}',
                                str(self.n_set + 1).encode())
                total = self.client.add('counter', 1)
                self.n_set += 1
                if total != self.n_set:
                    raise Refused(f'{self.n_set} were added, the counter '
                                  f'says {total}')
                time.sleep(0.002)
        except (OSError, Refused) as error:
            self.error = error

    def end_and_verify(self, address):
        """Check that another client sees everything that was acknowledged."""
        self.is_ending.set()
        self.join(WAIT_S)
        if self.error:
            raise Wrong(f'the writer: {self.error}')
        reader = Client(address)
        for number in range(1, self.n_set + 1):
            if reader.get(f'key{number}') != str(number).encode():
                raise Wrong(f'key{number} was acknowledged and is lost')
        if int(reader.get('counter')) != self.n_set:
            raise Wrong(f'{self.n_set} were added, not that many are there')
        reader.close()


class Run:
    """This runs the whole check once."""

    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.stop_file = os.path.join(folder, 'stop')
        self.coordinator = Coordinator(options.hoopd, folder,
                                       options.durability)
        self.returns_s = []

    def workers_start(self):
        return [Program(self.folder, f'worker{rank}',
                        [self.options.steady, self.stop_file],
                        HOOP_COORDINATOR=self.coordinator.address,
                        HOOP_RANK=str(rank), HOOP_TIMEOUT=str(WAIT_S),
                        HOOP_WORLD_SIZE=str(self.options.workers))
                for rank in range(self.options.workers)]

    def ctl(self, *words):
        return subprocess.run(
            [self.options.hoopctl, '-c', self.coordinator.address, *words],
            timeout=WAIT_S, check=True, stdout=subprocess.PIPE
        ).stdout.decode()

    def die(self, n_clients):
        """Kill hoopd, start it again, and measure how long all clients take to
        return."""
        self.coordinator.kill()
        self.coordinator.start()
        born = time.monotonic()
        await_true(f'{n_clients} clients come back',
                   lambda: self.coordinator.connections() >= n_clients)
        self.returns_s.append(time.monotonic() - born)

    def deaths(self, writer):
        end = time.monotonic() + self.options.seconds
        while time.monotonic() < end:
            time.sleep(self.options.pause)
            self.die(self.options.workers + 1)
            if writer.error:
                raise Wrong(f'the writer: {writer.error}')

    def returns_check(self):
        """Check that hoopd died, and with --strict that clients returned in
        time."""
        if not self.returns_s:
            raise Wrong('the coordinator has not died')
        if self.options.strict and max(self.returns_s) > PROMISED_S:
            raise Wrong(f'all were back after {max(self.returns_s):.2f} s')

    def verify(self, writer):
        writer.end_and_verify(self.coordinator.address)
        total = self.ctl('store', 'get', 'counter').strip()
        if total != str(writer.n_set):
            raise Wrong(f'{writer.n_set} were added, {total} are there')
        ranks = self.ctl('ranks')
        if ranks.count('active') != self.options.workers:
            raise Wrong(f'somebody was lost:\n{ranks}')

    def run(self):
        self.coordinator.start()
        workers = self.workers_start()
        writer = Writer(self.coordinator.address)
        try:
            await_true('the world forms', lambda: 'running' in
                       self.ctl('status'))
            self.coordinator.refuses_another()
            writer.start()
            self.deaths(writer)
            self.returns_check()
            self.verify(writer)
            with open(self.stop_file, 'w', encoding='utf-8'):
                pass
            for worker in workers:
                if worker.code() != 0:
                    raise Wrong(f'{worker.name}:\n{worker.text()}')
            said = re.search('reduced ([0-9]+) times', workers[0].text())
            return writer, said.group(1)
        finally:
            for program in workers + [self.coordinator.program]:
                program.kill()


def options_read():
    parser = argparse.ArgumentParser()
    for name in ('hoopd', 'hoopctl', 'steady'):
        parser.add_argument(name)
    parser.add_argument('--seconds', type=float, default=6)
    parser.add_argument('--pause', type=float, default=1)
    parser.add_argument('--workers', type=int, default=4)
    parser.add_argument('--durability', default='process')
    parser.add_argument('--strict', action='store_true')
    return parser.parse_args()


def main():
    options = options_read()
    with tempfile.TemporaryDirectory() as folder:
        run = Run(options, folder)
        try:
            writer, n_reduced = run.run()
        except (Wrong, OSError, Refused,
                subprocess.SubprocessError) as error:
            sys.exit(f'coordinator_deaths: {error}')
    returns = sorted(run.returns_s)
    print(f'{len(returns)} deaths, {n_reduced} allreduces of '
          f'{options.workers} ranks, 0 failed; {writer.n_set} keys and as '
          f'many additions acknowledged ({writer.client.n_sent} requests '
          f'sent), all there; clients were back {returns[len(returns) // 2]:.2f}'
          f' s after the start, {returns[-1]:.2f} s at most')


if __name__ == '__main__':
    main()
