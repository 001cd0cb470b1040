"""tests/torch/test_matrix.py - random collectives beside what one process computes

What is called is drawn by hypothesis, from a seed, alike on all ranks: collective,
dtype, operator, shape, how tensors lie in memory, whether the input is part of the
output, and how it is waited for. MATRIX_EXAMPLES says how many lists of five are
drawn for each number of ranks (50), and MATRIX_SEED from which seed (0).
"""

import os

import numpy as np
import pytest
import torch
import torch.distributed as dist
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from ranks import run
from test_collectives import (
    COMBINED,
    FLOATS,
    INTEGERS,
    LAYOUTS,
    MOVED,
    OPERATORS,
    input_of,
    is_defined,
    laid_out,
    reduced,
    same,
)

EXAMPLES = int(os.environ.get("MATRIX_EXAMPLES", "50"))
SEED = int(os.environ.get("MATRIX_SEED", "0"))
# torch combines none of these: numpy does.
UNSIGNED = [torch.uint16, torch.uint32, torch.uint64]
UNSIGNED_OPERATORS = {
    "sum": np.add,
    "avg": np.add,
    "product": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "band": np.bitwise_and,
    "bor": np.bitwise_or,
    "bxor": np.bitwise_xor,
}
# Where sums wrap, nothing else does that depends on the order.
WRAPPING = ("sum", "product", "band", "bor", "bxor")
REDUCING = ("all_reduce", "reduce", "reduce_scatter", "reduce_scatter_tensor", "all_reduce_coalesced")
SINGLE = ("all_gather_into_tensor", "reduce_scatter_tensor", "all_to_all_single")
SHAPES = st.one_of(
    st.lists(st.integers(0, 5), max_size=3).map(tuple),
    st.sampled_from([(), (0, 3), (1,), (1000,), (7, 313), (70_000,)]),
)


@st.composite
def a_call(draw):
    """One call: what all ranks do alike."""
    name = draw(st.sampled_from(sorted(CALLS)))
    op = None
    dtypes = MOVED
    if name in REDUCING:
        op = draw(st.sampled_from([*OPERATORS, "premul"]))
        dtypes = FLOATS if op == "premul" else [t for t in [*COMBINED, *UNSIGNED] if is_combined(op, t)]
    shape = draw(SHAPES)
    return {
        "name": name,
        "op": op,
        "dtype": draw(st.sampled_from(dtypes)),
        # Rows are what single tensors are divided by.
        "shape": shape or (2,) if name in SINGLE else shape,
        "root": draw(st.integers(0, 3)),
        "salt": draw(st.integers(0, 4)),
        "is_wide": draw(st.booleans()),
        "is_aliased": draw(st.booleans()),
        "send_layout": draw(st.sampled_from(LAYOUTS)),
        "recv_layout": draw(st.sampled_from(LAYOUTS)),
        "wait": draw(st.sampled_from(["sync", "work", "future", "poll"])),
    }


def is_combined(op, dtype):
    """Whether hoop combines such elements so."""
    return is_defined(op, torch.int64 if dtype in UNSIGNED else dtype)


class Played:
    """A call as one rank makes it."""

    def __init__(self, rank, size, drawn):
        self.rank, self.size = rank, size
        self.__dict__.update(drawn)
        # pytest shortens a dict.
        self.case = repr(dict(drawn, rank=rank, size=size))
        self.root %= size
        self.is_root = rank == self.root

    def values(self, rank, salt=0, rows=None):
        """What a rank gives; rows: in place of the shape's."""
        shape = self.shape if rows is None else (rows, *self.shape[1:])
        values = input_of(rank, shape, self.dtype, self.salt + salt)
        if self.is_wide and self.dtype in INTEGERS and self.op in WRAPPING:
            spread = torch.iinfo(self.dtype).max // 3
            return (values.to(torch.int64) * spread).to(self.dtype)
        return values

    def sent(self, values):
        """In the layout drawn for what is given."""
        return laid_out(values, self.send_layout)

    def empty(self, like):
        """In the layout drawn for what is got, with other values than are expected."""
        raw = torch.full((like.numel() * like.element_size(),), 1, dtype=torch.uint8)
        return laid_out(raw.view(self.dtype).view(like.shape), self.recv_layout)

    def pair(self, mine, like, at):
        """Input and output: the input is where `at` says in the output if that was drawn."""
        recv = self.empty(like)
        if not self.is_aliased or self.dtype == torch.bool:
            return self.sent(mine), recv
        at(recv).copy_(mine)
        return at(recv), recv

    def reduction(self, inputs):
        """What all have together."""
        if self.op == "premul":
            return reduced("sum", [tensor * 0.5 for tensor in inputs])
        if self.dtype not in UNSIGNED:
            return reduced(self.op, inputs)
        stacked = np.stack([tensor.numpy() for tensor in inputs])
        result = UNSIGNED_OPERATORS[self.op].reduce(stacked, dtype=stacked.dtype)
        return torch.from_numpy(np.asarray(result // self.size if self.op == "avg" else result))

    def call(self, function, *arguments, **named):
        """Starts it: what is to be waited for, or None if it has been."""
        if self.op:
            named["op"] = dist._make_nccl_premul_sum(0.5) if self.op == "premul" else OPERATORS[self.op]
        return function(*arguments, async_op=self.wait != "sync", **named)

    def finish(self, work):
        """Waits in the way that was drawn; torch gives the Future alone of a coalesced call."""
        if isinstance(work, torch._C.Future):
            work.wait()
            return
        if self.wait == "future":
            work.get_future().wait()
        while self.wait == "poll" and not work.is_completed():
            pass
        work.wait()


def all_reduce(it):
    """In place."""
    inputs = [it.values(r) for r in range(it.size)]
    tensor = laid_out(inputs[it.rank], it.recv_layout)
    return it.call(dist.all_reduce, tensor), [(tensor, it.reduction(inputs))]


def all_reduce_coalesced(it):
    """Two tensors, the same one if that was drawn."""
    inputs = [[it.values(r, salt) for r in range(it.size)] for salt in (0, 1)]
    pair = [laid_out(inputs[0][it.rank], it.recv_layout), laid_out(inputs[1][it.rank], it.send_layout)]
    work = it.call(dist.all_reduce_coalesced, pair)
    return work, list(zip(pair, map(it.reduction, inputs)))


def reduce(it):
    """Others than root keep theirs."""
    inputs = [it.values(r) for r in range(it.size)]
    tensor = laid_out(inputs[it.rank], it.recv_layout)
    work = it.call(dist.reduce, tensor, it.root)
    return work, [(tensor, it.reduction(inputs) if it.is_root else inputs[it.rank])]


def reduce_scatter(it):
    """From a list."""
    blocks = [[it.values(r, to) for to in range(it.size)] for r in range(it.size)]
    expected = it.reduction([blocks[r][it.rank] for r in range(it.size)])
    inputs = [it.sent(block) for block in blocks[it.rank]]
    output = inputs[it.rank] if it.is_aliased else it.empty(expected)
    return it.call(dist.reduce_scatter, output, inputs), [(output, expected)]


def reduce_scatter_tensor(it):
    """From one tensor, of which the output may be a part."""
    rows = it.shape[0]
    wholes = [it.values(r, rows=rows * it.size) for r in range(it.size)]
    own = slice(rows * it.rank, rows * (it.rank + 1))
    expected = it.reduction([whole[own] for whole in wholes])
    whole = it.sent(wholes[it.rank])
    output = whole[own] if it.is_aliased else it.empty(expected)
    return it.call(dist.reduce_scatter_tensor, output, whole), [(output, expected)]


def broadcast(it):
    """In place."""
    tensor = laid_out(it.values(it.rank), it.recv_layout)
    return it.call(dist.broadcast, tensor, it.root), [(tensor, it.values(it.root))]


def all_gather(it):
    """Into a list, of which the input may be one."""
    inputs = [it.values(r) for r in range(it.size)]
    outputs = [it.empty(tensor) for tensor in inputs]
    own = it.sent(inputs[it.rank])
    if it.is_aliased:
        own = outputs[it.rank] = laid_out(inputs[it.rank], it.recv_layout)
    return it.call(dist.all_gather, outputs, own), list(zip(outputs, inputs))


def all_gather_into_tensor(it):
    """Into one tensor, of which the input may be a part."""
    inputs = [it.values(r) for r in range(it.size)]
    every, rows = joined(inputs), it.shape[0]
    own, output = it.pair(inputs[it.rank], every, lambda recv: recv[rows * it.rank : rows * (it.rank + 1)])
    return it.call(dist.all_gather_into_tensor, output, own), [(output, every)]


def gather(it):
    """To root."""
    inputs = [it.values(r) for r in range(it.size)]
    outputs = [it.empty(tensor) for tensor in inputs] if it.is_root else None
    own = it.sent(inputs[it.rank])
    if it.is_aliased and it.is_root:
        own = outputs[it.rank] = laid_out(inputs[it.rank], it.recv_layout)
    return it.call(dist.gather, own, outputs, it.root), list(zip(outputs or [], inputs))


def scatter(it):
    """From root."""
    blocks = [it.values(it.root, to) for to in range(it.size)]
    inputs = [it.sent(block) for block in blocks] if it.is_root else None
    output = inputs[it.rank] if it.is_aliased and it.is_root else it.empty(blocks[it.rank])
    return it.call(dist.scatter, output, inputs, it.root), [(output, blocks[it.rank])]


def all_to_all(it):
    """Lists, which may be the same."""
    sent = [[it.values(r, to) for to in range(it.size)] for r in range(it.size)]
    inputs = [it.sent(block) for block in sent[it.rank]]
    outputs = inputs if it.is_aliased else [it.empty(block) for block in inputs]
    return it.call(dist.all_to_all, outputs, inputs), [(outputs[r], sent[r][it.rank]) for r in range(it.size)]


def all_to_all_single(it):
    """Rows by splits, of which some are 0; or equally many, where it may be in place."""
    splits = [[(r + to + it.salt) % 3 for to in range(it.size)] for r in range(it.size)]
    if it.is_aliased:
        splits = [[it.shape[0]] * it.size] * it.size
    sent = [[it.values(r, to, rows=splits[r][to]) for to in range(it.size)] for r in range(it.size)]
    whole = it.sent(joined(sent[it.rank]))
    expected = joined([sent[r][it.rank] for r in range(it.size)])
    if it.is_aliased:
        return it.call(dist.all_to_all_single, whole, whole), [(whole, expected)]
    output = it.empty(expected)
    got = [splits[r][it.rank] for r in range(it.size)]
    return it.call(dist.all_to_all_single, output, whole, got, splits[it.rank]), [(output, expected)]


def joined(blocks):
    """One below the other; as bytes, since torch joins not all dtypes."""
    shape = (sum(block.shape[0] for block in blocks), *blocks[0].shape[1:])
    raw = [block.contiguous().reshape(-1).view(torch.uint8) for block in blocks]
    return torch.cat(raw).view(blocks[0].dtype).view(shape)


CALLS = {
    function.__name__: function
    for function in (
        all_reduce,
        all_reduce_coalesced,
        reduce,
        reduce_scatter,
        reduce_scatter_tensor,
        broadcast,
        all_gather,
        all_gather_into_tensor,
        gather,
        scatter,
        all_to_all,
        all_to_all_single,
    )
}


def _play(rank, size, examples):
    @seed(SEED)
    @settings(
        max_examples=examples,
        phases=[Phase.generate],
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(a_call(), min_size=5, max_size=5))
    def play(calls):
        started = []
        for drawn in calls:
            it = Played(rank, size, drawn)
            started.append((it, *CALLS[it.name](it)))
        # In another order than they were started in.
        for it, work, results in reversed(started):
            if it.wait != "sync":
                it.finish(work)
            for got, expected in results:
                same(got, expected, it.case)

    play()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("size", [2, 3, 4])
def test_random_collectives(size):
    """Each rank draws the same, and has what one process computes."""
    run(size, _play, EXAMPLES, deadline_s=60 + 3 * EXAMPLES)
