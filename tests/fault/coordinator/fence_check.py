#!/usr/bin/env python3
"""tests/fault/coordinator/fence_check.py - two coordinators on one folder, whose locks fail

fence_check.py HOOPD LOCKS_OFF: a hoopd uses a folder, and its lock then fails:
the lock file is removed or replaced, or the preloaded library LOCKS_OFF grants
every lock, once to a standby too. A second hoopd takes over. The first hoopd
must acknowledge nothing more, whether it writes or is idle. It must end with a
line and with status 0, so that no supervisor starts it again. Nothing that
either of them acknowledged may be lost.
"""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
from control_client import Client, Refused
from programs import Program, Wrong, await_true, check_main, free_addresses

JOIN = [1, 1, 0, 1, 0, 0, 0, 1, 'h', 'h', '127.0.0.1:1']
STANDBY = ['--standby', 'on']


class Hoopd:
    n_all = 0

    def __init__(self, path, folder, more, **environment):
        Hoopd.n_all += 1
        self.address = '%s:%d' % free_addresses(1)[0]
        self.program = Program(
            folder, f'hoopd{Hoopd.n_all}',
            [path, '--listen', self.address, '--http', 'none', '--lease',
             '600', '--data-dir', f'{folder}/data', *more], **environment)
        self.program.expect('serves workers')


def lock_remove(data):
    os.unlink(f'{data}/hoopd.lock')


def lock_replace(data):
    with open(f'{data}/new', 'w', encoding='ascii') as file:
        file.write('pid 1 on host elsewhere\n')
    os.rename(f'{data}/new', f'{data}/hoopd.lock')


def lock_leave(_):
    pass


def case(path, folder, defeat, is_idle, more, **environment):
    os.mkdir(folder)
    first = Hoopd(path, folder, more, **environment)
    second = None
    try:
        client = Client(first.address, patience_s=4)
        client.answer_s = 2
        client.call('Rendezvous/Join', JOIN)
        client.set('before', b'v')
        defeat(f'{folder}/data')
        began = time.monotonic()
        second = Hoopd(path, folder, more, **environment)
        if not is_idle:
            try:
                client.set('after', b'lost')
                raise Wrong('the first acknowledges a write')
            except (OSError, Refused):
                pass
        client.close()
        await_true('the first ends',
                   lambda: first.program.popen.poll() is not None)
        print(f'{defeat.__name__}: {time.monotonic() - began:.1f} s')
        if (first.program.code() != 0
                or 'another hoopd uses the data' not in first.program.text()):
            raise Wrong(f'the first: {first.program.code()}\n'
                        + first.program.text())
        heir = Client(second.address)
        heir.set('more', b'w')
        heir.close()
        second.program.kill()
        second = Hoopd(path, folder, [], **environment)
        heir = Client(second.address)
        found = [heir.get(key) for key in ('before', 'after', 'more')]
        heir.close()
        if found != [b'v', None, b'w']:
            raise Wrong(f'the keys are {found}')
    finally:
        first.program.kill()
        if second:
            second.program.kill()


def check(programs, folder):
    """Run the case of each way in which the lock fails."""
    path, shim = programs
    off = {'LD_PRELOAD': shim}
    for i, (defeat, is_idle, more, environment) in enumerate((
            (lock_remove, False, [], {}), (lock_remove, True, [], {}),
            (lock_replace, False, [], {}), (lock_leave, False, [], off),
            (lock_leave, True, STANDBY, off))):
        case(path, f'{folder}/{i}', defeat, is_idle, more, **environment)


if __name__ == '__main__':
    check_main('fence_check', check)
