#!/usr/bin/env python3
"""tests/fault/network/doctor_check.py - hoopctl doctor finds what is wrong with a host

doctor_check.py HOOPD HOOPCTL CLOCK_AHEAD: two hosts are network namespaces, and
hoopd runs on a third. The check makes one fault at a time: a firewall in either
direction, large packets that vanish, few files, little shared memory, a small
/dev/shm, wrong names and addresses, and a peer with another version and a wrong
clock. The doctor must name that fault and nothing else. The check exits with 77
where there are no namespaces, unless HOOP_REQUIRE_NETNS is set.
"""

import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
import network_hosts
from network_hosts import HERE, run
from programs import Program, Wrong, await_true, check_main, environment_clean

COORDINATOR = f'{HERE}:4667'
PROBE_BYTES = 256 * 1024


class Doctor:
    """This runs the doctor on host a, with a peer on host b."""

    def __init__(self, hosts, hoopctl, folder):
        self.hosts = hosts
        self.hoopctl = hoopctl
        self.folder = folder
        self.n_peers = 0

    def run(self, *words, code=1, coordinator=COORDINATOR, before=(),
            preexec_fn=None, **environment):
        """Run the doctor. Return its output without the numbers that differ
        each time."""
        out = subprocess.run(
            self.hosts.on('a', *before, self.hoopctl,
                          *(('-c', coordinator) if coordinator else ()),
                          'doctor', *words),
            env=environment_clean() | {'HOOP_TOKEN': 'secret'} | environment,
            capture_output=True, text=True, check=False, timeout=60,
            preexec_fn=preexec_fn)
        if out.returncode != code or out.stderr:
            raise Wrong(f'{words}: exit code {out.returncode}, not {code}: '
                        f'{out.stdout}{out.stderr}')
        return out.stdout

    def with_peer(self, **rest):
        self.n_peers += 1
        listener = Program(
            self.folder, f'peer{self.n_peers}',
            self.hosts.on('b', self.hoopctl, 'doctor', '--listen'))
        listener.expect('hoopctl doctor --peer ')
        address = re.search(r'--peer (\S+)', listener.text()).group(1)
        if not address.startswith(self.hosts.addresses['b'] + ':'):
            raise Wrong(listener.text())
        try:
            return self.run('--peer', address, **rest)
        finally:
            listener.kill()


def wrong_lines(out):
    return [line for line in out.splitlines() if line.startswith('wrong')]


def only_wrong(out, subject, *texts):
    lines = wrong_lines(out)
    if (len(lines) != 1 or lines[0].split(None, 1)[1].find(subject) != 0 or
            not all(text in lines[0] for text in texts) or
            not out.endswith('\n1 thing is wrong\n')):
        raise Wrong(f'not only {subject}, {texts}: {out}')


def healthy_host_has_nothing_wrong(doctor):
    out = doctor.with_peer(code=0)
    if wrong_lines(out) or not out.endswith('\nnothing is wrong here\n'):
        raise Wrong(out)
    for line in (f'ok     coordinator   {COORDINATOR} is {HERE}\n',
                 'ok     address       peers are told '
                 f'{doctor.hosts.addresses["a"]} (on the way to the '
                 'coordinator)\n',
                 f'ok     answer        {COORDINATOR} serves\n',
                 "ok     clock         hoopd's differs by 0.",
                 'ok     packets to    256 KiB have arrived there (MTU 1500)\n',
                 'ok     packets from  256 KiB have arrived here (MTU 1500)\n'):
        if line not in out:
            raise Wrong(f'{line} is not in {out}')


def notes_are_counted(doctor):
    out = doctor.run(code=0)
    if not out.endswith('\nnote   other hosts   none was tried: hoopctl doctor '
                        '--listen there and --peer here try one\nnothing is wrong '
                        'here; 1 note\n'):
        raise Wrong(out)
    out = doctor.run(code=0, coordinator=None)
    if not out.endswith('\nnothing is wrong here; 2 notes\n'):
        raise Wrong(out)


def free_ports_are_counted(doctor):
    """Another program on this host holds one of two ports, and then the only
    one."""
    holder = Program(doctor.folder, 'holder', doctor.hosts.on(
        'a', doctor.hoopctl, 'doctor', '--listen=5000'))
    try:
        holder.expect('hoopctl doctor --peer ')
        out = doctor.run(code=0, HOOP_PORT='5000-5001')
        if ('ok     ports         1 of the 2 of HOOP_PORT=5000-5001 is free, one for '
                'each worker\n' not in out):
            raise Wrong(out)
        only_wrong(doctor.run(HOOP_PORT='5000'), 'ports', 'none of the 1 of '
                   'HOOP_PORT=5000 is free, and each worker needs one; ss -tlnp ')
        out = subprocess.run(doctor.hosts.on(
            'a', doctor.hoopctl, 'doctor', '--listen=5000'), capture_output=True,
            text=True, check=False, timeout=60)
        if (out.returncode, out.stderr) != (
                69, 'hoopctl: cannot listen on 5000: Address already in use; '
                'ss -tlnp says who has it\n'):
            raise Wrong(f'{out}')
    finally:
        holder.kill()


def firewalls_are_found(doctor):
    hosts = doctor.hosts
    drop = ('iptables', '-A', 'INPUT', '-p', 'tcp', '--syn', '-s')
    run(*hosts.on('b', *drop, hosts.addresses['a'], '-j', 'DROP'))
    only_wrong(doctor.with_peer(), 'to peer', ': no answer; ', 'HOOP_PORT')
    run(*hosts.on('b', 'iptables', '-F'))
    run(*hosts.on('a', *drop, hosts.addresses['b'], '-j', 'REJECT'))
    only_wrong(doctor.with_peer(), 'from peer',
               f' cannot connect to {hosts.addresses["a"]}:',
               ' here: Connection refused; let firewalls ', 'HOOP_PORT')
    run(*hosts.on('a', 'iptables', '-F'))


def vanishing_packets_are_found(doctor):
    for host, subject in (('b', 'packets to'), ('a', 'packets from')):
        run(*doctor.hosts.on(host, 'iptables', '-A', 'INPUT', '-p', 'tcp',
                             '-m', 'length', '--length', '1000:65535', '-j',
                             'DROP'))
        only_wrong(doctor.with_peer(), subject,
                   'small packets come through and large ones do not; ',
                   'less than the MTU of 1500 here', 'ip link set dev ')
        run(*doctor.hosts.on(host, 'iptables', '-F'))


def limits_are_found(doctor):
    only_wrong(doctor.run(preexec_fn=lambda: resource.setrlimit(
        resource.RLIMIT_NOFILE, (256, 4096))), 'files',
        '256 may be open', 'say ulimit -n 4096 before the program')
    only_wrong(doctor.run(preexec_fn=lambda: resource.setrlimit(
        resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))), 'memory',
        'cannot share 16 MiB: files may not be so large (ulimit -f); say '
        'ulimit -f unlimited')
    out = doctor.run(code=0, before=(
        'unshare', '--mount', 'sh', '-c',
        'mount -t tmpfs -o size=1M none /dev/shm && exec "$@"', 'sh'))
    if ('note   /dev/shm      1 MiB are free; hoop does not use it, data '
            'loaders of torch do: a container gets more by --shm-size\n'
            not in out):
        raise Wrong(out)


def says(doctor, code, output, error, *words, **environment):
    """Run hoopctl where no coordinator is asked, and compare what it says."""
    out = subprocess.run(
        [doctor.hoopctl, *words], capture_output=True, text=True, check=False,
        env=environment_clean() | environment, timeout=60)
    if (out.returncode, out.stderr) != (code, error) or not re.fullmatch(
            output, out.stdout):
        raise Wrong(f'{words}: {out.returncode} {out.stdout}{out.stderr}')


def bad_ports_are_refused(doctor):
    """A bad port is refused in an option and in HOOP_PORT."""
    expected = ': a port or a range such as 5000-5063 is expected'
    for word in ('abc', '70000', '-1', '5-4', '0-4', '1-', '80x'):
        says(doctor, 64, '', f'hoopctl: --listen={word}{expected}\n', 'doctor',
             f'--listen={word}')
        says(doctor, 64, '', f'hoopctl: HOOP_PORT={word}{expected}\n', 'doctor',
             '--listen', HOOP_PORT=word)
    line = f'from peer     nobody can connect here: HOOP_PORT=abc{expected}\n'
    if line not in doctor.run('--peer', f'{HERE}:5', HOOP_PORT='abc'):
        raise Wrong(f'not told: {line}')
    for word in ('abc', 'a:', ':5', 'a:99999', 'a:0', 'a:5x'):
        says(doctor, 64, '', f'hoopctl: --peer={word}: HOST:PORT is expected, with '
             'a port from 1 to 65535\n', 'doctor', f'--peer={word}')


def bad_settings_are_found(doctor):
    """A bad setting is reported once, whether or not a coordinator is named."""
    missing = os.path.join(doctor.folder, 'missing')
    for environment, text in (
            ({'HOOP_PORT': 'abc'}, "HOOP_PORT: 'abc' is no value for port"),
            ({'HOOP_TIMEOUT': 'soon'}, 'HOOP_TIMEOUT: '),
            ({'HOOP_TOKEN': '', 'HOOP_TOKEN_FILE': missing}, missing)):
        for coordinator in (COORDINATOR, None):
            only_wrong(doctor.run(coordinator=coordinator, **environment),
                       'settings', text)
    token = subprocess.run(
        [doctor.hoopctl, 'token', 'operator'], capture_output=True, text=True,
        check=True, env=environment_clean() | {'HOOP_TOKEN': 'secret'}).stdout
    out = doctor.run(HOOP_TOKEN=token.strip())
    only_wrong(out, 'settings', 'was made for a lesser role')
    if f' {COORDINATOR} serves\n' not in out:
        raise Wrong(f'an operator is not answered: {out}')


def listening_ends(doctor):
    says(doctor, 64, '', 'hoopctl: --listen and --peer are for two hosts: say one of '
         'the two\n', 'doctor', '--listen', '--peer', 'b:5')
    says(doctor, 64, '', 'hoopctl: --listen prints no JSON object\n', '--json',
         'doctor', '--listen')
    says(doctor, 69, 'waiting 0.2 s for a peer; on the other host say: hoopctl '
         'doctor --peer \\S+:[0-9]+\n', 'hoopctl: no hoopctl doctor --peer has come '
         'in 0.2 s; --timeout waits longer\n', '-t', '0.2', 'doctor', '--listen')


def names_and_addresses_are_found(doctor):
    only_wrong(doctor.run(coordinator='nobody.invalid:4667'), 'coordinator',
               'nobody.invalid:4667 has no address: ', 'DNS or /etc/hosts')
    for two in (f'{COORDINATOR},nobody.invalid:4667',
                f'nobody.invalid:4667,{COORDINATOR}'):
        out = doctor.run(coordinator=two)
        only_wrong(out, 'coordinator', ' nobody.invalid:4667 has no address: ')
        for line in (f' peers are told {doctor.hosts.addresses["a"]} ',
                     f' {two} serves\n'):
            if line not in out:
                raise Wrong(f'{line} is not in {out}')
    only_wrong(doctor.run(coordinator=f'{HERE}:4'), 'answer',
               'Connection refused')
    only_wrong(doctor.run(HOOP_INTERFACE='nosuch0'), 'address',
               'HOOP_INTERFACE=nosuch0 has no IPv4 address here')
    for advertised in ('127.0.0.1', '127.0.0.1:5000', 'localhost', '::1'):
        address = '(127.0.0.1|::1)' if advertised == 'localhost' else (
            advertised.removesuffix(':5000'))
        out = doctor.run(HOOP_ADVERTISE=advertised)
        only_wrong(out, 'address')
        if not re.search(
                f'address       peers are told {address} [(]HOOP_ADVERTISE[)], which '
                "only this host's can use, while the coordinator is at "
                f'{HERE}; set HOOP_ADVERTISE to ', out):
            raise Wrong(out)
    only_wrong(doctor.run(HOOP_INTERFACE='lo'), 'address',
               'peers are told 127.0.0.1 (HOOP_INTERFACE)')
    only_wrong(doctor.run(HOOP_ADVERTISE='nobody.invalid'), 'address',
               'HOOP_ADVERTISE=nobody.invalid has no address: ')
    for advertised in ('0.0.0.0', '[::]:5000'):
        only_wrong(doctor.run(HOOP_ADVERTISE=advertised), 'address',
                   f'HOOP_ADVERTISE={advertised} is nothing that peers can connect to')
    for advertised in ('10.0.0.1:x', '10.0.0.1:65536', '[::1]:'):
        only_wrong(doctor.run(HOOP_ADVERTISE=advertised), 'address',
                   f'HOOP_ADVERTISE={advertised} has no port from 0 to 65535')
    only_wrong(doctor.run('--peer', f'{HERE}:5'), 'to peer',
               f'cannot connect to {HERE}:5: Connection refused; does hoopctl '
               'doctor --listen run there')


def peer_play(listener):
    """Play a peer whose version text would clear the screen and whose clock is
    100 s ahead."""
    there, address = listener.accept()
    with there, there.makefile('rb') as lines:
        words = lines.readline().split()
        there.sendall(f'hoop-doctor 1 9.9.9\x1b[2J {int((time.time() + 100) * 1000)}\n'
                      .encode())
        lines.read(PROBE_BYTES)
        there.sendall(f'{PROBE_BYTES} -\n'.encode())
        with socket.create_connection((address[0], int(words[2]))) as back:
            back.sendall(bytes(PROBE_BYTES))


def wrong_clock_is_found(doctor):
    """The clock of this host is compared with that of hoopd."""
    only_wrong(doctor.run(LD_PRELOAD=os.path.abspath(sys.argv[3]),
                          CLOCK_AHEAD_S='100'),
               'clock', "hoopd's is ", " s behind this host's: ")


def another_version_and_clock_are_found(doctor):
    with socket.create_server((HERE, 0)) as listener:
        thread = threading.Thread(target=peer_play, args=(listener,), daemon=True)
        thread.start()
        out = doctor.run('--peer', f'{HERE}:{listener.getsockname()[1]}')
        thread.join()
    lines = wrong_lines(out)
    if (len(lines) != 2 or not lines[0].startswith(
            "wrong  version       the peer's is 9.9.9\\u001b[2J, and hoop here is ") or
            not re.match("wrong  clock         the peer's is (99|100)[.]. s "
                         "ahead of this host's: certificates ", lines[1])):
        raise Wrong(out)


def check_on(hosts, programs, folder):
    hoopd, hoopctl = (os.path.abspath(path) for path in programs)
    hosts.add('a')
    hosts.add('b')
    coordinator = Program(folder, 'hoopd', [
        hoopd, '--listen', COORDINATOR, '--http', 'none'], HOOP_TOKEN='secret')
    doctor = Doctor(hosts, hoopctl, folder)
    try:
        await_true('hoopd serves', lambda: subprocess.run(
            [hoopd, '--check', COORDINATOR], capture_output=True,
            check=False).returncode == 0)
        healthy_host_has_nothing_wrong(doctor)
        notes_are_counted(doctor)
        free_ports_are_counted(doctor)
        limits_are_found(doctor)
        names_and_addresses_are_found(doctor)
        bad_ports_are_refused(doctor)
        bad_settings_are_found(doctor)
        listening_ends(doctor)
        another_version_and_clock_are_found(doctor)
        wrong_clock_is_found(doctor)
        if shutil.which('iptables'):
            firewalls_are_found(doctor)
            vanishing_packets_are_found(doctor)
    finally:
        coordinator.kill()


def check(programs, folder):
    hosts = network_hosts.Hosts()
    try:
        check_on(hosts, programs, folder)
    finally:
        hosts.close()
    print('doctor_check.py: ok')


if __name__ == '__main__':
    network_hosts.enter('doctor_check.py')
    # This hoopd and the doctor use no TLS, whatever the test run has set.
    os.environ.pop('HOOP_TLS', None)
    check_main('doctor_check.py', check)
