"""tests/unit/bench/state_test.py - bench/peers/state.sh tells near from far

A program that prints what it is told stands for the one that measures.
"""

import os
import pathlib
import subprocess
import tempfile
import unittest

STATE = pathlib.Path(__file__).resolve().parents[3] / 'bench/peers/state.sh'


class StateTest(unittest.TestCase):
    def test_states(self):
        """Far is more than three times the least so far."""
        with tempfile.TemporaryDirectory() as folder:
            mode = pathlib.Path(folder, 'mode')
            mode.write_text('#!/bin/sh\necho "$NS"\n')
            mode.chmod(0o755)
            for ns, state in ((100, 'near'), (300, 'near'), (301, 'far'),
                              (90, 'near'), (271, 'far'), (270, 'near')):
                told = subprocess.run(
                    [STATE, mode, pathlib.Path(folder, 'least')], cwd=folder,
                    env={**os.environ, 'NS': str(ns)}, check=True,
                    capture_output=True, text=True).stdout
                self.assertEqual(told, state + '\n', ns)
            self.assertEqual(sorted(os.listdir(folder)), ['least', 'mode'])


if __name__ == '__main__':
    unittest.main()
