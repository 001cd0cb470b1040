#!/usr/bin/env python3
# tests/fuzz/record.py - corpora of real runs: what hoopd and ranks said and left
"""usage: record.py BUILD CORPUS

Runs tests of BUILD in a network namespace of their own, as root, and writes
into CORPUS/TARGET what their connections carried and what lay in their shared
memory, each as an input of the fuzz target:

  session  the answers that a worker of grow_test, groups_test or shrink_test got
  stream   what such a worker sent
  tls      the records of an encrypted connection of ranks, put in somebody's way
  bundle   three connections between two ranks, as they were cut
  segment  the ring that a rank wrote to another
  hall     what a rank wrote into the memory of all
  pages    the file of a coordinator

Files are named real_N and are 4 KiB long at most, but the last.
"""

import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

INPUT_MAX = 4000
DATA_MAX = 64 << 10
PACKET_OUTGOING = 4
TCP = 6
SP_HELLO = {b"\0SP\0\x00\x30\0\0": "client", b"\0SP\0\x00\x31\0\0": "server"}
SP_HELLO_BYTES = 8
TLS_HANDSHAKE = b"\x16\x03"


class Capture(threading.Thread):
    """All that TCP carries on the loopback device of this namespace."""

    def __init__(self):
        super().__init__(daemon=True)
        self.flows = {}  # (source, target): {place: bytes}
        self.first = {}  # ... where it begins
        self.is_over = False
        self.socket = socket.socket(
            socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.setsockopt(socket.SOL_SOCKET, 33, 256 << 20)
        self.socket.bind(("lo", 0))
        self.socket.settimeout(0.2)

    def run(self):
        while True:
            try:
                packet, address = self.socket.recvfrom(1 << 17)
            except TimeoutError:
                if self.is_over:
                    return
                continue
            if address[2] == PACKET_OUTGOING:
                self.take(packet[14:])

    def take(self, packet):
        if packet[0] >> 4 != 4 or packet[9] != TCP:
            return
        segment = packet[(packet[0] & 15) * 4:]
        source, target, number = struct.unpack(">HHI", segment[:8])
        flow = (source, target)
        if segment[13] & 2:
            self.first[flow] = number + 1
            self.flows[flow] = {}
        text = segment[(segment[12] >> 4) * 4:]
        if flow in self.flows and text:
            place = (number - self.first[flow]) & 0xffffffff
            self.flows[flow].setdefault(place, text)

    def stop(self):
        """Returns {flow: bytes}, as far as nothing is missing."""
        self.is_over = True
        self.join()
        streams = {}
        for flow, pieces in self.flows.items():
            stream = bytearray()
            for place in sorted(pieces):
                if place > len(stream):
                    break
                stream[place:] = pieces[place]
            streams[flow] = bytes(stream)
        return streams


def unpacked(text, at=0):
    """One msgpack value of those that hoop uses, and where it ends."""
    kind = text[at]
    sizes = {0xc4: 1, 0xc5: 2, 0xc6: 4, 0xd9: 1, 0xda: 2, 0xdb: 4}
    numbers = {0xcc: 1, 0xcd: 2, 0xce: 4, 0xcf: 8}
    if kind < 0x80 or kind >= 0xe0:
        return kind, at + 1
    if kind in numbers:
        end = at + 1 + numbers[kind]
        return int.from_bytes(text[at + 1:end], "big"), end
    if 0xa0 <= kind < 0xc0:
        return text[at + 1:at + 1 + kind - 0xa0], at + 1 + kind - 0xa0
    if kind in sizes:
        begin = at + 1 + sizes[kind]
        end = begin + int.from_bytes(text[at + 1:begin], "big")
        return text[begin:end], end
    if 0x90 <= kind < 0xa0:
        count, at = kind - 0x90, at + 1
    elif kind == 0xdc:
        count, at = int.from_bytes(text[at + 1:at + 3], "big"), at + 3
    else:
        return None, at + 1
    values = []
    for _ in range(count):
        value, at = unpacked(text, at)
        values.append(value)
    return values, at


def frames(stream):
    """The bodies of an SP stream behind its hello."""
    at = SP_HELLO_BYTES
    while at + 12 <= len(stream):
        size = int.from_bytes(stream[at:at + 8], "big")
        if size < 4 or at + 8 + size > len(stream):
            return
        yield stream[at + 12:at + 8 + size]
        at += 8 + size


# What a session does that asks so: session_fuzz.c. The rest is turns of its loop.
STEPS = {
    b"hoop.v1.Groups/Join": 2 | 10 << 4,  # of all ranks
    b"hoop.v1.Rendezvous/Report": 1,
}
AGREEMENTS = {1: 2 | 2 << 4, 2: 2 | 1 << 4, 4: 2 | 3 << 4}
GROUP_CONFIRM = 3  # part of a shrink
TURN = 1 << 2
STEPS_MAX = 40


def session_input(requests, replies):
    """None: it did not join."""
    incarnation = None
    answers = {unpacked(text)[0][1]: text for text in frames(replies)}
    steps, out = bytearray([2 * TURN]), b""
    for text in frames(requests):
        asked, _ = unpacked(text)
        method, number, body = asked[1], asked[3], asked[-1]
        # How a token is proved has none.
        if number not in answers or number == 0 or len(steps) == STEPS_MAX:
            continue
        if method == b"hoop.v1.Rendezvous/Join":
            incarnation = unpacked(body)[0][0]
        elif method == b"hoop.v1.Groups/Agree":
            kind = unpacked(body)[0][3]
            if kind != GROUP_CONFIRM:
                steps.append(AGREEMENTS[kind])
        else:
            steps.append(STEPS.get(method, TURN))
        answer = answers[number]
        piece = bytes([1]) + struct.pack("<H", len(answer)) + answer
        if len(out) + len(piece) < INPUT_MAX - 2 * STEPS_MAX:
            out += piece
    if incarnation is None:
        return None
    return struct.pack("<Q", incarnation) + bytes([len(steps)]) + steps + out


class Corpus:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.seen = {}

    def add(self, target, text, most):
        """At most so many of a target, and none twice."""
        seen = self.seen.setdefault(target, [])
        if not text or text in seen or len(seen) == most:
            return
        seen.append(text)
        path = self.folder / target
        path.mkdir(exist_ok=True)
        (path / f"real_{len(seen)}").write_bytes(text)


def run(command, **environment):
    """Returns the connections of what ran."""
    capture = Capture()
    capture.start()
    subprocess.run(
        command, env=dict(os.environ, **environment), check=False,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
    return capture.stop()


def record_coordinator(corpus, build):
    for name in ("session/groups_test", "recovery/shrink_test", "recovery/grow_test"):
        streams = run([f"{build}/tests/integration/{name}"], HOOPD=f"{build}/server/hoopd")
        found = {}
        for (source, target), stream in streams.items():
            if SP_HELLO.get(stream[:SP_HELLO_BYTES]) != "client":
                continue
            replies = streams.get((target, source), b"")
            text = session_input(stream, replies)
            if text:
                # Of those that did the same one.
                found.setdefault(text[9:9 + text[8]], (text, stream))
        for steps in sorted(found, key=lambda it: -len(set(it)))[:7]:
            text, stream = found[steps]
            corpus.add("session", text, 14)
            corpus.add("stream", b"\x07\x20" + stream[:INPUT_MAX - 2], 6)


def chunks(text, size):
    return [text[at:at + size] for at in range(0, len(text), size)]


HANDSHAKE = 256  # of each side, on each connection between ranks


def begins_bundle(text, at):
    stream, n_bytes = struct.unpack("<II", text[at:at + 8])
    return stream <= 2 and 0 < n_bytes < 1 << 24 and not any(text[at + 8:at + 16])


def bundle_input(streams):
    """Of the first connection from its first mark on, and the others."""
    first = streams[0]
    marks = [at for at in range(HANDSHAKE, len(first) - 16, 64)
             if begins_bundle(first, at)]
    if not marks:
        return None
    parts = [first[marks[0]:], *[text[HANDSHAKE:] for text in streams[1:]]]
    records = [bytes([which, len(piece)]) + piece
               for at in range(0, 900, 250) for which in range(3)
               for piece in [parts[which][at:at + 250]] if piece]
    text = b"".join(records)[:INPUT_MAX * 3 // 4]
    return text + bytes(range(0, 250, 7)) * (len(text) // 3 // 36)


def tls_input(streams, n_honest):
    """Records of another connection, added to one that is encrypted anew."""
    out = b"\0\0" * n_honest
    for pieces in zip(*[chunks(text[:15 * 100], 15) for text in streams]):
        for piece in pieces:
            out += bytes([4 | len(piece) << 4]) + piece
    return out[:INPUT_MAX // 4]


def record_ranks(corpus, build):
    test = [f"{build}/tests/integration/p2p/messages_test"]
    streams = run(test, HOOP_TRANSPORT="tcp", HOOP_STREAMS="2")
    together = {}
    for (source, target), text in streams.items():
        back = streams.get((target, source), b"")
        # HELLO: between which ranks, and which of their connections.
        if text[:8] == b"HOOPHELO" and back[:8] == b"HOOPCHAL":
            connections = together.setdefault(text[10:18], {})
            connections[text[66]] = (text, back)
        else:
            continue
        # The first world that has them all.
        if len(connections) == 3:
            del together[text[10:18]]
            for way in range(2):
                ordered = [connections[which][way] for which in range(3)]
                corpus.add("bundle", bundle_input(ordered), 6)
    streams = run(test, HOOP_TRANSPORT="tcp", HOOP_TLS="on")
    for (source, target), text in streams.items():
        back = streams.get((target, source), b"")
        n_honest = len(corpus.seen.get("tls", []))
        if text[:2] == TLS_HANDSHAKE and back:
            corpus.add("tls", tls_input((text, back), n_honest), 4)


PAGE = 4096
HALL_DESKS, SHM_REGION_LINES, SHM_REGION_LINE = 256, 68, 128
RING_PIECE_BYTES = 64 << 10


def hall_input(memory, kind):
    """What rank 0 had posted, each line by the hand of rank 1."""
    out = bytes([kind, 0, 2, 1])
    for line in range(SHM_REGION_LINES):
        text = memory[HALL_DESKS + line * SHM_REGION_LINE:][:SHM_REGION_LINE]
        if any(text[:8]) and len(out) < INPUT_MAX - 200:
            out += bytes([96]) + struct.pack(">H", line * SHM_REGION_LINE)
            out += bytes([SHM_REGION_LINE]) + text + bytes([line % 4])
    return out if len(out) > INPUT_MAX // 4 else None


def segment_input(ring):
    """31 bytes at a time, and then counts, 64 bytes at a time."""
    if not any(ring[:64]):
        return None
    out = b"".join(bytes([250]) + struct.pack(">H", at * 31) + piece
                   for at, piece in enumerate(chunks(ring[:62 * 31], 31)))
    return out + bytes([2, 2]) * 60


def memory_look(corpus, pid):
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        for line in maps:
            if "/memfd:" not in line:
                continue
            begin, end = [int(text, 16) for text in line.split()[0].split("-")]
            memory.seek(begin)
            page = memory.read(min(end - begin, 4 * PAGE))
            if page[:8] == b"HHALL004":
                kind = len(corpus.seen.get("hall", [])) % 4
                corpus.add("hall", hall_input(page, kind), 6)
            if page[:8] == b"HOOPING1":
                n_ring = struct.unpack("<Q", page[8:16])[0]
                for which in range(2):
                    memory.seek(begin + PAGE + which * (n_ring + RING_PIECE_BYTES))
                    corpus.add("segment", segment_input(memory.read(PAGE)), 6)


def watch(command, look, **environment):
    """Looks at each of its processes, again and again until it has ended."""
    test = subprocess.Popen(
        command, start_new_session=True, env=dict(os.environ, **environment),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while test.poll() is None:
        for pid in os.listdir("/proc"):
            try:
                if pid.isdigit() and os.getsid(int(pid)) == test.pid:
                    look(pid)
            except OSError:
                continue


def record_memory(corpus, build):
    for transport in ("auto", "shm"):
        watch([f"{build}/tests/integration/collectives/collectives_test"],
              lambda pid: memory_look(corpus, pid), HOOP_TRANSPORT=transport)


def data_look(files, pid):
    """The file of a coordinator, as it is now."""
    with open(f"/proc/{pid}/cmdline") as command:
        words = command.read().split("\0")
    for word in words:
        if not word.startswith("--data-dir="):
            continue
        path = pathlib.Path(word.partition("=")[2]) / "hoopd.mdb"
        if path.stat().st_size <= DATA_MAX:
            text = path.read_bytes()
            files[len(text)] = text


def record_data(corpus, build):
    files = {}
    watch([f"{build}/tests/integration/server/hoopd_life_test"],
          lambda pid: data_look(files, pid), HOOPD=f"{build}/server/hoopd")
    for size in sorted(files)[1:]:
        corpus.add("pages", files[size], 2)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.splitlines()[0])
    if "HOOP_RECORDING" not in os.environ:
        os.environ["HOOP_RECORDING"] = "1"
        os.execvp("unshare", ["unshare", "--net", sys.executable, "-B", *sys.argv])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    build, corpus = os.path.abspath(sys.argv[1]), Corpus(sys.argv[2])
    os.environ["LD_LIBRARY_PATH"] = f"{build}/worker"
    record_coordinator(corpus, build)
    record_ranks(corpus, build)
    record_memory(corpus, build)
    record_data(corpus, build)


if __name__ == "__main__":
    main()
