"""tests/integration/network/rough_network.py - a network that delays and loses packets

rough_network.py [--mbit M] [--delay-ms D] [--one-in N] ROOM ROOM [ROOM...]

In each of these network namespaces a tunnel device "wire" is made: 10.78.0.1 in
the first, .2 in the second and so on. What one sends leaves at M megabit per
second and is there D ms later, but for one packet in N. Runs until it is ended;
"ready" is printed once all devices are there. It is for kernels without netem.
As a module: class RoughNetwork, whose properties may change while it runs.
"""

import argparse
import collections
import ctypes
import fcntl
import os
import random
import select
import struct
import subprocess
import sys
import threading
import time

TUNSETIFF = 0x400454ca
IFF_TUN, IFF_NO_PI = 1, 0x1000
CLONE_NEWNET = 0x40000000
MTU = 9000
QUEUE_BYTES = 4 << 20
PACKETS_PER_TURN = 64
# Of an IPv4 header: the last byte of the destination.
HOST_AT = 19

libc = ctypes.CDLL(None, use_errno=True)


def namespace_enter(fd):
    if libc.setns(fd, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), 'setns')


def device_open(room, address, mtu):
    """The caller is in the room afterwards."""
    with open(f'/run/netns/{room}') as namespace:
        namespace_enter(namespace.fileno())
    fd = os.open('/dev/net/tun', os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack('16sH', b'wire', IFF_TUN | IFF_NO_PI))
    for words in (f'address add {address}/24 dev wire',
                  f'link set wire mtu {mtu} txqueuelen 5000', 'link set wire up',
                  'link set lo up'):
        subprocess.run(['ip'] + words.split(), check=True)
    return fd


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


class Way:
    """From one room to all others."""

    def __init__(self, network, source):
        self.network, self.source = network, source
        self.free_at = 0.0
        self.queue = collections.deque()

    def is_lost(self, packet, now):
        network = self.network
        return ((self.free_at - now) * network.rate > QUEUE_BYTES or
                random.random() < network.loss or
                len(packet) > network.packet_bytes_max)

    def take(self):
        now = time.monotonic()
        for _ in range(PACKETS_PER_TURN):
            try:
                packet = os.read(self.source, MTU + 64)
            except BlockingIOError:
                return
            if self.is_lost(packet, now):
                continue
            self.free_at = (max(self.free_at, now) +
                            len(packet) / self.network.rate)
            self.queue.append((self.free_at + self.network.delay, packet))

    def give(self):
        """Seconds until the next packet is due."""
        now = time.monotonic()
        while self.queue and self.queue[0][0] <= now:
            packet = self.queue.popleft()[1]
            at = packet[HOST_AT] - 1 if packet[0] >> 4 == 4 else -1
            if 0 <= at < len(self.network.fds):
                os.write(self.network.fds[at], packet)
        return self.queue[0][0] - now if self.queue else 1.0


class RoughNetwork:
    """rate: bytes a second; delay: seconds one way; loss: of 1, each way;
    packet_bytes_max: larger ones are lost without a word."""

    def __init__(self, rooms, rate=125e6, delay=0.0, mtu=MTU):
        self.rate, self.delay, self.loss = rate, delay, 0.0
        self.packet_bytes_max = MTU + 64
        with open('/proc/self/ns/net') as home:
            self.fds = [device_open(room, f'10.78.0.{i + 1}', mtu)
                        for i, room in enumerate(rooms)]
            namespace_enter(home.fileno())
        self.ways = [Way(self, fd) for fd in self.fds]

    def turn(self):
        wait = min(way.give() for way in self.ways)
        ready, _, _ = select.select(self.fds, [], [],
                                    max(0.0, min(wait, 0.05)))
        for way in self.ways:
            if way.source in ready:
                way.take()

    def start(self):
        def run():
            while not self.is_ending:
                self.turn()
        self.is_ending = False
        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def stop(self):
        self.is_ending = True
        self.thread.join()
        for fd in self.fds:
            os.close(fd)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--mbit', type=float, default=1000)
    parser.add_argument('--delay-ms', type=float, default=0)
    parser.add_argument('--one-in', type=int, default=0,
                        help='one packet in so many is lost; 0: none')
    parser.add_argument('rooms', nargs='+')
    options = parser.parse_args()
    network = RoughNetwork(options.rooms, options.mbit * 1e6 / 8,
                           options.delay_ms / 1e3)
    network.loss = 1 / options.one_in if options.one_in else 0.0
    print('ready', flush=True)
    while True:
        network.turn()


if __name__ == '__main__':
    main()
