"""tests/style/gates.py - every library enters through one gate

The table is the one in docs/ARCHITECTURE.md. The pure folders include no
header that could touch the world.
"""

import re
from fnmatch import fnmatch

from tree import includes, markdown_rows, without_comments

DOCUMENT = 'docs/ARCHITECTURE.md'
PURE = ('worker/plan', 'worker/algorithms', 'worker/model', 'server/core')
WORLDLY = ('sys/', 'netinet/', 'arpa/', 'net/', 'unistd.h', 'pthread.h',
           'time.h', 'threads.h', 'poll.h', 'fcntl.h', 'signal.h', 'netdb.h',
           'base/log.h')
CLOCK = re.compile(r'\bclock_\w+\s*\(')  # its constants are fine
# The compiler's, the C library's and the two container libraries.
KNOWN = ('assert.h complex.h ctype.h dirent.h endian.h errno.h fcntl.h '
         'fenv.h float.h getopt.h grp.h ifaddrs.h immintrin.h inttypes.h '
         'libgen.h limits.h linux/ locale.h malloc.h math.h cpuid.h '
         'net/ netdb.h netinet/ arpa/ poll.h pthread.h pwd.h sched.h '
         'semaphore.h setjmp.h signal.h spawn.h stdalign.h stdarg.h '
         'stdatomic.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h '
         'strings.h sys/ termios.h threads.h time.h ucontext.h unistd.h '
         'wait.h link.h dlfcn.h err.h fnmatch.h glob.h regex.h utime.h '
         'x86intrin.h elf.h execinfo.h syslog.h uthash.h utlist.h').split()


def matches(name, header):
    return name.startswith(header) if header.endswith('/') else (
        name == header or name.startswith((header + '.', header + '/')))


def gate_complaint(path, name, gates):
    for header, files in gates.items():
        if matches(name, header):
            if any(fnmatch(path, pattern) for pattern in files):
                return None
            return f'<{name}> belongs to {" ".join(files)}'
    if not any(matches(name, known) for known in KNOWN):
        return f'<{name}> has no gate in {DOCUMENT}'
    return None


def is_pure(path):
    return path.startswith(tuple(folder + '/' for folder in PURE))


def is_worldly(path, name):
    return is_pure(path) and name != 'sys/queue.h' and any(
        matches(name, w) for w in WORLDLY)


def clock_complaints(path, text):
    for number, line in enumerate(without_comments(text).split('\n'), 1):
        if is_pure(path) and CLOCK.search(line):
            yield f'{path}:{number}: a clock in a pure folder'


def complaints(tree):
    rows = markdown_rows(tree.texts.get(DOCUMENT, ''), 'header')
    gates = {row[0]: row[1].split() for row in rows}
    if not gates:
        yield f'{DOCUMENT}: no table of gates'
    for path, text in tree.c_files():
        yield from clock_complaints(path, text)
        for number, name, quoted in includes(text):
            if is_worldly(path, name):
                yield f'{path}:{number}: <{name}> in a pure folder'
            elif not quoted and not name.startswith('hoop/'):
                complaint = gate_complaint(path, name, gates)
                if complaint:
                    yield f'{path}:{number}: {complaint}'


TABLE = {DOCUMENT: '''
| header | files | library |
|--------|-------|---------|
| event2/ | common/net/* | libevent |
| zstd | common/codec/* | zstd |
| argp.h | */options.c | glibc |
'''}

GOOD = [
    TABLE,
    TABLE | {'common/net/a.c': '#include <event2/event.h>\n'},
    TABLE | {'server/options.c': '#include <argp.h>\n#include <stdio.h>\n'},
    TABLE | {'server/core/a.c': '#include "base/clock.h"\nCLOCK_NEVER;\n'},
    TABLE | {'worker/plan/a.c': '#include <sys/queue.h>\n'
             '#include <string.h>\n'},
]
BAD = [
    (TABLE | {'worker/engine/a.c': '#include <event2/event.h>\n'},
     'worker/engine/a.c:1: <event2/event.h> belongs to common/net/*'),
    (TABLE | {'worker/engine/a.c': '#include <zstd.h>\n'},
     '<zstd.h> belongs to common/codec/*'),
    (TABLE | {'common/wire/a.c': '#include <zstd_errors.h>\n'},
     '<zstd_errors.h> has no gate'),
    (TABLE | {'server/main.c': '#include <argp.h>\n'},
     '<argp.h> belongs to */options.c'),
    (TABLE | {'server/main.c': '#include <curl/curl.h>\n'},
     '<curl/curl.h> has no gate'),
    (TABLE | {'worker/plan/a.c': '#include <time.h>\n'},
     '<time.h> in a pure folder'),
    (TABLE | {'server/core/a.c': '#include "base/log.h"\n'},
     '<base/log.h> in a pure folder'),
    (TABLE | {'server/core/a.c': '    x = clock_now_ns();\n'},
     'a.c:1: a clock in a pure folder'),
    ({'server/core/a.c': ''}, 'no table of gates'),
]
