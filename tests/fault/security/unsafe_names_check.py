#!/usr/bin/env python3
"""tests/fault/security/unsafe_names_check.py - names of others are safe to look at

unsafe_names_check.py HOOPD HOOPCTL: a member joins whose host name has
characters that move the cursor of a terminal or change the direction of text.
It makes keys and groups with such names, and is refused for a job and a method
that have them. The tables, the JSON and the errors of hoopctl, and the log of
hoopd, must have none of these characters, but must have all of the names with
the characters escaped.
"""

import json
import os
import random
import subprocess
import sys
import unicodedata

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
from control_client import Client, Refused
from programs import Program, Wrong, check_main, free_addresses

# These are CSI as one character, an override, an isolate, a line separator, a
# zero-width space, and a tag.
LETTERS = '\x9b\u202e\u2066\u2028\u200b\U000e0001'
SPELT = ('\\u009b\\u202e\\u2066\\u2028\\u200b', 'e0001')
UNSAFE = ('Cc', 'Cf', 'Zl', 'Zp', 'Cs')
INCARNATION = random.getrandbits(63) | 1


def assert_safe(what, raw):
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise Wrong(f'{what} is no UTF-8: {raw!r}') from error
    for letter in text:
        if letter not in '\n' and unicodedata.category(letter) in UNSAFE:
            raise Wrong(f'{what} has a raw {letter!r}: {text!r}')
    return text


def asked(hoopctl, address, *words):
    """Run hoopctl and return both of its output streams."""
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith('HOOP_')}
    answer = subprocess.run(
        [os.fsencode(hoopctl), b'-c', address.encode(),
         *(word if isinstance(word, bytes) else word.encode()
           for word in words)],
        capture_output=True, env=environment, check=False)
    what = ' '.join(map(repr, words))
    assert_safe('standard error of hoopctl ' + what, answer.stderr)
    return assert_safe('hoopctl ' + what, answer.stdout), answer.stderr.decode()


def assert_spelt(what, text):
    for part in SPELT:
        if part not in text:
            raise Wrong(f'{what} does not spell it out: {text!r}')


def names_are_shown(hoopctl, address):
    for words in (('store', 'list'), ('groups',), ('ranks',)):
        assert_spelt(words, asked(hoopctl, address, *words)[0])
        text = asked(hoopctl, address, *words, '--json')[0]
        if not any(LETTERS in value for value in strings(json.loads(text))):
            raise Wrong(f'the JSON of {words} means something else: {text!r}')
    asked(hoopctl, address, 'status')
    _, complaint = asked(hoopctl, address, 'store', 'get', 'no' + LETTERS)
    assert_spelt('the error', complaint)
    for words in (('store', 'get', b'no\xff\x9b'), (b'no\xc2\x9bcommand',),
                  ('-j', 'job' + LETTERS, 'ranks')):
        asked(hoopctl, address, *words)


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def refused(client, method, body):
    try:
        client.call(method, body)
    except Refused as why:
        # What comes before is this program's own.
        text = str(why).split(': status', 1)[1]
        assert_safe('the text of a refusal', text.encode())
        return
    raise Wrong(f'{method} is not refused')


def check(programs, folder):
    hoopd, hoopctl = programs
    address, = ('%s:%d' % at for at in free_addresses(1))
    daemon = Program(folder, 'hoopd', [hoopd, '--listen', address, '--http',
                                       'none', '--log-level', 'debug'])
    try:
        daemon.expect('serves workers')
        client = Client(address, 'default', '')
        epoch = client.call('Rendezvous/Join', [
            INCARNATION, 1, 0, 1, 0, 0, 0, 1, 'host' + LETTERS,
            'host' + LETTERS, '127.0.0.1:1'])[0]
        client.set('key' + LETTERS, b'v')
        client.call('Groups/Create', [epoch, INCARNATION, 'group' + LETTERS,
                                      [0]])
        names_are_shown(hoopctl, address)
        refused(client, 'Store/Nothing' + LETTERS[:4], [])
        client.close()
        other = Client(address, 'job' + LETTERS, '')
        refused(other, 'Store/Get', [['k']])
        other.close()
        daemon.popen.terminate()
        if daemon.code() != 0:
            raise Wrong('hoopd failed')
        with open(daemon.path, 'rb') as log:
            assert_safe('the log', log.read())
    finally:
        daemon.kill()
    print('unsafe_names_check: ok')


if __name__ == '__main__':
    check_main('unsafe_names_check', check)
