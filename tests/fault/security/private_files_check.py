#!/usr/bin/env python3
"""tests/fault/security/private_files_check.py - secrets that others can use are refused

private_files_check.py HOOPD HOOPCTL STEADY: every program that takes a secret
from a file gets good and bad files. hoopd, hoopctl and a worker get a token;
hoopd also gets a TLS key, settings with a token, and data folders. The programs
must refuse bad ones at once with the command to run, and accept good ones. A
mount namespace has a read-only mount such as containers use for secrets. Where
that is not allowed this part is left out, unless HOOP_REQUIRE_NETNS is set.
"""

import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
from programs import Program, Wrong, free_addresses

OTHER_USER = 54321
SECRET = 'secret'


def clean():
    return {key: value for key, value in os.environ.items()
            if not key.startswith('HOOP_')}


class Files:
    """These files have the same secret but differ in who can use them."""

    def __init__(self, folder, text):
        self.folder, self.text = folder, text

    def make(self, name, mode, owner=None):
        path = os.path.join(self.folder, name)
        with open(path, 'w', encoding='ascii') as out:
            out.write(self.text)
        os.chmod(path, mode)
        if owner is not None:
            os.chown(path, owner, owner)
        return path

    def link(self, name, target, owner=None):
        path = os.path.join(self.folder, name)
        os.symlink(target, path)
        if owner is not None:
            os.chown(path, owner, owner, follow_symlinks=False)
        return path

    def all(self):
        """Yield (path, the words that refuse it, or None if it is accepted)."""
        is_root = os.geteuid() == 0
        good = self.make('good', 0o600)
        yield good, None
        yield self.make('read', 0o400), None
        yield self.link('linked', 'good'), None
        yield self.make('for_all', 0o644), 'chmod 600'
        yield self.make('writable', 0o602), 'chmod 600'
        yield self.make('group', 0o640), None if is_root else 'chmod 600'
        yield self.link('to_bad', 'for_all'), 'chmod 600'
        if is_root:
            yield self.make('other', 0o600, OTHER_USER), 'chown'
            yield self.link('of_other', 'good', OTHER_USER), 'symbolic link'


def refuses(what, answer, words):
    """Check the answer, which is an exit code and a text."""
    code, text = answer
    if words is None and code != 0:
        raise Wrong(f'{what} is refused: {text}')
    if words is not None and (code == 0 or words not in text):
        raise Wrong(f'{what} is not refused with {words}: {code} {text}')


class Programs:
    def __init__(self, hoopd, hoopctl, steady, folder):
        self.paths = hoopd, hoopctl, steady
        self.folder = folder
        self.address = None

    def hoopd(self, *arguments, **environment):
        """Return (0, its log) once hoopd serves, else (its exit code, its
        log)."""
        daemon = Program(self.folder, 'trial', [
            self.paths[0], '--listen', '127.0.0.1:0', '--http', 'none',
            *arguments], **environment)
        while daemon.popen.poll() is None:
            if 'serves workers' in daemon.text():
                daemon.popen.terminate()
                return daemon.code(), daemon.text()
        return daemon.code(), daemon.text()

    def hoopctl(self, path):
        answer = subprocess.run(
            [self.paths[1], '-c', self.address, 'status'], check=False,
            env=clean() | {'HOOP_TOKEN_FILE': path}, capture_output=True,
            text=True)
        return answer.returncode, answer.stderr

    def worker(self, path):
        stop = os.path.join(self.folder, 'stop')
        with open(stop, 'w', encoding='ascii'):
            pass
        answer = subprocess.run(
            [self.paths[2], stop], check=False, capture_output=True, text=True,
            env=clean() | {'HOOP_TOKEN_FILE': path, 'HOOP_WORLD_SIZE': '1',
                           'HOOP_COORDINATOR': self.address,
                           'HOOP_JOIN_TIMEOUT': '20'})
        return answer.returncode, answer.stdout + answer.stderr


def token_files(programs, folder):
    files = Files(folder, SECRET + '\n')
    for path, words in files.all():
        for answer in (programs.hoopd('--token-file', path),
                       programs.hoopd(HOOP_TOKEN_FILE=path),
                       programs.hoopctl(path), programs.worker(path)):
            refuses('the token file ' + path, answer, words)
    os.mkdir(folder + '/settings')
    for path, words in Files(folder + '/settings',
                             f'token = {SECRET}\n').all():
        refuses('the settings ' + path, programs.hoopd('--config', path), words)
    plain = Files(folder, 'lease = 5\n').make('plain.conf', 0o644)
    refuses('settings without a token', programs.hoopd('--config', plain), None)


def tls_keys(programs, folder):
    certificate = folder + '/own.pem'
    subprocess.run(
        ['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt',
         'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-keyout',
         folder + '/own.key', '-out', certificate, '-subj', '/CN=own'],
        check=True, capture_output=True)
    with open(folder + '/own.key', encoding='ascii') as key:
        text = key.read()
    os.mkdir(folder + '/keys')
    for path, words in Files(folder + '/keys', text).all():
        refuses('the TLS key ' + path, programs.hoopd(
            '--tls', 'on', '--tls-cert', certificate, '--tls-ca', certificate,
            '--tls-key', path), words)
        refuses('the key for HTTP ' + path, programs.hoopd(
            '--http', '127.0.0.1:0', '--http-tls', 'on', '--http-tls-cert',
            certificate, '--http-tls-key', path), words)


def data_folders(programs, folder):
    path = folder + '/data'
    for mode, words in ((0o700, None), (0o755, None), (0o777, 'chmod 700'),
                        (0o770, 'chmod 700'), (0o1777, 'chmod 700')):
        os.mkdir(path)
        os.chmod(path, mode)
        refuses(f'a data folder of mode {mode:o}',
                programs.hoopd('--data-dir', path), words)
        if words is None:
            os.chmod(path + '/hoopd.mdb', 0o644)
            refuses('data that others can read',
                    programs.hoopd('--data-dir', path), 'chmod 600')
        else:
            # The text of the refusal suggests this.
            refuses('a folder in it', programs.hoopd(
                '--data-dir', path + '/own'), None)
        shutil.rmtree(path)
    if os.geteuid() == 0:
        os.mkdir(path)
        os.chown(path, OTHER_USER, OTHER_USER)
        refuses('a data folder of another user',
                programs.hoopd('--data-dir', path), 'chown')


def read_only_mounts(programs, folder):
    """Mount secrets as Kubernetes, Docker and Compose do."""
    os.mkdir(folder + '/..2026')
    files = Files(folder + '/..2026', SECRET + '\n')
    for mode, owner in ((0o444, 0), (0o644, 0), (0o644, OTHER_USER),
                        (0o440, None)):
        files.make(f'{mode:o}_{owner}', mode, owner)
    bad = files.make('writable', 0o666)
    os.symlink('..2026', folder + '/..data')
    for name in os.listdir(files.folder):
        os.symlink('..data/' + name, folder + '/' + name)
    subprocess.run(['mount', '--bind', folder, folder], check=True)
    subprocess.run(['mount', '-o', 'remount,bind,ro', folder], check=True)
    for name in os.listdir(files.folder):
        path = folder + '/' + name
        words = 'chmod 600' if name == os.path.basename(bad) else None
        answer = programs.hoopd('--token-file', path)
        refuses('on a read-only mount ' + path, answer, words)
        refuses('on a read-only mount ' + path, programs.worker(path), words)
        if words is None and 'read-only mount' not in answer[1]:
            raise Wrong(f'that {path} is taken is not logged: {answer[1]}')


def mounts_may_be_made():
    """Return whether mounts may be made. Run the program again in a mount
    namespace."""
    if os.environ.pop('HOOP_TEST_OWN_MOUNTS', None):
        return True
    way = ['unshare', '--mount', '--propagation', 'private']
    if subprocess.run(way + ['mount', '-t', 'tmpfs', 'none', '/mnt'],
                      capture_output=True, check=False).returncode == 0:
        os.environ['HOOP_TEST_OWN_MOUNTS'] = '1'
        os.execvp(way[0], way + [sys.executable, '-B'] + sys.argv)
    if os.environ.get('HOOP_REQUIRE_NETNS'):
        sys.exit('private_files_check.py: no mount namespaces')
    return False


def main():
    has_mounts = mounts_may_be_made()
    with tempfile.TemporaryDirectory() as scratch:
        programs = Programs(*sys.argv[1:4], scratch)
        programs.address = '%s:%d' % free_addresses(1)[0]
        daemon = Program(scratch, 'hoopd', [
            sys.argv[1], '--listen', programs.address, '--http', 'none'],
            HOOP_TOKEN=SECRET)
        try:
            daemon.expect('serves workers')
            parts = [token_files, tls_keys, data_folders]
            parts += [read_only_mounts] if has_mounts else []
            for number, part in enumerate(parts):
                folder = f'{scratch}/{number}'
                os.mkdir(folder)
                part(programs, folder)
                print(part.__name__ + ': ok')
        except Wrong as wrong:
            print(f'private_files_check.py: {wrong}')
            return 1
        finally:
            daemon.kill()
            if has_mounts:
                subprocess.run(['umount', '-R', f'{scratch}/3'],
                               capture_output=True, check=False)
    return 0


if __name__ == '__main__':
    sys.exit(main())
