#!/usr/bin/env python3
"""tests/web/screenshots.py - the pictures of the page in docs/

screenshots.py HOOPD MEMBER FOLDER [--all] shows a job of six ranks, one of which is stopped,
in light, in dark and on a phone; a lost rank, a mismatch, a job that has ended; and the
list of jobs, also after hoopd was started again. --all takes each in light, in dark and on
a phone, to be looked at. The pictures have few colours, so each is written with a palette,
which takes a quarter of the bytes.
"""

import collections
import struct
import sys
import tempfile
import time
import zlib

from browser import Browser
from jobs import Hoopd, Job

SIZE = 6
STOPPED = 4
SECONDS = 25  # of the last minute, so that there is something to see
SILENCE = 5  # of hoopd
WIDTH = 1000


def rows_of(png):
    """Return the width of a PNG as browsers write it, and its rows of three bytes a
    pixel."""
    at, packed = 8, b''
    while at < len(png):
        size, kind = struct.unpack('>I4s', png[at:at + 8])
        data = png[at + 8:at + 8 + size]
        if kind == b'IHDR':
            width, _, depth, colours = struct.unpack('>IIBB', data[:10])
            assert (depth, colours) == (8, 2), 'not RGB'
        if kind == b'IDAT':
            packed += data
        at += size + 12
    raw, rows, above = zlib.decompress(packed), [], bytes(3 * width)
    for start in range(0, len(raw), 3 * width + 1):
        row = bytearray(raw[start + 1:start + 1 + 3 * width])
        for i, byte in enumerate(row):
            left, corner = (row[i - 3], above[i - 3]) if i >= 3 else (0, 0)
            row[i] = (byte + predicted(raw[start], left, above[i], corner)) & 255
        rows.append(bytes(row))
        above = row
    return width, rows


def predicted(kind, left, up, corner):
    if kind < 4:
        return (0, left, up, (left + up) // 2)[kind]
    guess = left + up - corner
    return min((left, up, corner), key=lambda value: abs(guess - value))


def shrink(path):
    """Write the same picture with its 256 most common colours."""
    with open(path, 'rb') as source:
        width, rows = rows_of(source.read())
    pixels = [[row[i:i + 3] for i in range(0, len(row), 3)] for row in rows]
    counts = collections.Counter(pixel for row in pixels for pixel in row)
    palette = [pixel for pixel, _ in counts.most_common(256)]
    places = {pixel: palette.index(min(palette, key=lambda other: sum(
        (a - b) ** 2 for a, b in zip(pixel, other)))) for pixel in counts}
    data = b''.join(b'\0' + bytes(places[pixel] for pixel in row) for row in pixels)
    with open(path, 'wb') as out:
        out.write(b'\x89PNG\r\n\x1a\n')
        for kind, body in (
                (b'IHDR', struct.pack('>IIBBBBB', width, len(rows), 8, 3, 0, 0, 0)),
                (b'PLTE', b''.join(palette)), (b'IDAT', zlib.compress(data, 9)),
                (b'IEND', b'')):
            out.write(struct.pack('>I', len(body)) + kind + body
                      + struct.pack('>I', zlib.crc32(kind + body)))


def show(browser, width, height, is_phone=False):
    browser.cdp('Emulation.setDeviceMetricsOverride', width=width, height=height,
                deviceScaleFactor=1, mobile=is_phone)
    browser.await_true('the page has that width', lambda: browser.run(
        'return document.documentElement.scrollWidth') == width)


class Album:
    """Pictures of one browser in a folder, each taken light; with_all also in the dark and
    on a phone."""

    def __init__(self, browser, folder, with_all):
        self.browser, self.folder, self.with_all = browser, folder, with_all

    def take(self, name, height=None):
        """height: of what is shown; None: all of the page."""
        show(self.browser, WIDTH, height or 700)
        self.shot(name, height is None)
        if self.with_all:
            self.browser.media('dark')
            self.shot(f'{name}-dark', height is None)
            self.browser.media('light')
            self.phone(f'{name}-phone')

    def phone(self, name):
        show(self.browser, 360, 740, is_phone=True)
        self.shot(name, self.with_all)
        show(self.browser, WIDTH, 700)

    def shot(self, name, is_whole):
        path = f'{self.folder}/page-{name}.png'
        self.browser.screenshot(path, is_whole)
        if not self.with_all:
            shrink(path)


def stopped(hoopd, member, browser):
    """Let ranks call, and then stop one of them while the others wait for it."""
    train = Job(hoopd, member, 'train', SIZE).ready()
    browser.open(hoopd.page + '#/job/train')
    browser.await_true('the ranks', lambda: len(browser.rows('#ranks')) == SIZE)
    span = 'return [...document.querySelectorAll("#ranks tbody td:nth-child(4)")]' \
           '.some((cell) => parseFloat(cell.innerText) >= arguments[0])'
    for _ in range(2):
        train.tell('allreduce', *range(STOPPED))
        browser.await_true('they wait', lambda: browser.run(span, 3))
        train.tell('allreduce', *range(STOPPED, SIZE))
        for rank, worker in train.workers.items():
            worker.expect('done')
        browser.await_true('they go on', lambda: not browser.run(span, 0))
    train.tell('allreduce', *(rank for rank in range(SIZE) if rank != STOPPED))
    browser.await_true('they wait', lambda: browser.run(span, 3))
    train.stop(STOPPED)
    browser.await_true('for long', lambda: browser.run(span, SECONDS), 60)
    return train


def job_show(browser, hoopd, name, words):
    browser.open(hoopd.page + f'#/job/{name}')
    browser.await_text('#job-verdict', words, 60)
    browser.await_true('there is a bar', lambda: browser.run(
        'return !!document.querySelector("#timeline-part:not([hidden])")') or words == 'ended')


def pictures(hoopd, member, album, jobs):
    """One after the other of what docs/page.md shows. jobs: those to end, which grow."""
    browser = album.browser
    jobs += [Job(hoopd, member, name, 3).ready() for name in ('evaluate', 'search', 'preprocess')]
    evaluate, search, preprocess = jobs
    jobs.append(stopped(hoopd, member, browser))
    preprocess.tell('leave', 0, 1, 2)
    album.take('light')
    browser.media('dark')
    album.shot('dark', True)
    browser.media('light')
    album.phone('phone')

    job_show(browser, hoopd, 'preprocess', 'ended')
    album.take('ended', 420)
    evaluate.workers[2].kill()
    job_show(browser, hoopd, 'evaluate', 'is lost')
    evaluate.tell('shrink', 0, 1)
    browser.await_text('#log', 'has shrunk')
    album.take('lost')
    search.tell('try', 0, 1)
    search.tell('differ', 2)
    job_show(browser, hoopd, 'search', 'different things')
    album.take('mismatch', 610)

    browser.open(hoopd.page + '#/')
    browser.await_text('#jobs', 'ended')
    browser.await_true('each has its sentence', lambda: len(browser.rows('#jobs')) == 8 and all(
        row[0] for row in browser.rows('#jobs')[1::2]))
    album.take('jobs', 640)
    hoopd.kill()
    browser.await_text('#connection', 'hoopd is silent')
    killed = time.monotonic()
    browser.await_true('for long', lambda: time.monotonic() - killed > SILENCE)
    if album.with_all:
        album.take('silent', 640)
    hoopd.start()
    browser.await_text('#connection', 'Connected.')
    browser.await_text('#log', 'starts again')
    browser.await_true('each has its sentence', lambda: all(
        row[0] for row in browser.rows('#jobs')[1::2]))
    album.take('restarted', 640)


def main():
    hoopd_program, member, folder = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as scratch, Browser(WIDTH, 700) as browser:
        hoopd = Hoopd(hoopd_program, scratch, f'--data-dir={scratch}/data')
        jobs = []
        try:
            pictures(hoopd, member, Album(browser, folder, '--all' in sys.argv[4:]), jobs)
        finally:
            for job in jobs:
                job.end()
            hoopd.kill()


if __name__ == '__main__':
    main()
