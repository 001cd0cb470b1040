"""tests/unit/bench/compare/measure_test.py - rows on their way into a run"""

import argparse
import dataclasses
import os
import struct
import sys
import tempfile
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../../../../bench/compare'))

# pylint: disable=wrong-import-position
import cases
import journal
import measure
import programs
import schedules

NEAR = 'hoop,tcp,allreduce,2,8,7.50,7.00,1.0,1.0,15.00,near'
FAR = 'hoop,tcp,allreduce,2,8,21.00,20.00,1.0,1.0,42.00,far'
NEAR_16 = 'hoop,tcp,allreduce,2,16,8.00,7.00,1.0,1.0,15.00,near'
UNWATCHED = 'hoop,tcp,allreduce,2,16,8.00,7.00,1.0,1.0,15.00,'
OTHER = 'openmpi,tcp,allreduce,2,8,9.00,8.00,1.0,1.0,18.00,near'

CASE = cases.Case('tcp', 2, 'hoop', 'tcp', ('allreduce', 'barrier'),
                  '8:1x1,16:1x1', ())


class Bench(measure.Bench):
    """Whose programs print what is given, one text for each start."""

    def __init__(self, folder, texts, is_watching):
        self.near_awaited = 0
        super().__init__(
            argparse.Namespace(build=folder, profile='default'),
            journal.Journal(os.path.join(folder, '20260101-100000.csv'), {}),
            {'run': '2026-01-01T10:00:00', 'commit': 'aaaaaaa', 'load': '0'})
        self.texts = list(texts)
        self.is_watching = is_watching
        self.watch = self

    def is_watched(self, case):
        return self.is_watching

    def near_await(self):
        self.near_awaited += 1

    def stop(self):
        pass

    def state(self):
        return 'far'

    def start(self, case):
        return programs.rows_printed(case, self.texts.pop(0), 0.5), 'ok'

    def say(self, text):
        pass


def rows_kept(*texts, is_watching=True, part='quiet'):
    """(state, time) of what a run's file has; how many texts are left."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder, texts, is_watching)
        bench.measure(dataclasses.replace(CASE, part=part), 1, 'name')
        bench.close()
        book = journal.Journal(bench.book.path, {})
        book.close()
        return [(row['state'], float(row['median_us']))
                for row in book.rows], len(bench.texts)


class Keeping(unittest.TestCase):
    def test_rows_say_the_state_of_their_batches(self):
        rows, _ = rows_kept(f'{NEAR}\n{NEAR_16}\n{FAR}\n')
        self.assertEqual(rows, [('near', 7.5), ('near', 8), ('far', 21)])

    def test_rows_that_nobody_watched_have_the_state_of_the_case(self):
        rows, _ = rows_kept(UNWATCHED, is_watching=False)
        self.assertEqual(rows, [('far', 8)])

    def test_rows_beside_a_busy_process_say_so(self):
        rows, _ = rows_kept(f'{NEAR}\n{NEAR_16}\n{FAR}\n', part='busy')
        self.assertEqual([state for state, _ in rows],
                         ['busy', 'busy', 'busy-far'])

    def test_only_whole_rows_of_the_peer_are_kept(self):
        text = f'{OTHER}\nsome warning\n{NEAR[:-9]}\n{NEAR}\n{NEAR_16}'
        self.assertEqual(len(rows_kept(text)[0]), 2)

    def test_case_that_is_half_near_is_not_done_again(self):
        self.assertEqual(rows_kept(f'{NEAR}\n{NEAR_16}', NEAR)[1], 1)

    def test_case_that_is_far_is_done_again_and_each_row_kept_once(self):
        rows, n_left = rows_kept(FAR, f'{FAR}\n{NEAR}\n{NEAR_16}', NEAR)
        self.assertEqual(rows, [('far', 21), ('near', 7.5), ('near', 8)])
        self.assertEqual(n_left, 1)

    def test_case_of_which_nothing_is_left_is_done_again(self):
        self.assertEqual(rows_kept('', '', '', NEAR), ([], 1))


class Starting(unittest.TestCase):
    """What is kept of what programs.start() gives back."""

    def outcome(self, text, is_well=True, n_passed=1 << 20):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch(
                'programs.start', return_value=(text, is_well, 0.1, n_passed)):
            bench = Bench(folder, [], True)
            rows, outcome = measure.Bench.start(bench, CASE)
            bench.close()
            return len(rows), outcome

    def test_case_of_another_transport_has_no_rows(self):
        self.assertEqual(self.outcome(NEAR), (1, 'ok'))
        self.assertEqual(self.outcome(NEAR.replace('7.50', '0.30')),
                         (0, 'other transport'))
        self.assertEqual(self.outcome(NEAR, n_passed=10),
                         (0, 'other transport'))

    def test_rows_before_a_failure_are_kept(self):
        self.assertEqual(self.outcome(f'{NEAR}\n', is_well=False),
                         (1, 'failed'))


# In place of bench/peers/watch.c: writes what its file NAME.is says, and how it
# was started.
WATCH = """#!/bin/sh
echo "$2" >>"$0.asked"
cat "$0.is" >"$1"
exec sleep 1000
"""


class States(unittest.TestCase):
    def watched(self, folder, state, nearest_ns):
        """Starts a watch that sees this; what was said."""
        program, said = os.path.join(folder, 'watch'), []
        with open(program, 'w', encoding='utf-8') as file:
            file.write(WATCH)
        os.chmod(program, 0o755)
        with open(f'{program}.is', 'wb') as file:
            file.write(struct.pack('=III', state, 1, nearest_ns))
        with unittest.mock.patch('programs.LEARNING_S', 0):
            watch = programs.Watch(program, f'{folder}/nearest', said.append)
        watch.near_await()
        watch.stop()
        return said

    def test_shortest_round_trip_is_known_to_who_goes_on(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.watched(folder, 1, 400), [])
            self.assertEqual(self.watched(folder, 1, 390), [])
            self.assertEqual(self.watched(folder, 1, 390), [])
            with open(f'{folder}/watch.asked', encoding='utf-8') as file:
                self.assertEqual(file.read().split(), ['0', '400', '390'])

    def test_state_that_was_never_seen_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            self.watched(folder, 1, 530)
            said = self.watched(folder, 1, 100)
        self.assertEqual(len(said), 1)
        self.assertIn('100 ns', said[0])
        self.assertIn('--new', said[0])

    def test_watch_that_may_not_run_says_why(self):
        said = []
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, 'watch')
            with open(program, 'w', encoding='utf-8') as file:
                file.write('#!/bin/sh\necho no real-time priority >&2\n')
            os.chmod(program, 0o755)
            watch = programs.Watch(program, f'{folder}/nearest', said.append)
            self.assertFalse(watch.is_running())
            watch.stop()
        self.assertIn('no real-time priority', said[0])

    def test_unwatched_state_is_by_the_shortest(self):
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(folder, [], False)
            with unittest.mock.patch('programs.distance_ns',
                                     side_effect=(400, 900, 100, 400, 290)):
                self.assertEqual([measure.Bench.state(bench)
                                  for _ in range(5)],
                                 ['near', 'near', 'near', 'far', 'near'])
            bench.close()


class Rounds(unittest.TestCase):
    def started(self, outcomes, n_rounds, part='quiet'):
        """Rounds in which a case is started that ends so, as long as it does."""
        found = []
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(folder, [], True)
            bench.busy = unittest.mock.Mock()
            bench.start = lambda case: (found.append(turn), (
                [], outcomes[len(found) - 1]))[1]
            for turn in range(1, n_rounds + 1):
                bench.turn([dataclasses.replace(CASE, part=part)], turn)
            wanted = [call.args[0] for call in bench.busy.want.call_args_list]
            bench.close()
        return found, wanted

    def test_case_that_failed_three_times_is_not_started_again(self):
        self.assertEqual(self.started(['failed'] * 9, 6)[0], [1, 2, 3])

    def test_case_that_ended_well_once_goes_on(self):
        outcomes = ['failed', 'failed', 'ok', 'ok', 'ok', *['failed'] * 9]
        self.assertEqual(set(self.started(outcomes, 6)[0]),
                         {1, 2, 3, 4, 5, 6})

    def test_something_is_busy_in_its_part_only(self):
        self.assertEqual(self.started(['failed'], 1, 'busy')[1][0], True)
        self.assertEqual(self.started(['failed'], 1, 'quiet')[1][0], False)


def known(times, turn=4):
    """What rounds tell in which variants took us of {variant: (us, ...)} at 8
    bytes, and at 16 a tenth more."""
    rows = [{'run': 'r', 'commit': 'c', 'load': '0', 'round': str(number),
             'state': 'near', 'link': 'tcp', 'peer': peer,
             'transport': transport, 'op': 'allreduce', 'n': '2',
             'bytes': str(size), 'median_us': str(us * more), 'cpu_us': '0'}
            for (peer, transport), rounds in times.items()
            for number, us in enumerate(rounds, 1)
            for size, more in ((8, 1), (16, 1.1))]
    return measure.Knowledge(rows, turn)


def compared(peer):
    return cases.Case('tcp', 2, peer, 'tcp', ('allreduce',), '', (),
                      part='quiet', sizes=(8, 16), slowness=10)


class Scheduling(unittest.TestCase):
    def test_batch_lasts_as_long_for_everybody(self):
        knowledge = known({('hoop', 'tcp'): (10, 10), ('impi', 'tcp'): (20,)})
        hoop = knowledge.scheduled(compared('hoop'), 'default').schedule
        impi = knowledge.scheduled(compared('impi'), 'default').schedule
        self.assertEqual((hoop, impi), ('8:400x5,16:364x5', '8:200x5,16:182x5'))

    def test_first_round_guesses(self):
        # 10 us, and ten times slower than that: 40 in 4 ms.
        self.assertEqual(known({}).scheduled(compared('impi'),
                                             'default').schedule,
                         '8:40x5,16:40x5')

    def test_who_has_left_everything_is_not_started(self):
        times = {('impi', 'tcp'): (10,) * 3, ('mpich', 'tcp'): (25,) * 3}
        self.assertIsNone(known(times).scheduled(compared('mpich'), 'default'))
        self.assertIsNotNone(known(times, 3).scheduled(compared('mpich'),
                                                       'default'))

    def test_rounds_to_come_are_not_known(self):
        """So a round that goes on has the schedules that it began with."""
        times = {('hoop', 'tcp'): (10, 500)}
        self.assertEqual(known(times, 2).us(compared('hoop'), 8), 10)

    def test_size_takes_the_operations_that_its_batch_needs(self):
        self.assertEqual(
            schedules.schedule((8, 64 << 20, 256 << 20), lambda size: 100,
                               False, 'default'), '8:40x5,64M:1x2,256M:1x1')

    def test_repetitions_are_with_the_checked_one(self):
        self.assertEqual(schedules.repetitions('8:500x7,12K:2x5,1M:1x1'),
                         {8: 3501, 12288: 11, 1 << 20: 2})


class Cases(unittest.TestCase):
    def chosen(self, part, *words, turn=1):
        plan = cases.Plan('build', 'default')
        return [case for case in plan.cases(part, turn)
                if cases.is_selected(case, cases.checked(words))]

    def test_words_leave_what_they_name(self):
        found = self.chosen('quiet', 'allreduce', 'barrier', 'memory', '2',
                            'hoop')
        self.assertEqual(sorted(case.ops for case in found),
                         [('allreduce',), ('barrier',)])
        self.assertEqual({(case.link, case.n) for case in found},
                         {('memory', 2)})

    def test_unknown_word_is_refused(self):
        with self.assertRaisesRegex(ValueError, 'allreduced'):
            cases.checked(['allreduced'])

    def test_older_classes_of_gloo_have_runs_of_their_own(self):
        found = self.chosen('quiet', 'gloo', 'reduce_scatter')
        self.assertEqual({case.transport for case in found}, {'tcp-hd'})

    def test_every_operation_is_measured_by_hoop_everywhere(self):
        measured = {(case.link, case.n, op)
                    for case in self.chosen('quiet', 'hoop')
                    for op in case.ops}
        self.assertEqual(measured, {
            (link, n, op) for link in ('tcp', 'memory') for n in (2, 3, 4)
            for op in cases.OPS if op != 'pingpong' or n == 2})

    def test_sizes_are_powers_of_four_and_odd_ones(self):
        case = self.chosen('quiet', 'hoop', 'allreduce', 'tcp', '2')[0]
        powers = {8, *(4 ** exponent for exponent in range(3, 15))}
        odd = {12 << 10, 100 << 10, 700 << 10, 3 << 20, 40 << 20}
        self.assertEqual(set(case.sizes), powers | odd)

    def test_order_changes_from_round_to_round_and_stays_in_each(self):
        orders = [[case.name() for case in self.chosen(
            'quiet', 'tcp', '2', 'allreduce', turn=turn)]
            for turn in (1, 2, 1)]
        self.assertNotEqual(orders[0], orders[1])
        self.assertEqual(orders[0], orders[2])
        self.assertEqual(sorted(orders[0]), sorted(orders[1]))

    def test_names_tell_cases_of_a_round_apart(self):
        for part in ('quiet', 'busy', 'eight'):
            names = [case.name() for case in self.chosen(part)]
            self.assertEqual(len(names), len(set(names)))

    def test_intel_over_tcp_does_not_use_memory(self):
        for case in self.chosen('quiet', 'impi', 'tcp'):
            self.assertEqual(case.environment['I_MPI_COLL_INTRANODE'], 'pt2pt')
            self.assertEqual(case.environment['FI_PROVIDER'], 'tcp')


if __name__ == '__main__':
    unittest.main()
