#!/usr/bin/env python3
"""tests/integration/recorder/record_check.py - what hoopctl record writes

Usage: record_check.py HOOPRUN HOOPCTL PROGRAM RECORDER.md TRAIN_3D [--analyzer]
The last argument says that PyTorch's analyzer must be there.

Runs jobs that end well, in a mismatch, without a rank, and by the death of one,
and one that hangs. Their records must fit the schema of the page, say what
happened, and agree in all formats; PyTorch's analyzer, if there is one, must
find the same rank. hooprun --record keeps the records itself: of a job that
hangs, with a rank that is stopped and one that was killed, and after a failure.
"""

import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import trace_check

HOOPRUN, HOOPCTL, PROGRAM, PAGE, TRAIN = map(os.path.abspath, sys.argv[1:6])
NEEDS_ANALYZER = '--analyzer' in sys.argv[6:]
RANKS = 4
SUMS = 20
MISSING = 2
OTHER = 1
TYPES = {'object': dict, 'array': list, 'string': str, 'integer': int,
         'boolean': bool, 'null': type(None)}


def has_type(value, name):
    return isinstance(value, TYPES[name]) and (
        name != 'integer' or not isinstance(value, bool))


def validate(value, schema, where='the record'):
    """Raises an error unless value fits a schema of the words used here."""
    unknown = set(schema) - {'type', 'enum', 'required', 'properties', 'items',
                             'additionalProperties', 'minimum'}
    assert not unknown, unknown
    if 'enum' in schema:
        assert value in schema['enum'], f'{where}: {value!r}'
    names = schema.get('type', [])
    names = [names] if isinstance(names, str) else names
    assert not names or any(has_type(value, name) for name in names), \
        f'{where}: {value!r} is not of type {names}'
    if isinstance(value, int) and 'minimum' in schema:
        assert value >= schema['minimum'], f'{where}: {value}'
    if isinstance(value, list):
        for i, item in enumerate(value):
            validate(item, schema['items'], f'{where}[{i}]')
    if isinstance(value, dict):
        assert set(schema['required']) <= set(value), f'{where}: {set(value)}'
        assert set(value) <= set(schema['properties']), f'{where}: {set(value)}'
        for key, item in value.items():
            validate(item, schema['properties'][key], f'{where}.{key}')


def hoopctl_record(*arguments):
    return subprocess.run([HOOPCTL, 'record', *arguments], text=True,
                          capture_output=True, timeout=60)


def record(*arguments):
    done = hoopctl_record(*arguments)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout


def job(folder, ending, n_ranks=RANKS, *options):
    """Runs a job; returns its record in hoop's format."""
    environment = dict(os.environ, HOOP_RECORDER_DIR=folder)
    if ending == 'retried':
        environment['HOOP_ON_FAILURE'] = 'retry'
    done = subprocess.run(
        [HOOPRUN, '-n', str(n_ranks), *options, PROGRAM, ending], text=True,
        capture_output=True, timeout=100, env=environment)
    assert (done.returncode == 0) == (ending in ('good', 'retried')), done
    return json.loads(record(folder, '--json', *options))


def check_calls(rank, ending):
    """What each rank called before the ending."""
    calls = [call for call in rank['calls'] if call['number'] is not None]
    sums = [call for call in calls if call['reduce_op'] == 'max']
    assert [call['number'] for call in sums] == list(range(1, SUMS + 1))
    for call in sums:
        assert (call['kind'], call['count'], call['bytes'], call['state'],
                call['status']) == ('allreduce', 1, 4, 'done', 'OK'), call
    sends = [call for call in calls if call['kind'] == 'send']
    assert [call['peer'] for call in sends] == 3 * [(rank['rank'] + 1) % RANKS]
    last = rank['calls'][-1]
    if ending == 'good':
        assert last['kind'] == 'barrier' and last['state'] == 'done', last
        assert rank['closed']
    elif ending == 'killed' and rank['rank'] == MISSING:
        assert last['kind'] == 'barrier' and not rank['closed'], last
    else:
        assert last['state'] == 'failed' and last['status'] != 'OK', last
        assert last['ended_ns'] >= last['called_ns']


def check_alone(rank):
    """The communicator of one rank, whose id is too large for an integer."""
    alone = [comm for comm in rank['communicators'] if comm['size'] == 1]
    assert [comm['ranks'] for comm in alone] == [[rank['rank']]], rank
    assert int(alone[0]['id']) >= 2**63 and isinstance(alone[0]['id'], str)
    calls = [call for call in rank['calls'] if call['number'] is not None
             and call['communicator'] == alone[0]['id']]
    assert [(call['kind'], call['number']) for call in calls] == [('allreduce', 1)]


def check_ending(rank, ending):
    last = rank['calls'][-1]
    if ending == 'mismatch':
        kind = 'broadcast' if rank['rank'] == OTHER else 'allreduce'
        assert (last['kind'], last['status']) == (kind, 'MISMATCH'), last
    if ending == 'missing' and rank['rank'] != MISSING:
        assert last['kind'] == 'allreduce', last
        assert last['waited_for'] != rank['rank'], last
    if ending == 'killed' and rank['rank'] != MISSING:
        assert last['status'] == 'PEER_LOST', last


def check_ended_text(folder, ending):
    """Says how each rank has ended."""
    for rank, line in enumerate(record(folder).splitlines()[-RANKS:]):
        assert line.split()[0] == str(rank), line
        if ending == 'good':
            assert 'has left the job, last in barrier #' in line, line
        elif ending == 'killed' and rank == MISSING:
            assert re.search('in no call for .*last in barrier .*seen last', line)
        else:
            assert 'which failed: ' in line, line


def check_retried(rank):
    """The call in which the others lost a rank was made again, without it."""
    sums = [(call['retries'], call['state']) for call in rank['calls']
            if call['reduce_op'] == 'sum']
    assert sums[-2:] == [(0, 'failed'), (1, 'done')], sums
    assert sum(call['retries'] for call in rank['calls']) == 1, rank


def trace_of(folder):
    path = folder + '.trace'
    record(folder, '--format', 'chrome', '--output', path)
    trace = json.loads(pathlib.Path(path).read_text())
    os.remove(path)
    return trace


def check_trace(folder, whole):
    """All that a trace must be; the ranks are on the coordinator's clock."""
    n_collectives, n_messages = trace_check.check(trace_of(folder), whole)
    assert n_collectives >= SUMS and n_messages >= 3 * RANKS - 3, \
        (n_collectives, n_messages)
    assert whole['clock']['of'] == 'coordinator', whole['clock']
    assert whole['clock']['rank_error_ns'] < 100_000_000, whole['clock']


def first(trace, phase):
    return next(event for event in trace['traceEvents'] if event['ph'] == phase)


def move_rank(trace, whole):
    """All that rank 1 did is a second later; trace and records agree."""
    for event in trace['traceEvents']:
        if event['pid'] == 1 and 'ts' in event:
            event['ts'] += 1e6
    for call in whole['ranks'][1]['calls']:
        for name in ('called_ns', 'ended_ns'):
            call[name] += 10**9


SPOILS = {
    'a field is missing': lambda trace, _: first(trace, 'X').pop('cat'),
    'a field is of another kind': lambda trace, _: first(trace, 's').update(id='1'),
    'an event is no call': lambda trace, _: trace['traceEvents'].append(
        dict(first(trace, 'X'), ts=0)),
    'a call is no event': lambda trace, _: trace['traceEvents'].remove(
        first(trace, 'X')),
    'an event is longer': lambda trace, _: first(trace, 'X').update(dur=1e9),
    'a flow has one end': lambda trace, _: trace['traceEvents'].remove(
        first(trace, 'f')),
    'a message is no flow': lambda trace, _: [
        trace['traceEvents'].remove(first(trace, phase)) for phase in 'sf'],
    'a flow ends in no call': lambda trace, _: first(trace, 'f').update(ts=1e9),
    'a rank has no name': lambda trace, _: trace['traceEvents'].remove(
        first(trace, 'M')),
    'a rank is late': move_rank,
}


def check_checker(trace, whole):
    """What is wrong with a trace in one place is found."""
    for name, spoil in SPOILS.items():
        spoiled = json.loads(json.dumps([trace, whole]))
        spoil(*spoiled)
        try:
            trace_check.check(*spoiled)
        except AssertionError:
            continue
        raise RuntimeError(f'not found: {name}')


def check_training(folder):
    """Three kinds of parallelism: many communicators, messages both ways."""
    environment = dict(os.environ, HOOP_RECORDER_DIR=folder)
    done = subprocess.run(
        [HOOPRUN, '-n', '8', TRAIN, '--dp', '2', '--tp', '2', '--pp', '2',
         '--steps', '2', '--out', folder + '.out'], text=True,
        capture_output=True, timeout=200, env=environment)
    assert done.returncode == 0, done
    whole = json.loads(record(folder, '--json'))
    assert len(whole['ranks']) == 8, whole['ranks']
    n_collectives, n_messages = trace_check.check(trace_of(folder), whole)
    assert n_collectives > 100 and n_messages > 20, (n_collectives, n_messages)
    print(f'a training: {n_collectives} collectives, {n_messages} messages and '
          f"{whole['clock']} agree")


def analyze(folder):
    """What PyTorch's analyzer says; None: it is not installed."""
    if not importlib.util.find_spec('torch'):
        assert not NEEDS_ANALYZER, f'{sys.executable} has no torch'
        return None
    dump = folder + '.torch'
    record(folder, '--format', 'torch', '--output', dump)
    done = subprocess.run(
        [sys.executable, '-m', 'torch.distributed.flight_recorder.fr_trace',
         dump], text=True, capture_output=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def check_analysis(said, ending):
    if ending == 'good':
        assert 'missing ranks' not in said and 'error' not in said, said
    if ending == 'mismatch':
        culprits = set(re.findall(r'Culprit rank (\d+)', said))
        assert culprits == {str(OTHER)}, said
        assert 'COLLECTIVE_TYPE_MISMATCH' in said, said
    if ending in ('missing', 'killed'):
        assert f'missing ranks: {{{MISSING}}}' in said, said


def unended(trace):
    """The rank and the end of each call of a trace that has not ended."""
    base = int(trace['otherData']['base_ns'])
    return {event['pid']: base + round((event['ts'] + event['dur']) * 1000)
            for event in trace['traceEvents'] if event['ph'] == 'X'
            and event['args']['state'] in ('called', 'begun')}


def check_hanging(folder):
    """What is written while a job hangs lasts until then."""
    deadline = time.monotonic() + 60
    waiting = set(range(RANKS)) - {MISSING}
    while True:
        before_ns = time.time_ns()
        trace = json.loads(record(folder, '--format', 'chrome'))
        if set(unended(trace)) == waiting:
            break
        assert time.monotonic() < deadline, trace
        time.sleep(0.05)
    slack_ns = trace['otherData']['clock_error_ns'] + 1000
    for end_ns in unended(trace).values():
        assert before_ns - slack_ns <= end_ns <= time.time_ns() + slack_ns, \
            (before_ns, end_ns, slack_ns)


def check_text(folder):
    """Says who waits for whom, and that one rank is in no call."""
    lines = record(folder).splitlines()
    assert f'the records of {RANKS} of {RANKS} ranks' in lines[0], lines
    for rank, line in enumerate(lines[-RANKS:]):
        assert line.split()[0] == str(rank), lines
        said = re.search(
            r'(in no call|in allreduce #\d+ \(float32, 1 element, sum\)) '
            r"(?:of \S.*)?for (\d+\.\d) s, (last in barrier|waits for rank \d)",
            line)
        assert said and float(said[2]) < 300, line
        is_missing = rank == MISSING
        assert (said[1] == 'in no call') == is_missing, line
        assert (said[3] == 'last in barrier') == is_missing, line
        assert 'seen last' not in line, line
    with_last = record(folder, '--last', '2').splitlines()
    assert with_last[:2] == lines[:2] and len(with_last) == len(lines) + 2 * RANKS, with_last
    for line in with_last:
        assert ' s ago  ' not in line or re.fullmatch(
            r" +\d+\.\d{3} s ago  \S.* of .*, (\d+\.\d{3} ms|under way)", line), line
    own = os.path.join(folder, f'default.{MISSING}.hoopr')
    os.rename(own, own + '.kept')
    assert f'{MISSING} has no record here' in record(folder)
    pathlib.Path(own).write_bytes(b'no record')
    done = hoopctl_record(folder)
    assert done.returncode == 0 and own in done.stderr, done
    assert f'{MISSING} has no record here' in done.stdout, done
    assert hoopctl_record(own).returncode == 64


def check_copy(folder):
    """A rank that waits writes a copy on the signal, and goes on to wait."""
    copy = pathlib.Path(folder, 'default.0.copy.hoopr')
    os.kill(pid_of(lines_of_ranks(record(folder))[0]), signal.SIGUSR1)
    deadline = time.monotonic() + 60
    while not copy.exists():
        assert time.monotonic() < deadline, os.listdir(folder)
        time.sleep(0.05)
    assert 'last in' not in record(str(copy)), copy
    lines = lines_of_ranks(record(folder))
    assert len(lines) == RANKS and 'in allreduce #' in lines[0], lines


def hanging_job(folder):
    """Reads the records of a job that hangs, then ends it."""
    environment = dict(os.environ, HOOP_RECORDER_DIR=folder,
                       HOOP_RECORDER_SIGNAL='USR1')
    with subprocess.Popen(
            [HOOPRUN, '-n', str(RANKS), PROGRAM, 'hangs'], text=True,
            stdout=subprocess.PIPE, env=environment) as running:
        try:
            await_pause(running)
            check_hanging(folder)
            check_copy(folder)
            check_text(folder)
        finally:
            running.terminate()
            running.communicate(timeout=60)


def check_runs(root):
    """A folder with records of two runs of a job, then of two jobs."""
    folder = os.path.join(root, 'runs')
    first = job(folder, 'good', RANKS)
    assert len({rank['run'] for rank in first['ranks']}) == 1, first
    second = job(folder, 'good', RANKS - 1)
    done = hoopctl_record(folder)
    assert [rank['rank'] for rank in second['ranks']] == [0, 1, 2], done
    runs = {rank['run'] for rank in second['ranks']}
    left_out = first['ranks'][-1]['run']
    assert len(runs) == 1 and left_out not in runs, runs
    assert f'run {left_out}' in done.stderr and 'rank 3 of 4' in done.stderr, done
    assert not runs & set(re.findall(r'run (\w+),', done.stderr)), done
    other = job(folder, 'good', 2, '--job', 'other')
    assert [rank['job'] for rank in other['ranks']] == 2 * ['other'], other
    done = hoopctl_record(folder)
    assert done.returncode == 64 and '--job' in done.stderr, done
    assert "job 'default'" in done.stderr and "job 'other'" in done.stderr, done
    chosen = json.loads(record(folder, '--json', '--job', 'default'))
    assert chosen == second
    done = hoopctl_record(folder, '--job', 'third')
    assert done.returncode == 1 and "job 'other'" in done.stderr, done
    one = os.path.join(folder, 'other.1.hoopr')
    done = hoopctl_record(folder, one, '--job', 'other')
    assert done.returncode == 64 and 'rank 1 is given twice' in done.stderr, done


def unset(name):
    return {key: value for key, value in os.environ.items() if key != name}


def hooprun_record(name, ending, n_ranks=RANKS):
    return subprocess.Popen(
        [HOOPRUN, '-n', str(n_ranks), '--record', '--job', name, PROGRAM, ending],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=dict(unset('HOOP_RECORDER_DIR'), HOOP_FAILURE_TIMEOUT='60'))


def kept_folder(name, error):
    """The folder in the last line of a hooprun that has failed."""
    said = re.search(rf'^hooprun: what each rank called last: hoopctl record --job={name} '
                     r'\(kept in (/\S+)\)$', error.splitlines()[-1])
    assert said, error
    return said[1]


def lines_of_ranks(text):
    return {int(line.split()[0]): line for line in text.splitlines()
            if re.match(r' +\d+ \S+:\d+ ', line)}


def pid_of(line):
    return int(re.match(r' +\d+ \S+:(\d+) ', line)[1])


def await_pause(running):
    """Returns when a job says that it pauses."""
    watchdog = threading.Timer(60, running.kill)
    watchdog.start()
    try:
        while 'pauses' not in (line := running.stdout.readline()):
            assert line, 'the job has ended, or says nothing'
    finally:
        watchdog.cancel()


def await_lines(name, is_reached):
    """The lines of the ranks of a job, once they are as a function wants."""
    deadline = time.monotonic() + 60
    while True:
        done = hoopctl_record(name)
        lines = lines_of_ranks(done.stdout)
        if done.returncode == 0 and len(lines) == RANKS and is_reached(lines):
            return lines
        assert time.monotonic() < deadline, done
        time.sleep(0.05)


def check_stopped_and_killed(name, running):
    """Reads the records while a rank is stopped, then after its death."""
    waiting = set(range(RANKS)) - {MISSING}
    lines = await_lines(name, lambda lines: all(
        'in allreduce #' in lines[rank] for rank in waiting))
    assert 'in no call' in lines[MISSING], lines
    stopped = pid_of(lines[MISSING])
    os.kill(stopped, signal.SIGSTOP)
    lines = await_lines(name, lambda lines: 'in no call' in lines[MISSING])
    assert pid_of(lines[MISSING]) == stopped, lines
    os.kill(stopped, signal.SIGKILL)
    error = running.communicate(timeout=100)[1]
    assert running.returncode != 0, error
    folder = kept_folder(name, error)
    lines = await_lines(name, lambda lines: 'failed' in lines[0])
    assert 'in no call' in lines[MISSING], lines
    done = hoopctl_record(name)
    assert folder in done.stderr and 'has ended' in done.stderr, done
    assert os.stat(folder).st_mode & 0o777 == 0o700, os.stat(folder)
    shutil.rmtree(folder)
    assert hoopctl_record(name).returncode == 1


def check_live(name):
    """Two jobs of hooprun at a time: a job that hangs, and one that ends."""
    with hooprun_record(name, 'hangs') as running:
        try:
            await_pause(running)
            other = hooprun_record(name + '-other', 'good')
            error = other.communicate(timeout=100)[1]
            assert other.returncode == 0 and 'hoopctl record' not in error, error
            done = hoopctl_record('--job', name + '-other')
            assert done.returncode == 1 and 'no records of' in done.stderr, done
            done = hoopctl_record('--coordinator', 'nonsense', '--job', name)
            assert done.returncode != 0 and not done.stdout, done
            assert done.stderr.count('\n') == 1 and "'nonsense' has no port" in done.stderr, done
            check_stopped_and_killed(name, running)
        finally:
            running.terminate()


def check_kept(name):
    """Of the jobs that have failed, the records of the last ones are kept."""
    folders = []
    for _ in range(6):
        running = hooprun_record(name, 'mismatch', 2)
        error = running.communicate(timeout=100)[1]
        assert running.returncode != 0, error
        folders.append(kept_folder(name, error))
    assert os.path.isdir(folders[-1]), folders
    assert not any(os.path.isdir(folder) for folder in folders[:2]), folders
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def check_own_folder(root):
    """A folder of the user's is used, found while a job runs, and named."""
    environment = dict(os.environ, HOOP_RECORDER_DIR='mine')
    name = f'mine-{os.getpid()}'
    with subprocess.Popen(
            [HOOPRUN, '-n', str(RANKS), '--record', '--job', name, PROGRAM,
             'hangs'], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment, cwd=root) as running:
        try:
            await_pause(running)
            await_lines(name, lambda lines: 'in no call' in lines[MISSING])
        finally:
            running.terminate()
            error = running.communicate(timeout=100)[1]
    assert error.endswith('what each rank called last: hoopctl record mine\n'), error
    assert len(lines_of_ranks(record(os.path.join(root, 'mine')))) == RANKS


def main():
    page = pathlib.Path(PAGE).read_text()
    schema = json.loads(re.search(r'```json\n(.*?)```', page, re.S)[1])
    n_analyzed = 0
    with tempfile.TemporaryDirectory() as root:
        for ending in ('good', 'mismatch', 'missing', 'killed'):
            folder = os.path.join(root, ending)
            whole = job(folder, ending)
            validate(whole, schema)
            ranks = whole['ranks']
            assert [rank['rank'] for rank in ranks] == list(range(RANKS))
            for rank in ranks:
                assert rank['communicators'][0]['ranks'] == list(range(RANKS))
                check_calls(rank, ending)
                check_alone(rank)
                check_ending(rank, ending)
            check_ended_text(folder, ending)
            check_trace(folder, whole)
            if ending == 'good':
                check_checker(trace_of(folder), whole)
            said = analyze(folder)
            if said is not None:
                check_analysis(said, ending)
                n_analyzed += 1
        folder = os.path.join(root, 'retried')
        whole = job(folder, 'retried')
        validate(whole, schema)
        for rank in whole['ranks']:
            if rank['rank'] != MISSING:
                check_retried(rank)
        check_trace(folder, whole)
        check_training(os.path.join(root, 'training'))
        hanging_job(os.path.join(root, 'hangs'))
        check_runs(root)
        check_own_folder(root)
    check_live(f'live-{os.getpid()}')
    check_kept(f'kept-{os.getpid()}')
    print(f"4 jobs, {n_analyzed} of them analysed by PyTorch, too")


main()
