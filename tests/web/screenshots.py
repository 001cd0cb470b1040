#!/usr/bin/env python3
"""tests/web/screenshots.py - the pictures of the page in docs/

screenshots.py HOOPD MEMBER FOLDER shows a job of six ranks, one of which is stopped, in
light, in dark and on a phone, and the list of jobs. The pictures have few colours, so
each is written with a palette, which takes a quarter of the bytes.
"""

import collections
import struct
import sys
import tempfile
import zlib

from browser import Browser
from jobs import Hoopd, Job

SIZE = 6
STOPPED = 4
SECONDS = 25  # of the last minute, so that there is something to see


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


def scene(hoopd, member, browser):
    """Let ranks call, and then stop one of them while the others wait for it."""
    train = Job(hoopd, member, 'train', SIZE).ready()
    other = Job(hoopd, member, 'evaluate', 2).ready()
    gone = Job(hoopd, member, 'preprocess', 2).ready()
    gone.tell('leave', 0, 1)
    browser.open(hoopd.page + '#/job/train')
    browser.await_true('the ranks', lambda: len(browser.rows('#ranks')) == SIZE)
    span = 'return [...document.querySelectorAll("#ranks tbody td:nth-child(4)")]' \
           '.some((cell) => parseFloat(cell.innerText) >= arguments[0])'
    for _ in range(2):
        train.tell('allreduce', *range(STOPPED))
        browser.await_true('they wait', lambda: browser.run(span, 3))
        train.tell('allreduce', *range(STOPPED, SIZE))
        for rank, worker in enumerate(train.workers):
            worker.expect('done')
        browser.await_true('they go on', lambda: not browser.run(span, 0))
    train.tell('allreduce', *(rank for rank in range(SIZE) if rank != STOPPED))
    browser.await_true('they wait', lambda: browser.run(span, 3))
    train.stop(STOPPED)
    browser.await_true('for long', lambda: browser.run(span, SECONDS), 60)
    return train, other, gone


def main():
    hoopd_program, member, folder = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as scratch, Browser(1000, 700) as browser:
        hoopd = Hoopd(hoopd_program, scratch)
        jobs = ()
        try:
            jobs = scene(hoopd, member, browser)
            browser.screenshot(f'{folder}/page-light.png')
            browser.media('dark')
            browser.screenshot(f'{folder}/page-dark.png')
            browser.cdp('Emulation.setDeviceMetricsOverride', width=360, height=740,
                        deviceScaleFactor=1, mobile=True)
            browser.await_true('it is narrow', lambda: browser.run(
                'return document.documentElement.scrollWidth') == 360)
            browser.media('light')
            browser.screenshot(f'{folder}/page-phone.png', is_whole=False)
            browser.cdp('Emulation.setDeviceMetricsOverride', width=1000, height=480,
                        deviceScaleFactor=1, mobile=False)
            browser.open(hoopd.page + '#/')
            browser.await_text('#jobs', 'ended')
            browser.screenshot(f'{folder}/page-jobs.png', is_whole=False)
            for name in ('light', 'dark', 'phone', 'jobs'):
                shrink(f'{folder}/page-{name}.png')
        finally:
            for job in jobs:
                job.end()
            hoopd.kill()


if __name__ == '__main__':
    main()
