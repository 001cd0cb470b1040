"""tests/fault/jobs.py - a real hoopd with its page, and jobs of real workers"""

import os
import signal
import subprocess

from programs import Program, free_addresses

SIZE = 3


class Hoopd:
    """A hoopd that can be killed and started again at the same addresses."""

    def __init__(self, program, folder, *options, host=None, **settings):
        (loopback, self.port), (_, self.http_port) = free_addresses(2)
        self.address = f'{host or loopback}:{self.port}'
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
    """The workers of a job, by their ranks, which do what they are told
    (tests/fault/command_member.c). Ranks that are absent are not started. With hosts
    (network_hosts.py), each rank is on its own."""

    def __init__(self, hoopd, member, name, size=SIZE, absent=(), hosts=None, **settings):
        self.hoopd = hoopd
        self.member = member
        self.name = name
        self.size = size
        self.hosts = hosts
        self.access = {'HOOP_COORDINATOR': hoopd.address, 'HOOP_JOB': name}
        self.settings = hoopd.settings | settings
        self.workers = {}
        self.start(*(rank for rank in range(size) if rank not in absent))

    def start(self, *ranks, **settings):
        for rank in ranks:
            words, placed = [self.member], {}
            if self.hosts:
                words = self.hosts.on(f'h{rank}', self.member)
                placed = {'HOOP_NODE': f'h{rank}', 'HOOP_TRANSPORT': 'tcp'}
            self.workers[rank] = Program(
                self.hoopd.folder, f'{self.name}{rank}', words, stdin=subprocess.PIPE,
                **{'HOOP_RANK': str(rank), 'HOOP_WORLD_SIZE': str(self.size),
                   'HOOP_FAILURE_TIMEOUT': '600'} | self.access | placed
                | self.settings | settings)

    def ready(self):
        for worker in self.workers.values():
            worker.expect('ready')
        return self

    def tell(self, command, *ranks):
        for rank in ranks:
            self.workers[rank].popen.stdin.write(command.encode() + b'\n')
            self.workers[rank].popen.stdin.flush()

    def await_done(self, *ranks):
        for rank in ranks:
            self.workers[rank].expect('done')

    def stop(self, rank):
        pid = self.workers[rank].popen.pid
        os.kill(pid, signal.SIGSTOP)
        os.waitid(os.P_PID, pid, os.WSTOPPED)

    def go_on(self, rank):
        os.kill(self.workers[rank].popen.pid, signal.SIGCONT)

    def end(self):
        for worker in self.workers.values():
            if worker.popen.poll() is None:
                worker.popen.send_signal(signal.SIGCONT)
            worker.kill()
            worker.popen.stdin.close()
