#!/usr/bin/env python3
"""tests/fault/joins/join_refused_check.py - a join that cannot succeed fails at once

join_refused_check.py HOOPD ARRIVAL: some joins contradict what others have
said, some show a wrong token or none, and some speak another protocol version
than the coordinator, because a relay changes what is sent. Each must say so,
word for word, long before its own deadline, which is far beyond the end of this
check. The last join finds no coordinator until its deadline, and must name that
cause first.
"""

import os
import re
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
from damage_check import Relay
from join_notice_check import Jobs
from programs import Wrong, check_main

HOST = socket.gethostname()
FOREVER = '600'  # longer than WAIT_S of programs.py


def said(worker, where):
    """Return the worker's one line, without what differs from run to run."""
    if worker.code() != 1:
        raise Wrong(f'{worker.name} ended with {worker.code()}')
    text = re.sub(r'127\.0\.0\.1:\d+', 'ADDRESS',
                  worker.text().replace(where, 'HOOPD'))
    return re.sub(rf'{re.escape(HOST)}:\d+', 'HOST:PID', text)


def expect(jobs, text, job='first', where=None, **settings):
    where = where or jobs.address
    worker = jobs.join(job, **({'HOOP_JOIN_TIMEOUT': FOREVER,
                                'HOOP_WAIT_NOTICE': '0',
                                'HOOP_COORDINATOR': where} | settings))
    line = f"arrival: cannot join job '{job}' at HOOPD: {text}\n"
    if said(worker, where) != line:
        raise Wrong(f'{settings}: said\n{said(worker, where)}instead of\n{line}')


def check_contradictions(jobs):
    """One member waits for two others, and each newcomer contradicts it."""
    jobs.join('first', HOOP_WORLD_SIZE='3', HOOP_RANK='0')
    jobs.hoopd.expect('joins job "first"')
    expect(jobs, 'this worker says that the world size of job "first" is 4, but '
           'rank 0 (HOST:PID) said 3: use one value for all workers',
           HOOP_WORLD_SIZE='4')
    expect(jobs, 'rank 0 is taken by HOST:PID at ADDRESS: give each worker a '
           'HOOP_RANK of its own, or none', HOOP_RANK='0')
    expect(jobs, 'rank 3 is out of range: the world has 3 ranks, 0 to 2',
           HOOP_RANK='3')


def check_strangers(jobs):
    expect(jobs, 'no connection to the coordinator at HOOPD: what answers there '
           "does not know the token: give hoopd the job's, by --token-file or "
           'HOOP_TOKEN, and the same one here', HOOP_TOKEN='guessed')
    for job in ('first', 'other'):
        expect(jobs, f'no token was given for job "{job}", which needs one: give the '
               'same HOOP_TOKEN or HOOP_TOKEN_FILE everywhere', job, HOOP_TOKEN='')
    expect(jobs, 'no connection to the coordinator at HOOPD: the coordinator does '
           'not speak TLS: start hoopd with --tls on, or set HOOP_TLS=off here, '
           'too', HOOP_TLS='on')


class OtherVersion(Relay):
    """Relays a connection, and changes one version number in a request, in a
    reply, or in the body of a join (docs/rpc.md)."""

    def __init__(self, target, request=None, reply=None, join=None):
        super().__init__(target)
        self.request = request
        self.reply = reply
        self.join = join

    def damage(self, piece):
        if self.request:
            piece = re.sub(rb'(?s)\x02(..?hoop\.v1\.)',
                           lambda at: bytes([self.request]) + at[1], piece)
        if self.join:
            # The number follows another one in an array, which is in a byte
            # string.
            piece = re.sub(rb'(?s)(Rendezvous/Join.*(?:\xc4.|\xc5..)'
                           rb'(?:\xdc..|[\x90-\x9f])\xcf.{8})\x01',
                           lambda at: at[1] + bytes([self.join]), piece)
        return piece

    def answer(self, piece):
        if self.reply:
            piece = re.sub(rb'\x95\x02', bytes([0x95, self.reply]), piece)
        return piece


def check_versions(jobs):
    """Check the versions at a coordinator that asks for no token."""
    jobs.hoopd.kill()
    jobs.serve(token='')
    host, port = jobs.address.split(':')
    same = ': use the same release on both sides'
    ours = 'this program version 2'
    for numbers, text in (
            ({'request': 3}, 'the request is of protocol version 3, this '
             'coordinator speaks 2' + same),
            ({'reply': 3}, 'the coordinator speaks version 3 of the protocol, '
             + ours + same),
            ({'reply': 1}, 'the coordinator speaks version 1 of the protocol, '
             + ours + ', which does not send the token' + same),
            ({'join': 9}, 'this worker speaks version 9 of the protocol, the '
             'coordinator version 1: use the same release of hoop for both')):
        relay = OtherVersion((host, int(port)), **numbers)
        try:
            expect(jobs, text, where='%s:%d' % relay.address, HOOP_TOKEN='',
                   HOOP_WORLD_SIZE='1')
        finally:
            relay.close()


def check_nobody(jobs):
    jobs.hoopd.kill()
    expect(jobs, 'hoopd at HOOPD did not answer for 4.0 s: cannot connect: '
           'Connection refused; start hoopd there, listening on that address',
           HOOP_JOIN_TIMEOUT='4')


def check(programs, folder):
    jobs = Jobs(programs, folder)
    try:
        jobs.serve()
        check_contradictions(jobs)
        check_strangers(jobs)
        check_versions(jobs)
        check_nobody(jobs)
    finally:
        jobs.end()


if __name__ == '__main__':
    check_main('join_refused_check', check)
