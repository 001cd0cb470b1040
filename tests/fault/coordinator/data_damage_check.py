#!/usr/bin/env python3
"""tests/fault/coordinator/data_damage_check.py - a coordinator whose data are damaged

data_damage_check.py HOOPD: a hoopd with --data-dir writes keys of three jobs.
With a damaged copy of its file hoopd, or a standby that takes over, serves
exactly what was written, or refuses to start with one line that names the file
and the remedy. --data-repair keeps the damaged file and makes data of correct
records, with which hoopd starts again. If the file is cut short while hoopd
uses it, hoopd ends with a line that says so.
"""

import os
import random
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
from control_client import Client, Refused
from programs import Program, Wrong, await_true, check_main, free_addresses

PAGE = 4096
JOBS = ('one', 'two', 'three')
KEYS = 60
JOIN = [1, 1, 0, 1, 0, 0, 0, 1, 'h', 'h', '127.0.0.1:1']
VARIANTS = 40
NOT_FOUND = 5


class Data:
    """This has a data folder, and at most one running hoopd that uses it."""

    def __init__(self, hoopd, folder):
        self.hoopd = hoopd
        self.folder = folder
        self.data = f'{folder}/data'
        self.file = f'{self.data}/hoopd.mdb'
        self.n_runs = 0
        self.program = None

    def start(self, *more):
        self.n_runs += 1
        address = '%s:%d' % free_addresses(1)[0]
        self.program = Program(
            self.folder, f'hoopd{self.n_runs}',
            [self.hoopd, '--listen', address, '--http', 'none', '--lease',
             '600', '--durability', 'process', '--data-dir', self.data, *more])
        await_true('hoopd serves or ends', lambda: (
            'serves workers' in self.program.text()
            or self.program.popen.poll() is not None))
        return None if self.program.popen.poll() is not None else address

    def put(self, data):
        """Replace the file, and leave the folder as it is after kill -9."""
        shutil.rmtree(self.data)
        os.mkdir(self.data)
        with open(self.file, 'wb', opener=lambda path, how: os.open(
                path, how, 0o600)) as file:
            file.write(data)

    def read(self):
        with open(self.file, 'rb') as file:
            return file.read()

    def repair(self):
        return subprocess.run(
            [self.hoopd, '--data-dir', self.data, '--data-repair'],
            check=False, capture_output=True, text=True, timeout=60)


def value(job, key):
    return f'{job}-{key}'.encode() * (1 + key * 7)


def fill(data):
    address = data.start()
    for job in JOBS:
        client = Client(address, job=job)
        client.call('Rendezvous/Join', JOIN)
        for key in range(KEYS):
            client.set(f'k{key}', b'old')
        for key in range(KEYS):
            client.set(f'k{key}', value(job, key))
        client.close()
    data.program.kill()
    return data.read()


def records_check(address, is_whole):
    """Return how many keys exist. Each must have the value that was written
    last."""
    n_found = 0
    for job in JOBS:
        client = Client(address, job=job)
        for key in range(KEYS):
            try:
                found = client.get(f'k{key}')
            except Refused as refused:
                if is_whole or refused.status != NOT_FOUND:
                    raise
                break
            if found is None and is_whole:
                raise Wrong(f'key {key} of job {job} is gone')
            if found not in (None, value(job, key)):
                raise Wrong(f'key {key} of job {job} is {found[:20]}')
            n_found += found is not None
        client.close()
    return n_found


def damage(sound, kind, chance):
    data = bytearray(sound)
    n_pages = len(data) // PAGE
    one, other = (chance.randrange(n_pages) * PAGE for _ in range(2))
    if kind == 0:
        data[one + chance.randrange(PAGE)] ^= 1 << chance.randrange(8)
    elif kind == 1:
        data[one:one + PAGE] = bytes(PAGE)
    elif kind == 2:
        data[one:one + PAGE], data[other:other + PAGE] = (
            data[other:other + PAGE], data[one:one + PAGE])
    elif kind == 3:
        del data[chance.randrange(len(data)):]
    else:
        data[one + chance.randrange(40)] ^= 1 << chance.randrange(8)
    return bytes(data)


def refusal_check(data):
    """Check that hoopd refused to start with one line that a user can act
    on."""
    if data.program.code() != 1:
        raise Wrong(f'hoopd ends with {data.program.popen.returncode}: '
                    + data.program.text())
    lines = data.program.text().strip().splitlines()
    lines = [line for line in lines if 'standing by' not in line]
    if (len(lines) != 1 or data.file not in lines[0]
            or '--data-repair' not in lines[0]):
        raise Wrong('no single line that names file and cure, but:\n'
                    + '\n'.join(lines))


def variants_check(data, sound):
    n_refused = n_repaired = 0
    for seed in range(VARIANTS):
        broken = damage(sound, seed % 5, random.Random(seed))
        data.put(broken)
        address = data.start('--standby', 'on') if seed % 3 else data.start()
        if address:
            records_check(address, True)
            data.program.kill()
            continue
        n_refused += 1
        refusal_check(data)
        if data.read() != broken:
            raise Wrong('the damaged file was changed')
        n_repaired += repair_check(data, broken)
    if n_refused < VARIANTS // 4 or n_repaired < n_refused // 2:
        raise Wrong(f'{n_refused} of {VARIANTS} are refused, {n_repaired} '
                    'repaired: too few for a check')
    print(f'{n_refused} of {VARIANTS} refused, {n_repaired} repaired')


def repair_check(data, broken):
    """Return whether hoopd starts after a repair. If the repair is impossible,
    it must say so and leave the file as it is."""
    done = data.repair()
    if done.returncode != 0:
        if 'cannot repair' not in done.stderr or data.read() != broken:
            raise Wrong(f'repair: {done}')
        return False
    address = data.start()
    if not address:
        raise Wrong('hoopd does not start after a repair:\n'
                    + data.program.text() + done.stdout)
    n_found = records_check(address, False)
    if n_found < len(JOBS) * KEYS and 'lost' not in done.stdout:
        raise Wrong(f'{n_found} keys are there, and nothing is said to be '
                    f'lost: {done.stdout}')
    data.program.kill()
    with open(f'{data.file}.damaged-1', 'rb') as file:
        if file.read() != broken:
            raise Wrong('the damaged file was not kept')
    return True


def standby_check(data, sound):
    """Check that a standby refuses data that were damaged while it waited."""
    data.put(sound)
    data.start()
    first = data.program
    data.n_runs += 1
    data.program = Program(
        data.folder, f'standby{data.n_runs}',
        [data.hoopd, '--listen', '%s:%d' % free_addresses(1)[0], '--http',
         'none', '--data-dir', data.data, '--standby', 'on'])
    data.program.expect('standing by')
    first.popen.send_signal(signal.SIGSTOP)
    with open(data.file, 'r+b') as file:
        for page in range(2, os.path.getsize(data.file) // PAGE):
            file.seek(page * PAGE)
            file.write(bytes(16))
    first.kill()
    refusal_check(data)


def repair_refusals_check(data, sound):
    data.put(sound)
    address = data.start()
    done = data.repair()
    if done.returncode != 1 or 'another coordinator' not in done.stderr:
        raise Wrong(f'repair while hoopd runs: {done}')
    records_check(address, True)
    data.program.kill()
    done = data.repair()
    if done.returncode != 0 or 'nothing is changed' not in done.stdout:
        raise Wrong(f'repair of sound data: {done}')
    if sorted(os.listdir(data.data)) != ['hoopd.lock', 'hoopd.mdb']:
        raise Wrong(f'repair left {os.listdir(data.data)}')


def use_check(data, sound):
    """Cut the file short while hoopd uses it. No change may be acknowledged."""
    data.put(sound)
    address = data.start()
    os.truncate(data.file, 2 * PAGE)
    client = Client(address, job='one', patience_s=3)
    try:
        client.set('k1', b'new')
        raise Wrong('a change of data that are gone is acknowledged')
    except (OSError, Refused):
        pass
    client.close()
    if data.program.code() >= 0:
        raise Wrong('hoopd ended by no signal:\n' + data.program.text())
    lines = [line for line in data.program.text().splitlines()
             if data.file in line and '--data-repair' in line]
    if len(lines) != 1:
        raise Wrong('no line says why it ended:\n' + data.program.text())
    data.start()
    refusal_check(data)


def check(programs, folder):
    """Run all checks, one after the other."""
    data = Data(programs[0], folder)
    try:
        sound = fill(data)
        variants_check(data, sound)
        standby_check(data, sound)
        repair_refusals_check(data, sound)
        use_check(data, sound)
    finally:
        data.program.kill()


if __name__ == '__main__':
    check_main('data_damage_check', check)
