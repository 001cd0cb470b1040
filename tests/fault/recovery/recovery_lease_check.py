#!/usr/bin/env python3
"""tests/fault/recovery/recovery_lease_check.py - who has died is found out between restarts

recovery_lease_check.py HOOPD HOOPCTL STEADY: all workers of one job have been
killed, so that none is left to report the others, and another job lives. hoopd
is killed and started again so often that no lease ends while one hoopd runs.
The first job must still end, once hoopd has run for the time of one lease and
its grace in total. The other job must lose no rank.
"""

import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
from coordinator_deaths import Coordinator
from programs import (Program, WAIT_S, Wrong, await_true, environment_clean,
                      steady_end)

LEASE_S = 1
GRACE_S = 2
LIFE_S = 0.7


class Brief(Coordinator):
    """This hoopd has short leases."""

    def __init__(self, path, folder):
        super().__init__(path, folder, 'process')
        self.arguments[self.arguments.index('--lease') + 1] = str(LEASE_S)


class Check:
    """This checks both jobs."""

    def __init__(self, paths, folder):
        self.hoopd, self.hoopctl, self.steady = paths
        self.folder = folder
        self.coordinator = Brief(self.hoopd, folder)

    def workers(self, job):
        return [Program(self.folder, f'{job}{rank}',
                        [self.steady, f'{self.folder}/stop'],
                        HOOP_COORDINATOR=self.coordinator.address,
                        HOOP_RANK=str(rank), HOOP_TIMEOUT=str(WAIT_S),
                        HOOP_JOB=job, HOOP_WORLD_SIZE='2')
                for rank in range(2)]

    def ctl(self, *words):
        return subprocess.run(
            [self.hoopctl, '-c', self.coordinator.address, *words],
            timeout=WAIT_S, check=True, stdout=subprocess.PIPE,
            env=environment_clean()).stdout.decode()

    def run(self):
        self.coordinator.start()
        dead, living = self.workers('dead'), self.workers('living')
        try:
            await_true('both jobs run',
                       lambda: self.ctl('status').count('running') == 2)
            for worker in dead:
                worker.popen.kill()
            up_s = self.until_it_ends()
            if 'living' not in self.ctl('status'):
                raise Wrong('the job that lives has ended, too')
            if self.ctl('-j', 'living', 'ranks').count('active') != 2:
                raise Wrong('somebody was lost who lives:\n'
                            + self.ctl('-j', 'living', 'ranks'))
            steady_end(self.folder, living)
            return up_s
        finally:
            for program in dead + living + [self.coordinator.program]:
                program.kill()

    def until_it_ends(self):
        """Restart hoopd until the job ends. Return for how long hoopd ran in
        total."""
        up_s = 0
        while True:
            self.coordinator.kill()
            self.coordinator.start()
            time.sleep(LIFE_S)
            up_s += LIFE_S
            lines = [line for line in self.ctl('status').splitlines()
                     if 'dead' in line and 'running' in line]
            if not lines:
                return up_s
            if up_s > 10 * (LEASE_S + GRACE_S):
                raise Wrong(f'after {up_s:.1f} s it is there:\n{lines}')


def main():
    with tempfile.TemporaryDirectory() as folder:
        check = Check(sys.argv[1:4], folder)
        try:
            up_s = check.run()
        except (Wrong, OSError, subprocess.SubprocessError) as wrong:
            sys.exit(f'recovery_lease_check: {wrong}\n'
                     + check.coordinator.program.text())
    print(f'the dead were found out after {up_s:.1f} s in lives of {LIFE_S} s')


if __name__ == '__main__':
    main()
