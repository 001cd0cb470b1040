#!/usr/bin/env python3
"""tests/web/load_check.py - the page stays smooth, and what it costs is bounded

load_check.py HOOPD [--ranks N] [--jobs N] [--seconds S]: simulated ranks
(simulated_ranks.py) of one job of N ranks, and of further jobs of two, are served by a
real hoopd, whose page is open in Chromium. For half of the time the page shows the job
while it runs, for a fifth while it hangs, and then the list of jobs. A table tells what
went to the browser, and what hoopd and the page took. The check fails if something grows
or if more is sent than what has changed; it asserts no speed. Ten minutes of 256 ranks
and 100 jobs: --ranks 256 --jobs 100 --seconds 600.
"""

import argparse
import asyncio
import os
import resource
import sys
import tempfile
import threading
import time

from browser import Browser, require
from jobs import Hoopd
from programs import Wrong
from simulated_ranks import Job, jobs_run

SIZE_OTHERS = 2
ROWS_MAX = 24  # of the table, which has one for each minute of a long run
HEAPS = 5  # measurements of the heap, of which the least counts
SETTLE_S = 3  # after the page was changed
MIB = 1024 * 1024
# What may come in one second.
HEAD_BYTES = 4096  # the verdict, the time, entries of the log
ORDER_BYTES = 6  # of a rank, in the order of a job that is held up
ROW_BYTES = 800  # of a rank or a job
TURNS = 16  # jobs of the list that are asked for their verdicts
# What may be added from the beginning of a view to its end: in a short run less than if
# each event left a node for each rank.
GROWTH = {'rss': 2, 'heap': 0.4,  # MiB
          'elements': 14}  # two entries of the log
HISTORY_MIB = 1 / 64  # of a rank that goes on, whose last minute the page keeps

FRAMES = '''
window.load = { times: [], last: 0 };
const tick = (now) => {
  if (window.load.last) window.load.times.push(now - window.load.last);
  window.load.last = now;
  requestAnimationFrame(tick);
};
requestAnimationFrame(tick);
'''
TAKE_FRAMES = 'return window.load.times.splice(0);'
# What a measurement itself costs is left out.
RESTART_FRAMES = 'window.load.times.length = 0; window.load.last = 0;'


class Counter:
    """A port that passes bytes between the browser and hoopd, and counts those that come
    from hoopd, for each second."""

    def __init__(self, port):
        self.to_port = port
        self.port = 0
        self.n_bytes = 0
        self.n_streams = 0

    async def open(self):
        server = await asyncio.start_server(self.serve, '127.0.0.1', 0)
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def serve(self, reader, writer):
        try:
            to_reader, to_writer = await asyncio.open_connection('127.0.0.1', self.to_port)
            await asyncio.gather(self.pass_on(reader, to_writer, False),
                                 self.pass_on(to_reader, writer, True))
        except OSError:
            writer.close()

    async def pass_on(self, reader, writer, is_counted):
        try:
            while data := await reader.read(65536):
                if is_counted:
                    self.n_bytes += len(data)
                elif data.startswith(b'GET /api/events'):
                    self.n_streams += 1
                writer.write(data)
                await writer.drain()
        finally:
            writer.close()


class Load:
    """The ranks and the counter, in a thread of their own."""

    def __init__(self, hoopd, jobs):
        self.jobs = jobs
        self.counter = Counter(hoopd.http_port)
        self.formed = threading.Event()
        self.error = None
        self.loop = asyncio.new_event_loop()
        self.task = self.loop.create_task(self.main(hoopd.address))
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    async def main(self, address):
        server = await self.counter.open()
        try:
            await jobs_run(self.jobs, address, self.formed.set)
        finally:
            server.close()

    def run(self):
        try:
            self.loop.run_until_complete(self.task)
        except asyncio.CancelledError:
            pass
        except Exception as error:  # the main thread raises it
            self.error = error
        finally:
            self.formed.set()

    def check(self):
        if self.error:
            raise Wrong(f'a simulated rank failed: {self.error!r}')

    def await_formed(self):
        self.formed.wait()
        self.check()

    def end(self):
        self.loop.call_soon_threadsafe(self.task.cancel)
        self.thread.join()


class Meter:
    """What was sent and taken since the last measurement."""

    def __init__(self, browser, hoopd, load):
        self.browser = browser
        self.hoopd = hoopd.program.popen.pid
        self.load = load
        browser.cdp('Performance.enable', timeDomain='threadTicks')
        browser.run(FRAMES)
        self.restart()

    def cpu_s(self):
        with open(f'/proc/{self.hoopd}/stat', encoding='ascii') as line:
            fields = line.read().rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

    def rss_mib(self):
        with open(f'/proc/{self.hoopd}/status', encoding='ascii') as lines:
            return next(int(line.split()[1]) for line in lines
                        if line.startswith('VmRSS')) / 1024

    def page(self):
        return {metric['name']: metric['value']
                for metric in self.browser.cdp('Performance.getMetrics')['metrics']}

    def restart(self):
        self.browser.run(RESTART_FRAMES)
        self.began = time.monotonic()
        self.before = (self.cpu_s(), self.page()['TaskDuration'])

    def heap_mib(self):
        """Without what is not used; events that come meanwhile add to it, so it is the
        least of some measurements."""
        sizes = []
        for _ in range(HEAPS):
            self.browser.cdp('HeapProfiler.collectGarbage')
            sizes.append(self.page()['JSHeapUsedSize'] / MIB)
        return min(sizes)

    def sizes(self):
        return {'rss': self.rss_mib(), 'heap': self.heap_mib(),
                'elements': self.browser.run(
                    'return document.querySelectorAll("*").length')}

    def measure(self, seconds):
        """Wait so long, and return a row of the table."""
        each, last = [], self.load.counter.n_bytes
        for second in range(1, seconds + 1):
            time.sleep(max(0, self.began + second - time.monotonic()))
            now = self.load.counter.n_bytes
            each.append(now - last)
            last = now
        self.load.check()
        frames = sorted(self.browser.run(TAKE_FRAMES))
        took_s = time.monotonic() - self.began
        cpu_s, task_s = self.cpu_s(), self.page()['TaskDuration']
        row = {'bytes': sum(each) / len(each), 'bytes_most': max(each),
               'cpu': (cpu_s - self.before[0]) / took_s,
               'task': (task_s - self.before[1]) / took_s,
               'frames': [frames[len(frames) // 2], frames[len(frames) * 99 // 100],
                          frames[-1]]}
        row |= self.sizes()
        self.restart()
        return row


HEAD = ('| the page shows | to the browser, KB/s (most) | hoopd: processor | memory, MiB '
        '| page: processor | heap, MiB | frame: median, ms | 99th | longest |\n'
        '|---|---:|---:|---:|---:|---:|---:|---:|---:|')


def print_row(view, row):
    print(f"| {view} | {row['bytes'] / 1000:.1f} ({row['bytes_most'] / 1000:.1f}) "
          f"| {row['cpu']:.0%} | {row['rss']:.1f} | {row['task']:.0%} | {row['heap']:.1f} | "
          + ' | '.join(f'{ms:.1f}' for ms in row['frames']) + ' |', flush=True)


def expect(what, is_true, shown):
    if not is_true:
        raise Wrong(f'{what}: {shown}')


def check_rows(view, first, rows, bounds):
    """What a view costs does not grow, and no more is sent than what has changed."""
    for name in ('rss', 'heap', 'elements'):
        expect(f'{view}: {name} does not grow', rows[-1][name] - first[name] <= bounds[name],
               [row[name] for row in [first, *rows]])
    sent = sum(row['bytes'] for row in rows) / len(rows)
    expect(f"{view}: at most {bounds['bytes']} bytes a second", sent <= bounds['bytes'],
           sent)


def view_measure(meter, view, seconds, **bounds):
    time.sleep(SETTLE_S)
    n_rows = max(2, min(ROWS_MAX, seconds // 60))
    first = meter.sizes()
    meter.restart()
    rows = []
    for _ in range(n_rows):
        rows.append(meter.measure(max(1, seconds // n_rows)))
        print_row(view, rows[-1])
    check_rows(view, first, rows, GROWTH | bounds)


def check(browser, hoopd, load, seconds):
    job = load.jobs[0]
    load.await_formed()
    browser.open(f'http://localhost:{load.counter.port}/#/job/{job.name}')
    browser.await_true('all ranks are shown', lambda: browser.run(
        'return document.querySelectorAll("#ranks tbody tr").length') == job.size)
    browser.await_true('the slow rank is first', lambda: browser.rows(
        '#ranks')[0][0] == f'{job.slow}\n! the cause')
    meter = Meter(browser, hoopd, load)
    print(HEAD)
    view_measure(meter, 'the job, which runs', seconds // 2,
                 bytes=HEAD_BYTES + (ORDER_BYTES + ROW_BYTES) * job.size,
                 heap=GROWTH['heap'] + HISTORY_MIB * job.size)
    job.hangs_since = time.monotonic() - job.began
    browser.await_text('#job-verdict', f'{job.label(job.slow).capitalize()} is in no call')
    # Nothing changes; on a busy machine a rank tells late how long it waits.
    view_measure(meter, 'the job, which hangs', seconds // 5,
                 bytes=HEAD_BYTES + ROW_BYTES * job.size // 4)
    browser.click('nav a')
    browser.await_true('all jobs are shown', lambda: browser.run(
        'return document.querySelectorAll("#jobs tbody").length') == len(load.jobs))
    browser.await_true('each has a verdict', lambda: browser.run(
        'return [...document.querySelectorAll("#jobs .verdict-row")].every('
        '(row) => !row.hidden)'))
    view_measure(meter, 'the list of jobs', seconds - seconds // 2 - seconds // 5,
                 bytes=HEAD_BYTES + ROW_BYTES * TURNS)
    expect('two streams were opened', load.counter.n_streams == 2, load.counter.n_streams)
    told = browser.messages()
    expect('the console is silent', not told, told)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument('hoopd')
    parser.add_argument('--ranks', type=int, default=64)
    parser.add_argument('--jobs', type=int, default=100)
    parser.add_argument('--seconds', type=int, default=20)
    return parser.parse_args()


def main():
    options = arguments()
    require()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory() as folder:
        hoopd = Hoopd(options.hoopd, folder, '--lease=60')
        load = Load(hoopd, [Job('train', options.ranks)] + [
            Job(f'job{number}', SIZE_OTHERS) for number in range(1, options.jobs)])
        try:
            with Browser() as browser:
                check(browser, hoopd, load, options.seconds)
        except (Wrong, OSError) as error:
            sys.exit(f'load_check: {error}')
        finally:
            load.end()
            hoopd.kill()


if __name__ == '__main__':
    main()
