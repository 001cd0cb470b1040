#!/usr/bin/env python3
"""tests/fault/network/cut_cable_check.py - a host that is cut off is found in time

cut_cable_check.py HOOPD HOOP_PERF: two workers on each of two hosts, which are
network namespaces on a bridge, reduce 64 KiB again and again with the default
failure timeout. Then the cable of one host is cut, N_CUTS times. The
retransmissions that follow must not be taken for the losses of a bad network,
for which ranks wait up to 20 s; hoopd's lease is too long to end the wait. The
check exits with 77 where there are no network namespaces, unless
HOOP_REQUIRE_NETNS is set.
"""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
import network_hosts
from programs import Program, Wrong, check_main

N_CUTS = 3
# The failure timeout is 2 s. A rank that gets no processor has a few seconds
# more.
FOUND_S = 10
COORDINATOR = f'{network_hosts.HERE}:4667'


def cut(hosts, hoop_perf, folder, number):
    workers = [
        Program(folder, f'{number}-{rank}',
                hosts.on('ab'[rank // 2], hoop_perf, '--min=64K', '--max=1M',
                         '--iters=2000', '--warmup=0'),
                HOOP_COORDINATOR=COORDINATOR, HOOP_TOKEN='secret',
                HOOP_JOB=f'job{number}', HOOP_RANK=str(rank), HOOP_WORLD_SIZE='4',
                HOOP_NODE='ab'[rank // 2], HOOP_LOG='info')
        for rank in range(4)]
    try:
        # By now the ranks have measured how good the network is.
        workers[0].expect(' 65536 ')
        hosts.cut('b')
        began = time.monotonic()
        for worker in workers[:2]:
            worker.expect('no rank of another host hears host')
            worker.popen.wait(60)
        took_s = time.monotonic() - began
        print(f'cut {number}: all have ended after {took_s:.1f} s')
        if took_s > FOUND_S:
            raise Wrong(f'that is too long:\n{workers[0].text()}')
    finally:
        for worker in workers:
            worker.kill()
        network_hosts.run('ip', 'link', 'set', 'to-b', 'up')


def check(programs, folder):
    hosts = network_hosts.Hosts()
    hoopd = None
    try:
        hosts.add('a')
        hosts.add('b')
        hoopd = Program(folder, 'hoopd', [
            os.path.abspath(programs[0]), f'--listen={COORDINATOR}',
            '--http=none', '--lease=60'], HOOP_TOKEN='secret')
        hoopd.expect('serves workers')
        for number in range(N_CUTS):
            cut(hosts, os.path.abspath(programs[1]), folder, number)
    finally:
        if hoopd:
            hoopd.kill()
        hosts.close()
    print('cut_cable_check.py: ok')


if __name__ == '__main__':
    os.environ.pop('HOOP_FAILURE_TIMEOUT', None)
    network_hosts.enter('cut_cable_check.py')
    check_main('cut_cable_check.py', check)
