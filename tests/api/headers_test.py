"""tests/api/headers_test.py - tests/api/headers.py"""

import os
import tempfile
import unittest

from headers import complaint

GOOD = '#ifndef A\n#define A\n#include <stddef.h>\nsize_t a(void);\n#endif\n'
BAD = {
    'needs an include': 'size_t a(void);\n',
    'has no guard': 'struct a { int b; };\n',
    'is not C': 'int a(;\n',
}


def found(text, compiler, standard):
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, 'hoop'))
        with open(os.path.join(folder, 'hoop', 'a.h'), 'w',
                  encoding='utf-8') as file:
            file.write(text)
        return complaint(folder, 'a.h', [compiler], standard)


class Headers(unittest.TestCase):
    def test_whole_header_is_accepted(self):
        self.assertIsNone(found(GOOD, 'cc', 'c11'))

    def test_bad_headers_are_refused(self):
        for text in BAD.values():
            self.assertIn('a.h as c17', found(text, 'cc', 'c17'))


if __name__ == '__main__':
    unittest.main()
