#!/usr/bin/env python3
"""tests/fault/coordinator/standby_check.py - a standby takes over

standby_check.py HOOPD HOOPCTL STEADY: two hoopd share a data folder, and the
second stands by. Workers and a writer know both addresses. The first hoopd is
killed with SIGKILL and started again as the new standby. Then the second is
stopped with SIGTERM. No client may fail, and nothing that was acknowledged may
be lost.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
from control_client import Refused
from coordinator_deaths import Coordinator, Writer
from programs import Program, WAIT_S, Wrong, await_true, steady_end

WORKERS = 2
MORE_SET = 10


class Standby(Coordinator):
    """This is one of two hoopd that share their data and wait for each
    other."""

    def __init__(self, path, folder, name):
        super().__init__(path, folder, 'process')
        self.arguments += ['--standby', 'on']
        self.name = name
        self.reason = ''

    def begin(self):
        self.n_lives += 1
        self.program = Program(self.folder, f'{self.name}{self.n_lives}',
                               self.arguments)

    def is_ready(self):
        try:
            with urllib.request.urlopen(f'http://{self.http}/readyz',
                                        timeout=5) as page:
                return page.status == 200
        except urllib.error.HTTPError as error:
            self.reason = error.read().decode()
            return False  # It listens, and says that it is not ready.
        except OSError:
            return None


def take_over(former, heir, stop, n_clients):
    """Return how long the clients were without a coordinator."""
    began = time.monotonic()
    stop(former)
    await_true('the standby serves', heir.is_ready)
    await_true(f'{n_clients} clients come to it',
               lambda: heir.connections() >= n_clients)
    return time.monotonic() - began


def terminate(coordinator):
    coordinator.program.popen.send_signal(signal.SIGTERM)
    if coordinator.program.code() != 0:
        raise Wrong(f'{coordinator.name} ends with '
                    f'{coordinator.program.text()}')


def acknowledged_await(writer):
    """Wait for more acknowledged writes, so that something could be lost."""
    first = writer.n_set
    await_true(f'{MORE_SET} more writes are acknowledged',
               lambda: writer.error or writer.n_set >= first + MORE_SET)
    if writer.error:
        raise Wrong(f'the writer: {writer.error}')


def workers_start(steady, folder, both):
    return [Program(folder, f'worker{rank}', [steady, f'{folder}/stop'],
                    HOOP_COORDINATOR=both, HOOP_RANK=str(rank),
                    HOOP_WORLD_SIZE=str(WORKERS), HOOP_TIMEOUT=str(WAIT_S))
            for rank in range(WORKERS)]


def check(hoopd, hoopctl, steady, folder):
    pair = [Standby(hoopd, folder, name) for name in ('one', 'two')]
    programs = []
    try:
        pair[0].begin()
        await_true('the first serves', pair[0].is_ready)
        pair[1].begin()
        pair[1].program.expect('standing by')
        if pair[1].is_ready() is not False:
            raise Wrong('the standby does not say that it is up, not ready')
        if not pair[1].reason.startswith('standby: '):
            raise Wrong(f'the standby says of itself: {pair[1].reason}')
        both = f'{pair[0].address},{pair[1].address}'
        programs = workers_start(steady, folder, both)
        await_true('the world forms', lambda: 'running' in subprocess.run(
            [hoopctl, '-c', both, 'status'], timeout=WAIT_S, check=True,
            stdout=subprocess.PIPE).stdout.decode())
        writer = Writer(both)
        writer.start()
        acknowledged_await(writer)
        times = [take_over(pair[0], pair[1], Coordinator.kill, WORKERS + 1)]
        pair[0].begin()
        pair[0].program.expect('standing by')
        acknowledged_await(writer)
        times.append(take_over(pair[1], pair[0], terminate, WORKERS + 1))
        writer.end_and_verify(pair[0].address)
        steady_end(folder, programs)
        return times
    finally:
        for program in programs + [one.program for one in pair]:
            if program:
                program.kill()


def main():
    hoopd, hoopctl, steady = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as folder:
        os.environ.pop('HOOP_COORDINATOR', None)
        try:
            times = check(hoopd, hoopctl, steady, folder)
        except (Wrong, OSError, Refused,
                subprocess.SubprocessError) as error:
            sys.exit(f'standby_check: {error}')
    print('taken over, all clients back: '
          f'{times[0]:.2f} s after SIGKILL, {times[1]:.2f} s after SIGTERM')


if __name__ == '__main__':
    main()
