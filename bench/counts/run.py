#!/usr/bin/env python3
"""bench/counts/run.py - count what a call costs, and hold it to its bounds

usage: run.py BUILD            check every line of bench/counts/bounds.txt
       run.py BUILD --table    all counters of those calls, as a table

Nothing is timed, so it may run beside anything. bench/counts/README.md says
how it is counted.
"""

import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
BOUNDS = os.path.join(HERE, 'bounds.txt')
SKIPPED = 77
N_BATCHES = 9
DEADLINE_S = 120

Call = collections.namedtuple('Call', 'name n_bytes n_ranks transport recorder',
                              defaults=[''])
RECORDED = 'recorded'  # by the flight recorder

# A counter's functions; how often they are called from libhoop.
ALLOCATIONS = ('malloc', 'calloc', 'realloc', 'reallocarray', 'aligned_alloc')
LOCKS = ('pthread_mutex_lock',)
CLOCKS = ('clock_gettime',)

# Attributes may stand in the line before a function.
DEFINITION = re.compile(r'^(?!__attribute__)(\w+)\([^;{]*\)\s*^\{', re.M)

# A function is on the way of a call if it is entered at least this often per
# call: some wait, or answer what came late, in a few calls only.
USUAL = 0.75


def calls_per_batch(call):
    # Who waits sleeps soon: of few, all find the others there.
    if call.transport == 'shm' or (call.name, call.n_bytes) == ('allreduce', 8):
        return 5
    if call.n_bytes >= 1 << 24:
        return 2
    return 20 if call.n_bytes >= 1 << 18 else 100


def run(build, call, tool, n_batches=N_BATCHES):
    """One run with rank 0 below tool; what it prints as {name: number}."""
    command = [
        os.path.join(build, 'tools/hooprun/hooprun'), '-n', str(call.n_ranks),
        '--no-prefix', os.path.join(HERE, 'as_rank0.sh'),
        os.path.join(build, 'bench/steps'), call.name, str(call.n_bytes),
        str(calls_per_batch(call)), str(n_batches)
    ]
    environment = {
        name: value
        for name, value in os.environ.items() if not name.startswith('HOOP_')
    }
    environment.update(COUNT_TOOL=tool, HOOP_TRANSPORT=call.transport,
                       HOOP_DEBUG_SPIN='always')
    with tempfile.TemporaryDirectory() as records:
        if call.recorder:
            environment['HOOP_RECORDER_DIR'] = records
        done = subprocess.run(command, env=environment, check=True, text=True,
                              timeout=DEADLINE_S, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
    return {
        name: float(number)
        for name, number in re.findall(r'^(\w+) ([\d.]+)$', done.stdout, re.M)
    }


def calls_of(path):
    """{(caller, callee): how often} of callgrind's file.

    It gives each name a number when the name first comes. Copies that the
    compiler made of a part of a function count as the function.
    """
    names = {}
    calls = collections.Counter()
    caller = callee = None
    with open(path, encoding='utf-8') as lines:
        for line in lines:
            match = re.match(r'(c?)fn=\((\d+)\)(?: (\S+))?', line)
            if match and match[3]:
                names[match[2]] = re.sub(r"[@'.].*", '', match[3])
            if match and match[1]:
                callee = names[match[2]]
            elif match:
                caller = names[match[2]]
            match = re.match(r'calls=(\d+)', line)
            if match:
                calls[caller, callee] += int(match[1])
    return calls


def cheapest_batch(folder):
    """The file and the instructions of one; the first is of the warm-up."""
    batches = []
    for name in os.listdir(folder):
        match = re.fullmatch(r'callgrind\.(\d+)', name)
        if match and match[1] != '1':
            path = os.path.join(folder, name)
            with open(path, encoding='utf-8') as lines:
                found = re.search(r'^totals: (\d+)', lines.read(), re.M)
            batches.append((int(found[1]), path))
    return min(batches)


def definitions():
    """{function: its file below the source folder} of libhoop.

    Static functions of several files that have one name count as one.
    """
    files = {}
    for top in ('common', 'worker'):
        for folder, _, names in os.walk(os.path.join(SOURCE, top)):
            for name in names:
                if name.endswith(('.c', '.h')):
                    path = os.path.join(folder, name)
                    with open(path, encoding='utf-8') as lines:
                        found = DEFINITION.findall(lines.read())
                    path = os.path.relpath(path, SOURCE)
                    files.update((function,
                                  min(path, files.get(function, path)))
                                 for function in found)
    return files


def way_of(calls, n_calls):
    """What calls that are made again and again enter on their way."""
    files = definitions()
    entered = collections.Counter()
    n_entries = 0

    def folder_of(function):
        return files.get(function, '').split('/')[:2]

    for (caller, callee), n_times in calls.items():
        if callee in files:
            entered[callee] += n_times
            n_entries += n_times * (folder_of(caller) != folder_of(callee))
    usual = [function for function, n_times in entered.items()
             if n_times >= USUAL * n_calls]
    return {
        'functions': len(usual),
        'files': len({files[function] for function in usual}),
        'folder_entries': n_entries / n_calls,
    }


def count_instructions(build, call, folder):
    base = os.path.join(folder, 'callgrind')
    run(build, call, 'valgrind --tool=callgrind --toggle-collect=batch_run '
        f'--dump-before=batch_end --callgrind-out-file={base}')
    n_calls = calls_per_batch(call)
    total, path = cheapest_batch(folder)
    return {'instructions': total / n_calls,
            **way_of(calls_of(path), n_calls)}


def times_of(path):
    """{function: how often it was called} of callgrind's file."""
    times = collections.Counter()
    for (_, callee), n_times in calls_of(path).items():
        times[callee] += n_times
    return times


def count_functions(build, call, folder):
    path = os.path.join(folder, 'functions')
    counts = collections.Counter()
    # What a longer run has more of: joining and leaving do the same things.
    for n_batches in (1, N_BATCHES):
        run(build, call, 'valgrind --tool=callgrind --toggle-collect=batch_run '
            f'--callgrind-out-file={path}', n_batches)
        counts = times_of(path) - counts
    n_calls = counts['call_' + call.name]
    return {
        name: sum(counts[function] for function in functions) / n_calls
        for name, functions in (('allocations', ALLOCATIONS), ('locks', LOCKS),
                                ('clocks', CLOCKS))
    }


def batches_of(path):
    """A Counter of system calls for each batch of the counted thread."""
    threads = collections.defaultdict(list)
    with open(path, encoding='utf-8', errors='replace') as lines:
        for line in lines:
            match = re.match(r'(\d+) +(\w+)\((.*)', line)
            if match:
                threads[match[1]].append((match[2], match[3]))
    counted = next(calls for calls in threads.values()
                   if any(name == 'getppid' for name, _ in calls))
    batches = [collections.Counter()]
    for name, rest in counted:
        if name == 'getppid':
            batches.append(collections.Counter())
            continue
        batches[-1][name] += 1
        moved = re.search(r'= (\d+)$', rest)
        if moved and name in ('sendmsg', 'send', 'readv', 'recv', 'recvfrom'):
            way = 'sent' if name.startswith('send') else 'read'
            batches[-1][way + ' bytes'] += int(moved[1])
    return batches[1:-1]


def least_of(batches, n_calls, *names):
    """In the others the other rank was late."""
    return min(sum(batch[name] for name in names)
               for batch in batches) / n_calls


def count_system_calls(build, call, folder):
    path = os.path.join(folder, 'strace')
    run(build, call, f'strace -f -s 0 -o {path}')
    batches = batches_of(path)
    n_calls = calls_per_batch(call)
    every = [{'all': sum(n for name, n in batch.items() if ' ' not in name)}
             for batch in batches]
    return {
        'system_calls': least_of(every, n_calls, 'all'),
        'writes': least_of(batches, n_calls, 'sendmsg', 'sendto'),
        'reads': least_of(batches, n_calls, 'readv', 'recvfrom', 'recvmsg'),
        'polls': least_of(batches, n_calls, 'epoll_wait', 'epoll_pwait'),
        'futexes': least_of(batches, n_calls, 'futex'),
    }


def count_usage(build, call, _):
    return run(build, call, '')


COUNTERS = {
    'instructions': count_instructions,
    'functions': count_instructions,
    'files': count_instructions,
    'folder_entries': count_instructions,
    'allocations': count_functions,
    'locks': count_functions,
    'clocks': count_functions,
    'system_calls': count_system_calls,
    'writes': count_system_calls,
    'reads': count_system_calls,
    'polls': count_system_calls,
    'futexes': count_system_calls,
    'faults': count_usage,
    'sleeps': count_usage,
}


def count(build, call, counters):
    """{counter: of one call}, running each tool once."""
    counts = {}
    for counter in counters:
        if counter not in counts:
            with tempfile.TemporaryDirectory() as folder:
                counts.update(COUNTERS[counter](build, call, folder))
    return counts


def bounds_read():
    """{call: {counter: most}}, in the order of the file."""
    bounds = {}
    with open(BOUNDS, encoding='utf-8') as lines:
        for line in lines:
            words = line.split('#')[0].split()
            if words:
                over = [word for word in words[5:] if word != RECORDED]
                call = Call(words[0], int(words[1]), int(words[2]),
                            *over or ['tcp'],
                            RECORDED if RECORDED in words else '')
                bounds.setdefault(call, {})[words[3]] = float(words[4])
    return bounds


def over_of(call):
    return f'{call.transport} {call.recorder}'.rstrip()


def check(build):
    n_exceeded = 0
    for call, most in bounds_read().items():
        counts = count(build, call, most)
        for counter, bound in most.items():
            is_exceeded = counts[counter] > bound
            n_exceeded += is_exceeded
            print(f'{call.name} of {call.n_bytes} bytes, {call.n_ranks} ranks, '
                  f'{over_of(call)}: '
                  f'{counts[counter]:.2f} {counter}, at most {bound:g}'
                  f'{": EXCEEDED" if is_exceeded else ""}')
    return 1 if n_exceeded else 0


def table(build):
    print('| call | bytes | ranks | over | ' + ' | '.join(COUNTERS) + ' |')
    print('|---|---:|---:|---|' + '---:|' * len(COUNTERS))
    for call in bounds_read():
        counts = count(build, call, COUNTERS)
        cells = [f'{counts[counter]:.4g}' for counter in COUNTERS]
        print(f'| {call.name} | {call.n_bytes} | {call.n_ranks} | '
              f'{over_of(call)} | ' + ' | '.join(cells) + ' |', flush=True)
    return 0


def main(arguments):
    if not arguments or arguments[1:] not in ([], ['--table']):
        print(__doc__.strip(), file=sys.stderr)
        return 64
    for tool in ('valgrind', 'strace'):
        if not shutil.which(tool):
            print(f'{tool} is not installed: nothing was counted')
            return SKIPPED
    build = os.path.abspath(arguments[0])
    return table(build) if arguments[1:] else check(build)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
