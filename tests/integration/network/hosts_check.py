#!/usr/bin/env python3
"""tests/integration/network/hosts_check.py - hooprun --hosts, over ssh, to other hosts

hosts_check.py HOOPRUN STEADY FORK_FAILS [--long]: three hosts, each a network namespace
with an sshd of its own; hooprun runs in a fourth. All of them see the same
processes and files, so that the check sees what is left behind anywhere: it
looks at all processes of the namespaces. Exits with 77 where there are no
namespaces or no sshd, unless HOOP_REQUIRE_NETNS is set.
"""

import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../../fault'))
import network_hosts
from network_hosts import HERE, NET, run
from programs import Wrong, await_true, environment_clean

HOSTS = {'a': NET + '11', 'b': NET + '12', 'c': NET + '13'}
NOBODY = NET + '99'
WAIT_S = 30
SHM = pathlib.Path('/dev/shm')  # of this check alone

# Says how it was started; rank 0 listens, as torch does, and all others come.
REPORT = r'''
import json, os, socket, sys
environ = os.environ
rank, size = int(environ["RANK"]), int(environ["WORLD_SIZE"])
master = (environ["MASTER_ADDR"], int(environ["MASTER_PORT"]))
if rank == 0:
    with socket.create_server(master) as listener:
        for _ in range(size - 1):
            listener.accept()[0].close()
else:
    for attempt in range(1000):
        try:
            socket.create_connection(master, 10).close()
            break
        except ConnectionRefusedError:
            __import__("time").sleep(0.01)
    else:
        sys.exit("rank 0 does not listen")
print(json.dumps({
    "argv": [os.fsencode(word).hex() for word in sys.argv[1:]],
    "folder": os.fsencode(os.getcwd()).hex(),
    "net": os.readlink("/proc/self/ns/net"),
    "environ": {name.decode(): os.environb[name].hex()
                for name in os.environb}}))
'''


def enter():
    """Again in namespaces of its own, where there is an sshd."""
    name = 'hosts_check.py'
    if not shutil.which('sshd', path='/usr/sbin:/usr/bin:/sbin'):
        network_hosts.refuse(name, 'no sshd (openssh-server)')
    if not shutil.which('ssh'):
        network_hosts.refuse(name, 'no ssh (openssh-client)')
    network_hosts.enter(name)


def errors_of(err):
    """What hooprun says, but for that it waits, which it does on a slow machine."""
    return ''.join(
        line for line in err.decode(errors='replace').splitlines(keepends=True)
        if not line.startswith('hooprun: waiting for '))


class World(network_hosts.Hosts):
    """The hosts, as long as the check runs."""

    def __init__(self, folder, hooprun, steady, fork_fails):
        super().__init__()
        self.fork_fails = fork_fails
        self.folder = folder
        self.hooprun = hooprun
        self.steady = steady
        self.daemons = []
        self.known = set()

    def begin(self):
        folder = self.folder
        run('mount', '-t', 'tmpfs', 'none', '/run')
        run('mount', '-t', 'tmpfs', '-o', 'mode=1777', 'none', SHM)
        os.mkdir('/run/sshd', 0o755)
        for key in ('user', 'other'):
            run('ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f',
                f'{folder}/{key}')
        for name in HOSTS:
            self.host_add(name)
        self.config_write('config', 'user', 'known')
        self.config_write('no_key', 'other', 'known')
        self.config_write('wrong_host_key', 'user', 'known_wrong')
        self.known = self.processes()

    def host_add(self, name):
        self.add(name)
        run('ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f',
            f'{self.folder}/host_{name}')
        path = os.path.dirname(self.hooprun) + ':' if name != 'c' else ''
        with open(f'{self.folder}/sshd_{name}', 'w', encoding='ascii') as file:
            file.write(f'ListenAddress {HOSTS[name]}\nHostKey '
                       f'{self.folder}/host_{name}\nAuthorizedKeysFile '
                       f'{self.folder}/user.pub\nStrictModes no\nUsePAM no\n'
                       'PermitRootLogin prohibit-password\nPidFile none\n'
                       f'SetEnv PATH={path}/usr/bin:/bin\nUseDNS no\n')
        self.daemons.append(subprocess.Popen(
            self.on(name, '/usr/sbin/sshd', '-D', '-f',
                    f'{self.folder}/sshd_{name}', '-E',
                    f'{self.folder}/sshd_{name}.log')))
        log = pathlib.Path(f'{self.folder}/sshd_{name}.log')
        await_true('sshd listens', lambda: log.exists() and
                   'listening' in log.read_text())

    def config_write(self, name, key, known):
        with open(f'{self.folder}/{known}', 'w', encoding='ascii') as file:
            for host, address in HOSTS.items():
                other = 'b' if known == 'known_wrong' else host
                with open(f'{self.folder}/host_{other}.pub',
                          encoding='ascii') as public:
                    file.write(f'{address} {public.read()}')
        with open(f'{self.folder}/{name}', 'w', encoding='ascii') as file:
            for host, address in HOSTS.items():
                file.write(f'Host {host}\nHostName {address}\n')
            file.write(f'Host *\nUser root\nIdentityFile {self.folder}/{key}\n'
                       f'IdentitiesOnly yes\nUserKnownHostsFile '
                       f'{self.folder}/{known}\nGlobalKnownHostsFile none\n')

    def processes(self):
        """Of all hosts: what is no zombie."""
        nets = {self.net(host) for host in self.holders}
        nets.add(os.readlink('/proc/self/ns/net'))
        found = set()
        for name in os.listdir('/proc'):
            if name.isdigit() and self.net_of(name) in nets:
                found.add(int(name))
        return found

    def close(self):
        for process in self.daemons:
            process.kill()
            process.wait()
        super().close()

    def rsh(self, config='config'):
        return f'ssh -F {self.folder}/{config}'

    def start(self, *words, stdin=subprocess.DEVNULL, config='config',
              preexec_fn=None, **environment):
        return subprocess.Popen(
            [self.hooprun, *words], stdin=stdin, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, cwd=self.folder, preexec_fn=preexec_fn,
            env=environment_clean() | {'HOOP_RSH': self.rsh(config)}
            | environment)

    def all_are_gone(self):
        """Nothing is left anywhere of what hooprun has started."""
        names = {}

        def left():
            names.clear()
            for pid in self.processes() - self.known:
                try:
                    with open(f'/proc/{pid}/cmdline', 'rb') as file:
                        names[pid] = file.read()
                except OSError:
                    continue
            return names
        try:
            await_true('all processes are gone', lambda: not left())
        except Wrong as error:
            raise Wrong(f'{error}: left are {names}') from error

    def run(self, *words, code=0, **rest):
        """Output and errors of a run that ends with this code."""
        process = self.start(*words, **rest)
        try:
            out, err = process.communicate(timeout=2 * WAIT_S)
        except subprocess.TimeoutExpired as error:
            process.kill()
            out, err = process.communicate()
            raise Wrong(f'{words}: no end: {out} {err}') from error
        out, err = out.decode(errors='replace'), errors_of(err)
        if process.returncode != code:
            raise Wrong(f'{words}: exit code {process.returncode}, not {code}:'
                        f'\n{out}\n{err}')
        self.all_are_gone()
        return out, err


def expect(condition, what):
    if not condition:
        raise Wrong(what)


def reports(out):
    """Of each rank, as REPORT says them."""
    found = {}
    for line in out.splitlines():
        rank, text = line.split('] ', 1)
        found[int(rank.lstrip('['))] = json.loads(text)
    return found


def value(report, name):
    return bytes.fromhex(report['environ'].get(name, '')).decode()


def all_arrives_exactly(world):
    folder = os.path.join(world.folder, 'a "b" \'c\' $d `e` \\ ö')
    every = bytes(range(1, 256))
    words = [every, b'', b"it's", b'a\nb', b'*', b'$HOME', b'--hosts', b'%s']
    os.mkdir(folder)
    out, err = world.run(
        '--hosts', 'a:2,b', '--wdir', os.path.basename(folder), '-x', b'BYTES=' + every, '-x',
        'NAMED', '--', '/usr/bin/env', 'python3', '-c', REPORT, *words,
        NAMED='by name', UNNAMED='stays', HOOP_CODEC='zstd',
        HOOP_ADVERTISE='127.0.0.1')
    expect(err == '', err)
    found = reports(out)
    expect(sorted(found) == [0, 1, 2], out)
    for rank, report in found.items():
        host, local = ('a', rank) if rank < 2 else ('b', 0)
        expect([bytes.fromhex(word) for word in report['argv']] == words,
               f'arguments: {report["argv"]}')
        expect(bytes.fromhex(report['folder']) == os.fsencode(folder),
               f'folder: {report["folder"]}')
        expect(bytes.fromhex(report['environ']['BYTES']) == every, 'BYTES')
        expect(report['net'] == world.net(host), f'rank {rank} is not on {host}')
        wanted = {
            'NAMED': 'by name', 'UNNAMED': '', 'HOOP_CODEC': 'zstd',
            'HOOP_ADVERTISE': '', 'HOOP_RSH': '', 'RANK': str(rank),
            'HOOP_RANK': str(rank), 'LOCAL_RANK': str(local),
            'HOOP_LOCAL_RANK': str(local), 'WORLD_SIZE': '3',
            'LOCAL_WORLD_SIZE': '2' if host == 'a' else '1',
            'GROUP_RANK': '0' if host == 'a' else '1', 'GROUP_WORLD_SIZE': '2',
            'OMPI_COMM_WORLD_LOCAL_SIZE': '2' if host == 'a' else '1',
            'MASTER_ADDR': HOSTS['a'],
            'MASTER_PORT': value(found[0], 'MASTER_PORT')}
        for name, text in wanted.items():
            expect(value(report, name) == text,
                   f'rank {rank}: {name}={value(report, name)}, not {text}')
        expect(value(report, 'HOOP_COORDINATOR').startswith(HERE + ':'),
               value(report, 'HOOP_COORDINATOR'))


def ssh_keeps_its_environment(world):
    """What is for workers is not for what starts them."""
    path = os.path.join(world.folder, 'looking')
    with open(path, 'w', encoding='ascii') as file:
        file.write(f'#!/bin/sh\n[ "$HOME" != /nosuch ] || exit 9\n'
                   f'exec {world.rsh()} "$@"\n')
    os.chmod(path, 0o755)
    out, _ = world.run('--hosts', 'a,localhost', '--rsh', path, '-x',
                       'HOME=/nosuch', '-x', 'HOOP_LOG=error', 'sh', '-c',
                       'echo $HOME $HOOP_LOG')
    expect(sorted(out.splitlines()) == ['[0] /nosuch error', '[1] /nosuch error'],
           out)


def token_of_a_file_arrives(world):
    """Without the file, and if nobody else can read it."""
    path = os.path.join(world.folder, 'secret')
    with open(path, 'w', encoding='ascii') as file:
        file.write('our secret\n')
    coordinator = socket.create_server((HERE, 0))
    port = coordinator.getsockname()[1]
    words = ('--hosts', 'a,localhost', '--coordinator', f'{HERE}:{port}', 'sh', '-c',
             'echo $HOOP_TOKEN,$HOOP_TOKEN_FILE')
    os.chmod(path, 0o600)
    out, _ = world.run(*words, HOOP_TOKEN_FILE=path)
    coordinator.close()
    expect(sorted(out.splitlines()) == ['[0] our secret,', '[1] our secret,'], out)
    os.chmod(path, 0o644)
    out, err = world.run(*words, code=1, HOOP_TOKEN_FILE=path)
    expect(out == '' and err.startswith('hooprun: ') and path in err and
           len(err.splitlines()) == 1, f'{out}{err}')


def hostfile_names_hosts(world):
    path = os.path.join(world.folder, 'hosts')
    with open(path, 'w', encoding='ascii') as file:
        file.write('# two\na slots=2 max_slots=4\n\nb:2 # more\n')
    out, _ = world.run('-np', '3', '--hostfile', path, 'sh', '-c',
                       'echo $LOCAL_RANK of $LOCAL_WORLD_SIZE')
    expect(sorted(out.splitlines()) == ['[0] 0 of 2', '[1] 1 of 2', '[2] 0 of 1'],
           out)


def job_spans_hosts(world):
    """With this host, too; and the token is in no command line."""
    stop = os.path.join(world.folder, 'stop')
    process = world.start('--hosts', 'b:1,localhost:1,a:2', 'sh', '-c',
                          f'echo "$HOOP_TOKEN" >token; exec {world.steady} {stop}')
    token = pathlib.Path(world.folder, 'token')
    await_true('ranks run', lambda: token.exists() and
               len(token.read_text().strip()) == 64)
    secret = token.read_text().strip().encode()
    # Rank 0 removes it between two calls.
    pathlib.Path(stop + '.mark').touch()
    await_true('ranks reduce', lambda: not os.path.exists(stop + '.mark'))
    for pid in world.processes():
        with open(f'/proc/{pid}/cmdline', 'rb') as file:
            expect(secret not in file.read(), f'the token is shown by {pid}')
    with open(stop, 'w', encoding='ascii'):
        pass
    _, err = process.communicate(timeout=2 * WAIT_S)
    expect(process.returncode == 0, err.decode())
    world.all_are_gone()


def lines_are_whole(world):
    script = ('import os, sys\nrank = os.environ["RANK"]\n'
              'for i in range(2000):\n'
              '    sys.stdout.write(f"{rank}:{i}:" + rank * (i % 300) + "\\n")\n'
              '    if i % 7 == 0: sys.stdout.flush()\n')
    folder = os.path.join(world.folder, 'output')
    out, _ = world.run('--hosts', 'a:2,b:2', '--output', folder,
                       '/usr/bin/env', 'python3', '-c', script)
    seen = [0] * 4
    for line in out.splitlines():
        rank, text = line[1:].split('] ')
        i = seen[int(rank)]
        expect(text == f'{rank}:{i}:' + rank * (i % 300), f'mixed: {line}')
        seen[int(rank)] += 1
    expect(seen == [2000] * 4, str(seen))
    with open(f'{folder}/rank3.log', encoding='ascii') as file:
        expect(file.read().count('\n') == 2000, 'rank3.log')


def input_is_rank_zeros(world):
    read, write = os.pipe()
    size = 1 << 20
    process = world.start('--hosts', 'a,b', 'sh', '-c',
                          'wc -c', stdin=read)
    os.close(read)
    with os.fdopen(write, 'wb') as file:
        file.write(b'x' * size)
    out, err = process.communicate(timeout=2 * WAIT_S)
    expect(sorted(out.decode().splitlines()) == ['[0] 1048576', '[1] 0'],
           f'{out} {err}')


def input_that_nobody_can_read_ends(world):
    """The fourth fork() of hooprun and its agent is of what would read it."""
    read, write = os.pipe()
    out, err = world.run('--hosts', 'localhost', 'sh', '-c', 'cat; echo end',
                         stdin=read, LD_PRELOAD=world.fork_fails,
                         FORK_FAILS_AT='4')
    os.close(read)
    os.close(write)
    expect(out == '[0] end\n' and err == 'hooprun: cannot fork to read standard '
           'input, which rank 0 does not get; raise ulimit -u: Resource '
           'temporarily unavailable\n', f'{out}{err}')


def first_failure_is_named(world):
    out, err = world.run(
        '--hosts', 'a:2,b:2', 'sh', '-c',
        'if [ $RANK = 2 ]; then echo one; echo why >&2; exit 7; fi; '
        'exec sleep 3600', code=7)
    expect('[2] why\n' in err and '[2] one\n' in out, err)
    expect('hooprun: rank 2 (host b, pid ' in err and
           ') exited with code 7\n' in err, err)
    _, err = world.run('--hosts', 'a:2,b:2', 'sh', '-c',
                       '[ $RANK = 1 ] && kill -9 $$; sleep 3600 & exec sleep '
                       '3600', code=137)
    expect('rank 1 (host a, pid ' in err and
           ') was killed by signal 9 (Killed)\n' in err, err)
    _, err = world.run('--hosts', 'a,b', '--on-exit=restart=1', 'sh', '-c',
                       '[ $RANK = 1 ] && exit $((3 - '
                       '3 * TORCHELASTIC_RESTART_COUNT)); exec sleep 1')
    expect('restart 1 of 1\n' in err, err)


def signals_are_passed_on(world):
    process = world.start(
        '--hosts', 'a,b', 'sh', '-c',
        'trap "echo interrupted; exit 3" INT; echo ready; '
        'while :; do sleep 0.05; done')
    ready = process.stdout.readline() + process.stdout.readline()
    expect(ready.count(b'ready') == 2, str(ready))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=WAIT_S)
    expect(process.returncode == 130 and out.count(b'interrupted') == 2,
           f'{process.returncode} {out} {err}')
    world.all_are_gone()


def terminal_is_rank_zeros(world):
    """What is typed, and then Ctrl-C, for which hooprun's group is told alone."""
    ours, theirs = pty.openpty()
    process = world.start(
        '--hosts', 'a,b', 'sh', '-c',
        'trap "echo interrupted; exit 3" INT; if [ $RANK = 0 ]; then '
        'read line; echo "read $line"; else echo ready; fi; '
        'while :; do sleep 0.05; done', stdin=theirs,
        preexec_fn=lambda: (os.setsid(), fcntl.ioctl(
            0, termios.TIOCSCTTY, 0)))
    os.close(theirs)
    os.write(ours, b'some words\n')
    seen = process.stdout.readline() + process.stdout.readline()
    expect(b'[0] read some words\n' in seen and b'[1] ready\n' in seen,
           str(seen))
    os.write(ours, b'\x03')
    out, err = process.communicate(timeout=WAIT_S)
    os.close(ours)
    expect(process.returncode == 130 and out.count(b'interrupted') == 2,
           f'{process.returncode} {out} {err}')
    world.all_are_gone()


def state(pid):
    with open(f'/proc/{pid}/stat', encoding='ascii', errors='replace') as file:
        return file.read().rsplit(')', 1)[1].split()[0]


def job_is_stopped_and_continued(world):
    """As a shell does it, which is in hooprun's session and not in its group. The
    workers are no shells: those wait in vfork(), where they cannot be stopped, for
    a child that is."""
    process = world.start('--hosts', 'a,b', '/usr/bin/env', 'python3', '-uc',
                          'import os, time\nprint(os.getpid())\n'
                          'while not os.path.exists("go"): time.sleep(0.05)',
                          preexec_fn=lambda: os.setpgid(0, 0))
    pids = [int(process.stdout.readline().split()[1]) for _ in range(2)]
    process.send_signal(signal.SIGTSTP)
    await_true('all are stopped', lambda: all(
        state(pid) == 'T' for pid in pids + [process.pid]))
    process.send_signal(signal.SIGCONT)
    await_true('all go on', lambda: not any(
        state(pid) == 'T' for pid in pids + [process.pid]))
    pathlib.Path(world.folder, 'go').touch()
    _, err = process.communicate(timeout=WAIT_S)
    expect(process.returncode == 0 and errors_of(err) == '',
           f'{process.returncode} {err}')
    world.all_are_gone()


def children(pid):
    with open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as file:
        return [int(child) for child in file.read().split()]


def parent(pid):
    with open(f'/proc/{pid}/stat', encoding='ascii', errors='replace') as file:
        return int(file.read().rsplit(')', 1)[1].split()[1])


def nothing_is_left_after(world, victim, code):
    """victim(hooprun's pid, the pid of a worker on b) is killed."""
    process = world.start(
        '--record', '--hosts', 'a:2,b:2', 'sh', '-c',
        # A child that leaves its group, as daemons do.
        'setsid sleep 3600 & echo $RANK $$; sleep 3600')
    pids = {}
    while len(pids) < 4:
        words = process.stdout.readline().split()
        if len(words) != 3:
            raise Wrong(f'{words}: {process.communicate()}')
        pids[int(words[1])] = int(words[2])
    os.kill(victim(process.pid, pids[3]), signal.SIGKILL)
    _, err = process.communicate(timeout=2 * WAIT_S)
    expect(process.returncode == code,
           f'{victim.__name__}: {process.returncode}: {err.decode()}')
    world.all_are_gone()
    return err.decode()


def no_record_folder_is_left():
    """The workers recorded nothing, so each agent has removed its folder."""
    left = [str(path) for path in SHM.glob('hoop-*/run.*')]
    expect(not left, f'folders for records are left: {left}')


def of_hooprun(hooprun, _worker):
    return hooprun


def of_its_agent(hooprun, _worker):
    return children(hooprun)[0]


def of_each_ssh(hooprun):
    found = []
    for pid in children(children(hooprun)[0]):
        with open(f'/proc/{pid}/cmdline', 'rb') as file:
            if file.read().startswith(b'ssh\0'):
                found.append(pid)
    return found


def of_ssh(hooprun, _worker):
    """The one that goes to b was started after the one that goes to a."""
    return max(of_each_ssh(hooprun))


def of_the_agent_there(_hooprun, worker):
    return parent(worker)


def of_hooprun_there(_hooprun, worker):
    return parent(parent(worker))


def of_sshd_there(_hooprun, worker):
    """Its parent may be the shell that has started it."""
    pid = parent(parent(parent(worker)))
    with open(f'/proc/{pid}/comm', encoding='ascii') as file:
        return pid if file.read().strip() == 'sshd' else parent(pid)


def nothing_is_left(world):
    nothing_is_left_after(world, of_hooprun, -9)
    err = nothing_is_left_after(world, of_its_agent, 137)
    expect('its agent (pid ' in err, err)
    err = nothing_is_left_after(world, of_ssh, 1)
    expect('hooprun: host b is lost: ssh was killed by signal 9 (Killed); what '
           'ran there is ended\n' in err, err)
    expect('hooprun: rank 2 (host b, pid ' in err and
           ') is lost with its host\n' in err, err)
    no_record_folder_is_left()
    err = nothing_is_left_after(world, of_the_agent_there, 1)
    expect("hooprun: host b is lost: hooprun's agent there was killed by "
           'signal 9 (Killed); what ran there is ended\n' in err, err)
    nothing_is_left_after(world, of_hooprun_there, 1)
    err = nothing_is_left_after(world, of_sshd_there, 1)
    expect('hooprun: host b is lost: the connection of ssh broke; what ran '
           'there is ended\n' in err, err)


def refused(world, host, *words, code=1, config='config', lines=None,
            coordinator=None):
    """The first line of stderr begins with the cause; nothing was started. Which
    of two hosts that lack a program is first nobody knows."""
    begun = time.monotonic()
    marker = os.path.join(world.folder, 'started')
    given = ('-c', coordinator) if coordinator else ()
    _, err = world.run('--hosts', f'{host},a', *given, '--', *(
        words or ('touch', marker)), code=code, config=config)
    expect(not os.path.exists(marker), f'{host}: something was started: {err}')
    expect(time.monotonic() - begun < WAIT_S, f'{host}: {err}')
    err = err.replace('host a: cannot run', 'host b: cannot run')
    if lines:
        expect(err.splitlines()[0] == lines, f'\n{err}\n, not\n{lines}')
    return err


def what_cannot_begin_says_why(world):
    refused(world, NOBODY, lines=(
        f'hooprun: host {NOBODY}: ssh: connect to host {NOBODY} port 22: No '
        'route to host; is it up, and the address right? '
        f"'{world.rsh()} {NOBODY} true' has to work"))
    refused(world, HERE, lines=(
        f'hooprun: host {HERE}: ssh: connect to host {HERE} port 22: '
        'Connection refused; does sshd run there, on the port that ssh uses? '
        f"'{world.rsh()} {HERE} true' has to work"))
    err = refused(world, 'b', config='no_key')
    expect(err.startswith('hooprun: host ') and ': root@10.78.9.1' in err and
           'Permission denied (publickey' in err.splitlines()[0] and
           "; nobody can be asked for a password here: give ssh a key "
           '(ssh-copy-id ' in err.splitlines()[0], err)
    err = refused(world, 'c', config='wrong_host_key')
    expect('Host key verification failed; the key that ' in
           err.splitlines()[0], err)
    expect('IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY' in err, err)
    refused(world, 'c', lines=(
        'hooprun: host c: hooprun was not found there; install hoop there, '
        'where commands of ssh find it (PATH), or say with --prefix DIR where '
        'it is (DIR/bin/hooprun)'))
    refused(world, 'b', '/nosuch/program', code=127, lines=(
        "hooprun: host b: cannot run '/nosuch/program': No such file or "
        'directory; is the path right?'))
    _, err = world.run('--hosts', 'a,b', '--wdir', '/nosuch', 'true', code=1)
    expect(': cannot enter /nosuch: No such file or directory; make it on '
           'all hosts, or say another one with --wdir\n' in err, err)
    _, err = world.run('--hosts', 'a:2', '-n', '3', 'true', code=64)
    expect('-n 3: the hosts have only 2 slots; name more of them' in err, err)
    _, err = world.run('--hosts', 'a,-oProxyCommand=x', 'true', code=64)
    expect("'-oProxyCommand=x': that is no name of a host" in err, err)


def another_version_is_named(world):
    """However long, and whatever else is said."""
    path = os.path.join(world.folder, 'other')
    with open(path, 'w', encoding='ascii') as file:
        file.write('#!/bin/sh\necho banner; echo words >&2\n'
                   f'echo "hooprun agent 1 {"9.9.9" * 1000}"\n'
                   'echo more words >&2; exec sleep 3600\n')
    os.chmod(path, 0o755)
    _, err = world.run('--hosts', 'a', '--rsh', path, 'true', code=1)
    expect(err.startswith('hooprun: host a: hooprun there is of version '
                          f'{("9.9.9" * 7)[:31]}, and this one of ') and
           err.endswith('; install the same on all hosts\n') and
           len(err.splitlines()) == 1, err)


def prefix_names_another_place(world):
    prefix = os.path.join(world.folder, "pre fix's")
    os.makedirs(prefix + '/bin')
    os.symlink(world.hooprun, prefix + '/bin/hooprun')
    out, _ = world.run('--hosts', 'c:2', '--prefix', prefix, 'sh', '-c',
                       'echo $RANK')
    expect(sorted(out.splitlines()) == ['[0] 0', '[1] 1'], out)


def firewall_is_named(world):
    if not shutil.which('iptables'):
        return
    run('iptables', '-A', 'INPUT', '-s', HOSTS['b'], '-p', 'tcp', '--syn',
        '-j', 'DROP')
    err = refused(world, 'b')
    run('iptables', '-F')
    expect(err.startswith('hooprun: host b: cannot reach the coordinator, '
                          f'which hooprun has started, from here: {HERE}:') and
           ': no answer; let firewalls pass all ports between the hosts, or, '
           'where they pass some, start hoopd on one of these, give it with '
           '--coordinator, the same HOOP_TOKEN to it and to hooprun, and the '
           'others to the workers with HOOP_PORT\n' in err, err)


def given_coordinator_is_tried_by_all_hosts(world):
    """Before a worker is started."""
    err = refused(world, 'b', coordinator=f'{HERE}:9')
    expect(re.match('hooprun: host [ab]: cannot reach the coordinator of '
                    f'--coordinator from here: {HERE}:9: Connection refused; '
                    'start hoopd there first, with HOOP_TOKEN, without which it '
                    'serves its own host alone; or give an address and port that '
                    'all hosts reach\n', err), err)
    _, err = world.run('--hosts', 'localhost,b', '-c', 'localhost:4667', 'true',
                       code=64)
    expect('--coordinator localhost:4667: localhost is another host on b: give an '
           'address that all hosts reach\n' in err, err)


def output_comes_as_it_is(world):
    out, err = world.run('--hosts', 'a,b', '--no-prefix', 'sh', '-c',
                         'echo out; printf err >&2')
    expect(out == 'out\nout\n' and err == 'errerr', f'{out}\n{err}')


def rsh_write(world, *hosts):
    """A command that goes to other hosts than these, and at these hangs."""
    path = os.path.join(world.folder, 'hanging')
    with open(path, 'w', encoding='ascii') as file:
        file.write(f'#!/bin/sh\ncase $1 in {"|".join(hosts)}) exec sleep 3600;; '
                   f'esac\nexec {world.rsh()} "$@"\n')
    os.chmod(path, 0o755)
    return path


def timeout_counts_before_start(world):
    """One host is ready; all that hang have one time to end."""
    marker = os.path.join(world.folder, 'begun')
    begun = time.monotonic()
    _, err = world.run('--hosts', 'a,b,c', '--rsh', rsh_write(world, 'b', 'c'),
                       '--timeout', '1', 'touch', marker, code=124)
    expect(err == 'hooprun: not finished after 1 s (--timeout); no worker was '
           'started yet\n', err)
    expect(not os.path.exists(marker), 'a worker was started')
    expect(time.monotonic() - begun < 10, f'{time.monotonic() - begun} s')


def command(pid):
    with open(f'/proc/{pid}/cmdline', 'rb') as file:
        return file.read()


def coordinator_that_ends_before_the_start_is_told(world):
    """A host hangs, so that no worker is started."""
    process = world.start('--hosts', 'b', '--rsh', rsh_write(world, 'b'), 'true')
    agent = None

    def is_hanging():
        nonlocal agent
        agent = (children(process.pid) or [None])[0]
        return agent and any(command(child) == b'sleep\x003600\x00'
                             for child in children(agent))
    await_true('the host hangs', is_hanging)
    for child in children(agent):
        if command(child) == command(process.pid):
            os.kill(child, signal.SIGKILL)
    _, err = process.communicate(timeout=2 * WAIT_S)
    expect((process.returncode, err) == (1, b'hooprun: the embedded coordinator '
           b'has ended; no worker was started yet\n'), err)
    world.all_are_gone()


def processor_s(pid):
    with open(f'/proc/{pid}/stat', encoding='ascii', errors='replace') as file:
        fields = file.read().rsplit(')', 1)[1].split()
    return sum(map(int, fields[11:13])) / os.sysconf('SC_CLK_TCK')


def lines_alike_are_told_with_their_hosts(world):
    """While the run goes on; of more than 16 ranks."""
    go = os.path.join(world.folder, 'enough')
    process = world.start(
        '--hosts', 'a:9,b:9', 'sh', '-c', 'echo "2026-11-26T03:43:00.000Z '
        f'rank $RANK warning late" >&2; while [ ! -e {go} ]; do sleep 0.5; '
        'echo on; done')
    n_told = 0
    while n_told < 17:
        line = process.stderr.readline().decode()
        expect(process.poll() is None, f'told are {n_told} of 17')
        told = re.match(r'hooprun: ([0-9]+) more lines?, from ranks? (.*), (is|are) '
                        r'like: 2026-11-26T03:43:00.000Z rank [0-9]+ warning', line)
        if told:
            n_told += int(told.group(1))
            for rank in told.group(2).split(' to '):
                number = int(rank.split()[0])
                expect(rank == f'{number} (host {"a" if number < 9 else "b"})',
                       line)
    pathlib.Path(go).touch()
    process.communicate(timeout=2 * WAIT_S)
    expect(n_told == 17 and process.returncode == 0, f'{n_told}')
    world.all_are_gone()


def input_of_a_lost_host_is_left(world):
    """Nobody reads it any more, and hooprun does not look at it all the time."""
    go = os.path.join(world.folder, 'go_on')
    process = world.start('--hosts', 'b,a', '--on-exit=continue', 'sh', '-c',
                          f'echo $$; while [ ! -e {go} ]; do sleep 0.05; done',
                          stdin=subprocess.PIPE)
    for _ in range(2):
        process.stdout.readline()
    agent, = children(process.pid)
    os.kill(min(of_each_ssh(process.pid)), signal.SIGKILL)
    while b'is lost with its host' not in process.stderr.readline():
        expect(process.poll() is None, 'hooprun has ended')
    process.stdin.write(b'words\n')
    process.stdin.flush()
    before = processor_s(agent)
    time.sleep(1)
    used = processor_s(agent) - before
    pathlib.Path(go).touch()
    process.communicate(timeout=2 * WAIT_S)
    expect(used < 0.3, f'{used} s of a processor in 1 s')
    world.all_are_gone()


def silent_host_is_named_first(world):
    """Before a rank that ends because of it, and with the time that is true."""
    go = os.path.join(world.folder, 'after_silence')
    process = world.start(
        '--hosts', 'a,b', '--grace', '0', 'sh', '-c',
        f'echo $RANK $$; while [ ! -e {go} ]; do sleep 0.05; done; exit 3')
    lines = [process.stdout.readline() for _ in range(2)]
    pids = {int(line.split()[1]): int(line.split()[2]) for line in lines}
    agent = of_the_agent_there(process.pid, pids[1])
    os.kill(agent, signal.SIGSTOP)
    begun = time.monotonic()
    time.sleep(4)  # so long is no host silent that lives
    pathlib.Path(go).touch()
    _, err = process.communicate(timeout=2 * WAIT_S)
    waited = time.monotonic() - begun
    os.kill(agent, signal.SIGCONT)
    err = errors_of(err)
    expect(re.match(r'hooprun: nothing was heard of host b for [1-9][0-9]*\.[0-9] s; '
                    r'rank 0 \(host a, pid [0-9]+\) exited with code 3\n', err), err)
    told = re.search(r'hooprun: host b is lost: nothing was heard of it for '
                     r'([0-9]+) s; is it up', err)
    expect(told and 5 <= int(told.group(1)) <= waited + 3, f'{waited} {err}')
    world.all_are_gone()


def cut_cable_is_noticed(world):
    """Both ends give up after 30 s."""
    process = world.start('--hosts', 'a,b', 'sh', '-c',
                          'echo $RANK $$; exec sleep 3600')
    lines = [process.stdout.readline() for _ in range(2)]
    pids = {int(line.split()[1]): int(line.split()[2]) for line in lines}
    world.cut('b')
    _, err = process.communicate(timeout=4 * WAIT_S)
    expect(process.returncode == 1 and
           b'host b is lost: nothing was heard of it for 3' in err,
           err.decode())
    await_true('its worker ends', lambda: not os.path.exists(
        f'/proc/{pids[1]}'))


PARTS = [all_arrives_exactly, ssh_keeps_its_environment,
         token_of_a_file_arrives, hostfile_names_hosts, job_spans_hosts,
         lines_are_whole, input_is_rank_zeros,
         input_that_nobody_can_read_ends, first_failure_is_named,
         signals_are_passed_on, terminal_is_rank_zeros,
         job_is_stopped_and_continued, nothing_is_left, what_cannot_begin_says_why,
         another_version_is_named, prefix_names_another_place, firewall_is_named,
         given_coordinator_is_tried_by_all_hosts,
         output_comes_as_it_is, lines_alike_are_told_with_their_hosts,
         timeout_counts_before_start, silent_host_is_named_first,
         input_of_a_lost_host_is_left,
         coordinator_that_ends_before_the_start_is_told]


def main():
    enter()
    programs = [os.path.abspath(path) for path in sys.argv[1:4]]
    with tempfile.TemporaryDirectory() as folder:
        world = World(folder, *programs)
        try:
            world.begin()
            for part in PARTS + ([cut_cable_is_noticed]
                                 if '--long' in sys.argv else []):
                begun = time.monotonic()
                part(world)
                print(f'{part.__name__}: {time.monotonic() - begun:.1f} s')
        except (Wrong, OSError, subprocess.SubprocessError) as error:
            sys.exit(f'hosts_check.py: {error}')
        finally:
            world.close()
    print('hosts_check.py: ok')


if __name__ == '__main__':
    main()
