#!/usr/bin/env python3
"""tests/fault/security/roles_check.py - who has a lesser token is refused the rest

roles_check.py HOOPD HOOPCTL STEADY RPC.MD: every method of the document's table
is called at a hoopd that has a token, with the tokens of all roles, with a
wrong one and with none. hoopd must answer what the table allows, and refuse all
else with a text that names the role. The same holds for /metrics. No worker
joins with a lesser token, and hoopd takes none for its own. A reply that
refuses is not kept. A hoopd without a token serves clients that have none, and
clients that have one refuse it.
"""

import os
import random
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
from control_client import Client, Refused
from programs import Program, Wrong, free_addresses

SECRET = 'a secret of all jobs'
ROLES = ['worker', 'operator', 'metrics', 'anybody']  # the first may do all
DENIED = 7
PRECONDITION = 9
UNAUTHENTICATED = 16
INCARNATION = random.getrandbits(63) | 1
JOIN = [INCARNATION, 1, 0, 1, 0, 0, 0, 1, 'h', 'h', '127.0.0.1:1']


def private(path, how):
    return os.open(path, how, 0o600)


def bodies(epoch):
    """Return the calls of a member of a world of one. Every method must be
    here."""
    me = [epoch, INCARNATION]
    return {
        'Rendezvous/Join': JOIN,
        'Rendezvous/Renew': me,
        'Rendezvous/Report': me + [0, INCARNATION + 1, 'gone'],
        'Rendezvous/Watch': [0, 0],
        'Rendezvous/Members': [],
        'Store/Set': ['k', b'v', 0],
        'Store/Get': [['k']],
        'Store/Wait': [['k']],
        'Store/Add': ['n', 1, 0],
        'Store/CompareSet': ['k', False, b'v', b'v', 0],
        'Store/Delete': [['gone']],
        'Rendezvous/Recording': me + [1, b'', 'none'],
        'Store/MultiGet': [['k']],
        'Store/List': ['', '', 0],
        'Store/Watch': ['', False, 0],
        'Groups/Create': me + ['g', [0]],
        'Groups/Get': ['g'],
        'Groups/List': [''],
        'Groups/Join': me + [1, [0]],
        'Groups/Leave': me + [[1]],
        'Groups/Agree': me + [0, 1, 1, 1, 1, 0],
        'Groups/Awaited': me + [1],
        'Health/Check': [''],
        'Status/Jobs': [],
        'Status/Job': [],
        'Status/Why': [],
        'Status/Recording': [0, 0],
        'Auth/Challenge': [0, bytes(32)],
        'Auth/Prove': [bytes(32)],
        'Rendezvous/Leave': me,
    }


def least_roles(document):
    """Return {method: role} as in the document's table."""
    with open(document, encoding='utf-8') as lines:
        rows = [re.match(r'\| `hoop\.v1\.([\w/]+)` \|[^|]*\|[^|]*\| (\w+) \|',
                         line) for line in lines]
    return {row[1]: row[2] for row in rows if row}


def private(path, how):
    return os.open(path, how, 0o600)


class Started(Program):
    """The check ends this program in any case."""

    everyone = []

    def __init__(self, *arguments, **environment):
        super().__init__(*arguments, **environment)
        self.everyone.append(self)


class Coordinator:
    """This has a hoopd, and tokens that hoopctl makes."""

    def __init__(self, programs, folder, name, arguments):
        self.hoopctl = programs[1]
        self.address, self.http = ('%s:%d' % address
                                   for address in free_addresses(2))
        self.program = Started(folder, name, [
            programs[0], '--listen', self.address, '--http', self.http,
            '--lease', '60', *arguments])
        self.program.expect('serves workers')

    def token(self, role, secret):
        if role == 'anybody':
            return None
        return subprocess.run(
            [self.hoopctl, 'token', role], capture_output=True, text=True,
            check=True, env=os.environ | {'HOOP_TOKEN': secret}).stdout.strip()

    def status(self, call, token, job='default'):
        """Return (0 or the status of the refusal, its text)."""
        client = Client(self.address, job, token)
        try:
            client.call(*call)
            return 0, ''
        except Refused as refused:
            return refused.status, str(refused)
        finally:
            client.close()

    def page(self, path, token):
        headers = {'Authorization': 'Bearer ' + token} if token else {}
        request = urllib.request.Request(f'http://{self.http}{path}',
                                         headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=10) as page:
                return page.status
        except urllib.error.HTTPError as error:
            error.close()
            return error.code

    def end(self):
        self.program.popen.terminate()
        if self.program.code() != 0:
            raise Wrong('hoopd failed:\n' + self.program.text())


def world_begin(coordinator, token, job='default'):
    """Begin a world of one. Return its epoch."""
    client = Client(coordinator.address, job, token)
    epoch = client.call('Rendezvous/Join', JOIN)[0]
    client.set('k', b'v')
    client.call('Groups/Create', [epoch, INCARNATION, 'g', [0]])
    client.close()
    return epoch


def role_is_held(coordinator, role, calls, least):
    """Call all methods with the token of a role. Return how many were
    refused."""
    n_refused = 0
    token = coordinator.token(role, SECRET)
    for method, body in calls.items():
        status, text = coordinator.status((method, body), token)
        if ROLES.index(role) <= ROLES.index(least[method]):
            if status in (DENIED, UNAUTHENTICATED):
                raise Wrong(f'{role} is refused {method}: {text}')
            continue
        n_refused += 1
        expected = UNAUTHENTICATED if role == 'anybody' else DENIED
        if status != expected:
            raise Wrong(f'{role} at {method}: status {status}: {text}')
        if expected == DENIED and f'role {least[method]}' not in text:
            raise Wrong(f'{role} at {method} is not told what it needs: {text}')
    return n_refused


def pages_are_held(coordinator):
    for path in ('/healthz', '/readyz', '/nowhere'):
        if coordinator.page(path, None) != (404 if path == '/nowhere' else 200):
            raise Wrong(f'{path} needs a token')
    for role in ROLES:
        status = coordinator.page('/metrics', coordinator.token(role, SECRET))
        # The token of the job itself is not for HTTP.
        if status != {'anybody': 401, 'worker': 403}.get(role, 200):
            raise Wrong(f'{role} reads /metrics: {status}')
    if coordinator.page('/metrics', 'guessed') != 401:
        raise Wrong('anybody reads /metrics')


def worker_does_not_join(coordinator, programs, folder, role):
    worker = Started(folder, "worker_" + role, [programs[2], folder + "/stop"],
                     HOOP_COORDINATOR=coordinator.address, HOOP_JOB='more',
                     HOOP_TOKEN=coordinator.token(role, SECRET),
                     HOOP_WORLD_SIZE='1', HOOP_JOIN_TIMEOUT='10')
    if worker.code() == 0:
        raise Wrong(f'a worker joins with the token of role {role}')
    if 'role worker' not in worker.text():
        raise Wrong('it is not told why: ' + worker.text())


def refusals_are_not_kept(coordinator):
    """A client that guesses is not remembered. With the token, the same request
    IDs are new."""
    client = Client(coordinator.address)
    answers = []
    for token in (None, coordinator.token('operator', SECRET), SECRET):
        client.close()
        client.token = token
        client.last_id = 0
        try:
            answers.append(client.add('asked', 1))
        except Refused as refused:
            answers.append(refused.status)
    client.close()
    if answers != [UNAUTHENTICATED, DENIED, 1]:
        raise Wrong(f'the same request, with three tokens: {answers}')


def one_token_for_all(programs, folder, least):
    secret_file = os.path.join(folder, 'secret')
    with open(secret_file, 'w', encoding='utf-8', opener=private) as out:
        out.write(SECRET + '\n')
    coordinator = Coordinator(programs, folder, 'hoopd',
                              ['--token-file', secret_file])
    calls = bodies(world_begin(coordinator, SECRET))
    if set(calls) != set(least):
        raise Wrong(f'not tried: {set(calls) ^ set(least)}')
    # This comes first, because lesser tokens may write only so many lines of
    # log.
    for role in ('operator', 'metrics'):
        worker_does_not_join(coordinator, programs, folder, role)
    coordinator.program.expect('needs role worker')
    refusals_are_not_kept(coordinator)
    status, text = coordinator.status(('Health/Check', ['']), 'guessed')
    if status != UNAUTHENTICATED:
        raise Wrong(f'who guesses takes hoopd for its own: {status}: {text}')
    for role in ('anybody', 'metrics', 'operator', 'worker'):
        n_refused = role_is_held(coordinator, role, calls, least)
        print(f'{role}: refused {n_refused} of {len(calls)} methods')
    pages_are_held(coordinator)
    coordinator.end()


def lesser_token_is_no_secret(programs, folder, maker):
    path = os.path.join(folder, 'lesser')
    with open(path, 'w', encoding='utf-8', opener=private) as out:
        out.write(maker.token('operator', SECRET))
    hoopd = Started(folder, 'lesser_hoopd', [
        programs[0], '--listen', '127.0.0.1:0', '--http', 'none',
        '--token-file', path])
    if hoopd.code() != 1:
        raise Wrong('hoopd serves jobs whose token is for an operator')
    hoopd.expect('lesser role')


def open_coordinator_cannot_prove(programs, folder):
    """hoopd without a token serves clients without one. The others say what is
    wrong."""
    coordinator = Coordinator(programs, folder, 'open_hoopd', [])
    for role in ROLES[:3]:
        token = coordinator.token(role, SECRET)
        status, text = coordinator.status(('Status/Jobs', []), token)
        if status != PRECONDITION or 'has no token' not in text:
            raise Wrong(f'role {role} is not told: {status}: {text}')
    world_begin(coordinator, None)
    if coordinator.status(('Status/Job', []), None)[0] != 0:
        raise Wrong('who has no token is refused where there is none')
    if coordinator.page('/metrics', None) != 200:
        raise Wrong('/metrics asks for a token that nobody has')
    answer = subprocess.run(
        [programs[1], '-c', coordinator.address, '-t', '20', 'status'],
        capture_output=True, text=True, check=False, timeout=20,
        env=os.environ | {'HOOP_TOKEN': SECRET})
    if answer.returncode != 77 or 'has no token' not in answer.stderr:
        raise Wrong('hoopctl does not say that hoopd has no token: ' +
                    answer.stderr)
    lesser_token_is_no_secret(programs, folder, coordinator)
    coordinator.end()


def main():
    programs, document = sys.argv[1:4], sys.argv[4]
    least = least_roles(document)
    with tempfile.TemporaryDirectory() as folder:
        try:
            one_token_for_all(programs, folder, least)
            open_coordinator_cannot_prove(programs, folder)
        except Wrong as wrong:
            print(f'roles_check.py: {wrong}')
            return 1
        finally:
            for program in Started.everyone:
                program.kill()
    print('roles_check.py: ok')
    return 0


if __name__ == '__main__':
    sys.exit(main())
