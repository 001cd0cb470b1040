"""tests/sweep.py - the suites once for each path that bytes may take

sweep.py BUILD [--setup NAME] [--part TEXT [--seconds N]] [--path NAME]...
[--suite NAME]... [--patience N] [--processes N] [--log FILE]

A path is a set of settings that changes how bytes travel, never what results
are. Each test of the suites integration and fault that moves payloads runs on
each path where that means something; what does not is said below, and why.
Without --part all of it runs, some 15 minutes on two processors; with it as much
as begins within N seconds, in an order that TEXT decides. Prints what each path
took, a table of tests and paths, and then what failed. tests/run.sh --sweep
builds first.
"""

import argparse
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import time

COLLECTIVES = ('allreduce', 'reduce', 'broadcast', 'allgather')
RINGS = ','.join(f'{name}:hierarchical' for name in COLLECTIVES)
TREES = ','.join(f'{name}:hierarchical_tree' for name in COLLECTIVES)
DIRECT = ','.join(f'{name}:direct' for name in
                  COLLECTIVES + ('reduce_scatter', 'alltoall'))
TUNED = {'HOOP_TEST_TUNED': '1'}
TCP = {'HOOP_TRANSPORT': 'tcp'}
PAIRS = {'HOOP_TRANSPORT': 'shm'}
TLS = {'HOOP_TLS': 'on', 'HOOP_TOKEN': 'secret'}


def nodes(n, algorithms=''):
    path = TUNED | {'HOOP_TEST_NODES': str(n)}
    return path | ({'HOOP_ALGORITHM': algorithms} if algorithms else {})


# Where HOOP_TRANSPORT is not said, ranks of a node meet in regions. Where it is shm,
# tests without a session go through memory between pairs.
PATHS = {
    'regions': {},
    'direct': {'HOOP_ALGORITHM': DIRECT},
    'pairs': PAIRS,
    'tcp': TCP | TUNED,
    'tls': TCP | TLS,
    'tls-streams': TCP | TLS | {'HOOP_STREAMS': '3'},
    'streams-3': TCP | {'HOOP_STREAMS': '3'},
    'streams-8': TCP | TUNED | {'HOOP_STREAMS': '8'},
    'nodes-2': nodes(2),
    'nodes-2-rings': nodes(2, RINGS),
    'nodes-2-trees': nodes(2, TREES),
    'nodes-2-streams': nodes(2, RINGS) | {'HOOP_STREAMS': '2'},
    'nodes-3-rings': nodes(3, RINGS),
    'nodes-3-trees': nodes(3, TREES) | TCP,
    'zstd': TCP | {'HOOP_CODEC': 'zstd'},
    'planes': PAIRS | {'HOOP_CODEC': 'planes'},
    'auto': TCP | {'HOOP_CODEC': 'auto'},
    'bf16': TUNED | TCP | {'HOOP_WIRE_DTYPE': 'bf16'},
    'bf16-planes': nodes(2, RINGS) | {'HOOP_CODEC': 'planes',
                                      'HOOP_WIRE_DTYPE': 'bf16'},
    'bf16-regions': TUNED | {'HOOP_WIRE_DTYPE': 'bf16',
                           'HOOP_TRANSPORT': 'shm'},
    'fp16': TUNED | TCP | {'HOOP_WIRE_DTYPE': 'fp16'},
    'fp16-zstd': nodes(3, TREES) | {'HOOP_CODEC': 'zstd',
                                    'HOOP_WIRE_DTYPE': 'fp16',
                                    'HOOP_STREAMS': '3'},
    'spin-never': PAIRS | {'HOOP_DEBUG_SPIN': 'never'},
    'spin-never-regions': TUNED | {'HOOP_DEBUG_SPIN': 'never',
                                 'HOOP_TRANSPORT': 'shm'},
    'spin-always': TCP | {'HOOP_DEBUG_SPIN': 'always'},
    'spin-always-pairs': PAIRS | {'HOOP_DEBUG_SPIN': 'always'},
    'full-check': PAIRS | {'HOOP_CHECK': 'full'},
    'full-check-regions': TUNED | {'HOOP_CHECK': 'full',
                                 'HOOP_TRANSPORT': 'shm'},
    'full-check-nodes': nodes(2, TREES) | {'HOOP_CHECK': 'full'},
}

# Tests, paths (whole names, as regular expressions), why not.
NOT_APPLICABLE = (
    ('hoopd_.*|hoopctl|hooprun.*|full_output|scale_check|hostile_check|'
     'hostile_member_check|coordinator_away|'
     'join_notice_check|join_refused_check|exposure_check|http_check|members|'
     'unsafe_names_check|private_files_check|full_disk_check|fence_check|'
     'data_damage_check|wall_clock_check', '.*',
     'of the coordinator and the starter: no path of payloads'),
    ('hoop_sim|draw_schedule_check|redistribute_plan', '.*',
     'calculates, moves nothing'),
    ('address_families_check|container_check|cut_cable_check|cut_off_check|'
     'doctor_check|forked|hosts_check|join_settings|netns_check|'
     'partition_check|pid_namespaces_check|record_clocks_check|'
     'rough_network_check|seal_check|streams_check|thread_cancel|'
     'why_links_check', '.*',
     'chooses its paths itself'),
    ('fault_matrix.*', '.*',
     'has memory and TCP among its cells, and a part with each commit'),
    ('damage_check', '.*',
     'goes over one connection: counts the bytes that pass a relay'),
    ('hoop_perf_tune', '.*',
     'tells what is chosen by its own races, on one node: what a path forces '
     'takes their place'),
    ('init|worker_join', 'tls.*', 'some of its jobs have no token'),
    ('attrition_deaths|coordinator_deaths|roles_check|standby_check', 'tls.*',
     'asks hoopd from Python, whose ssl has no pre-shared keys; seal_check has '
     'a standby under TLS'),
    ('large', '.*', '10 GiB, for a minute'),
    ('churn', '.*', 'half a minute of joining, little of moving'),
    ('nodes|hoop_perf',
     '.+-regions|direct|pairs|spin-never|spin-always-pairs|full-check|planes',
     'plays several nodes, which share no memory'),
    ('failures', 'full-check.*',
     'one of its ranks goes ahead and leaves, which checking does not allow'),
    ('failures', 'direct',
     'one of its roots goes ahead and leaves, whose buffer others read'),
    ('last_words_check|retry|worker_join', 'direct',
     'some of its jobs are over TCP or play nodes, where nobody can read what '
     'the path forces; joining refuses it'),
    ('last_words_check', 'spin.*',
     'whoever spins takes the time in which the launcher tells how a rank ended'),
    ('dtensor_pairs|dtensor_replicas|relay_pairs', 'full-check.*',
     'counts the bytes that are sent, of which checking sends some'),
    ('mappings_random', '[bf][fp]16.*',
     'takes float32s as they were; random_calls allows for what is lost'),
    ('train_3d', '[bf][fp]16.*',
     'compares losses of many steps, which differ by what is lost in each'),
    ('retry', 'nodes-.-(rings|trees|streams)|bf16-planes|fp16-zstd|'
     'full-check-nodes',
     'kills in rounds that the forced algorithms do not have on every rank'),
    ('residue', 'regions|direct|pairs|planes|spin-never|spin-always-pairs|full-check',
     'goes over TCP by itself: elsewhere nothing is lost'),
    ('.*_tcp|.*_shm|.*_direct|.*_streams|pipe_storm_small|'
     'repeated_calls_(rings|sleeping|spinning|trees)', '.*',
     'the same as another, on one path'),
)

SUITES = ('--suite', 'integration', '--suite', 'fault')

# Longer than some seconds: not in a part, so that it stays one.
LONG = re.compile('mismatch_.*|relay_pairs|train_3d|hoop_perf|worker_loss|'
                  'checkpoint_kill|failures|hooprun')
BATCH = 6
GOOD = ('OK', 'EXPECTEDFAIL')
SIGNS = {'OK': '+', 'EXPECTEDFAIL': '+', 'SKIP': 's', None: '-'}


def reason(test, path):
    """Why test does not run on path; None: it does."""
    for tests, paths, why in NOT_APPLICABLE:
        if re.fullmatch(tests, test) and re.fullmatch(paths, path):
            return why
    return None


def tests_of(build):
    """The names of the tests of both suites, in meson's order."""
    listing = subprocess.run(['meson', 'introspect', '--tests', build],
                             check=True, capture_output=True, text=True)
    return [test['name'] for test in json.loads(listing.stdout)
            if {suite.split(':')[-1] for suite in test['suite']}
            & {'integration', 'fault'}]


def batches_of(tests, paths):
    """All there is to do, path by path."""
    for path in paths:
        yield path, [test for test in tests if not reason(test, path)]


def part_of(tests, paths, text):
    """Some tests on some path, again and again, in an order of text's."""
    chance = random.Random(hashlib.sha256(text.encode()).digest())
    short = [test for test in tests if not LONG.fullmatch(test)]
    order = list(paths)
    chance.shuffle(order)
    for path in order:
        here = [test for test in short if not reason(test, path)]
        yield path, chance.sample(here, min(BATCH, len(here)))


def environment(path):
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith('HOOP_') or name.startswith('HOOP_REQUIRE')}
    return kept | {'HOOP_FAILURE_TIMEOUT': '10'} | PATHS[path]


def batch_run(arguments, path, tests):
    """Results by test. Meson says itself what failed, and with what text."""
    setup = ['--setup', arguments.setup] if arguments.setup else []
    patience = (['--timeout-multiplier', arguments.patience]
                if arguments.patience else [])
    at_once = (['--num-processes', arguments.processes]
               if arguments.processes else [])
    log = log_of(arguments, path)
    if os.path.exists(log):
        os.remove(log)
    print(f'== {path}: ' + ' '.join(f'{key}={value}' for key, value
                                    in sorted(PATHS[path].items())),
          flush=True)
    ran = subprocess.run(['meson', 'test', '-C', arguments.build,
                          '--no-rebuild', '--print-errorlogs', '--logbase',
                          f'sweep-{path}', *SUITES, *setup, *patience, *at_once,
                          *tests],
                         env=environment(path), check=False)
    if not os.path.exists(log):
        return {test: f'no log, exit {ran.returncode}' for test in tests}
    return {test: row['result'] for test, row in rows_of(log).items()}


def log_of(arguments, path):
    setup = f'-{arguments.setup}' if arguments.setup else ''
    return os.path.join(arguments.build, 'meson-logs',
                        f'sweep-{path}{setup}.json')


def rows_of(log):
    """What meson wrote of each test, by its name."""
    if not os.path.exists(log):
        return {}
    with open(log, encoding='utf-8') as lines:
        rows = [json.loads(line) for line in lines]
    return {row['name'].split(' / ')[-1]: row for row in rows}


def table(results, tests, paths):
    """Rows of tests, columns of paths: + passed, F failed, - see below, blank:
    not tried."""
    width = max(map(len, tests), default=0)
    lines = [f'{chr(ord("a") + i)} = {path}' for i, path in enumerate(paths)]
    letters = ''.join(chr(ord('a') + i) for i in range(len(paths)))
    lines.append(f'{"":{width}} {letters}')
    for test in tests:
        row = ''
        for path in paths:
            if reason(test, path):
                row += '-'
            elif (test, path) not in results:
                row += ' '
            else:
                row += SIGNS.get(results[test, path], 'F')
        if set(row) - set('- '):
            lines.append(f'{test:{width}} {row}')
    return lines


def reasons(tests, paths):
    """What is not applicable, and why: a line for each reason that is met."""
    for names, where, why in NOT_APPLICABLE:
        here = [test for test in tests if re.fullmatch(names, test)]
        there = [path for path in paths if re.fullmatch(where, path)]
        if here and there:
            where = '' if where == '.*' else f' on {", ".join(there)}'
            yield f'- {", ".join(here)}{where}: {why}'


def sweep(arguments):
    """What was tried, by test and path."""
    tests = [test for test in tests_of(arguments.build)
             if not arguments.suite
             or any(re.fullmatch(suite, test) for suite in arguments.suite)]
    paths = arguments.path or list(PATHS)
    began = time.monotonic()
    work = (part_of(tests, paths, arguments.part) if arguments.part
            else batches_of(tests, paths))
    results = {}
    for path, names in work:
        if arguments.part and time.monotonic() - began > arguments.seconds:
            break
        if names:
            before = time.monotonic()
            found = batch_run(arguments, path, names)
            results |= {(test, path): result
                        for test, result in found.items()}
            print(f'{path}: {len(found)} runs in '
                  f'{time.monotonic() - before:.0f} s', flush=True)
    print('\n'.join(table(results, tests, paths)))
    print('\n'.join(reasons(tests, paths)))
    for (test, path), result in results.items():
        if result not in GOOD and result != 'SKIP':
            print(f'{test} on {path}: {result}')
    print(f'{len(results)} runs in {time.monotonic() - began:.0f} s')
    return results


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build')
    parser.add_argument('--setup')
    parser.add_argument('--part')
    parser.add_argument('--seconds', type=float, default=20)
    parser.add_argument('--patience', help='of tests, times their own')
    parser.add_argument('--processes', help='tests at once; as processors')
    parser.add_argument('--path', action='append', choices=list(PATHS))
    parser.add_argument('--suite', action='append')
    parser.add_argument('--log')
    arguments = parser.parse_args()
    results = sweep(arguments)
    if arguments.log:
        with open(arguments.log, 'w', encoding='utf-8') as log:
            for (test, path), result in results.items():
                row = rows_of(log_of(arguments, path)).get(test, {})
                log.write(json.dumps(row | {'name': f'{test} on {path}',
                                            'result': result}) + '\n')
    failed = [result for result in results.values()
              if result not in GOOD and result != 'SKIP']
    sys.exit(1 if failed or not results else 0)


if __name__ == '__main__':
    main()
