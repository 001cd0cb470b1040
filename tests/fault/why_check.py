#!/usr/bin/env python3
"""tests/fault/why_check.py - hoopctl why names the rank and the cause

why_check.py HOOPD HOOPCTL MEMBER [--links] [--record FOLDER] [--vary] [KIND...]: for each
kind of fault (kinds.py), `hoopctl why`, asked again and again, must name the rank and the
cause within 3 s of the fault. --links takes the kinds that need hosts with networks, and
exits with 77 where there are none, unless HOOP_REQUIRE_NETNS is set. --record writes what
it has seen as the snapshots of tests/unit/server/diagnosis. --vary lets each rank of two
to four be at fault, over TCP and through memory.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import kinds
import network_hosts
from kinds import KINDS, FaultyJob
from programs import Wrong, await_true, environment_clean

LINES_MAX = 20  # that hoopctl why shows without --all
LINES_SIZE = 24
ANSWER_S = 3.0


def is_seen(job, seen, kind):
    return (seen['kind'] == kind.kind and kinds.are_culprits(job, kind, seen['culprits'])
            and kinds.is_sentence(job, kind, seen['verdict'])
            and seen['code'] == int(kind.kind not in ('moving', 'forming', 'ended')))


def check_communicators(job, seen):
    """The communicators have the numbers of hoopctl groups."""
    shown = subprocess.run([job.hoopctl, '--json', 'groups'], text=True, timeout=30,
                           env=environment_clean() | job.access,
                           stdout=subprocess.PIPE, check=True)
    groups = {group['communicator'] for group in json.loads(shown.stdout)['groups']}
    waits = {rank['call']['communicator_id'] for rank in seen['ranks'] if rank['call']}
    if not waits or waits - groups - {0}:
        raise Wrong(f'calls are of communicators {waits}, groups are {groups}')


def check_last_calls(job, seen):
    """Those that were left tell what they were in when the rank was lost."""
    for rank in seen['ranks']:
        if rank['state'] == 'left' and not rank['failure'].startswith(
                f'{kinds.CALL}: rank {job.at} '):
            raise Wrong(f'rank {rank["rank"]} tells of its last call: {rank["failure"]}')


def check_details(name, job, seen):
    if seen['took_s'] > ANSWER_S * max(1, kinds.SLACK):
        raise Wrong(f'{name}: hoopctl why took {seen["took_s"]:.1f} s')
    if any(rank['call'] and rank['process'] == 'running' for rank in seen['ranks']):
        raise Wrong(f'{name}: a rank that waits in a call is said to run')
    if name == 'deadlock':
        check_communicators(job, seen)
    if name == 'ended_lost':
        check_last_calls(job, seen)


def check(options, folder, name, hosts, **variation):
    """Return what the ranks told in between, which may have been wrong."""
    kind = KINDS[name]._replace(**{key: value for key, value in variation.items()
                                   if key != 'settings'})
    job = FaultyJob(options.programs, folder, kind.size, kind.at,
                    hosts if kind.links else None, **variation.get('settings', {}))
    seen = []
    try:
        steps = kind.make(job)
        next(steps)
        named = kinds.Named(job, name)
        next(steps, None)
        await_true(f'{name}: hoopctl why', lambda: seen.append(job.why()) or
                   is_seen(job, seen[-1], kind))
        named.check('hoopctl why')
        check_details(name, job, seen[-1])
    except Wrong as error:
        raise Wrong(f'{error}, but at last:\n{json.dumps(seen[-1:], indent=1)}'
                    f'\n{job.masked(seen[-1]["verdict"]) if seen else ""}') from error
    finally:
        job.end()
    if options.record:
        snapshot = json.loads(job.masked(json.dumps(seen[-1])))
        del snapshot['code'], snapshot['took_s']
        with open(f'{options.record}/{name}.json', 'w', encoding='utf-8') as file:
            json.dump(snapshot, file, indent=1)
            file.write('\n')
    told = [job.masked(answer['verdict']) for answer in seen]
    print(f'{name}: {told[-1]}', flush=True)
    return list(dict.fromkeys(told[:-1]))


def variations(name):
    """Each rank of two to four at fault, through memory and over TCP."""
    for size in (2, 3, 4):
        for at in range(size):
            if name == 'calls_alone' and size == 2:
                continue  # of two, the one that waits does not call alone
            for transport in ('tcp',) if KINDS[name].links else ('auto', 'tcp'):
                yield {'size': size, 'at': at, 'settings': {'HOOP_TRANSPORT': transport}}


def check_variations(options, folder, name, hosts):
    """Of what is told before the right answer, show what blames somebody."""
    n_wrong = 0
    for number, variation in enumerate(variations(name)):
        try:
            os.mkdir(f'{folder}/{number}')
            before = check(options, f'{folder}/{number}', name, hosts, **variation)
            for told in before:
                if told and not told.startswith('Nothing is stuck: '):
                    print(f'  {variation}: before, it told: {told}', flush=True)
        except Wrong as error:
            n_wrong += 1
            print(f'! {name} {variation}: {str(error)[-600:]}', flush=True)
    if n_wrong:
        raise Wrong(f'{name}: {n_wrong} variations are not named')


def are_lines(job, options, n_lines):
    shown = subprocess.run(
        [job.hoopctl, 'why', *options], text=True, stdout=subprocess.PIPE,
        env=environment_clean() | job.access, timeout=30, check=False)
    lines = shown.stdout.splitlines()
    more = f'and {LINES_SIZE - n_lines} more: hoopctl why --all'
    return (lines[0] == 'Nothing is stuck: no rank is in a call of hoop.'
            and shown.returncode == 0
            and len([line for line in lines if re.match(r' +\d+ active ', line)]) == n_lines
            and (more in shown.stdout) == (n_lines < LINES_SIZE))


def check_lines(options, folder):
    """People see the sentence first, then 20 ranks, or all if they ask. Who waits
    for a processor may be too late to answer once."""
    job = FaultyJob(options.programs, folder, LINES_SIZE, 0)
    try:
        job.begin()
        await_true('20 lines', lambda: are_lines(job, [], LINES_MAX))
        await_true('all lines', lambda: are_lines(job, ['--all'], LINES_SIZE))
    finally:
        job.end()


def options_read():
    parser = argparse.ArgumentParser()
    parser.add_argument('programs', nargs=3)
    parser.add_argument('kinds', nargs='*')
    parser.add_argument('--links', action='store_true')
    parser.add_argument('--vary', action='store_true')
    parser.add_argument('--record')
    options = parser.parse_intermixed_args()
    options.programs = [os.path.abspath(program) for program in options.programs]
    return options


def main():
    options = options_read()
    if options.links:
        network_hosts.enter('why_check')
    names = options.kinds or [name for name in KINDS if KINDS[name].links == options.links]
    hosts = kinds.hosts_make(4) if options.links else None
    try:
        with tempfile.TemporaryDirectory() as folder:
            for name in names:
                os.mkdir(f'{folder}/{name}')
                (check_variations if options.vary else check)(
                    options, f'{folder}/{name}', name, hosts)
            if not options.kinds and not options.links and not options.vary:
                os.mkdir(f'{folder}/lines')
                check_lines(options, f'{folder}/lines')
    except (Wrong, OSError, subprocess.SubprocessError) as error:
        sys.exit(f'why_check: {error}')
    finally:
        if hosts:
            hosts.close()


if __name__ == '__main__':
    main()
