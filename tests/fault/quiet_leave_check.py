#!/usr/bin/env python3
"""tests/fault/quiet_leave_check.py - ranks that leave in order warn of nothing

quiet_leave_check.py HOOPD MEMBER: the ranks of each job reduce, and then leave
one after the other while some still connect to each other. None may log a
warning.
"""

import subprocess

from programs import Program, Wrong, check_main, free_addresses

SIZE = 16


def play(programs, folder, address, name, transport):
    members = [Program(
        folder, f'{name}.{rank}', [programs[1]], stdin=subprocess.PIPE,
        HOOP_COORDINATOR=address, HOOP_TOKEN='secret', HOOP_JOB=name,
        HOOP_WORLD_SIZE=str(SIZE), HOOP_LOG='warning', HOOP_WAIT_NOTICE='0',
        HOOP_LATE_WARNING='0', HOOP_TRANSPORT=transport) for rank in range(SIZE)]
    try:
        for member in members:
            member.popen.stdin.write(b'allreduce\n')
            member.popen.stdin.close()
        for member in members:
            if member.code() != 0 or member.text() != 'ready\ndone\n':
                raise Wrong(f'{member.name} says\n{member.text()}')
    finally:
        for member in members:
            member.kill()


def check(programs, folder):
    (host, port), = free_addresses(1)
    address = f'{host}:{port}'
    hoopd = Program(folder, 'hoopd', [programs[0], f'--listen={address}',
                                      '--http=127.0.0.1:0'], HOOP_TOKEN='secret')
    try:
        hoopd.expect('serves workers')
        for turn, transport in enumerate(('auto', 'auto', 'tcp')):
            play(programs, folder, address, f'job{turn}', transport)
    finally:
        hoopd.kill()


if __name__ == '__main__':
    check_main('quiet_leave_check', check)
