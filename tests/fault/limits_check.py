#!/usr/bin/env python3
"""tests/fault/limits_check.py - a process or a host has run out of something

limits_check.py HOOPD MEMBER: of four ranks one, or all, may open only a few
files. The limit rises from FIRST_FILES until the job succeeds ENOUGH times in a
row. With every limit each rank either succeeds, or soon reports which limit was
reached, its value and the rank; no other rank is called lost. In another check
a member of a running job opens files until none is left. The calls that need
one more must fail and say so, and must succeed again once it has closed them.
One more check is of a rank whose user may start no more threads.
"""

import os
import resource
import subprocess
import time

from programs import (Program, Wrong, await_true, check_main,
                      free_addresses)

RANKS = 4
SHORT = 1  # the rank that has the limit, unless all have it
FIRST_FILES = 12
ENOUGH = 4  # how many successes in a row end the sweep
FILES_MAX = 64
SOON_S = 5  # most of it is the start of processes on a busy machine
JOIN_S = 20
NOBODY = 65534


def file_limit_set(n_files):
    resource.setrlimit(resource.RLIMIT_NOFILE, (n_files, n_files))


def thread_limit_set(n_threads):
    """Limit the number of threads. Root would not be limited, so change the
    user."""
    resource.setrlimit(resource.RLIMIT_NPROC, (n_threads, n_threads))
    if os.getuid() == 0:
        os.setuid(NOBODY)


class Job:
    """This starts four ranks. Those in `short` have the limit that
    `limit_set` sets."""

    def __init__(self, check, name, short, n_max, words=(),
                 limit_set=file_limit_set, **environment):
        def limit():
            limit_set(n_max)

        self.name = name
        self.began = time.monotonic()
        self.members = [
            Program(check.folder, f'{name}.{rank}', [check.member, *words],
                    stdin=subprocess.PIPE if words else subprocess.DEVNULL,
                    preexec_fn=limit if rank in short else None,
                    HOOP_COORDINATOR=check.address, HOOP_JOB=name,
                    HOOP_RANK=str(rank), HOOP_WORLD_SIZE=str(RANKS),
                    HOOP_JOIN_TIMEOUT=str(JOIN_S), HOOP_TIMEOUT=str(JOIN_S),
                    **environment)
            for rank in range(RANKS)]

    def order(self, words):
        """Send `words` to the rank SHORT and "work" to the others. Return what
        each replies."""
        n_said = [len(member.text().splitlines()) for member in self.members]
        for rank, member in enumerate(self.members):
            member.popen.stdin.write(
                (words if rank == SHORT else 'work').encode() + b'\n')
            member.popen.stdin.flush()
        began = time.monotonic()
        await_true(f'{self.name}: all have done "{words}"', lambda: all(
            len(member.text().splitlines()) > n
            for member, n in zip(self.members, n_said)))
        took_s = time.monotonic() - began
        texts = [member.text().strip() for member in self.members]
        if took_s > SOON_S:
            raise Wrong(f'"{words}" took {took_s:.1f} s: {texts}')
        return texts

    def end(self):
        """Wait until all have ended. Return what each said."""
        codes = [member.code() for member in self.members]
        took_s = time.monotonic() - self.began
        texts = [member.text().strip() for member in self.members]
        if not set(codes) <= {0, 1}:
            raise Wrong(f'{self.name}: exit codes {codes}: {texts}')
        if took_s > SOON_S:
            raise Wrong(f'{self.name} took {took_s:.1f} s: {texts}')
        return texts


def why_files(n_files):
    return f'may open {n_files} files (RLIMIT_NOFILE'


def is_well(text):
    return text.splitlines()[-1:] == ['well']


def judge(name, texts, short, why):
    """Return whether all succeeded. Raise Wrong if a failure is not reported
    well."""
    if all(is_well(text) for text in texts):
        return True
    for rank, text in enumerate(texts):
        said = text.splitlines()[-1] if text else ''
        if is_well(text):
            continue
        if why not in said:
            raise Wrong(f'{name}: rank {rank} does not name the limit: {texts}')
        if len(short) == 1 and rank != short[0] and \
                f'rank {short[0]} ' not in said:
            raise Wrong(f'{name}: rank {rank} does not say whose: {texts}')
        for other in range(RANKS):
            if other not in short and f'rank {other} (' in said and \
                    'is lost' in said.split(f'rank {other} (', 1)[1][:40]:
                raise Wrong(f'{name}: rank {other} is blamed: {texts}')
    return False


class Check:
    """This runs all checks against one hoopd."""

    def __init__(self, paths, folder):
        self.hoopd, self.member = paths
        self.folder = folder
        (host, port), = free_addresses(1)
        self.address = f'{host}:{port}'

    def sweep(self, kind, short, **environment):
        """Run a job for every limit, until the limit is high enough."""
        n_well = 0
        n_short = 0
        for n_files in range(FIRST_FILES, FILES_MAX):
            name = f'{kind}{n_files}'
            job = Job(self, name, short, n_files, **environment)
            is_good = judge(name, job.end(), short, why_files(n_files))
            n_well = n_well + 1 if is_good else 0
            n_short += not is_good
            if n_well == ENOUGH:
                break
        if n_well < ENOUGH or n_short == 0:
            raise Wrong(f'{kind}: {n_short} short, {n_well} well')
        print(f'{kind}: {n_short} limits are too low, all say so')

    def fill_and_free(self):
        """Fill the file table of a member of a running job. No rank is lost by
        it."""
        job = Job(self, 'filled', [SHORT], FILES_MAX, words=['--orders'],
                  HOOP_TRANSPORT='tcp')
        if judge('filled', job.order('fill'), [SHORT], why_files(FILES_MAX)):
            raise Wrong('filled: nothing was short')
        # The next call may still report a failure that another rank has seen.
        job.order('free')
        texts = job.order('free')
        if not all(is_well(text) for text in texts):
            raise Wrong(f'freed: {texts}')
        for member in job.members:
            member.popen.stdin.close()
        job.began = time.monotonic()
        job.end()
        print('a member without descriptors fails, and goes on with new ones')

    def threads(self):
        """Start a rank that may not create its own thread."""
        job = Job(self, 'threads', [SHORT], 1, limit_set=thread_limit_set)
        if judge('threads', job.end(), [SHORT],
                 'may run 1 threads (RLIMIT_NPROC'):
            raise Wrong('threads: nothing was short')
        print('a member without a thread says so, and who')

    def run(self):
        hoopd = Program(self.folder, 'hoopd',
                        [self.hoopd, '--listen', self.address, '--http', 'none'])
        try:
            hoopd.expect('serves workers')
            self.fill_and_free()
            self.threads()
            self.sweep('one', [SHORT])
            self.sweep('all', list(range(RANKS)))
            self.sweep('onetcp', [SHORT], HOOP_TRANSPORT='tcp')
            self.sweep('alltcp', list(range(RANKS)), HOOP_TRANSPORT='tcp')
        finally:
            hoopd.kill()


def check(paths, folder):
    Check(paths, folder).run()


if __name__ == '__main__':
    check_main('limits_check', check)
