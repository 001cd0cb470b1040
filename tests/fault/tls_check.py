#!/usr/bin/env python3
"""tests/fault/tls_check.py - what somebody on the way sees and can do under TLS

tls_check.py HOOPD STEADY: two workers reach each other by the relay of
damage_check.py. With HOOP_TLS=on, it hears no frame, and a bit that it inverts
ends the connection before a result is wrong.
"""

import os

from damage_check import WORKERS, WRONG, run
from programs import Wrong, check_main


def all_say(texts, *words):
    for text in texts:
        if not any(word in text for word in words):
            raise Wrong(f'none of {words} is in:\n{text}')


def check(programs, folder):
    token_file = f'{folder}/token'
    with open(token_file, 'w', encoding='utf-8',
              opener=lambda path, how: os.open(path, how, 0o600)) as file:
        file.write('secret\n')
    settings = {'HOOP_TLS': 'on', 'HOOP_TOKEN_FILE': token_file}
    texts, heard = run(programs, folder, 'tls', [settings] * WORKERS,
                       **settings)
    if b'HOOP' in heard or b'secret' in heard:
        raise Wrong('a frame or the token was heard on the way')
    if not any('the TLS seal of a record is wrong (TCP' in text for text in texts):
        raise Wrong('nobody noticed what was inverted:\n' + ''.join(texts))
    all_say(texts, 'allreduce #')
    if any(WRONG in text for text in texts):
        raise Wrong('a result is wrong:\n' + ''.join(texts))
    print('an inverted bit: ' + texts[1].splitlines()[-1])


if __name__ == '__main__':
    check_main('tls_check', check)
