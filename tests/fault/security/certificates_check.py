#!/usr/bin/env python3
"""tests/fault/security/certificates_check.py - the recipes of docs/security.md, and dates

certificates_check.py HOOPD HOOPCTL HOOPRUN TRAIN SECURITY.MD [CLOCK_AHEAD]: the
check runs each block of commands under "TLS in practice" as it is printed, in a
network namespace of its own. The certificates made so are then used with the
clock set forward or back by the preloaded library CLOCK_AHEAD, where it can be
preloaded. hoopd and workers whose certificate is not valid by their own clock
must say so when they start. If it is not valid by the clock of the other side,
both must say so. The dates that they print are compared with those of openssl.
The check exits with 77 where there are no network namespaces, unless
HOOP_REQUIRE_NETNS is set.
"""

import calendar
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
import own_network
from programs import Program, WAIT_S, Wrong, environment_clean

SECTION = '## TLS in practice'
BLOCK = re.compile(r'^```sh\n(.*?)^```$', re.M | re.S)
DAY_S = 24 * 60 * 60
DATES = re.compile(
    r'the certificate of /CN=(.*?) is valid from (\S+ \S+) to (\S+ \S+) UTC, and '
    r'the clock of this host says (\S+ \S+) UTC: renew the certificate, or set '
    r'the clock that is wrong')
FORM = '%Y-%m-%d %H:%M:%S'
# This may pass between a clock reading and its comparison.
SLACK_S = 120


def blocks_of(path):
    with open(path, encoding='utf-8') as page:
        section = page.read().split(SECTION)[1].split('\n## ')[0]
    found = BLOCK.findall(section)
    if not any('openssl x509' in block for block in found):
        raise Wrong(f'{path} has no recipe for certificates')
    return found


def shell_end(shell):
    """Kill the shell with all that the block has left in the background."""
    try:
        os.killpg(shell.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    shell.wait()


def block_run(block, folder, programs):
    """Run a block as a reader would, in a folder that has ./train."""
    os.symlink(programs['train'], os.path.join(folder, 'train'))
    for name in ('hoopd', 'hoopctl', 'hooprun'):
        os.symlink(programs[name], os.path.join(folder, name))
    environment = environment_clean()
    environment['PATH'] = folder + ':' + environment['PATH']
    with open(os.path.join(folder, 'output'), 'w+', encoding='utf-8') as output:
        shell = subprocess.Popen(
            ['sh', '-e', '-c', block], cwd=folder, env=environment,
            stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            start_new_session=True)
        try:
            code = shell.wait(2 * WAIT_S)
        except subprocess.TimeoutExpired:
            code = 'none in time'
        finally:
            shell_end(shell)
        output.seek(0)
        said = output.read()
    if code != 0:
        raise Wrong(f'code {code} of\n{block}\nwhich says\n{said}')
    return said


def recipes(programs, path, folder):
    """Run all recipes. Return the folder of the one for certificates."""
    chosen = None
    for number, block in enumerate(blocks_of(path)):
        own = os.path.join(folder, f'block{number}')
        os.mkdir(own)
        said = block_run(block, own, programs)
        n_trained = said.count('joined_ms')
        if n_trained < 1 + ('hoopctl' in block):
            raise Wrong(f'{n_trained} trained by\n{block}\nwhich says\n{said}')
        if 'openssl x509' in block:
            chosen = own
    return chosen


def certificate_make(folder, name, days):
    """Make NAME.pem and NAME.key, signed as in the recipe."""
    for command in (
            'openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes '
            f'-subj /CN={name} -keyout {name}.key -out {name}.csr',
            f'openssl x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key '
            f'-CAcreateserial -days {days} -out {name}.pem'):
        subprocess.run(command.split(), cwd=folder, capture_output=True,
                       check=True)


def dates_of(path):
    """Return the common name and the dates of validity, as openssl prints
    them."""
    said = subprocess.run(
        ['openssl', 'x509', '-in', path, '-noout', '-subject', '-dates'],
        capture_output=True, text=True, check=True).stdout
    name = re.search(r'subject=CN = (.*)', said).group(1)
    return (name, *(calendar.timegm(time.strptime(date, '%b %d %H:%M:%S %Y GMT'))
                    for date in re.findall(r'=(\w+ .* GMT)', said)))


class Check:
    def __init__(self, programs, clock, folder):
        self.programs = programs
        self.clock = clock
        self.folder = folder
        self.started = []

    def start(self, what, ahead_days, certificate='host'):
        """Start hoopd or train with a clock that is ahead by so many days."""
        settings = {
            'HOOP_TLS': 'on', 'HOOP_TOKEN_FILE': f'{self.folder}/token',
            'HOOP_TLS_CA': f'{self.folder}/ca.pem',
            'HOOP_TLS_CERT': f'{self.folder}/{certificate}.pem',
            'HOOP_TLS_KEY': f'{self.folder}/{certificate}.key'}
        if what == 'train':
            settings |= {'HOOP_COORDINATOR': '127.0.0.1:4667',
                         'HOOP_JOB': 'train', 'HOOP_WORLD_SIZE': '1'}
        if ahead_days:
            settings |= {'LD_PRELOAD': self.clock,
                         'CLOCK_AHEAD_S': str(int(ahead_days * DAY_S))}
        program = Program(self.folder, f'{what}{len(self.started)}',
                          [self.programs[what]], **settings)
        self.started.append(program)
        return program

    def tells(self, program, words, certificate, ahead_days):
        """Check that one line has the dates of the certificate and of this
        clock."""
        program.expect(words)
        for line in program.text().splitlines():
            found = DATES.search(line)
            if words in line and found:
                break
        else:
            raise Wrong(f'no line with "{words}" and dates:\n{program.text()}')
        name, *dates = (found.group(1), *(
            calendar.timegm(time.strptime(date, FORM))
            for date in found.groups()[1:]))
        if (name, *dates[:2]) != dates_of(f'{self.folder}/{certificate}.pem'):
            raise Wrong(f'not what openssl says of {certificate}: {line}')
        if abs(dates[2] - time.time() - ahead_days * DAY_S) > SLACK_S:
            raise Wrong(f'not the clock {ahead_days} days ahead: {line}')
        print(f'told: {line}')

    def ends(self, program):
        if program.code() != 1:
            raise Wrong(f'{program.name} ends with {program.code()}:\n'
                        f'{program.text()}')

    def hoopd_does_not_start(self):
        for days, words in ((400, 'host.pem has expired'),
                            (-2, 'host.pem is not valid yet')):
            hoopd = self.start('hoopd', days)
            self.ends(hoopd)
            self.tells(hoopd, words, 'host', days)
            if len(hoopd.text().splitlines()) != 1:
                raise Wrong(f'more than one line:\n{hoopd.text()}')

    def worker_does_not_join(self):
        for days, words in ((400, 'host.pem has expired'),
                            (-2, 'host.pem is not valid yet')):
            worker = self.start('train', days)
            self.ends(worker)
            self.tells(worker, words, 'host', days)

    def clocks_differ(self):
        """A certificate is valid by the clock of its owner, but not by that of
        the peer."""
        certificate_make(self.folder, 'long', 3000)
        hoopd = self.start('hoopd', 0)
        hoopd.expect('serves workers')
        worker = self.start('train', 400, 'long')
        self.ends(worker)
        self.tells(worker, 'certificate has expired', 'host', 400)
        self.tells(hoopd, 'alert certificate expired', 'host', 0)
        hoopd.kill()

        hoopd = self.start('hoopd', 400, 'long')
        hoopd.expect('serves workers')
        worker = self.start('train', 0)
        self.ends(worker)
        self.tells(worker, 'alert certificate expired', 'host', 0)
        self.tells(hoopd, 'certificate has expired', 'host', 400)
        hoopd.kill()

    def hoopd_warns(self):
        """hoopd warns of a certificate that expires soon, and of no other
        one."""
        path = f'{self.folder}/brief.pem'
        certificate_make(self.folder, 'brief', 90)
        end = time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(dates_of(path)[2]))
        text = (f'hoopd warning coordinator: certificate {path} expires in 19 days '
                f'({end} UTC): renew it, and start hoopd again\n')
        hoopd = self.start('hoopd', 70.5, 'brief')
        hoopd.expect(text)
        print(f'told: {text}', end='')
        hoopd.kill()
        hoopd = self.start('hoopd', 0, 'brief')
        hoopd.expect('serves workers')
        hoopd.popen.terminate()
        if hoopd.code() != 0 or ' expires ' in hoopd.text():
            raise Wrong(f'not quiet:\n{hoopd.text()}')

    def run(self):
        self.hoopd_does_not_start()
        self.hoopd_warns()
        self.worker_does_not_join()
        self.clocks_differ()

    def end(self):
        for program in self.started:
            program.kill()


def main():
    own_network.enter('certificates_check')
    programs = dict(zip(('hoopd', 'hoopctl', 'hooprun', 'train'),
                        map(os.path.abspath, sys.argv[1:5])))
    with tempfile.TemporaryDirectory() as folder:
        check = None
        try:
            own = recipes(programs, sys.argv[5], folder)
            if sys.argv[6:]:
                check = Check(programs, os.path.abspath(sys.argv[6]), own)
                check.run()
        except (Wrong, OSError, subprocess.SubprocessError) as error:
            sys.exit(f'certificates_check: {error}')
        finally:
            if check:
                check.end()


if __name__ == '__main__':
    main()
