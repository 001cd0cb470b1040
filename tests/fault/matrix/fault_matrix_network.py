#!/usr/bin/env python3
"""tests/fault/matrix/fault_matrix_network.py - the fault matrix, over a bad network

fault_matrix_network.py HOOPD FAULT_MATRIX SOURCE_FOLDER [--seconds N] [--jobs N]
 [--loss SHARE] [--round-trip-ms N] [--all] [--document PATH]

Eight ranks and hoopd are each in a network namespace of its own. Their packets
take half a round trip, and a share of them is lost. For N seconds the program
runs cells, each with one fault: those that the commit selects, or all. It exits
with 77 where namespaces cannot be made, unless HOOP_REQUIRE_NETNS is set.
"""

import argparse
import os
import subprocess
import sys
import tempfile


sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../../integration/network'))
from programs import Program
from rough_network import RoughNetwork, Rooms

N_RANKS = 8
COORDINATOR = '10.78.0.1:7077'
LOSS = 0.02
ROUND_TRIP_MS = 20
ENDS_S = 120  # for the cells that have begun


def matrix_run(rooms, options, folder):
    token = f'{folder}/token'
    with open(os.open(token, os.O_WRONLY | os.O_CREAT, 0o600), 'w',
              encoding='ascii') as file:
        file.write('secret')
    hoopd = Program(folder, 'hoopd', rooms.command(
        0, [options.hoopd, '--listen', COORDINATOR, '--http', 'none',
            '--token-file', token]))
    try:
        hoopd.expect('serves workers')
        return subprocess.run(
            [options.fault_matrix, '--networks', ','.join(rooms.names[1:]),
             '--coordinator', COORDINATOR, '--seconds', str(options.seconds),
             '--jobs', str(options.jobs)] +
            (['--document', options.document] if options.document else []) +
            (['--all'] if options.all else ['--commit-of', options.source]),
            check=False, timeout=options.seconds + ENDS_S).returncode
    finally:
        hoopd.kill()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('hoopd')
    parser.add_argument('fault_matrix')
    parser.add_argument('source')
    parser.add_argument('--seconds', type=int, default=10)
    parser.add_argument('--jobs', type=int, default=1)
    parser.add_argument('--loss', type=float, default=LOSS,
                        help='share of all packets (default: %(default)s)')
    parser.add_argument('--round-trip-ms', type=float, default=ROUND_TRIP_MS,
                        help='(default: %(default)s)')
    parser.add_argument('--all', action='store_true')
    parser.add_argument('--document', help='a page that gets a part more')
    options = parser.parse_args()
    with Rooms(1 + N_RANKS) as rooms, tempfile.TemporaryDirectory() as folder:
        network = RoughNetwork(rooms.names, delay=options.round_trip_ms / 2e3,
                               mtu=1500)
        network.loss = options.loss
        network.start()
        try:
            return matrix_run(rooms, options, folder)
        finally:
            network.stop()


if __name__ == '__main__':
    sys.exit(main())
