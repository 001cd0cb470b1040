"""tests/unit/bench/compare/report_test.py - bench/compare, from rows on

sample/ holds two runs: the later one has measured memory again, and over TCP
only hoop.
"""

import os
import sys
import tempfile
import unittest
import xml.dom.minidom

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../../../../bench/compare'))

# pylint: disable=wrong-import-position
import cases  # noqa: E402
import report  # noqa: E402
import tables  # noqa: E402
import targets  # noqa: E402
import verdicts  # noqa: E402
from results import Results  # noqa: E402

SAMPLE = Results(os.path.join(HERE, 'sample'))
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

    def test_spread_is_the_larger_of_hoop_and_the_best(self):
        table = SAMPLE.table('near', 'tcp', 'allreduce', 2)
        self.assertAlmostEqual(table.spread(MIB), 70 / 200)

    def test_limit_is_no_rival(self):
        table = SAMPLE.table('near', 'tcp', 'allreduce', 2)
        self.assertEqual(table.least(8, ('sockets',))[0], 5)
        self.assertAlmostEqual(table.ratio(8, ('sockets',)), 8 / 5)


class Tables(unittest.TestCase):
    def test_table_has_ratio_limit_and_source(self):
        lines = list(tables.op_tables(SAMPLE, 'allreduce', 'near'))
        self.assertEqual(row_of(lines, 'hoop |'), '| hoop | 3 | 8 | 200 |')
        self.assertEqual(row_of(lines, '**hoop / best rival'),
                         '| **hoop / best rival** |  | **0.80** | **0.80** |')
        self.assertEqual(row_of(lines, 'hoop / limit'),
                         '| hoop / limit |  | 1.60 |  |')
        self.assertIn('\n2026-01-01 10:00, aaaaaaa\n', lines)

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


class Verdicts(unittest.TestCase):
    def test_every_size_is_judged(self):
        lines = list(verdicts.allreduce_targets(SAMPLE))
        at = lines.index(row_of(lines, 'of best rival'))
        self.assertTrue(lines[at + 1].startswith('| reached | 0.80 ✓ |  |'))
        self.assertIn('|  | 0.80 ✓ |', lines[at + 1])
        at = lines.index(row_of(lines, "of Gloo's ring"))
        self.assertIn('| 0.50 ✓ |', lines[at + 1])

    def test_worst_of_others_is_shown(self):
        lines = list(verdicts.other_targets(SAMPLE))
        self.assertEqual(row_of(lines, 'barrier'),
                         '| barrier, TCP, 2 ranks | 1.20 ✗ |  |')

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
        text = '\n'.join(report.document(SAMPLE, {'startup.svg': 'start-up'}))
        for part in ('## Targets', '## allreduce', '## Slow links',
                     '## Start-up', '## Processor time', 'far from each'):
            self.assertIn(part, text)


    def test_part_is_a_section_that_leaves_the_others(self):
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, 'benchmarks.md')
            with open(page, 'w', encoding='utf-8') as file:
                file.write('# Benchmarks\n\n| old |\n\n## From Python\n\nx\n')
            for _ in range(2):
                report.part_write(SAMPLE, page)
            with open(page, encoding='utf-8') as file:
                text = file.read()
        self.assertTrue(text.startswith(
            '# Benchmarks\n\n| old |\n\n## From Python\n\nx\n\n## Measured'))
        self.assertEqual(text.count('| allreduce, memory, 2 ranks, near |'), 1)
        self.assertEqual(text.count('## Measured later'), 1)


class Cases(unittest.TestCase):
    def chosen(self, *words):
        plan = cases.Plan('build', 'default')
        return list(cases.selected(plan.cases(), words))

    def test_words_leave_what_they_name(self):
        found = self.chosen('allreduce', 'barrier', 'memory', '2', 'hoop')
        self.assertEqual([case.ops for case in found],
                         [('allreduce',), ('barrier',)])
        self.assertEqual({(case.link, case.n) for case in found},
                         {('memory', 2)})

    def test_unknown_word_is_refused(self):
        with self.assertRaisesRegex(ValueError, 'allreduced'):
            self.chosen('allreduced')

    def test_older_classes_of_gloo_have_runs_of_their_own(self):
        for case in self.chosen('gloo'):
            if 'reduce_scatter' in case.ops:
                self.assertEqual((case.ops, case.transport),
                                 (('reduce_scatter',), 'tcp-hd'))

    def test_every_operation_is_measured_by_hoop_everywhere(self):
        measured = {(case.link, case.n, op) for case in self.chosen('hoop')
                    for op in case.ops}
        for link in ('tcp', 'memory'):
            for n in (2, 4, 8):
                for op in cases.OPS:
                    if op != 'pingpong' or n == 2:
                        self.assertIn((link, n, op), measured)


if __name__ == '__main__':
    unittest.main()
