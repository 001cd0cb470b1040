#!/usr/bin/env python3
"""web/embed.py - the files of the page as a C source (server/http/assets.h)

embed.py OUTPUT FILE...: index.html becomes "/", any other file "/" and its name.
"""

import hashlib
import os
import sys

TYPES = {
    '.css': 'text/css; charset=utf-8',
    '.html': 'text/html; charset=utf-8',
    '.js': 'text/javascript; charset=utf-8',
    '.svg': 'image/svg+xml',
}


def array(number, data):
    rows = [', '.join(str(byte) for byte in data[at:at + 20])
            for at in range(0, len(data), 20)]
    return (f'static const unsigned char bytes_{number}[] = {{\n    '
            + ',\n    '.join(rows) + ',\n};\n')


def main(output, *paths):
    arrays, rows = [], []
    for number, path in enumerate(paths):
        with open(path, 'rb') as source:
            data = source.read()
        name = os.path.basename(path)
        etag = hashlib.sha256(data).hexdigest()[:32]
        arrays.append(array(number, data))
        rows.append('    {"/%s", "%s", "\\"%s\\"", bytes_%d, sizeof(bytes_%d)},\n' % (
            '' if name == 'index.html' else name, TYPES[os.path.splitext(name)[1]],
            etag, number, number))
    with open(output, 'w', encoding='ascii') as out:
        out.write('/* Made by web/embed.py. */\n\n#include "http/assets.h"\n\n'
                  '#include "base/cleanup.h"\n\n' + '\n'.join(arrays)
                  + '\nconst struct asset assets[] = {\n' + ''.join(rows) + '};\n'
                  'const size_t n_assets = COUNT_OF(assets);\n')


if __name__ == '__main__':
    main(*sys.argv[1:])
