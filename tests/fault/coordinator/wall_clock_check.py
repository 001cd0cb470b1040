#!/usr/bin/env python3
"""tests/fault/coordinator/wall_clock_check.py - the wall clock is set while hoopd is away

wall_clock_check.py HOOPD CLOCK_AHEAD: a hoopd with --data-dir is killed between
a change and its retry. It is started again with a wall clock that the preloaded
library CLOCK_AHEAD sets forward or back. The change must not be done twice, and
a key with a lifetime must not vanish early.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
from control_client import Client, VERSION, pack
from programs import Program, Wrong, check_main, free_addresses

JOIN = [1, 1, 0, 1, 0, 0, 0, 1, 'h', 'h', '127.0.0.1:1']
# The first is longer than any reply here is kept. The clock then goes back, and
# at last forward by an hour and by ten years.
AHEAD_S = (80, -80, 3600, 10 * 365 * 86400)


def hoopd_start(programs, folder, address, ahead_s):
    path, shim = programs
    program = Program(folder, f'hoopd{ahead_s}',
                      [path, '--listen', address, '--http', 'none', '--lease',
                       '60', '--data-dir', f'{folder}/data'],
                      LD_PRELOAD=shim, CLOCK_AHEAD_S=str(ahead_s))
    program.expect('serves workers')
    return program


def retry(client, number):
    """Send the first request for the counter again, and return the answer."""
    message = pack([VERSION, 'hoop.v1.Store/Add', client.name, number, 5000,
                    client.metadata, pack(['n', 1, 0])])
    return client.attempt(message, number)


def check(programs, folder):
    """Restart hoopd several times, each time with another clock."""
    address = '%s:%d' % free_addresses(1)[0]
    hoopd = hoopd_start(programs, folder, address, 0)
    client = Client(address, patience_s=5)
    client.call('Rendezvous/Join', JOIN)
    client.call('Store/Set', ['lived', b'v', 600000])
    if client.add('n', 1) != 1:
        raise Wrong('the counter does not begin at 1')
    number = client.last_id
    for ahead_s in AHEAD_S:
        client.close()
        hoopd.kill()
        hoopd = hoopd_start(programs, folder, address, ahead_s)
        if retry(client, number)[2] != 0:
            raise Wrong(f'{ahead_s} s: the retry is refused')
        if client.get('n') != b'1':
            raise Wrong(f'{ahead_s} s: the change was done twice')
        if client.get('lived') != b'v':
            raise Wrong(f'{ahead_s} s: a key of 600 s is gone after a few')
    client.close()
    hoopd.kill()


if __name__ == '__main__':
    check_main('wall_clock_check', check)
