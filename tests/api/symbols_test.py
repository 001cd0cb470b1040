"""tests/api/symbols_test.py - tests/api/symbols.py"""

import unittest

from symbols import declared, differences, exported

HEADER = '''
/* HOOP_API void hoop_in_comment(void); */
#define HOOP_API __attribute__((visibility("default")))
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_join(const struct hoop_join_options *options,
          void (*on_done)(void *), hoop_session_t **out_session);
HOOP_API const char *
hoop_error_text(void);
HOOP_API extern const int hoop_version;
void internal(void);
'''
NM = '''0000000000001139 T hoop_join
0000000000004010 D hoop_version
0000000000001149 W hoop_weak@@HOOP_0
                 U malloc
0000000000001000 T _init
'''


class Symbols(unittest.TestCase):
    def test_declared_are_the_marked_ones(self):
        self.assertEqual(declared(HEADER),
                         {'hoop_join', 'hoop_error_text', 'hoop_version'})

    def test_exported_are_the_defined_ones(self):
        self.assertEqual(exported(NM),
                         {'hoop_join', 'hoop_version', 'hoop_weak'})

    def test_differences_are_found_both_ways(self):
        self.assertEqual(
            list(differences(declared(HEADER), exported(NM))),
            ['hoop_error_text is declared and not exported',
             'hoop_weak is exported and not declared'])


if __name__ == '__main__':
    unittest.main()
