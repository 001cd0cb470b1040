"""tests/api/symbols.py - a library exports what its headers declare

symbols.py LIBRARY HEADER... compares the HOOP_API declarations of the headers
with the dynamic symbols of the library, both ways.
"""

import re
import subprocess
import sys


def declared(text):
    """Names of the functions that a header marks HOOP_API."""
    text = re.sub(r'/\*.*?\*/', ' ', text, flags=re.S)
    text = re.sub(r'^\s*#.*$', '', text, flags=re.M)
    names = set()
    for declaration in re.findall(r'\bHOOP_API\b([^;{]*);', text):
        found = re.search(r'(\w+)\s*\(', declaration)
        names.add(found.group(1) if found else
                  re.findall(r'\w+', declaration)[-1])
    return names


def exported(nm_output):
    """Names in the output of nm -D --defined-only."""
    names = set()
    for line in nm_output.splitlines():
        words = line.split()
        if len(words) >= 2 and words[-2] in 'TWDBRVGSiu':
            names.add(words[-1].split('@')[0])
    return names - {'_init', '_fini', '_edata', '_end', '__bss_start'}


def differences(declarations, symbols):
    for name in sorted(declarations - symbols):
        yield f'{name} is declared and not exported'
    for name in sorted(symbols - declarations):
        yield f'{name} is exported and not declared'


def main():
    library, headers = sys.argv[1], sys.argv[2:]
    declarations = set()
    for header in headers:
        with open(header, encoding='utf-8') as file:
            declarations |= declared(file.read())
    symbols = exported(subprocess.run(
        ['nm', '-D', '--defined-only', library], text=True,
        capture_output=True, check=True).stdout)
    found = list(differences(declarations, symbols))
    for line in found:
        print(line)
    print(f'{library}: {len(symbols)} symbols, {len(found)} differences')
    return 1 if found or not declarations else 0


if __name__ == '__main__':
    sys.exit(main())
