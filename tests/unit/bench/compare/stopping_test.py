"""tests/unit/bench/compare/stopping_test.py - a run that is stopped goes on

The run is a process of its own, whose programs are told here when to end.
"""

import collections
import csv
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.join(HERE, '../../../../bench/compare')
sys.path.insert(0, BENCH)

# pylint: disable=wrong-import-position
import cases
import journal
import programs

DEADLINE_S = 60
N_CASES, N_ROUNDS = 3, 2
ROOT = os.path.abspath(os.path.join(HERE, '../../../..'))

# A run of three cases in two rounds. Each says that it has begun, and ends when
# it is told to.
RUN = '''
import argparse, dataclasses, sys
sys.path.insert(0, BENCH)
import cases, journal, measure, programs
class Plan:
    def cases(self, part, turn):
        for peer in ("impi", "mpich", "openmpi") if part == "quiet" else ():
            yield cases.Case("tcp", 2, peer, "tcp", ("allreduce",), "8:1x1",
                             (), part=part)
class Bench(measure.Bench):
    def is_watched(self, case):
        return False
    def state(self):
        return "near"
    def start(self, case):
        print("begun", flush=True)
        sys.stdin.readline()
        return programs.rows_printed(case, "".join(
            f"{case.peer},tcp,allreduce,2,{size},7,7,1,1,15,near\\n"
            for size in (8, 64)), 0.1), "ok"
book = journal.Journal(sys.argv[1], {})
bench = Bench(argparse.Namespace(build="", profile="default"), book,
              {"run": "r", "commit": "c", "load": "0"})
measure.run(bench, Plan(), [], N_ROUNDS)
bench.close()
'''.replace('BENCH', repr(BENCH)).replace('N_ROUNDS', str(N_ROUNDS))


class Run:
    def __init__(self, path):
        self.process = subprocess.Popen(
            [sys.executable, '-B', '-c', RUN, path], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL)

    def case_begun(self):
        """Waits for one; whether there is one more."""
        return self.process.stdout.readline() == 'begun\n'

    def case_end(self):
        self.process.stdin.write('\n')
        self.process.stdin.flush()

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait(DEADLINE_S)

    def kill(self, number):
        self.process.send_signal(number)
        self.close()


def counted(path):
    """How often each (round, peer, bytes) is there, and each closing row."""
    with open(path, encoding='utf-8') as file:
        return collections.Counter(
            (row['round'], row['peer'], row['bytes'], row['case'])
            for row in csv.DictReader(file))


class Stopping(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, 'run.csv')

    def finish(self):
        """Goes on to the end; how many cases that took."""
        run, n_cases = Run(self.path), 0
        while run.case_begun():
            n_cases += 1
            run.case_end()
        self.assertEqual(run.close(), 0)
        return n_cases

    def stop_in(self, n_case, number):
        run = Run(self.path)
        for _ in range(n_case - 1):
            self.assertTrue(run.case_begun())
            run.case_end()
        self.assertTrue(run.case_begun())
        run.kill(number)

    def check_whole(self):
        found = counted(self.path)
        self.assertEqual(set(found.values()), {1})
        self.assertEqual(len(found), N_ROUNDS * N_CASES * 3)

    def test_kill_in_any_case_loses_and_repeats_nothing(self):
        for n_case in range(1, N_CASES * N_ROUNDS + 1):
            number = (signal.SIGKILL, signal.SIGINT)[n_case == 2]
            with self.subTest(case=n_case, signal=number):
                self.stop_in(n_case, number)
                self.assertEqual(self.finish(),
                                 N_CASES * N_ROUNDS - n_case + 1)
                self.check_whole()
            os.unlink(self.path)

    def test_several_kills_lose_and_repeat_nothing(self):
        for n_case in (2, 1, 3):
            self.stop_in(n_case, signal.SIGKILL)
        self.assertEqual(self.finish(), 3)
        self.check_whole()

    def test_run_that_is_done_starts_nothing(self):
        self.assertEqual(self.finish(), N_CASES * N_ROUNDS)
        self.assertEqual(self.finish(), 0)

    def test_file_that_was_cut_off_has_whole_cases(self):
        """Wherever a kill or a full disk cut it."""
        self.finish()
        with open(self.path, encoding='utf-8') as file:
            whole = file.read()
        for length in range(len(whole)):
            with open(self.path, 'w', encoding='utf-8') as file:
                file.write(whole[:length])
            book = journal.Journal(self.path, {})
            book.close()
            self.assertEqual(len(book.rows), 2 * len(book.done))
            self.assertEqual(len(book.done),
                             whole[:length].count(' allreduce\n'))
            with open(self.path, encoding='utf-8') as file:
                left = file.read()
            self.assertEqual(left, whole[:len(left)])
        self.assertEqual(self.finish(), 1)
        self.check_whole()


class Runs(unittest.TestCase):
    def test_newest_run_of_the_same_programs_goes_on(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, identity in (('1', {'hoop': 'a'}), ('2', {'hoop': 'b'}),
                                   ('3', {'hoop': 'a'}), ('4', {'hoop': 'c'})):
                journal.Journal(f'{folder}/{name}.csv', identity).close()
            with open(f'{folder}/5.json', 'w', encoding='utf-8') as file:
                file.write('{"hoop":')
            self.assertEqual(journal.newest(folder, {'hoop': 'a'}),
                             f'{folder}/3.csv')
            self.assertIsNone(journal.newest(folder, {'hoop': 'd'}))


def is_running(mark):
    return subprocess.run(['pgrep', '-f', mark], stdout=subprocess.DEVNULL,
                          check=False).returncode == 0


STARTER = '''
import sys
sys.path.insert(0, BENCH)
import cases, programs
case = cases.Case("tcp", 2, "impi", "tcp", ("allreduce",), "", (
    "sh", "-c", "sleep " + sys.argv[1] + " & wait; :"), is_library=False)
programs.start(case, programs.Hosts(None), None, None)
'''.replace('BENCH', repr(BENCH))


class Programs(unittest.TestCase):
    def setUp(self):
        tried = subprocess.run(
            ['bench/peers/in_ns.sh', 'cubic', 'true'], cwd=ROOT, check=False,
            stderr=subprocess.PIPE, text=True)
        if tried.returncode != 0:
            if os.environ.get('HOOP_REQUIRE_NETNS'):
                self.fail(tried.stderr)
            self.skipTest(tried.stderr)

    def start(self, *command, seconds=DEADLINE_S):
        case = cases.Case('tcp', 2, 'impi', 'tcp', ('allreduce',), '8:1x1',
                          command, seconds=seconds, is_library=False)
        os.chdir(ROOT)
        return programs.start(case, programs.Hosts(None), None, None)

    def test_programs_end_when_the_measuring_one_is_killed(self):
        mark = f'1{os.getpid()}.5'  # seconds, and nobody else's
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        starter = subprocess.Popen([sys.executable, '-B', '-c', STARTER, mark],
                                   cwd=ROOT,
                                   env={**os.environ, 'TMPDIR': scratch.name})
        deadline = time.monotonic() + DEADLINE_S
        while not is_running(f'^sleep {mark}') and \
                time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertTrue(is_running(f'^sleep {mark}'))
        starter.kill()
        starter.wait()
        while is_running(f'^sleep {mark}') and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertFalse(is_running(f'^sleep {mark}'))

    def test_rows_before_a_time_out_are_kept(self):
        text, is_well, _, _ = self.start(
            'sh', '-c', 'echo row; sleep 1000', seconds=2)
        self.assertEqual((text, is_well), ('row\n', False))

    def test_bytes_through_the_loopback_interface_are_counted(self):
        sends = ('import socket, threading\n'
                 'server = socket.create_server(("127.0.0.1", 0))\n'
                 'client = socket.create_connection(server.getsockname())\n'
                 'end = server.accept()[0]\n'
                 'threading.Thread(target=client.sendall,'
                 ' args=(bytes(1 << 20),)).start()\n'
                 'n = 0\n'
                 'while n < 1 << 20: n += len(end.recv(65536))\n')
        _, is_well, _, n_passed = self.start(sys.executable, '-c', sends)
        self.assertTrue(is_well)
        self.assertGreater(n_passed, 1 << 20)
        self.assertLess(n_passed, 2 << 20)
        self.assertLess(self.start('true')[3], 1 << 10)

    def test_failure_is_told(self):
        self.assertFalse(self.start('false')[1])


if __name__ == '__main__':
    unittest.main()
