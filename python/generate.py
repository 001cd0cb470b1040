#!/usr/bin/env python3
"""python/generate.py - makes of include/hoop/*.h what the package hoop need not repeat

generate.py binding HEADERS OUT.c    the C source of hoop._binding, by cffi
generate.py enums HEADERS OUT.py     status codes, dtypes and operators
generate.py calls HEADERS OUT.py     the methods of a communicator
generate.py settings TABLE OUT.py    the keyword arguments of join(), for type checkers

HEADERS is the folder include/hoop, TABLE the folder of setting_table.c. A prototype says which arguments a call takes
and in which order; TABLE says what no prototype can, how much each buffer holds.
"""

import pathlib
import re
import sys
import textwrap

# Those that the package calls, each behind the ones that it includes.
HEADERS = [
    "status.h",
    "dtype.h",
    "comm.h",
    "op.h",
    "session.h",
    "elastic.h",
    "coll.h",
    "p2p.h",
    "tensor.h",
    "dim.h",
    "coalesced.h",
    "object.h",
    "state.h",
    "interrupt.h",
    "control.h",
]

# BY_HAND are the started calls whose methods are written by hand, because their prototypes
# say too little. LATER are calls without a method yet: messages that tell their shape.
BY_HAND = {
    *("send", "recv", "sendrecv", "batch"),
    *("allgather_dim", "reduce_scatter_dim", "allreduce_coalesced"),
    *("broadcast_object", "allgather_object", "gather_object", "scatter_object"),
    *("send_object", "recv_object"),
}
LATER = {"send_tensor", "recv_tensor", "batch_tensors"}

# What each buffer holds: "one" block or "all" ranks' blocks of count elements, or,
# in a v-form, "own" or "all" of counts; "@root": only root's is looked at.
TABLE = {
    "allreduce": ("one", "one", "Combine the buffers of all ranks; every rank gets the result."),
    "reduce": ("one", "one@root", "Combine the buffers of all ranks; root gets the result."),
    "broadcast": ("one@root", "one", "Give every rank a copy of root's buffer."),
    "allgather": ("one", "all", "Give every rank the blocks of all ranks, in rank order."),
    "allgatherv": ("own", "all", "Make an allgather() of counts[r] elements from rank r."),
    "reduce_scatter": ("all", "one", "Combine the buffers of all ranks; rank r gets block r of the result."),
    "reduce_scatterv": ("all", "own", "Make a reduce_scatter() that leaves counts[r] elements on rank r."),
    "gather": ("one", "all@root", "Give root the blocks of all ranks, in rank order."),
    "gatherv": ("own", "all@root", "Make a gather() of counts[r] elements from rank r."),
    "scatter": ("all@root", "one", "Give rank r the block r of root's buffer."),
    "scatterv": ("all@root", "own", "Make a scatter() of counts[r] elements to rank r."),
    "alltoall": ("all", "all", "Give rank r this rank's block r; block s of the result comes from rank s."),
    "alltoallv": (
        "sends",
        "receives",
        "Make an alltoall() of send_counts[r] elements to rank r and recv_counts[s] from rank s.",
    ),
    "scan": ("one", "one", "Combine the buffers of ranks 0 to this one."),
    "exscan": ("one", "one", "Combine the buffers of the ranks before this one; rank 0's recv is unchanged."),
    "barrier": ("", "", "Wait until every rank has called it."),
}

# What DLPack's capsules hold, as its header has it; and where an object is handed out.
OWN = """
struct hoop_py_tensor {
    void *data;
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};
struct hoop_py_dlpack {
    struct hoop_py_tensor tensor;
    void *context, *deleter;
};
struct hoop_py_dlpack_versioned {
    uint32_t major, minor;
    void *context, *deleter;
    uint64_t flags;
    struct hoop_py_tensor tensor;
};
struct hoop_py_object {
    void *bytes;
    size_t n_bytes;
};
"""

HOLDS = {
    "one": "one block, which has the same number of elements on every rank",
    "all": "one such block for each rank, in rank order",
    "own": "counts[rank] elements",
    "sends": "sum(send_counts) elements",
    "receives": "sum(recv_counts) elements",
}
# even() of two arrays that are alike, here: small calls take 100 ns less.
SHORT = """
c_send, c_recv, count, dtype = None, None, 0, 0
if send is not None and recv is not None:
    try:
        c_send, count, kind = _from_buffer(send), send.size, send.dtype  # type: ignore[union-attr]
        c_recv, dtype = _from_buffer(_CHARS, recv, True), _dtypes[kind]
        if recv.size != count or recv.dtype is not kind:  # type: ignore[union-attr]
            c_send = None
    except _MISSED:
        c_send = None
if c_send is None:
    {described}
"""
IN_PLACE = "send and recv have one dtype, the same on every rank. If one is None, the other stands for both."
WHAT = {
    "counts": "lists the number of elements of each rank; it is the same on every rank.",
    "send_counts": "lists the number of elements for each rank.",
    "recv_counts": "lists the number of elements from each rank.",
    "op": 'is a hoop.ReduceOp, or its name in small letters, for example "max".',
    "root": "is a rank of this communicator, the same on every rank.",
}
ERRORS = (
    "It raises ValueError if a buffer is not C-contiguous or does not hold what it should,",
    "and TypeError if it is not a buffer in this host's memory, or is read-only but written to.",
    "It raises hoop.RankLost, hoop.Mismatch or hoop.Timeout if another rank fails or calls",
    "something else; the text names the rank.",
)


def declarations(folder: pathlib.Path) -> str:
    """Return the declarations of the headers as cffi reads them."""
    text = ""
    for name in HEADERS:
        header = (folder / name).read_text(encoding="utf-8")
        text += header[header.index("HOOP_BEGIN") + 10 : header.rindex("HOOP_END")]
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"\b(HOOP_API|HOOP_NODISCARD)\b", "", text)
    # The compiler says what a constant is; a pointer is none to cffi.
    text = re.sub(r"^#define HOOP_IN_PLACE .*$", "", text, flags=re.M)
    text = re.sub(r"^#define (HOOP_\w+) .*$", r"#define \1 ...", text, flags=re.M)
    return re.sub(r"\n\s*\n+", "\n\n", text)


def enum(text: str, name: str, prefix: str) -> "list[tuple[str, int]]":
    """Return the members of an enum, without their prefix, and their values."""
    body = re.search(rf"enum {name} \{{(.*?)\}}", text, re.S)
    assert body, name
    members = re.findall(rf"\b{prefix}(\w+) = (\d+)", body.group(1))
    return [(member, int(value)) for member, value in members]


def parameters(text: str, call: str) -> "list[str]":
    """Return the names of a function's parameters, without the communicator's."""
    found = re.search(rf"\bhoop_{call}\((.*?)\);", text, re.S)
    assert found, call
    names = [part.split()[-1].lstrip("*") for part in found.group(1).split(",")]
    return [name for name in names if name != "comm"]


def write_binding(text: str, target: str) -> None:
    """Write the source of the extension module."""
    import cffi  # type: ignore[import-untyped,unused-ignore]

    ffi = cffi.FFI()
    ffi.cdef(text)
    ffi.cdef(OWN)
    # Called back by who waits in C, and to tell where the program is.
    ffi.cdef('extern "Python" bool hoop_py_is_interrupted(void *);')
    ffi.cdef('extern "Python" void hoop_py_read_stack(char *, size_t);')
    ffi.set_source("hoop._binding", f'#include "hoop/control.h"\n#include "hoop/hoop.h"\n{OWN}')
    ffi.emit_c_code(target)


def enums(text: str) -> str:
    """Return the module with the enums as IntEnum."""
    out = '"""Made from the headers by python/generate.py."""\n\nfrom enum import IntEnum\n'
    for kind, name, prefix, doc in (
        ("Status", "hoop_status", "HOOP_(?:E_)?", "The status that a call of the C library returns."),
        ("DType", "hoop_dtype", "HOOP_", "The types of elements."),
        ("ReduceOp", "hoop_reduce_op", "HOOP_", "The operators with which a reduction combines elements."),
    ):
        out += f'\n\nclass {kind}(IntEnum):\n    """{doc}"""\n\n'
        out += "".join(f"    {member} = {value}\n" for member, value in enum(text, name, prefix))
    return out


def docstring(doc: str, holds: "tuple[str, str]", names: "list[str]", is_started: bool) -> str:
    """Return the docstring of a method."""
    lines = [doc, ""]
    for buffer, extent in zip(("send", "recv"), holds):
        if extent:
            what, _, root = extent.partition("@")
            text = HOLDS["sends" if what == "all" and "counts" in names else what]
            text = text.replace("send_counts", "counts") if "counts" in names else text
            lines.append(f"{buffer} holds {text}{'; it is used on root alone' if root else ''}.")
    lines += [f"{name} {WHAT[name]}" for name in names if name in WHAT]
    if holds[0]:
        lines += [IN_PLACE, ""]
    if is_started:
        lines += ["It returns at once; the buffers belong to hoop until the Work has ended.", ""]
    lines += ERRORS[0 if holds[0] else 2 :]
    return "\n".join(lines)


def method(text: str, name: str, is_started: bool) -> str:
    """Return one method, in its blocking or its started form."""
    send, recv, doc = TABLE[name]
    names = parameters(text, name)
    assert parameters(text, name + "_start") == [*names, "out_op"], name
    signature = ["self"]
    if send:
        signature += ["send: Buffer | None", "recv: Buffer | None = None"]
        counts = [n for n in names if n.endswith("counts")]
        signature += ["*"] if {"op", "root"} & set(names) or counts else []
        signature += [f"{n}: Sequence[int]" for n in counts]
        signature += ["op: Op = ReduceOp.SUM"] if "op" in names else []
        signature += ["root: int = 0"] if "root" in names else []
    suffix, result = ("_start", "Work[None]") if is_started else ("", "None")
    out = f"def {name}{suffix}({', '.join(signature)}) -> {result}:\n"
    said = docstring(doc, (send, recv), names, is_started)
    out += textwrap.indent(f'"""{said}\n"""\n', "    ")
    lines = []
    for n in names:
        if n.endswith("counts"):
            lines.append(f"c_{n} = sizes(self, {n!r}, {n})")
    if send:
        extents = {"one": "1", "all": "self.size", "own": "counts[self.rank]"}
        if "counts" in names:
            extents["all"] = "sum(counts)"
        extents.update(sends="sum(send_counts)", receives="sum(recv_counts)")
        rooted = "send" if "@" in send else "recv" if "@" in recv else ""
        passed = [repr(name), "send", "recv"]
        passed += [extents[s.partition("@")[0]] for s in (send, recv)]
        if any("counts" in n for n in names):
            passed.append("is_exact=True")
        if rooted:
            lines.append(f"is_own = is_root(self, {name!r}, root)")
            passed.append(f"{rooted}s=is_own")
        function = "operands" if rooted or "is_exact=True" in passed else "even"
        described = f"c_send, c_recv, count, dtype = {function}({', '.join(passed)})"
        is_short = (send, recv) == ("one", "one") and not is_started
        lines += SHORT.format(described=described).strip().split("\n") if is_short else [described]
    c_names = {"send": "c_send", "recv": "c_recv"}
    c_names.update(op="op if op.__class__ is ReduceOp else operator(op)")
    arguments = [c_names.get(n, f"c_{n}" if n.endswith("counts") else n) for n in names]
    if is_started:
        comma = "," if len(arguments) == 1 else ""
        kept = "(send, recv, c_send, c_recv)" if send else "()"
        lines.append(f"return self._start({name!r}, lib.hoop_{name}_start, ({', '.join(arguments)}{comma}), {kept})")
    else:
        passed = [*arguments, f"self._comm or self._check({name!r})"]
        lines.append(f"status = _{name}({', '.join(passed)})")
        lines.append("if status or _raised or self._abandoned:")
        lines.append(f"    self._check_call(status, {name!r})")
    return out + textwrap.indent("\n".join(lines) + "\n", "    ")


def calls(text: str) -> str:
    """Return the module with the collectives of a communicator."""
    declared = set(re.findall(r"\bhoop_(\w+)_start\(", text))
    known = {*TABLE, *BY_HAND, *LATER}
    assert declared == known, f"the headers and what is known of them differ: {declared ^ known}"
    out = '"""Made from the headers by python/generate.py."""\n\n'
    out += "from __future__ import annotations\n\nfrom collections.abc import Sequence\n\n"
    out += "from hoop._binding import lib\n"
    out += "from hoop._buffer import _CHARS, _MISSED, _dtypes, _from_buffer\n"
    out += "from hoop._buffer import Buffer, Op, even, is_root, operands, operator, sizes\n"
    out += "from hoop._enums import ReduceOp\n"
    out += "from hoop._work import Operations, Work, _raised\n\n"
    out += "".join(f"_{name} = lib.hoop_{name}\n" for name in TABLE) + "\n\n"
    out += 'class Collectives(Operations):\n    """The collectives: calls that all ranks of a communicator make."""\n'
    for name in TABLE:
        for is_started in (False, True):
            out += "\n" + textwrap.indent(method(text, name, is_started), "    ")
    return out


# What a setting's value may be, by its type; of a choice, a word of it.
SETTING_TYPES = {
    "TEXT": "str | os.PathLike[str] | None",
    "UINT": "int | None",
    "DURATION": "float | timedelta | str | None",
    "PORTS": "int | str | None",
}


def choice(choices: "list[str]") -> str:
    """Return the type of a setting that is one of these words."""
    words = "Literal[" + ", ".join(f'"{word}"' for word in choices) + "]"
    numbers = ", ".join(word for word in choices if word.isdigit())
    or_bool = "bool | " if {"on", "off"} <= set(choices) else ""
    return f"{or_bool}{words}{f' | Literal[{numbers}]' if numbers else ''} | None"


def settings(folder: pathlib.Path) -> str:
    """Return the module with the settings of a worker that hoop(7) documents."""
    table = (folder / "setting_table.c").read_text(encoding="utf-8")
    words = (folder / "settings.c").read_text(encoding="utf-8")
    choices = {
        name: re.findall(r'"(.*?)"', body)
        for name, body in re.findall(r"setting_choices_(\w+)\[\] = \{(.*?)\}", words, re.S)
    }
    out = '"""Made from the table of settings by python/generate.py: for type checkers alone."""\n\n'
    out += "from __future__ import annotations\n\nimport os\nfrom datetime import timedelta\n"
    out += "from typing import Literal, TypedDict\n\n\nclass Settings(TypedDict, total=False):\n"
    out += '    """The settings of join(). Settings that are None or missing come from the environment."""\n'
    rows = re.findall(r"\[SETTING_\w+\] =\s*\{(.*?)\}(?:,|\n)", table, re.S)
    assert len(rows) > 30, rows
    for row in rows:
        of = dict(re.findall(r"\.(\w+) =\s*((?:\"[^\"]*\"\s*)+|[^,]+)", row))
        if "WORKER" not in of["users"] or "is_internal" in of:
            continue
        kind = of["type"].rpartition("_")[2]
        of_type = choice(choices[of["choices"].rpartition("choices_")[2]]) if kind == "CHOICE" else SETTING_TYPES[kind]
        said = "".join(re.findall(r'"(.*?)"', of["help"], re.S))
        said = textwrap.fill(said[0].upper() + said[1:] + ".", 92, subsequent_indent="    ")
        out += f"\n    {of['name'].strip().strip(chr(34))}: {of_type}\n"
        out += f'    """{said}"""\n'
    return out


def main() -> None:
    """Write the file that the command line asks for."""
    kind, folder, target = sys.argv[1:]
    if kind == "settings":
        pathlib.Path(target).write_text(settings(pathlib.Path(folder)), encoding="utf-8")
        return
    text = declarations(pathlib.Path(folder))
    if kind == "binding":
        return write_binding(text, target)
    made = {"enums": enums, "calls": calls}[kind](text)
    pathlib.Path(target).write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
