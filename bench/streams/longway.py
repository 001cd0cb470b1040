# bench/streams/longway.py - a line with a delay, where the kernel has no netem
#
# longway.py ROOM ROOM MBIT DELAY_MS LOSS: a tunnel device "wire" in each of two
# network namespaces, 10.78.0.1 and .2; what one sends leaves at MBIT per second
# and is there DELAY_MS later, but for one packet in LOSS (0: none). Runs until
# it is ended; "ready" is printed once both devices are there.
import collections
import ctypes
import fcntl
import os
import random
import select
import struct
import subprocess
import sys
import time

TUNSETIFF = 0x400454ca
IFF_TUN, IFF_NO_PI = 1, 0x1000
CLONE_NEWNET = 0x40000000
MTU = 9000
QUEUE_BYTES = 4 << 20

libc = ctypes.CDLL(None, use_errno=True)


def device_open(room, address):
    with open(f'/run/netns/{room}') as namespace:
        if libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), 'setns')
    fd = os.open('/dev/net/tun', os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack('16sH', b'wire', IFF_TUN | IFF_NO_PI))
    for words in (f'address add {address}/24 dev wire',
                  f'link set wire mtu {MTU} txqueuelen 5000', 'link set wire up',
                  'link set lo up'):
        subprocess.run(['ip'] + words.split(), check=True)
    return fd


class Way:
    def __init__(self, source, target, rate, delay, loss):
        self.source, self.target = source, target
        self.rate, self.delay, self.loss = rate, delay, loss
        self.free_at = 0.0
        self.queue = collections.deque()

    def take(self):
        now = time.monotonic()
        for _ in range(64):
            try:
                packet = os.read(self.source, MTU + 64)
            except BlockingIOError:
                return
            if (self.free_at - now) * self.rate > QUEUE_BYTES or (
                    self.loss and random.randrange(self.loss) == 0):
                continue
            self.free_at = max(self.free_at, now) + len(packet) / self.rate
            self.queue.append((self.free_at + self.delay, packet))

    def give(self):
        now = time.monotonic()
        while self.queue and self.queue[0][0] <= now:
            os.write(self.target, self.queue.popleft()[1])
        return self.queue[0][0] - now if self.queue else 1.0


def main():
    rooms, (mbit, delay, loss) = sys.argv[1:3], sys.argv[3:6]
    fds = [device_open(room, f'10.78.0.{i + 1}') for i, room in enumerate(rooms)]
    numbers = float(mbit) * 1e6 / 8, float(delay) / 1e3, int(loss)
    ways = [Way(fds[i], fds[1 - i], *numbers) for i in (0, 1)]
    print('ready', flush=True)
    while True:
        wait = min(way.give() for way in ways)
        ready, _, _ = select.select(fds, [], [], max(0.0, min(wait, 0.05)))
        for way in ways:
            if way.source in ready:
                way.take()


main()
