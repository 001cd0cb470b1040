"""tests/unit/bench/compare/report_test.py - bench/compare, from rows on

sample/ holds two runs: the later one has measured memory again, and over TCP
only hoop. Cells with verdicts are of rows made here.
"""

import os
import sys
import tempfile
import unittest
import xml.dom.minidom

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../../../../bench/compare'))

# pylint: disable=wrong-import-position
import cells
import report
import tables
import targets
import verdicts
from results import Results, rows_of

SAMPLE = Results(rows_of(os.path.join(HERE, 'sample')))
NO_CAUSES = cells.Causes('')
MIB = 1 << 20


def row_of(lines, start):
    return next(line for line in lines if line.startswith(f'| {start}'))


class Reading(unittest.TestCase):
    def test_newest_run_that_compares_makes_the_table(self):
        memory = SAMPLE.table('near', 'memory', 'allreduce', 2)
        self.assertEqual(memory.run.commit, 'bbbbbbb')
        self.assertEqual(memory.ratio(8), 0.3 / 0.25)

    def test_run_of_hoop_alone_does_not_replace_a_comparison(self):
        tcp = SAMPLE.table('near', 'tcp', 'allreduce', 2)
        self.assertEqual(tcp.run.commit, 'aaaaaaa')
        self.assertEqual(tcp.ratio(8), 0.8)

    def test_states_are_apart(self):
        far = SAMPLE.table('far', 'tcp', 'allreduce', 2)
        self.assertEqual(far.time(('hoop', 'tcp'), MIB), 800)
        self.assertEqual(far.ratio(MIB), 0.5)

    def test_states_of_slow_links_are_one(self):
        slow = SAMPLE.table('any', '1gbit', 'allreduce', 2)
        self.assertEqual(slow.n_runs(('hoop', 'tcp')), 2)

    def test_limit_is_no_rival(self):
        table = SAMPLE.table('near', 'tcp', 'allreduce', 2)
        self.assertEqual(table.least(8, ('sockets',))[0], 5)
        self.assertAlmostEqual(table.ratio(8, ('sockets',)), 8 / 5)


class Tables(unittest.TestCase):
    def test_slow_link_shows_its_share(self):
        lines = list(tables.link_tables(SAMPLE))
        self.assertEqual(row_of(lines, 'hoop |'), '| hoop | 2 | 0.96 |')
        self.assertEqual(row_of(lines, 'hoop, bf16'),
                         '| hoop, bf16 | 1 | 1.92 |')

    def test_startup_shows_both_ends(self):
        lines = list(tables.startup_lines(SAMPLE))
        self.assertEqual(row_of(lines, 'hoop |'), '| hoop | 0.200 | 0.300 |')

    def test_processor_time_is_per_gb_sent(self):
        # 400 us for 2 MiB that two ranks send.
        self.assertAlmostEqual(
            targets.cpu_s_per_gb('allreduce', 2, MIB, 400),
            400e-6 / (2 * MIB / 1e9))


def measured(times, link='memory', op='allreduce', n=2, state='near'):
    """Rows of {(peer, transport): {bytes: us of each round}}."""
    return [{'run': '2026-01-03T10:00:00', 'commit': 'ccccccc', 'load': '0',
             'round': str(turn), 'state': state, 'link': link, 'peer': peer,
             'transport': transport, 'op': op, 'n': str(n),
             'bytes': str(size), 'median_us': str(us), 'cpu_us': '0'}
            for (peer, transport), sizes in times.items()
            for size, rounds in sizes.items()
            for turn, us in enumerate(rounds, 1)]


HOOP, IMPI, MPICH = ('hoop', 'shm'), ('impi', 'shm'), ('mpich', 'shm')
FLAT = ('memory', 'flat')
# Slower at 8 and not to be told at 1M, over ten rounds; faster at 64M, where
# one left after three, and too few rounds at 256M.
CELLS = measured({
    HOOP: {8: [12] * 10, MIB: [9, 11] * 5, 64 * MIB: [5] * 10,
           256 * MIB: [20] * 5},
    IMPI: {8: [10] * 10, MIB: [10] * 10, 64 * MIB: [10] * 10,
           256 * MIB: [10] * 5},
    MPICH: {8: [11] * 10, MIB: [15] * 10, 64 * MIB: [30] * 3},
    FLAT: {8: [10] * 10}})


class Verdicts(unittest.TestCase):
    def setUp(self):
        self.results = Results(CELLS)
        self.cells = {cell.n_bytes: cell
                      for cell in cells.cells(self.results)}

    def test_cell_has_ratio_interval_and_verdict(self):
        slower, even = self.cells[8], self.cells[MIB]
        self.assertAlmostEqual(slower.ratio, 1.2)
        self.assertEqual((verdicts.bounds_text(slower), slower.verdict,
                          slower.rival), ('1.20 to 1.20', 'slower', IMPI))
        # Of 55 means 15 are 0.9, 25 the root of 0.99, and 15 are 1.1.
        self.assertAlmostEqual(even.ratio, 0.99 ** 0.5)
        self.assertEqual((verdicts.bounds_text(even), even.verdict),
                         ('0.90 to 1.10', 'not to be told'))
        self.assertEqual(self.cells[64 * MIB].verdict, 'faster')

    def test_five_rounds_have_no_verdict(self):
        self.assertAlmostEqual(self.cells[256 * MIB].ratio, 2)
        self.assertEqual(self.cells[256 * MIB].verdict, 'not to be told')

    def test_table_marks_who_has_left(self):
        lines = list(verdicts.cell_lines(self.results, 'near', 'memory',
                                         'allreduce', 2))
        self.assertEqual(row_of(lines, '64M'), (
            '| 64M | 5 | 10 | 30 † |  | **0.50** | 0.50 to 0.50 | faster | 10 '
            '|  |'))
        self.assertEqual(row_of(lines, '8 '), (
            '| 8 | 12 | 10 | 11 | 10 | **1.20** | 1.20 to 1.20 | slower | 10 '
            '| 1.20 |'))
        self.assertIn('\n2026-01-03 10:00, ccccccc\n', lines)

    def test_summary_counts_verdicts_and_has_the_mean(self):
        lines = list(verdicts.summary(self.results, 'near', (2, 3, 4)))
        # (1.2 * 1.0 * 0.5 * 2) ** (1 / 4)
        self.assertEqual(row_of(lines, 'memory allreduce'), (
            '| memory allreduce | 2 | **1.20** |  |  |  | ~0.99 |  | 0.50 | '
            '1.05 | 1 | 2 | 1 | 1.20 at 8 |'))
        lines = list(verdicts.totals(self.results, 'near', (2, 3, 4)))
        self.assertEqual(row_of(lines, 'memory'), (
            '| memory | 4 | 1 | 2 | 1 | 25 % ✗ | 1.20 ✓ | 1.05 ✗ |'))

    def test_every_slower_cell_is_listed_with_its_cause(self):
        causes = cells.Causes('# why\nmemory allreduce 2 8-1K: a wake-up\n')
        lines = list(verdicts.slower_lines(self.results, 'near', (2,), causes))
        self.assertEqual(lines[2:], [(
            '| memory allreduce, 2 ranks, 8 | 1.20 | 1.20 to 1.20 | Intel MPI '
            '| a wake-up |'), ''])
        lines = list(verdicts.slower_lines(self.results, 'near', (2,),
                                           NO_CAUSES))
        self.assertTrue(lines[2].endswith('| not known |'))

    def test_slower_cells_come_worst_first(self):
        results = Results(measured({
            HOOP: {8: [12] * 10, 64: [14] * 10, MIB: [11] * 10},
            IMPI: {8: [10] * 10, 64: [10] * 10, MIB: [10] * 10}}))
        lines = list(verdicts.slower_lines(results, 'near', (2,), NO_CAUSES))
        self.assertEqual([line.split('|')[2].strip() for line in lines[2:5]],
                         ['1.40', '1.20', '1.10'])

    def test_ratio_is_of_one_state(self):
        """What was far for one of them only counts for nobody."""
        results = Results(
            measured({HOOP: {8: [10] * 6}, IMPI: {8: [10] * 6}}) +
            measured({IMPI: {8: [1] * 6}}, state='far'))
        self.assertEqual([cell.ratio for cell in cells.cells(results)], [1.0])
        self.assertEqual(cells.cells(results, 'far'), [])

    def test_limits_are_judged_at_their_worst_size(self):
        found = {what: reached for what, _, reached in
                 verdicts.limit_targets(self.results)}
        self.assertEqual(
            found['allreduce, memory, 2 ranks, 8 to 256M: of the limit, worst'],
            '1.20 ✓ at 8')

    def test_lines_and_startup_are_judged(self):
        found = {what: reached for what, _, reached in
                 [*verdicts.line_targets(SAMPLE),
                  *verdicts.startup_target(SAMPLE)]}
        self.assertEqual(
            found['1 Gbit/s, 2 hosts, 64M, hoop: of the line'], '0.96 ✓')
        self.assertEqual(
            found['1 Gbit/s, 2 hosts, 64M, hoop, bf16: of the line'], '1.92 ✓')
        self.assertIn('0.33 ✓', found.values())

    def test_processor_time_is_against_the_least_of_gloo(self):
        reached = [row[2] for row in verdicts.cpu_targets(SAMPLE)]
        self.assertEqual(reached[0], '0.80 ✓ at 1M')


class Causes(unittest.TestCase):
    def of(self, text, state='near', n_bytes=MIB):
        cell = cells.Cell(state, 'tcp', 'broadcast', 4, n_bytes, 1, IMPI, 1.5,
                          None, 'slower', 10, None)
        return cells.Causes(text).of(cell)

    def test_sizes_are_one_or_a_range_or_any(self):
        for sizes, fits in (('1M', True), ('64K-4M', True), ('*', True),
                            ('4M', False), ('4M-64M', False)):
            self.assertEqual(
                self.of(f'tcp broadcast 4 {sizes}: why') == 'why', fits, sizes)

    def test_first_line_that_fits_counts(self):
        text = ('tcp broadcast 2 *: two\ntcp * 4 1M: first\n'
                'tcp broadcast 4 1M: second\n')
        self.assertEqual(self.of(text), 'first')

    def test_state_is_near_unless_it_is_named(self):
        self.assertIsNone(self.of('tcp * * *: why', state='busy'))
        self.assertEqual(self.of('busy tcp * * *: why', state='busy'), 'why')

    def test_line_that_says_nothing_is_refused(self):
        for line in ('tcp broadcast 4: why', 'tcp broadcast 4 1M why',
                     'tcp broadcast 4 1M:', 'tcp broadcast 4 large: why'):
            with self.assertRaisesRegex(ValueError, 'line 2'):
                cells.Causes(f'# first\n{line}\n')

    def test_those_of_the_tree_are_read(self):
        cells.causes_read()


class Document(unittest.TestCase):
    def test_pictures_are_xml_with_a_line_for_each(self):
        pictures = {name: svg for name, _, svg in report.pictures(SAMPLE)}
        self.assertEqual(sorted(pictures), ['allreduce-memory.svg',
                                            'allreduce-tcp.svg',
                                            'startup.svg'])
        for svg in pictures.values():
            root = xml.dom.minidom.parseString(svg).documentElement
            self.assertGreaterEqual(
                len(root.getElementsByTagName('polyline')), 2)

    def test_document_has_its_parts(self):
        busy = measured({HOOP: {8: [1]}, IMPI: {8: [2]}}, state='busy')
        eight = measured({HOOP: {8: [1]}, IMPI: {8: [2]}}, n=8)
        failed = {**busy[0], 'op': 'done', 'state': 'failed',
                  'case': '1 quiet memory 2 impi shm allreduce'}
        results = Results([*rows_of(os.path.join(HERE, 'sample')), *CELLS,
                           *busy, *eight, failed])
        text = '\n'.join(report.document(
            results, {'allreduce-tcp.svg': 'all', 'startup.svg': 's'},
            'build'))
        for part in ('## 2, 3 and 4 ranks', '## 8 ranks', '## Beside a busy',
                     '## Targets', '## Slow links', '## Start-up',
                     '## Processor time', '## With the processors far',
                     '## What failed', '(benchmarks/allreduce-tcp.svg)',
                     '| quiet memory 2 impi shm allreduce | failed | 1 |'):
            self.assertIn(part, text)
        pages = '\n'.join(report.cells_document(results))
        for part in ('## Quiet\n', '## Beside a busy process\n',
                     '| allreduce, memory, 8 ranks |',
                     '| allreduce, memory, 2 ranks, busy |'):
            self.assertIn(part, pages)

    def test_part_is_a_section_that_leaves_the_others(self):
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, 'benchmarks.md')
            with open(page, 'w', encoding='utf-8') as file:
                file.write('# Benchmarks\n\n| old |\n\n## From Python\n\nx\n')
            for _ in range(2):
                report.part_write(Results(CELLS), page, 'build')
            with open(page, encoding='utf-8') as file:
                text = file.read()
        self.assertTrue(text.startswith(
            '# Benchmarks\n\n| old |\n\n## From Python\n\nx\n\n## Measured'))
        self.assertEqual(text.count('| allreduce, memory, 2 ranks |'), 1)
        self.assertEqual(text.count('## Measured later'), 1)


if __name__ == '__main__':
    unittest.main()
