"""tests/fault/security/own_network.py - a network namespace for one check

No other program has ports or addresses in it. Besides loopback it has other
addresses. A connection to one of them also comes from it, so a check can play
another host.
"""

import os
import subprocess
import sys

OTHER = '10.9.8.7'
OTHER_IPV6 = 'fd00:9:8::7'
# These are in the same IPv6 network of 64 bits.
MORE_IPV6 = [f'fd00:9:8::{number:x}' for number in range(0x100, 0x110)]
INSIDE = 'HOOP_TEST_OWN_NETWORK'


def enter(name):
    """Run this program again in a new namespace. Exit with 77 where there are
    none, or with 1 if HOOP_REQUIRE_NETNS is set."""
    if os.environ.pop(INSIDE, None):
        return
    commands = ['ip link set lo up', f'ip address add {OTHER}/24 dev lo']
    commands += [f'ip address add {address}/64 dev lo nodad'
                 for address in [OTHER_IPV6] + MORE_IPV6]
    script = ' && '.join(commands)
    for way in (['unshare', '--net'], ['unshare', '--net', '--map-root-user']):
        try:
            works = subprocess.run(way + ['sh', '-c', script],
                                   capture_output=True, check=False)
        except OSError:
            break
        if works.returncode == 0:
            os.environ[INSIDE] = '1'
            os.execvp(way[0], way + ['sh', '-c', script + ' && exec "$@"', 'sh',
                                     sys.executable] + sys.argv)
    print(f'{name}: no network namespaces')
    sys.exit(1 if os.environ.get('HOOP_REQUIRE_NETNS') else 77)
