"""tests/style/vocabulary.py - words that name nothing in this field do not come back

GONE maps a word that hoop once used in a sense of its own to the field's term. EVERYWHERE
may stand nowhere, not even as a part of an identifier; SOURCES not in the library, the
coordinator and the programs, where they once named files, types or functions, but
elsewhere, as in tests and pages, they are English.
"""

import re

EVERYWHERE = {
    'acquit': 'clear of suspicion', 'agenda': 'timer heap', 'ballot': 'vote', 'bereft': 'what is missing',
    'booth': 'connection', 'cellar': 'unexpected-message queue', 'census': 'counts', 'chronicle': 'journal', 'condemn': 'declare dead',
    'council': 'vote', 'courier': 'pipeline messenger', 'distress': 'abort message', 'doom': 'deferred failure',
    'fare': 'cost', 'forsake': 'what it tests', 'forsaken': 'what it tests', 'foyer': 'listener',
    'freight': 'pack buffer', 'haul': 'block transfer', 'hearsay': 'report', 'itinerary': 'plan cache',
    'mailbox': 'command queue', 'mishap': 'recovery fault point', 'obituary': 'exit report',
    'outbox': 'action list', 'perch': 'CPU placement', 'rehearsal': 'checker run', 'reprieve': 'grace period',
    'reprise': 'retry request', 'rouse': 'wake', 'sharers': 'shared-memory peers', 'stranded': 'departed peer',
    'tangle': 'cycle', 'thrift': 'cost', 'vigil': 'wait', 'widowed': 'what it tests',
}
SOURCES = {
    'bundle': 'stream group', 'crew': 'process group', 'errand': 'task', 'hasty': 'under the lock',
    'headcount': 'host ranks', 'misfit': 'size mismatch', 'muster': 'lease check', 'passage': 'redistribute call',
    'relay': 'runner', 'shelf': 'activation store', 'stash': 'fragment', 'untold': 'wake pending',
}
SOURCE_FOLDERS = ('worker/', 'server/', 'common/', 'tools/')
APART = ('tests/style/vocabulary.py', 'examples/data/')
WORD = re.compile(r'[A-Z]+(?![a-z])|[A-Z]?[a-z]+')


def words_of(line):
    """In lower case, of identifiers each part, without a plural's s."""
    for word in WORD.findall(line):
        yield word.lower()
        yield word.lower().removesuffix('s')


def complaints(tree):
    for path, text in tree.texts.items():
        if path.startswith(APART):
            continue
        gone = EVERYWHERE | SOURCES if path.startswith(SOURCE_FOLDERS) else EVERYWHERE
        for number, line in enumerate([path] + text.split('\n')):
            for word in sorted(set(words_of(line)) & gone.keys()):
                yield f'{path}:{number}: "{word}": say "{gone[word]}", or what it is'


GOOD = [
    {'worker/engine/a.c': '/* fanfare and mishandled, but no such word */\n',
     'tests/a_test.c': '/* the crew of a relay */\n'},
]
BAD = [
    ({'docs/a.md': 'x\nRanks write their obituarys.\n'}, 'docs/a.md:2: "obituary"'),
    ({'worker/engine/a.c': 'int\nperch_take(int a);\n'}, 'a.c:2: "perch"'),
    ({'worker/engine/a.c': 'enum { ENGINE_DOOM };\n'}, 'a.c:1: "doom"'),
    ({'worker/engine/mishap.c': ''}, 'mishap.c:0: "mishap"'),
    ({'tools/hooprun/a.c': '/* The crew. */\n'}, 'a.c:1: "crew"'),
]
