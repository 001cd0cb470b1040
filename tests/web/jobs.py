"""tests/web/jobs.py - a real hoopd with its page, and jobs of real workers"""

import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'fault'))
from programs import Program, free_addresses

SIZE = 3


class Hoopd:
    """A hoopd that can be killed and started again at the same addresses."""

    def __init__(self, program, folder, *options, **settings):
        (host, self.port), (_, self.http_port) = free_addresses(2)
        self.address = f'{host}:{self.port}'
        self.page = f'http://localhost:{self.http_port}/'
        self.folder = folder
        self.settings = settings
        self.arguments = [program, f'--listen={self.address}',
                          f'--http=localhost:{self.http_port}', '--lease=600', *options]
        self.n_starts = 0
        self.start()

    def start(self):
        self.n_starts += 1
        self.program = Program(self.folder, f'hoopd{self.n_starts}', self.arguments,
                               **self.settings)
        self.program.expect('serves workers')

    def kill(self):
        self.program.kill()


class Job:
    """The workers of a job, which do what they are told
    (tests/fault/command_member.c). Ranks that are absent are not started."""

    def __init__(self, hoopd, member, name, size=SIZE, absent=()):
        self.workers = [Program(
            hoopd.folder, f'{name}{rank}', [member], stdin=subprocess.PIPE,
            HOOP_JOB=name, HOOP_RANK=str(rank), HOOP_WORLD_SIZE=str(size),
            HOOP_COORDINATOR=hoopd.address,
            **hoopd.settings | {'HOOP_FAILURE_TIMEOUT': '600'})
                        for rank in range(size) if rank not in absent]

    def ready(self):
        for worker in self.workers:
            worker.expect('ready')
        return self

    def tell(self, command, *ranks):
        for rank in ranks:
            self.workers[rank].popen.stdin.write(command.encode() + b'\n')
            self.workers[rank].popen.stdin.flush()

    def stop(self, rank):
        pid = self.workers[rank].popen.pid
        os.kill(pid, signal.SIGSTOP)
        os.waitid(os.P_PID, pid, os.WSTOPPED)

    def go_on(self, rank):
        os.kill(self.workers[rank].popen.pid, signal.SIGCONT)

    def end(self):
        for worker in self.workers:
            worker.kill()
            worker.popen.stdin.close()
