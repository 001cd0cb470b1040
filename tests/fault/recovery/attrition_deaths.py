#!/usr/bin/env python3
"""tests/fault/recovery/attrition_deaths.py - members die, and their coordinator, too

attrition_deaths.py HOOPD ATTRITION_TEST [--seconds N] [--pause S]: each job
loses four of its six members, 50 ms apart. The survivors shrink and recompute
every result (tests/integration/recovery/attrition_test.c). Meanwhile hoopd is
killed with SIGKILL every S seconds and started again on its data. No call may
hang, and no result may be wrong. The memory and descriptors of the last hoopd
are printed.
"""

import argparse
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
from coordinator_deaths import Coordinator
from programs import Program, Wrong

LAST_JOBS_S = 90  # the longest time for the jobs that have begun


def size_of(pid):
    with open(f'/proc/{pid}/status', encoding='utf-8') as lines:
        resident = [line for line in lines if line.startswith('VmRSS')]
    n_descriptors = len(os.listdir(f'/proc/{pid}/fd'))
    return ' '.join(resident[0].split()) + f', {n_descriptors} descriptors'


def deaths(coordinator, jobs, options):
    """Kill hoopd until the jobs have ended. Return how often it was killed."""
    end = time.monotonic() + options.seconds + LAST_JOBS_S
    n_deaths = 0
    next_death = time.monotonic() + options.pause
    while jobs.popen.poll() is None:
        if time.monotonic() > end:
            raise Wrong('the jobs hang:\n' + jobs.text())
        if time.monotonic() > next_death:
            coordinator.kill()
            coordinator.start()
            n_deaths += 1
            next_death = time.monotonic() + options.pause
        time.sleep(0.02)
    return n_deaths


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('hoopd')
    parser.add_argument('attrition')
    parser.add_argument('--seconds', type=float, default=600)
    parser.add_argument('--pause', type=float, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        coordinator = Coordinator(options.hoopd, folder, 'process',
                                  HOOP_TOKEN='secret')
        jobs = None
        try:
            coordinator.start()
            jobs = Program(folder, 'jobs', [options.attrition],
                           ATTRITION_COORDINATOR=coordinator.address,
                           ATTRITION_SECONDS=str(int(options.seconds)))
            n_deaths = deaths(coordinator, jobs, options)
            if jobs.code() != 0:
                raise Wrong('the jobs failed:\n' + jobs.text())
            print([line for line in jobs.text().splitlines()
                   if 'none wrong' in line][0])
            print(f'hoopd died {n_deaths} times; at the end '
                  f'{size_of(coordinator.program.popen.pid)}')
        except Wrong as wrong:
            print(f'attrition_deaths.py: {wrong}')
            print(coordinator.program.text()[-3000:])
            return 1
        finally:
            if jobs:
                jobs.kill()
            coordinator.kill()
    print('attrition_deaths.py: ok')
    return 0


if __name__ == '__main__':
    sys.exit(main())
