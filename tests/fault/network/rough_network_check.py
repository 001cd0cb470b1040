#!/usr/bin/env python3
"""tests/fault/network/rough_network_check.py - nobody healthy is lost for a bad network

rough_network_check.py HOOPD STEADY [--seconds N]

Four workers and hoopd, each in a network namespace of its own, use the default
failure timeout. The network loses a fifth of all packets both ways and has a
round trip of 100 ms. All workers must go on for N seconds, and the results must
be right. At first the network is good, so that the ranks know nothing of the
loss before it comes. Next the network begins to drop packets of more than 1,400
bytes: all workers must end and say so. Last, a program on the last rank's host
opens thousands of connections a second to that rank, while the others, which
are 200 ms away, join and go on: no rank may be lost. The check exits with 77
where namespaces cannot be made, unless HOOP_REQUIRE_NETNS is set.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time


sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../../integration/network'))
from programs import Program, Wrong, await_true, steady_end
from rough_network import RoughNetwork, Rooms

N_RANKS = 4
LOSS = 0.2
DELAY_S = 0.05
MTU = 1500
# The kernel gives a connection up after 20 s if it sends again every 1.5 s.
KERNEL_TRIES_S = 25
COORDINATOR = '10.78.0.1:7077'
TOKEN = 'secret'
# A quarter of them may be handshakes, which is fewer than the strangers at a
# time.
FILES = 1024
STRANGERS_MIN = 200  # per second, even on a machine that is busy otherwise
WHY_LARGE = 'large packets do not arrive (MTU?)'


class Job:
    """This has hoopd and the workers of one scene, with a folder of their
    own."""

    def __init__(self, rooms, programs_of, folder, settings):
        self.rooms, self.folder, self.settings = rooms, folder, settings
        self.hoopd, self.steady = programs_of
        self.started = []
        self.workers = []

    def start(self, name, room, arguments, **environment):
        program = Program(self.folder, name,
                          self.rooms.command(room, arguments), **environment)
        self.started.append(program)
        return program

    def coordinator_start(self):
        self.start('hoopd', 0, [
            self.hoopd, '--listen', COORDINATOR, '--http', 'none',
            '--token-file', token_file_write(self.folder)]).expect(
                'serves workers')

    def worker_start(self, rank):
        self.workers.append(self.start(
            f'rank {rank}', 1 + rank,
            ['sh', '-c', f'ulimit -n {FILES}; exec "$@"', 'sh', self.steady,
             f'{self.folder}/stop'],
            HOOP_COORDINATOR=COORDINATOR, HOOP_JOB='rough',
            HOOP_RANK=str(rank), HOOP_WORLD_SIZE=str(N_RANKS),
            HOOP_TOKEN=TOKEN, HOOP_LOG='warning', **self.settings))

    def workers_start(self):
        for rank in range(N_RANKS - len(self.workers)):
            self.worker_start(rank)
        go_on(self.workers, 2)


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


def loss_is_survived(network, job, n_seconds):
    job.workers_start()
    network.loss, network.delay = LOSS, DELAY_S
    go_on(job.workers, n_seconds)
    network.loss = 0.0
    steady_end(job.folder, job.workers)
    print(job.workers[0].text())


def large_packets_are_named(network, job, n_seconds):
    """All workers end within the longest silence that is allowed, and say
    why."""
    del n_seconds
    job.workers_start()
    network.packet_bytes_max = 1400
    for worker in job.workers:
        if worker.popen.wait(60) == 0:
            raise Wrong(f'{worker.name} has ended well:\n{worker.text()}')
        if WHY_LARGE not in worker.text():
            raise Wrong(f'{worker.name} does not say so:\n{worker.text()}')
    print(job.workers[0].text())


def set_timeout_holds(network, job, n_seconds):
    """A long failure timeout outlasts the attempts of the kernel."""
    del n_seconds
    job.workers_start()
    network.packet_bytes_max = 1400
    go_on(job.workers, KERNEL_TRIES_S)
    network.packet_bytes_max = MTU
    steady_end(job.folder, job.workers)


def listening_address(rooms, room):
    """Return the address at which the one process of the room listens, or
    None."""
    sockets = subprocess.run(rooms.command(room, ['ss', '-Hltn']), check=True,
                             capture_output=True, text=True).stdout.split()
    return sockets[3] if len(sockets) > 3 else None


def strangers_displace_nobody(network, job, n_seconds):
    """A stranger's connection takes no time, but the handshake of a peer takes
    400 ms. In half of that, more strangers come than there are places."""
    network.delay = 2 * DELAY_S
    job.worker_start(N_RANKS - 1)
    address = await_true('the last rank, whom the others dial, listens',
                         lambda: listening_address(job.rooms, N_RANKS))
    crowd = job.start('strangers', N_RANKS, [
        sys.executable, '-B', os.path.join(os.path.dirname(__file__),
                                           '../strangers.py'),
        f'10.78.0.{N_RANKS + 1}:' + address.rsplit(':', 1)[1]])
    crowd.expect('connections')
    began = time.monotonic()
    job.workers_start()
    go_on([crowd] + job.workers, n_seconds)
    n_strangers = int(crowd.text().split()[-2])
    rate = n_strangers / (time.monotonic() - began)
    steady_end(job.folder, job.workers)
    for worker in job.workers:
        if 'is lost' in worker.text():
            raise Wrong(f'somebody was lost:\n{worker.text()}')
    print(f'{n_strangers} strangers, {rate:.0f} a second')
    if rate < STRANGERS_MIN:
        raise Wrong(f'only {rate:.0f} strangers came in a second')


SCENES = (
    (loss_is_survived, {}),
    (large_packets_are_named, {}),
    (set_timeout_holds, {'HOOP_FAILURE_TIMEOUT': '60'}),
    (strangers_displace_nobody, {}),
)


def scene(rooms, programs_of, body, settings, n_seconds):
    network = RoughNetwork(rooms.names, mtu=MTU)
    network.start()
    with tempfile.TemporaryDirectory() as folder:
        job = Job(rooms, programs_of, folder, settings)
        try:
            job.coordinator_start()
            body(network, job, n_seconds)
        finally:
            for program in job.started:
                program.kill()
            network.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('hoopd')
    parser.add_argument('steady')
    parser.add_argument('--seconds', type=float, default=10)
    parser.add_argument('--scene', help='one of them instead of all',
                        choices=[body.__name__ for body, _ in SCENES])
    options = parser.parse_args()
    # This check tests the default failure timeout.
    os.environ.pop('HOOP_FAILURE_TIMEOUT', None)
    for body, settings in SCENES:
        if options.scene and options.scene != body.__name__:
            continue
        print(f'== {body.__name__}', flush=True)
        with Rooms(1 + N_RANKS) as rooms:
            try:
                scene(rooms, (options.hoopd, options.steady), body, settings,
                      options.seconds)
            except (Wrong, subprocess.TimeoutExpired) as error:
                sys.exit(f'rough_network_check: {error}')


if __name__ == '__main__':
    main()
