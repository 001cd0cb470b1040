"""tests/unit/bench/compare/traffic_test.py - is it the transport it was told"""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../../../../bench/compare'))

# pylint: disable=wrong-import-position
import cases
import traffic

MIB = 1 << 20


def case(link, op='allreduce', schedule='8:10x2,64M:1x2', n=2):
    return cases.Case(link, n, 'impi', 'tcp', (op,), schedule, ())


def row(op='allreduce', n_bytes=64 * MIB, us=20000):
    return {'op': op, 'bytes': str(n_bytes), 'median_us': str(us)}


class Bytes(unittest.TestCase):
    def test_bytes_are_those_of_the_check_and_of_every_batch(self):
        # 1 + 2 operations, in which two ranks send 64 MiB each.
        self.assertEqual(traffic.bytes_needed(
            case('tcp'), {('allreduce', 64 * MIB)}), 3 * 2 * 64 * MIB)
        # Three ranks: two thirds of the vector each, from each.
        self.assertAlmostEqual(traffic.bytes_needed(
            case('tcp', 'allgather', n=3), {('allgather', 64 * MIB)}),
            3 * 2 * 64 * MIB)
        self.assertEqual(traffic.bytes_needed(
            case('tcp', 'broadcast', n=4), {('broadcast', 8)}), 21 * 3 * 8)
        self.assertEqual(traffic.bytes_needed(
            case('tcp', 'pingpong'), {('pingpong', 8)}), 21 * 2 * 8)

    def test_tcp_moves_at_least_what_is_needed(self):
        self.assertIsNone(traffic.complaint(case('tcp'), [row()], 390 * MIB))
        self.assertIn('not TCP', traffic.complaint(
            case('tcp'), [row()], 200 * MIB))

    def test_memory_moves_hardly_anything(self):
        self.assertIsNone(traffic.complaint(case('memory'), [row()], 5 * MIB))
        self.assertIn('not memory', traffic.complaint(
            case('memory'), [row()], 390 * MIB))

    def test_rows_of_two_states_are_counted_once(self):
        self.assertIsNone(traffic.complaint(
            case('tcp'), [row(), row()], 390 * MIB))

    def test_other_links_are_not_looked_at(self):
        self.assertIsNone(traffic.complaint(case('1gbit'), [row()], 0))


class Times(unittest.TestCase):
    def test_third_of_a_microsecond_is_not_tcp(self):
        self.assertIn('not TCP', traffic.complaint(
            case('tcp'), [row(n_bytes=8, us=0.3)], MIB))
        self.assertIsNone(traffic.complaint(
            case('tcp'), [row(n_bytes=8, us=7)], MIB))
        self.assertIsNone(traffic.complaint(
            case('memory'), [row(n_bytes=8, us=0.3)], 0))

    def test_root_of_a_broadcast_need_not_wait(self):
        self.assertIsNone(traffic.complaint(
            case('tcp', 'broadcast'), [row('broadcast', 8, 0.8)], MIB))

    def test_unknown_bytes_leave_the_times(self):
        self.assertIsNone(traffic.complaint(case('tcp'), [row()], None))
        self.assertIn('not TCP', traffic.complaint(
            case('tcp'), [row(n_bytes=8, us=0.3)], None))


if __name__ == '__main__':
    unittest.main()
