#!/usr/bin/env python3
"""tests/unit/common/base/escape_check.py - every character, as Unicode has it

escape_check.py ESCAPE_LINES: all code points, all texts of two bytes, and random
ones, against Python's own table of categories, its decoder and its JSON.
"""

import json
import random
import subprocess
import sys
import unicodedata

POINTS_A_LINE = 512
SURROGATES = range(0xd800, 0xe000)
UNSAFE = ('Cc', 'Cf', 'Zl', 'Zp')


def is_noncharacter(code):
    return code & 0xfffe == 0xfffe or 0xfdd0 <= code <= 0xfdef


def spelt(letter):
    """As it must be shown; a byte that is no UTF-8 is a lone surrogate here."""
    code = ord(letter)
    if code in SURROGATES:
        return '\\x%02x' % (code & 0xff)
    if unicodedata.category(letter) in UNSAFE or is_noncharacter(code):
        return '\\u%04x' % code if code < 0x10000 else '\\U%08x' % code
    return letter


def is_known(code):
    """Whether this Python's Unicode says what it is."""
    return code not in SURROGATES and (
        is_noncharacter(code) or unicodedata.category(chr(code)) != 'Cn')


def cases():
    known = [chr(code) for code in range(1, 0x110000) if is_known(code)]
    for at in range(0, len(known), POINTS_A_LINE):
        yield ''.join(known[at:at + POINTS_A_LINE]).encode()
    for first in range(1, 256):
        for second in range(1, 256):
            yield bytes((first, second))
    draw = random.Random(7)
    for _ in range(20000):
        yield bytes(draw.choice((draw.randrange(1, 256), 0xe2, 0x80, 0xf0, 0xed))
                    for _ in range(draw.randrange(1, 9)))


def main():
    texts = list(cases())
    answer = subprocess.run(
        [sys.argv[1]], input='\n'.join(text.hex() for text in texts) + '\n',
        stdout=subprocess.PIPE, check=True, encoding='ascii').stdout.splitlines()
    if len(answer) != len(texts):
        sys.exit(f'{len(answer)} lines for {len(texts)}')
    for text, line in zip(texts, answer):
        plain, quoted = (bytes.fromhex(part).decode() for part in
                         (line + ' ').split(' ')[:2])
        letters = text.decode(errors='surrogateescape')
        if any(not is_known(ord(letter)) for letter in letters
               if ord(letter) not in SURROGATES):
            continue
        if plain != ''.join(map(spelt, letters)):
            sys.exit(f'{text} is shown as {plain!r}')
        meant = ''.join('\ufffd' if ord(letter) in SURROGATES else letter
                        for letter in letters)
        if json.loads(f'"{quoted}"', strict=True) != meant:
            sys.exit(f'{text} is {quoted!r} in JSON')
        if any(spelt(letter) != letter for letter in quoted):
            sys.exit(f'{text} is raw in JSON: {quoted!r}')
    print(f'escape_check.py: ok, {len(texts)} texts')


if __name__ == '__main__':
    main()
