"""bench/scaling/page.py - the parts of docs/scaling.md that programs write"""

import os

PAGE = os.path.join(os.path.dirname(__file__), '../../docs/scaling.md')


def replace(name, text):
    """Put text between the lines <!-- name --> and <!-- end of name -->."""
    with open(PAGE, encoding='utf-8') as file:
        page = file.read()
    begin = f'<!-- {name} -->\n'
    end = f'<!-- end of {name} -->\n'
    head, rest = page.split(begin)
    tail = rest.split(end)[1]
    with open(PAGE, 'w', encoding='utf-8') as file:
        file.write(f'{head}{begin}\n{text.strip()}\n\n{end}{tail}')
