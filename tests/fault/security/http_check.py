#!/usr/bin/env python3
"""tests/fault/security/http_check.py - probes are answered, and tokens are kept, on HTTP

http_check.py HOOPD HOOPCTL runs in a network namespace of its own. The first
part tests tokens. /metrics and the data of the page are read from a hoopd with
a token, without one, and open, without TLS and with it, from this host and from another one, with no
token, a guessed one and that of each role. A table has the status that must
come. In the second part crowds come to the HTTP port of a hoopd that may open
few descriptors. They are silent, send half a header, send a byte at a time, or
never read the answer. They come from one address, from many addresses of one
IPv6 network, or to the port for workers instead. All the time hoopd must answer
/healthz within a second, log only a few lines, and leave the processor to
others. The check exits with 77 where there are no network namespaces, unless
HOOP_REQUIRE_NETNS is set.
"""

import http.client
import os
import resource
import selectors
import socket
import ssl
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
import own_network
from own_network import MORE_IPV6, OTHER, OTHER_IPV6
from programs import Program, Wrong

SECRET = 'the token of the job'
RPC, HTTP = 4667, 4668
HERE = '127.0.0.1'
ROLES = ('worker', 'operator', 'metrics')
ANSWER_S = 1.0
CROWD_S = 2
CPU_MAX = 0.8  # of one processor, while a crowd is there
LOG_BYTES_MAX = 6000
LOG_LINES_MAX = 40


def write_private(path, text):
    with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), 'w',
              encoding='ascii') as out:
        out.write(text)


class Hoopd:
    """This hoopd listens on all addresses."""

    n_started = 0

    def __init__(self, path, folder, arguments, n_files=None, **environment):
        Hoopd.n_started += 1
        command = [path, '--listen', f':{RPC}', '--http', f':{HTTP}',
                   *arguments]
        if n_files:
            command = ['sh', '-c', f'ulimit -n {n_files} && exec "$@"', 'sh',
                       *command]
        self.program = Program(folder, f'hoopd{Hoopd.n_started}', command,
                               **environment)
        self.program.expect('serves workers')

    def cpu_s(self):
        with open(f'/proc/{self.program.popen.pid}/stat',
                  encoding='ascii') as stat:
            fields = stat.read().rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

    def end(self):
        self.program.popen.terminate()
        if self.program.code() != 0:
            raise Wrong('hoopd failed:\n' + self.program.text())


def answer_of(host, path, token, tls=None, timeout=10):
    """Return the status, the header fields and the text of a page."""
    if tls:
        connection = http.client.HTTPSConnection(host, HTTP, timeout=timeout,
                                                 context=tls)
    else:
        connection = http.client.HTTPConnection(host, HTTP, timeout=timeout)
    headers = {'Authorization': 'Bearer ' + token} if token else {}
    try:
        connection.request('GET', path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


def page(*arguments, **options):
    """Return the status and the text of a page."""
    status, _, text = answer_of(*arguments, **options)
    return status, text


# The first part tests tokens.

# Each table has the statuses for no token, a guessed one, and those of the
# roles worker, operator and metrics.
SHOWN = (None, 'guess', 'worker', 'operator', 'metrics')
TRUSTED_WAY = (401, 401, 403, 200, 200)
PLAIN_FROM_OTHERS = (403, 403, 403, 403, 403)
EVERYBODY = (200, 200, 200, 200, 200)


def tokens_made(hoopctl):
    made = {None: None, 'guess': 'hoop-metrics-' + '0' * 64}
    for role in ROLES:
        made[role] = subprocess.run(
            [hoopctl, 'token', role], capture_output=True, text=True,
            check=True, env=os.environ | {'HOOP_TOKEN': SECRET}).stdout.strip()
    return made


def page_asked(tokens, host, tls, expected):
    """The data of the page are for operators alone; else the table for /metrics
    holds."""
    for shown, status in zip(SHOWN, expected):
        if shown == 'metrics' and expected is TRUSTED_WAY:
            status = 403
        found, text = page(host, '/api/jobs', tokens[shown], tls)
        if found != status or (status == 200) != ('"jobs":[' in text) or SECRET in text:
            raise Wrong(f'{shown} at the page of {host}, {"TLS" if tls else "plain"}: '
                        f'{found} and not {status}: {text}')
    if page(host, '/', None, tls)[0] != 200:
        raise Wrong(f'no page at {host}')
    if expected is TRUSTED_WAY:
        _, fields, _ = answer_of(host, '/api/session', tokens['operator'], tls)
        if ('; Secure' in fields['Set-Cookie']) != bool(tls):
            raise Wrong(f'a cookie at {host}: {fields["Set-Cookie"]}')


def asked(tokens, hosts, tls, expected):
    for host in hosts:
        for shown, status in zip(SHOWN, expected):
            found, text = page(host, '/metrics', tokens[shown], tls)
            if found != status:
                raise Wrong(f'{shown} at {host}, {"TLS" if tls else "plain"}: '
                            f'{found} and not {status}: {text}')
            if (status == 200) != ('hoop_jobs' in text):
                raise Wrong(f'{shown} at {host} is shown: {text}')
            if SECRET in text:
                raise Wrong('a page tells the token')
        page_asked(tokens, host, tls, expected)
        for path in ('/healthz', '/readyz'):
            if page(host, path, None, tls)[0] != 200:
                raise Wrong(f'{path} is not for probes at {host}')


def certificate_make(folder, name):
    key, certificate = (os.path.join(folder, name + end)
                        for end in ('.key', '.pem'))
    subprocess.run(
        ['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt',
         'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-keyout', key,
         '-out', certificate, '-subj', '/CN=' + name, '-addext',
         f'subjectAltName=IP:{HERE},IP:{OTHER},IP:::1,IP:{OTHER_IPV6}'],
        check=True, capture_output=True)
    os.chmod(key, 0o600)
    return certificate, key


def tokens_are_kept(hoopd, hoopctl, folder):
    tokens = tokens_made(hoopctl)
    here, others = (HERE, '::1'), (OTHER, OTHER_IPV6)
    plain = Hoopd(hoopd, folder, [], HOOP_TOKEN=SECRET)
    asked(tokens, here, None, TRUSTED_WAY)
    asked(tokens, others, None, PLAIN_FROM_OTHERS)
    if '--http-tls' not in page(OTHER, '/metrics', None)[1]:
        raise Wrong('who is refused is not told what to do')
    if 'hoopctl token metrics' not in page(HERE, '/metrics', SECRET)[1]:
        raise Wrong('who shows a job\'s token is not told what to show')
    plain.end()

    opened = Hoopd(hoopd, folder, ['--insecure-open'])
    asked(tokens, here + others, None, EVERYBODY)
    opened.end()

    own, other = (certificate_make(folder, name) for name in ('own', 'other'))
    for arguments, (certificate, _) in (
            (['--http-tls-cert', own[0], '--http-tls-key', own[1]], own),
            (['--tls-cert', other[0], '--tls-key', other[1], '--tls-ca',
              other[0], '--tls', 'on'], other),
            (['--http-tls-cert', own[0], '--http-tls-key', own[1],
              '--tls-cert', other[0], '--tls-key', other[1], '--tls-ca',
              other[0], '--tls', 'on'], own)):
        sealed = Hoopd(hoopd, folder, ['--http-tls', 'on', *arguments],
                       HOOP_TOKEN=SECRET)
        tls = ssl.create_default_context(cafile=certificate)
        asked(tokens, here + others, tls, TRUSTED_WAY)
        for host in (HERE, OTHER):
            try:
                page(host, '/healthz', None)
            except (http.client.HTTPException, OSError):
                continue
            raise Wrong('a port for TLS answers in the clear')
        sealed.end()

    # Certificates alone are no token, so other hosts get no metrics.
    known = Hoopd(hoopd, folder, [
        '--tls', 'on', '--tls-cert', own[0], '--tls-key', own[1], '--tls-ca',
        own[0]])
    asked(tokens, here, None, EVERYBODY)
    asked(tokens, others, None, PLAIN_FROM_OTHERS)
    known.end()

    for arguments in (['--http-tls', 'on'],
                      ['--http-tls', 'on', '--http-tls-cert', own[0]],
                      ['--http-tls', 'on', '--tls-cert', own[0],
                       '--tls-key', own[1], '--http-tls-key', own[1]],
                      ['--http-tls', 'on', '--http-tls-cert', own[0],
                       '--http-tls-key', other[1]]):
        refused = Program(folder, 'refused', [
            hoopd, '--listen', '127.0.0.1:0', '--http', '127.0.0.1:0',
            *arguments])
        if refused.code() != 1 or 'cannot start' not in refused.text():
            raise Wrong(f'{arguments}: starts: {refused.text()}')
    print('tokens: ok')


# The second part tests crowds.

def silent(_):
    return b''


def half_a_header(_):
    return b'GET /healthz HTTP/1.1\r\nX-Long: '


def unread(_):
    return b'GET /metrics HTTP/1.1\r\n\r\n' * 40


class Crowd:
    """These connections are open at once, and are opened again when they are
    closed."""

    def __init__(self, n_connections, words, drips, places):
        self.words, self.drips = words, drips
        self.places = places
        self.selector = selectors.DefaultSelector()
        self.n_made = 0
        for _ in range(n_connections):
            self.come()

    def come(self):
        source, host, port = self.places[self.n_made % len(self.places)]
        family = socket.AF_INET6 if ':' in host else socket.AF_INET
        stranger = socket.socket(family, socket.SOCK_STREAM)
        # A client that never reads gets a small buffer.
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        stranger.setblocking(False)
        self.n_made += 1
        try:
            if source:
                stranger.bind((source, 0))
            stranger.connect_ex((host, port))
        except OSError:
            stranger.close()
            return
        self.selector.register(stranger, selectors.EVENT_READ |
                               selectors.EVENT_WRITE, False)

    def turn(self):
        """Handle what has happened, and replace connections that were
        closed."""
        for key, events in self.selector.select(0):
            stranger = key.fileobj
            if events & selectors.EVENT_WRITE and not key.data:
                try:
                    stranger.send(self.words(self.n_made))
                except BlockingIOError:
                    continue
                except OSError:
                    pass
                self.selector.modify(stranger, selectors.EVENT_READ, True)
                continue
            if self.words is unread:
                # Wait only for the end of the connection.
                self.selector.unregister(stranger)
                self.selector.register(stranger, selectors.EVENT_WRITE, False)
                continue
            try:
                gone = not stranger.recv(4096)
            except BlockingIOError:
                gone = False
            except OSError:
                gone = True
            if gone:
                self.selector.unregister(stranger)
                stranger.close()
                self.come()
        if self.drips:
            for key in list(self.selector.get_map().values()):
                try:
                    key.fileobj.send(b'x')
                except OSError:
                    pass

    def go(self):
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()
        self.selector.close()


class Prober:
    """Asks for /healthz all the time, in a process of its own."""

    def __init__(self, folder, hosts):
        self.program = Program(
            folder, 'prober', [sys.executable, '-B', __file__, '--probe',
                               str(CROWD_S), *hosts])

    def worst(self):
        if self.program.code() != 0:
            raise Wrong('a probe failed: ' + self.program.text())
        return float(self.program.text().split()[-1])


def probe(seconds, hosts):
    """Print the longest time that an answer took."""
    worst = 0.0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for host in hosts:
            begin = time.monotonic()
            status = page(host, '/healthz', None, timeout=10)[0]
            if status != 200:
                sys.exit(f'{host}: status {status}')
            worst = max(worst, time.monotonic() - begin)
        time.sleep(0.02)
    print(worst)


def crowd_comes(hoopd, folder, n_files, n_connections, what):
    daemon = Hoopd(hoopd, folder, ['--insecure-open'], n_files=n_files)
    try:
        crowd_is_survived(daemon, folder, n_files, n_connections, what)
    finally:
        daemon.program.kill()


def crowd_is_survived(daemon, folder, n_files, n_connections, what):
    name, words, drips, places, hosts = what
    n_bytes_before = len(daemon.program.text())
    crowd = Crowd(n_connections, words, drips, places)
    end = time.monotonic() + 0.5
    while time.monotonic() < end:  # until the crowd is there
        crowd.turn()
    cpu_before, begin = daemon.cpu_s(), time.monotonic()
    prober = Prober(folder, hosts)
    while prober.program.popen.poll() is None:
        crowd.turn()
        time.sleep(0.01)
    share = (daemon.cpu_s() - cpu_before) / (time.monotonic() - begin)
    crowd.go()
    worst = prober.worst()
    text = daemon.program.text()
    print(f'{name}, {n_connections} at {n_files} descriptors: /healthz within '
          f'{worst:.3f} s, {share:.2f} of a processor, {crowd.n_made} '
          f'connections, {len(text) - n_bytes_before} bytes of log')
    if worst > ANSWER_S:
        raise Wrong(f'{name}: /healthz took {worst:.2f} s')
    if share > CPU_MAX:
        raise Wrong(f'{name}: {share:.2f} of a processor')
    if (len(text) - n_bytes_before > LOG_BYTES_MAX or
            len(text.splitlines()) > LOG_LINES_MAX):
        raise Wrong(f'{name}: the log:\n{text[:2000]}')
    if page(HERE, '/metrics', None)[0] != 200:
        raise Wrong('the crowd leaves something behind')
    daemon.end()


def crowds_come(hoopd, folder):
    here = [(None, HERE, HTTP)]
    many = [(f'127.0.0.{number}', HERE, HTTP) for number in range(2, 250)]
    network = [(address, OTHER_IPV6, HTTP) for address in MORE_IPV6]
    both = (HERE, OTHER)
    kinds = (
        ('silent', silent, False, here, both),
        ('half a header', half_a_header, False, here, both),
        ('a byte at a time', half_a_header, True, here, both),
        ('never reading', unread, False, here, both),
        ('of many addresses', silent, False, many, both),
        ('of one IPv6 network', silent, False, network, both),
        ("at the workers' port", silent, False, [(None, HERE, RPC)], both),
    )
    for what in kinds:
        for n_files, n_connections in ((1024, 3000), (64, 120)):
            crowd_comes(hoopd, folder, n_files, n_connections, what)


def main():
    if sys.argv[1] == '--probe':
        probe(float(sys.argv[2]), sys.argv[3:])
        return 0
    own_network.enter('http_check.py')
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 4000:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    hoopd, hoopctl = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        try:
            crowds_come(hoopd, folder)
            tokens_are_kept(hoopd, hoopctl, folder)
        except Wrong as wrong:
            print(f'http_check.py: {wrong}')
            return 1
    print('http_check.py: ok')
    return 0


if __name__ == '__main__':
    sys.exit(main())
