"""tests/fault/network_hosts.py - hosts on one network, for one check

Each host is a network namespace that a process holds. The check itself runs in
another namespace, at the address HERE, on the bridge between them. All share
the same processes and files. Everything is gone when the check has ended.
"""

import os
import subprocess
import sys

from programs import await_true

INSIDE = 'HOOP_TEST_NETWORK_HOSTS'
NET = '10.78.9.'
HERE = NET + '1'


def run(*words):
    subprocess.run(words, check=True, capture_output=True, text=True)


def refuse(name, reason):
    print(f'{name}: {reason}')
    sys.exit(1 if os.environ.get('HOOP_REQUIRE_NETNS') else 77)


def enter(name):
    """Run this program again in new namespaces. Exit with 77 where these cannot
    be made, or with 1 if HOOP_REQUIRE_NETNS is set."""
    if os.environ.pop(INSIDE, None):
        run('ip', 'link', 'set', 'lo', 'up')
        return
    try:
        works = subprocess.run(['unshare', '--net', '--mount', 'ip', 'link',
                                'add', 'hub', 'type', 'bridge'],
                               capture_output=True, check=False)
    except OSError as error:
        refuse(name, error)
    if works.returncode != 0:
        refuse(name, 'no network namespaces')
    os.environ[INSIDE] = '1'
    os.execvp('unshare', ['unshare', '--net', '--mount', sys.executable]
              + sys.argv)


class Hosts:
    """This has the hosts of a check; add(name) makes one."""

    def __init__(self):
        self.addresses = {}
        self.holders = {}
        run('ip', 'link', 'add', 'hub', 'type', 'bridge')
        run('ip', 'address', 'add', HERE + '/24', 'dev', 'hub')
        run('ip', 'link', 'set', 'hub', 'up')

    def add(self, name):
        holder = subprocess.Popen(['unshare', '--net', 'sleep', 'infinity'])
        self.holders[name] = holder
        self.addresses[name] = f'{NET}{10 + len(self.holders)}'
        own = os.readlink('/proc/self/ns/net')
        await_true('a namespace', lambda: self.net_of(holder.pid) != own)
        run('ip', 'link', 'add', f'to-{name}', 'type', 'veth', 'peer', 'name',
            'near', 'netns', str(holder.pid))
        run('ip', 'link', 'set', f'to-{name}', 'master', 'hub', 'up')
        for words in ('link set lo up', 'link set near up',
                      f'address add {self.addresses[name]}/24 dev near'):
            run(*self.on(name, 'ip', *words.split()))
        return self.addresses[name]

    def on(self, name, *words):
        """Return the command that runs `words` on the host `name`."""
        return ['nsenter', '-t', str(self.holders[name].pid), '-n', *words]

    @staticmethod
    def net_of(pid):
        try:
            return os.readlink(f'/proc/{pid}/ns/net')
        except OSError:
            return None

    def net(self, name):
        return self.net_of(self.holders[name].pid)

    def cut(self, name):
        run('ip', 'link', 'set', f'to-{name}', 'down')

    def close(self):
        for holder in self.holders.values():
            holder.kill()
            holder.wait()
