"""bench/compare/journal.py - the file of a run, which outlives a kill

The rows of a case are followed by one that closes it, whose column case names
the case and its round, and whose state says how it ended. Rows without that
are of a case that was stopped: whoever goes on drops them and does the case
again.
"""

import collections
import csv
import glob
import io
import json
import os

from results import CLOSED, COLUMNS

OK, FAILED, WRONG = 'ok', 'failed', 'other transport'


def newest(folder, identity):
    """The file of the newest run of this identity there, or None."""
    for path in sorted(glob.glob(os.path.join(folder, '*.json')),
                       reverse=True):
        with open(path, encoding='utf-8') as file:
            try:
                found = json.load(file)
            except ValueError:
                continue  # of a run that was killed before its first case
        if found == identity:
            return path.replace('.json', '.csv')
    return None


def whole_part(text):
    """The text up to the end of the last row that closes a case, or of the
    heading; a row without its newline closes nothing."""
    lines = text.splitlines(keepends=True)
    at = max((number for number, line in enumerate(lines)
              if f',{CLOSED},' in line and line.endswith('\n')), default=0)
    whole = ''.join(lines[:at + 1])
    return whole if whole.endswith('\n') else ''


class Journal:
    """Of one run, begun or gone on with. Close it."""

    def __init__(self, path, identity):
        self.path = path
        self.rows = []  # all but those that close
        self.outcomes = collections.defaultdict(list)  # of a case, by rounds
        self.done = set()
        text = self.read()
        self.is_continued = bool(text)
        if not text:
            self.lay(identity)
        self.file = open(path, 'r+' if text else 'w',  # noqa: SIM115
                         encoding='utf-8', newline='')
        self.file.seek(len(text.encode()))
        self.file.truncate()
        if not text:
            self.write([dict(zip(COLUMNS, COLUMNS))])
        for row in csv.DictReader(io.StringIO(text)):
            self.take(row)

    def read(self):
        try:
            with open(self.path, encoding='utf-8', newline='') as file:
                return whole_part(file.read())
        except FileNotFoundError:
            return ''

    def lay(self, identity):
        with open(self.path.replace('.csv', '.json'), 'w',
                  encoding='utf-8') as file:
            json.dump(identity, file)

    def take(self, row):
        if row['op'] != CLOSED:
            self.rows.append(row)
            return
        turn, name = row['case'].split(' ', 1)
        self.done.add((int(turn), name))
        self.outcomes[name].append(row['state'])

    def write(self, rows):
        """All at once: a reader sees a whole case or none of it."""
        text = io.StringIO(newline='')
        csv.DictWriter(text, COLUMNS, restval='',
                       lineterminator='\n').writerows(rows)
        self.file.write(text.getvalue())
        self.file.flush()

    def close_case(self, turn, name, rows, outcome, **columns):
        closing = {**columns, 'round': turn, 'op': CLOSED, 'state': outcome,
                   'case': f'{turn} {name}'}
        self.write([*rows, closing])
        for row in (*rows, closing):
            self.take({column: str(row.get(column, ''))
                       for column in COLUMNS})

    def is_done(self, turn, name):
        return (turn, name) in self.done

    def close(self):
        self.file.close()
