"""bench/compare/programs.py - starts programs, and ends what they leave behind

Rows say how far apart the processors were: bench/peers/watch.c says it for each
batch, to the programs themselves. Where it may not, they are asked before and
after a program (bench/peers/mode.c).
"""

import os
import signal
import struct
import subprocess
import tempfile
import time

FAR_FACTOR = 3  # as in bench/peers/watch.c
WATCH_NEAR = 1  # bench/peers/watch.h
PATIENCE_S = 2
START_S = 10
LEARNING_S = 15  # for how near the processors get
N_CELLS = 11  # of a row that bench/peers/schedule.h reports
DIES_WITH_US = ('setpriv', '--pdeathsig', 'KILL')


class Watch:
    """bench/peers/watch.c, while it may run. path is a file for the shortest
    round trip that was seen, which whoever goes on with the run begins with."""

    def __init__(self, program, path, say):
        self.kept, self.say = path, say
        self.nearest_ns = number_in(path) or 0
        file, self.path = tempfile.mkstemp(prefix='watch.')
        os.close(file)
        self.process = subprocess.Popen(
            [program, self.path, str(self.nearest_ns)],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + START_S
        while (self.is_running() and not self.look()[2] and
               time.monotonic() < deadline):
            time.sleep(0.01)
        if not self.is_running():
            say('states are looked at before and after cases: ' +
                self.process.stderr.read().strip())
            return
        if not self.nearest_ns:
            time.sleep(LEARNING_S)
        self.keep()

    def is_running(self):
        return self.process.poll() is None

    def look(self):
        """(state, changes, shortest round trip in ns)"""
        with open(self.path, 'rb') as file:
            return struct.unpack('=III', file.read(12).ljust(12, b'\0'))

    def keep(self):
        """The shortest round trip so far. Where one was seen that makes far
        what has been near, what has been measured before is of no state."""
        nearest_ns = self.look()[2] or self.nearest_ns
        if self.nearest_ns > 1.5 * nearest_ns:
            self.say(f'the processors are at {nearest_ns} ns, never seen '
                     f'before ({self.nearest_ns} ns): begin anew (--new)')
        if nearest_ns != self.nearest_ns:
            self.nearest_ns = nearest_ns
            with open(self.kept, 'w', encoding='utf-8') as file:
                file.write(str(nearest_ns))

    def near_await(self):
        """For a while: comparisons are made of that state."""
        self.keep()
        deadline = time.monotonic() + PATIENCE_S
        while self.is_running() and time.monotonic() < deadline:
            if self.look()[0] == WATCH_NEAR:
                break
            time.sleep(0.01)

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()
        os.unlink(self.path)


class Busy:
    """A process that computes and nothing else, while one is wanted."""

    def __init__(self):
        self.process = None

    def want(self, is_wanted):
        if is_wanted and self.process is None:
            self.process = subprocess.Popen(
                [*DIES_WITH_US, 'sh', '-c', 'while :; do :; done'],
                stdin=subprocess.DEVNULL)
        elif not is_wanted and self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


class Hosts:
    """Those of bench/peers/hosts.sh, for cases of one link and number of
    ranks."""

    def __init__(self, errors):
        self.errors = errors
        self.name = None

    def want(self, link, n):
        """None, when link is None. Whether they are there."""
        if self.name:
            subprocess.run(['bench/peers/hosts.sh', 'down', self.name],
                           check=False)
            self.name = None
        if link:
            self.name = f'bench{os.getpid()}'
            made = subprocess.run(
                ['bench/peers/hosts.sh', 'up', self.name, str(n), link,
                 'cubic'], stderr=self.errors, check=False)
            if made.returncode != 0:
                self.want(None, 0)
        return self.name is not None


def distance_ns(program):
    """Of the processors at the moment, by bench/peers/mode.c."""
    return float(subprocess.run([program], check=True, capture_output=True,
                                text=True).stdout)


def end_group(program):
    """What a launcher has left behind, and itself, after a time-out."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(program.pid, number)
            program.wait(3)
        except ProcessLookupError:
            break
        except subprocess.TimeoutExpired:
            pass
    program.wait()


def environment_of(case, scratch, hosts, watch):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(('HOOP_', 'BENCH_'))}
    environment.update(
        case.environment, OMP_NUM_THREADS='1', TMPDIR=scratch,
        LO_BYTES=os.path.join(scratch, 'lo'),
        STARTED_US=str(time.monotonic_ns() / 1000))
    for name in ('OMPI', 'PRTE'):  # launchers of Open MPI 4 and 5
        environment[f'{name}_ALLOW_RUN_AS_ROOT'] = '1'
        environment[f'{name}_ALLOW_RUN_AS_ROOT_CONFIRM'] = '1'
    if hosts.name:
        environment['HOSTS'] = hosts.name
    if watch is not None:
        environment['BENCH_WATCH'] = watch.path
    return environment


def command_of(case, hosts):
    """In a network of its own, or on hosts."""
    if hosts.name:
        return case.arguments()
    return ['bench/peers/in_ns.sh', 'cubic', *case.arguments()]


def number_in(path):
    try:
        with open(path, encoding='utf-8') as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


def start(case, hosts, watch, errors):
    """(what it printed, whether it ended well, seconds, bytes that went through
    the loopback interface or None). After a time-out it is what it has printed
    until then."""
    with tempfile.TemporaryDirectory(prefix='compare.') as scratch:
        begin = time.monotonic()
        program = subprocess.Popen(
            command_of(case, hosts), text=True,
            env=environment_of(case, scratch, hosts, watch),
            stdout=subprocess.PIPE, stderr=errors, stdin=subprocess.DEVNULL,
            start_new_session=True)
        is_late = False
        try:
            text = program.communicate(timeout=case.seconds)[0]
        except subprocess.TimeoutExpired:
            is_late = True
        finally:
            end_group(program)
        passed_s = time.monotonic() - begin
        if is_late:
            text = program.communicate()[0]
        return (text, program.returncode == 0, passed_s,
                number_in(os.path.join(scratch, 'lo')))


def rows_printed(case, text, passed_s):
    """What it printed, as rows of a run."""
    rows = []
    for line in text.splitlines():
        cells = line.split(',')
        if len(cells) != N_CELLS or cells[0] != case.peer:
            continue
        row = dict(zip(('peer', 'transport', 'op', 'n', 'bytes', 'median_us',
                        'min_us'), cells), cpu_us=cells[9], state=cells[10],
                   link=case.link)
        rows.append(row)
        if row['op'] == 'startup':
            us = f'{passed_s * 1e6:.0f}'
            rows.append({**row, 'op': 'whole', 'median_us': us, 'min_us': us})
    return rows
