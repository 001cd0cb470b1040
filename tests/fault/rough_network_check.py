#!/usr/bin/env python3
"""tests/fault/rough_network_check.py - nobody healthy is lost for a bad network

rough_network_check.py HOOPD STEADY [--seconds N]

Four workers and hoopd, each in a network namespace of its own, with the default
failure timeout, over a network that loses a fifth of all packets both ways and
has a round trip of 100 ms: for so long all of them go on, and results are right.
The network is good at first, so that ranks know nothing of the loss before it
comes. Then the same over one that begins to drop packets of more than 1,400 bytes:
all end, and say that. Exits with 77 where namespaces cannot be made, unless HOOP_REQUIRE_NETNS
is set.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../integration'))

from programs import Program, Wrong, steady_end  # noqa: E402
from rough_network import RoughNetwork  # noqa: E402

N_RANKS = 4
LOSS = 0.2
DELAY_S = 0.05
MTU = 1500
# It gives a connection up after 20 s where it sends again every 1.5 s.
KERNEL_TRIES_S = 25
COORDINATOR = '10.78.0.1:7077'
TOKEN = 'secret'
WHY_LARGE = 'large packets do not arrive (MTU?)'


class Rooms:
    """Network namespaces, removed at the end."""

    def __init__(self, n_rooms):
        self.names = [f'hoopr{os.getpid()}-{i}' for i in range(n_rooms)]

    def __enter__(self):
        for name in self.names:
            made = subprocess.run(['ip', 'netns', 'add', name], check=False,
                                  capture_output=True, text=True)
            if made.returncode != 0:
                print(f'no network namespaces: {made.stderr}')
                sys.exit(1 if 'HOOP_REQUIRE_NETNS' in os.environ else 77)
            # It takes loss for congestion, as what most machines have does.
            subprocess.run(
                ['ip', 'netns', 'exec', name, 'sysctl', '-q', '-w',
                 'net.ipv4.tcp_congestion_control=reno'], check=True)
        return self

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run(['ip', 'netns', 'del', name], check=False,
                           capture_output=True)

    def command(self, room, arguments):
        return ['ip', 'netns', 'exec', self.names[room], *arguments]


def workers_start(rooms, folder, steady, settings):
    return [Program(folder, f'rank {rank}',
                    rooms.command(1 + rank, [steady, f'{folder}/stop']),
                    HOOP_COORDINATOR=COORDINATOR, HOOP_JOB='rough',
                    HOOP_RANK=str(rank), HOOP_WORLD_SIZE=str(N_RANKS),
                    HOOP_TOKEN=TOKEN, HOOP_LOG='warning', **settings)
            for rank in range(N_RANKS)]


def go_on(workers, n_seconds):
    deadline = time.monotonic() + n_seconds
    while time.monotonic() < deadline:
        for worker in workers:
            if worker.popen.poll() is not None:
                raise Wrong(f'{worker.name} has ended:\n{worker.text()}')
        time.sleep(0.1)


def token_file_write(folder):
    path = f'{folder}/token'
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), 'w',
              encoding='ascii') as file:
        file.write(TOKEN)
    return path


def coordinator_start(rooms, folder, hoopd):
    coordinator = Program(
        folder, 'hoopd',
        rooms.command(0, [hoopd, '--listen', COORDINATOR, '--http', 'none',
                          '--token-file', token_file_write(folder)]))
    coordinator.expect('serves workers')
    return coordinator


def loss_is_survived(network, workers, folder, n_seconds):
    network.loss, network.delay = LOSS, DELAY_S
    go_on(workers, n_seconds)
    network.loss = 0.0
    steady_end(folder, workers)
    print(workers[0].text())


def large_packets_are_named(network, workers, folder, n_seconds):
    """All end, within the longest that a silence may last, and say why."""
    del folder, n_seconds
    network.packet_bytes_max = 1400
    for worker in workers:
        if worker.popen.wait(60) == 0:
            raise Wrong(f'{worker.name} has ended well:\n{worker.text()}')
        if WHY_LARGE not in worker.text():
            raise Wrong(f'{worker.name} does not say so:\n{worker.text()}')
    print(workers[0].text())


def set_timeout_holds(network, workers, folder, n_seconds):
    """Longer than the kernel would try to send again."""
    del n_seconds
    network.packet_bytes_max = 1400
    go_on(workers, KERNEL_TRIES_S)
    network.packet_bytes_max = MTU
    steady_end(folder, workers)


SCENES = (
    (loss_is_survived, {}),
    (large_packets_are_named, {}),
    (set_timeout_holds, {'HOOP_FAILURE_TIMEOUT': '60'}),
)


def scene(rooms, programs_of, body, settings, n_seconds):
    hoopd, steady = programs_of
    network = RoughNetwork(rooms.names, mtu=MTU)
    network.start()
    programs = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            programs.append(coordinator_start(rooms, folder, hoopd))
            workers = workers_start(rooms, folder, steady, settings)
            programs += workers
            go_on(workers, 2)
            body(network, workers, folder, n_seconds)
        finally:
            for program in programs:
                program.kill()
            network.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('hoopd')
    parser.add_argument('steady')
    parser.add_argument('--seconds', type=float, default=15)
    options = parser.parse_args()
    # The default is what is tested.
    os.environ.pop('HOOP_FAILURE_TIMEOUT', None)
    for body, settings in SCENES:
        print(f'== {body.__name__}', flush=True)
        with Rooms(1 + N_RANKS) as rooms:
            try:
                scene(rooms, (options.hoopd, options.steady), body, settings,
                      options.seconds)
            except (Wrong, subprocess.TimeoutExpired) as error:
                sys.exit(f'rough_network_check: {error}')


if __name__ == '__main__':
    main()
