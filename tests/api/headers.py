"""tests/api/headers.py - every public header stands alone, in C and C++

headers.py FOLDER COMPILER... FOLDER holds hoop/*.h. A header is included
twice, so that its guard is tried, and followed by a declaration, so that it
may hold macros only.
"""

import os
import subprocess
import sys

WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Wstrict-prototypes',
            '-Wshadow', '-Wconversion', '-Wundef', '-Werror']
C_STANDARDS = ('c11', 'c17')
CXX_STANDARDS = ('c++11', 'c++17')


def is_cxx(compiler):
    return compiler[-1].endswith('++')


def complaint(folder, header, compiler, standard):
    include = f'#include "hoop/{header}"\n'
    words = [word for word in WARNINGS
             if not (is_cxx(compiler) and word == '-Wstrict-prototypes')]
    run = subprocess.run(
        [*compiler, f'-std={standard}', *words, '-fsyntax-only', '-I', folder,
         '-x', 'c++' if is_cxx(compiler) else 'c', '-'],
        input=include + include + 'int hoop_header_is_whole(void);\n',
        text=True, capture_output=True, check=False)
    if run.returncode == 0:
        return None
    return f'{header} as {standard}:\n{run.stderr}'


def main():
    folder, compilers = sys.argv[1], [c.split() for c in sys.argv[2:]]
    headers = sorted(os.listdir(os.path.join(folder, 'hoop')))
    complaints = []
    for header in headers:
        for compiler in compilers:
            standards = CXX_STANDARDS if is_cxx(compiler) else C_STANDARDS
            complaints += filter(None, (
                complaint(folder, header, compiler, standard)
                for standard in standards))
    for text in complaints:
        print(text)
    print(f'{len(headers)} headers, {len(complaints)} complaints')
    return 1 if complaints or not headers else 0


if __name__ == '__main__':
    sys.exit(main())
