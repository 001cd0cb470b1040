#!/usr/bin/env python3
"""tests/integration/tools/hooprun_status_check.py - hooprun's status line on a terminal

hooprun_status_check.py HOOPRUN STEADY: on a terminal one line says how the job is doing,
below the lines of the workers, which stay whole, and is gone at the end. Nowhere else is
there one.
"""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time

WAIT_S = 60
ERASE = b'\x1b[K'
FULL = re.compile(rb'\rhoop: 2 ranks, [\d.]+ [kMG]?calls/s each, [\d.]+ [kMGT]?B/s')


class Wrong(Exception):
    """The check has failed; the text says why."""


class Screen:
    """A terminal, as far as hooprun needs one: what its rows show."""

    def __init__(self, n_columns):
        self.n_columns = n_columns
        self.rows = ['']
        self.column = 0

    def feed(self, text):
        for part in re.split(r'(\x1b\[K|\r|\n)', text):
            if part == '\n':
                self.rows.append('')
                self.column = 0
            elif part == '\r':
                self.column = 0
            elif part == '\x1b[K':
                self.rows[-1] = self.rows[-1][:self.column]
            elif '\x1b' in part:
                raise Wrong(f'an escape sequence that is not known: {part!r}')
            else:
                row = self.rows[-1].ljust(self.column)
                self.rows[-1] = row[:self.column] + part + row[self.column + len(part):]
                self.column += len(part)


class Run:
    """hooprun on a terminal of its own."""

    def __init__(self, arguments, n_columns=200, stdout=None, **environment):
        self.front, self.back = pty.openpty()
        self.resize(n_columns)
        self.output = b''
        self.popen = subprocess.Popen(
            arguments, stdin=self.back, stdout=stdout or self.back, stderr=self.back,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env={name: value for name, value in os.environ.items()
                 if not name.startswith('HOOP_')} | {'TERM': 'xterm'} | environment)
        os.close(self.back)

    def resize(self, n_columns):
        fcntl.ioctl(self.front, termios.TIOCSWINSZ,
                    struct.pack('HHHH', 24, n_columns, 0, 0))

    def read(self, timeout_s):
        """Returns false at the end."""
        if not select.select([self.front], [], [], timeout_s)[0]:
            return True
        try:
            got = os.read(self.front, 65536)
        except OSError:  # EIO: nobody has the other end
            return False
        self.output += got
        return bool(got)

    def await_match(self, pattern, what, since=0):
        deadline = time.monotonic() + WAIT_S
        while not (found := re.compile(pattern).search(self.output, since)):
            if time.monotonic() > deadline or not self.read(0.1):
                raise Wrong(f'{what}: {self.output[-2000:]!r}')
        return found

    def finish(self):
        deadline = time.monotonic() + WAIT_S
        while self.read(0.1):
            if time.monotonic() > deadline:
                raise Wrong(f'hooprun does not end: {self.output[-2000:]!r}')
        code = self.popen.wait(WAIT_S)
        os.close(self.front)
        if code != 0:
            raise Wrong(f'exit code {code}: {self.output[-2000:]!r}')
        return self.output.decode().replace('\r\n', '\n')


# Two workers reduce until they are told to stop, and say nothing but what they are told.
SCRIPT = '''
"$0" "$1/stop" > /dev/null 2>&1 &
while [ ! -e "$1/stop" ]; do
  if [ -e "$1/say" ]; then
    for i in 1 2 3 4 5 6 7 8 9; do echo "line $i of many words from $HOOP_RANK"; done
    until [ -e "$1/stop" ]; do sleep 0.05; done
  fi
  sleep 0.05
done
wait $!
'''


def touch(folder, name):
    with open(f'{folder}/{name}', 'w', encoding='utf-8'):
        pass


def command(folder, *options):
    return [sys.argv[1], '-n', '2', *options, 'sh', '-c', SCRIPT, sys.argv[2], folder]


def check_screen(text, n_columns):
    """What the terminal shows at the end: whole lines of workers, and no status."""
    screen = Screen(n_columns)
    screen.feed(text)
    said = [row for row in screen.rows if 'line' in row]
    wanted = [f'[{rank}] line {i} of many words from {rank}'
              for rank in (0, 1) for i in range(1, 10)]
    if sorted(said) != sorted(wanted):
        raise Wrong(f'lines of workers are not whole: {screen.rows}')
    if any('hoop:' in row for row in screen.rows):
        raise Wrong(f'the status line is still there: {screen.rows}')


def check_terminal(folder):
    began = time.monotonic()
    run = Run(command(folder), n_columns=200)
    run.await_match(FULL, 'a status line with rates')
    touch(folder, 'say')
    said = run.await_match(rb'(?s)line 9 of .*line 9 of', 'the lines')
    for _ in range(3):
        said = run.await_match(rb'\rhoop: 2 ranks', 'the status line again', said.end())
    # Narrow, it is cut; wide again, it is whole.
    run.resize(24)
    cut = run.await_match(rb'\rhoop: 2 ranks, [^\r]{8}\x1b\[K', 'a line that is cut',
                          len(run.output))
    if len(cut.group()) - len(ERASE) - 1 != 23:
        raise Wrong(f'not cut to the width: {cut.group()!r}')
    run.resize(200)
    run.await_match(FULL, 'the whole line', cut.end())
    touch(folder, 'stop')
    check_screen(run.finish(), 200)
    n_drawn = run.output.count(b'\rhoop: ')
    if n_drawn > 2 * (time.monotonic() - began):
        raise Wrong(f'the status line was drawn {n_drawn} times')


def check_absent(folder, what, *options, **environment):
    """Long enough for a line to come."""
    stdout = environment.pop('stdout', None)
    run = Run(command(folder, *options), stdout=stdout, **environment)
    if stdout:
        os.close(stdout)
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        run.read(0.1)
    touch(folder, 'stop')
    if 'hoop: ' in run.finish():
        raise Wrong(f'a status line {what}')


def check_piped(folder):
    done = subprocess.Popen(command(folder), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)
    time.sleep(3)
    touch(folder, 'stop')
    out, err = done.communicate(timeout=WAIT_S)
    if 'hoop: ' in out + err or '\x1b' in out + err:
        raise Wrong(f'a status line in a pipe: {out}{err}')


def main():
    with tempfile.TemporaryDirectory() as folder:
        def fresh(name):
            os.mkdir(f'{folder}/{name}')
            return f'{folder}/{name}'
        try:
            check_terminal(fresh('terminal'))
            check_absent(fresh('off'), 'with --no-status', '--no-status')
            check_absent(fresh('verbatim'), 'with --no-prefix', '--no-prefix')
            check_absent(fresh('dumb'), 'on a dumb terminal', TERM='dumb')
            check_absent(fresh('tee'), 'where stdout is a pipe', stdout=os.pipe()[1])
            check_piped(fresh('piped'))
        except (Wrong, OSError, subprocess.SubprocessError) as error:
            sys.exit(f'hooprun_status_check: {error}')


if __name__ == '__main__':
    main()
