#!/usr/bin/env python3
"""docs/api.py - writes docs/api.md from the public headers

api.py          writes it
api.py --check  complains when it is not what the headers say

The headers are the description: a comment belongs to the declarations that
follow it up to the next comment or empty line outside braces.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "api.md"
HEADERS = [
    "session.h", "init.h", "comm.h", "elastic.h", "group.h", "mesh.h",
    "process_group.h", "sharding.h", "dtensor.h", "redistribute.h",
    "checkpoint.h", "state.h",
    "comm_spec.h", "coll.h", "coalesced.h",
    "tensor.h", "dim.h", "dim_map.h", "parameter.h",
    "object.h", "p2p.h", "pipeline.h", "gradients.h", "sharded.h",
    "op.h", "interrupt.h", "dtype.h", "status.h", "tuning.h", "simulate.h",
    "schedule.h", "schedule_run.h",
    "tensor_parallel.h",
    "mappings.h",
    "p2p_communicator.h",
    "coordinator.h", "control.h", "recorder.h",
]
# Nothing of their own: the first is for the others, the second has them all.
LEFT_OUT = {"api.h", "hoop.h"}

INTRODUCTION = """# The API of libhoop

Made from the headers in `include/hoop/` by `docs/api.py`; they are what counts.
`#include "hoop/hoop.h"` brings all that a worker needs; simulate.h, control.h,
recorder.h and coordinator.h are apart. Which call of MPI, NCCL, torch.distributed, Bagua,
Megatron or ColossalAI is which here: [names.md](names.md).
"""


def prose(comment):
    """The text of a comment, without its stars, indented blocks as code."""
    body = comment.strip()[2:-2]
    lines = [re.sub(r"^\s*\* ?", "", line).rstrip() for line in body.split("\n")]
    lines[0] = lines[0].strip()
    text = []
    is_block = False
    for line in lines:
        if not line.startswith("    ") and is_block and line:
            text.append("")
        is_block = line.startswith("    ") or (is_block and not line)
        if line.startswith(("Handle", "Thread")) and text and text[-1]:
            text.append("")
        text.append(line)
    # Pointers are not emphasis.
    return re.sub(r"\*(?=\w)", r"\\*", "\n".join(text).strip("\n"))


def pieces(text):
    """Comments and code, in turn: (is_comment, text)."""
    depth = 0
    start = at = 0
    while at < len(text):
        if depth == 0 and text.startswith("/*", at):
            # A comment after code on its line belongs to the code.
            line = text[text.rfind("\n", 0, at) + 1:at]
            end = text.index("*/", at) + 2
            if line.strip():
                at = end
                continue
            if text[start:at].strip():
                yield False, text[start:at].strip("\n")
            yield True, text[at:end]
            start = at = end
            continue
        if text.startswith("/*", at):
            at = text.index("*/", at) + 2
            continue
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0 and text.startswith("\n\n", at) and text[start:at].strip():
            yield False, text[start:at].strip("\n")
            start = at
        at += 1
    if text[start:].strip():
        yield False, text[start:].strip("\n")


def names(code):
    """What a piece of code declares."""
    found = re.findall(r"^(?:HOOP_API[^;]*?\b|)(hoop_\w+)\(", code, re.M | re.S)
    if not found:
        found = re.findall(r"^typedef[^;]*\b(\w+);", code, re.M)
    if not found:
        found = re.findall(r"^((?:struct|enum) \w+) \{", code, re.M)
    if not found:
        found = re.findall(r"^#define (\w+)", code, re.M)
    if not found:
        found = re.findall(r"^\s+(HOOP_\w+)\b", code, re.M)[:1]
    return found


def section(name):
    """One header as Markdown."""
    text = (ROOT / "include" / "hoop" / name).read_text(encoding="utf-8")
    top = re.match(r"/\*.*?\*/", text, re.S).group(0)
    title, _, rest = prose(top).partition("\n")
    body = text[text.index("HOOP_BEGIN") + 10:text.rindex("HOOP_END")]
    purpose = title.partition(" - ")[2]
    out = [f"## hoop/{name}: {purpose}", ""]
    if rest.strip():
        out += [rest.strip(), ""]
    pending = []
    for is_comment, piece in pieces(body):
        if is_comment:
            pending.append(prose(piece))
            continue
        found = names(piece)
        if found:
            out += ["### " + ", ".join(f"`{name}`" for name in found), ""]
        for comment in pending:
            out += [comment, ""]
        pending = []
        out += ["```c", piece, "```", ""]
    for comment in pending:
        out += [comment, ""]
    return "\n".join(out)


def document():
    """The whole page."""
    there = {path.name for path in (ROOT / "include" / "hoop").glob("*.h")}
    missing = there - set(HEADERS) - LEFT_OUT
    if missing:
        sys.exit(f"docs/api.py does not know where to put: {sorted(missing)}")
    parts = [INTRODUCTION]
    parts += [section(name) for name in HEADERS if name in there]
    return "\n".join(parts).rstrip("\n") + "\n"


def main():
    """Writes, or compares."""
    page = document()
    if sys.argv[1:] == ["--check"]:
        if not TARGET.exists() or TARGET.read_text(encoding="utf-8") != page:
            sys.exit("docs/api.md is not what the headers say: run docs/api.py")
        return
    TARGET.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
