"""tests/web/simulated_ranks.py - many ranks in one process, for a real hoopd

They join, renew their leases and answer the queries what they are in, by the calls of
docs/rpc.md, as libhoop's workers do. What they say they are in changes each second, and
each job has one slow rank, for which the others wait. They do nothing else.
"""

import asyncio
import os
import struct
import time

from control_client import HELLO, HELLO_BACK, VERSION, Reader, pack

NONE = 2 ** 32 - 1  # in place of a rank
RANKS_OF_HOST = 8
BYTES = 4 * 1024 * 1024
CALL_S = 600  # so long a call may take on a machine that is busy
WATCH_MS = 30000
OPENED_AT_ONCE = 32
SETUP_S = 120
JOINS_MAX = 20  # of a rank whose connection breaks
N_TOTALS = 12


class Refused(Exception):
    """hoopd has answered, and says no. Asking again would not help."""


class Link:
    """A connection, on which calls wait for their replies at the same time."""

    def __init__(self, job):
        self.metadata = ['job', job]
        self.name = os.urandom(16)
        self.last_id = 0
        self.waiting = {}
        self.writer = None
        self.task = None

    async def open(self, host, port):
        reader, self.writer = await asyncio.open_connection(host, port)
        self.writer.write(HELLO)
        if await reader.readexactly(8) != HELLO_BACK:
            raise OSError('no coordinator answers there')
        self.task = asyncio.create_task(self.read(reader))

    def close(self):
        if self.task:
            self.task.cancel()
        if self.writer:
            self.writer.close()

    async def read(self, reader):
        try:
            await self.read_replies(reader)
        except (OSError, EOFError) as error:
            for waiter in self.waiting.values():
                if not waiter.done():
                    waiter.set_exception(OSError(f'the connection broke: {error!r}'))

    async def read_replies(self, reader):
        while True:
            size, frame = struct.unpack('>QI', await reader.readexactly(12))
            reply = Reader(await reader.readexactly(size - 4)).read()
            waiter = self.waiting.pop(frame & 0x7fffffff, None)
            if waiter and not waiter.done():
                waiter.set_result(reply)

    async def call(self, method, body, timeout_ms=CALL_S * 1000):
        self.last_id += 1
        waiter = asyncio.get_running_loop().create_future()
        self.waiting[self.last_id] = waiter
        message = pack([VERSION, 'hoop.v1.Rendezvous/' + method, self.name, self.last_id,
                        timeout_ms, self.metadata, pack(body)])
        self.writer.write(struct.pack('>QI', len(message) + 4,
                                      0x80000000 | self.last_id) + message)
        reply = await waiter
        if reply[2] != 0:
            raise Refused(f'{method}: status {reply[2]}: {reply[3]}')
        return Reader(reply[4]).read()


class Job:
    """The ranks of a job, and what they say. While it hangs, nobody goes on."""

    def __init__(self, name, size):
        self.name = name
        self.size = size
        self.slow = size * 2 // 3
        self.began = time.monotonic()
        self.hangs_since = None

    def host(self, rank):
        return f'node{rank // RANKS_OF_HOST}'

    def label(self, rank):
        return f'rank {rank} ({self.host(rank)}:{1000 + rank})'

    def step(self):
        """Return the number of the present step, one each second, and its age in ms."""
        now = time.monotonic() - self.began
        if self.hangs_since is None:
            return int(now), int(now % 1 * 1000)
        return int(self.hangs_since), int((now - int(self.hangs_since)) * 1000)

    def awaited(self, rank, step):
        """Return for whom a rank waits in a step: a third for the slow one, some for
        nobody, and the others for one that also waits. None: it is in no call."""
        if rank == self.slow or (rank + step) % 11 == 0:
            return None
        if (rank + step) % 3 == 0 or self.size < 4:
            return self.slow
        if (rank + step) % 7 == 0:
            return NONE
        awaited = (rank + step) % self.size
        return self.slow if awaited == rank else awaited

    def activity(self, rank):
        step, age_ms = self.step()
        awaited = self.awaited(rank, step)
        number = step + 1
        call = f'allreduce #{number} (float32, {BYTES // 4} elements, sum)'
        finished = f"allreduce #{number - 1} (float32, {BYTES // 4} elements, sum) of 'world'"
        is_late = awaited == self.slow
        whom = '' if awaited in (None, NONE) else (
            f'{self.label(awaited)} to send (0 of {BYTES} bytes)'
            + ('; it has not called this' if is_late else ''))
        first = rank - rank % RANKS_OF_HOST
        processes = [[other, ord('S'), 'futex', 0] for other in [rank] + [
            other for other in range(first, min(first + RANKS_OF_HOST, self.size))
            if other != rank]]
        details = [1, NONE if awaited is None else awaited, 3 if is_late else 1, 1, '', 5,
                   0, BYTES, finished, '', 0, processes,
                   [] if rank == self.slow else [[self.slow, 20000 + step % 20 * 1000]], []]
        if awaited is None:
            return ['', '', '', '', 0, 0, 0, 0, NONE, pack(details)]
        return ['', call, 'world', whom, number, age_ms, 1, 0, NONE, pack(details)]


class Rank:
    """A member of a job."""

    def __init__(self, job, rank):
        self.job = job
        self.rank = rank
        self.link = None
        self.incarnation = int.from_bytes(os.urandom(7), 'big') + 1
        self.epoch = self.lease_ms = 0

    async def join(self, host, port, gate):
        """Join, again if the connection breaks, as it may on a busy machine: hoopd
        waits for the first bytes only so long. Return the revision."""
        for attempt in range(1, JOINS_MAX + 1):
            self.link = Link(self.job.name)
            try:
                async with gate:
                    await self.link.open(host, port)
                return await self.ask_to_join()
            except OSError:
                self.link.close()
                if attempt == JOINS_MAX:
                    raise
                await asyncio.sleep(0.1)
        return None

    async def ask_to_join(self):
        reply = await self.link.call('Join', [
            self.incarnation, 1, self.rank, self.job.size, 0, 0, 0, 1000 + self.rank,
            self.job.host(self.rank), '', f'127.0.0.1:{1 + self.rank}'])
        self.epoch, self.lease_ms = reply[0], reply[6]
        return reply[1]

    async def renew(self, question=0, query=0):
        activity = self.job.activity(self.rank) if query else (
            ['', '', '', '', 0, 0, 0, 0, NONE, b''])
        await self.link.call('Renew', [self.epoch, self.incarnation, question, b'', query,
                                       activity, [0] * N_TOTALS])

    async def keep_lease(self):
        while True:
            await asyncio.sleep(self.lease_ms / 3000)
            await self.renew()

    async def answer_queries(self, revision):
        question = query = 0
        while True:
            reply = await self.link.call('Watch', [self.epoch, revision, question, query],
                                         WATCH_MS)
            revision = reply[1]
            if reply[3] not in (0, question):
                question = reply[3]
                await self.renew(question=question)
            if reply[4] not in (0, query):
                query = reply[4]
                await self.renew(query=query)


async def jobs_run(jobs, address, on_formed):
    """Join all ranks of the jobs, call on_formed(), and go on until cancelled, or until a
    rank fails, which raises its error."""
    host, port = address.rsplit(':', 1)
    gate = asyncio.Semaphore(OPENED_AT_ONCE)
    ranks = [Rank(job, rank) for job in jobs for rank in range(job.size)]
    tasks = []
    try:
        revisions = await asyncio.wait_for(asyncio.gather(
            *(rank.join(host, port, gate) for rank in ranks)), SETUP_S)
        on_formed()
        tasks = [asyncio.create_task(body) for rank, revision in zip(ranks, revisions)
                 for body in (rank.keep_lease(), rank.answer_queries(revision))]
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()
    finally:
        links = [rank.link for rank in ranks if rank.link]
        for link in links:
            link.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *(link.task for link in links if link.task),
                             return_exceptions=True)
