#!/usr/bin/env python3
"""tests/fault/tls_check.py - what somebody on the way sees and can do under TLS

tls_check.py HOOPD STEADY: two workers reach each other by the relay of
damage_check.py. With HOOP_TLS=on, it hears no frame, and a bit that it inverts
ends the connection before a result is wrong. Where one rank has HOOP_TLS=off
both say so when they join.
"""

import subprocess
import sys
import tempfile

from damage_check import WORKERS, WRONG, run
from programs import Wrong

ON = {'HOOP_TLS': 'on', 'HOOP_TOKEN': 'secret'}
OFF = {'HOOP_TLS': 'off', 'HOOP_TOKEN': 'secret'}
DIRECT = {'HOOP_ADVERTISE': '127.0.0.1'}


def all_say(texts, *words):
    for text in texts:
        if not any(word in text for word in words):
            raise Wrong(f'none of {words} is in:\n{text}')


def check(programs, folder):
    texts, heard = run(programs, folder, 'tls', [ON] * WORKERS)
    if b'HOOP' in heard or b'secret' in heard:
        raise Wrong('a frame or the token was heard on the way')
    if not any('the TLS seal of a record is wrong (TCP' in text for text in texts):
        raise Wrong('nobody noticed what was inverted:\n' + ''.join(texts))
    all_say(texts, 'allreduce #')
    if any(WRONG in text for text in texts):
        raise Wrong('a result is wrong:\n' + ''.join(texts))
    print('an inverted bit: ' + texts[1].splitlines()[-1])

    texts, _ = run(programs, folder, 'mixed', [ON | DIRECT, OFF | DIRECT])
    all_say(texts, 'HOOP_TLS')
    all_say(texts, 'joined job')
    print('one of two without: ' + texts[0].splitlines()[-1])


def main():
    with tempfile.TemporaryDirectory() as folder:
        try:
            check(sys.argv[1:3], folder)
        except (Wrong, OSError, subprocess.SubprocessError) as error:
            sys.exit(f'tls_check: {error}')


if __name__ == '__main__':
    main()
