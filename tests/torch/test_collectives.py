"""tests/torch/test_collectives.py - each collective against what one process computes"""

import itertools

import pytest
import torch
import torch.distributed as dist

from ranks import run

INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
COMPLEX = [torch.complex64, torch.complex128]
COMBINED = [*INTEGERS, *FLOATS, *COMPLEX, torch.bool]
# hoop knows no such arithmetic, or torch has none to compare with.
ONLY_MOVED = [torch.uint16, torch.uint32, torch.uint64, torch.float8_e4m3fn, torch.float8_e5m2, torch.complex32]
MOVED = [*COMBINED, *ONLY_MOVED]
SHAPES = [(), (0,), (1,), (5,), (3, 4), (2, 3, 2), (3, 1700)]
LAYOUTS = ["dense", "transposed", "strided", "offset"]
OPERATORS = {
    "sum": dist.ReduceOp.SUM,
    "product": dist.ReduceOp.PRODUCT,
    "min": dist.ReduceOp.MIN,
    "max": dist.ReduceOp.MAX,
    "band": dist.ReduceOp.BAND,
    "bor": dist.ReduceOp.BOR,
    "bxor": dist.ReduceOp.BXOR,
    "avg": dist.ReduceOp.AVG,
}


def laid_out(values, layout):
    """The same values in memory of another layout."""
    if layout == "transposed" and values.dim() > 1:
        # A copy even where the layout is the same, as it is with a dimension of 1.
        return values.transpose(0, -1).clone(memory_format=torch.contiguous_format).transpose(0, -1)
    if layout == "strided" and values.dim() > 0:
        wide = torch.empty(*values.shape[:-1], values.shape[-1] * 2, dtype=values.dtype)
        wide[..., ::2] = values
        return wide[..., ::2]
    if layout == "offset":
        memory = torch.empty(values.numel() + 1, dtype=values.dtype)
        part = memory[1:].view(values.shape)
        part.copy_(values)
        return part
    return values.clone()


def input_of(rank, shape, dtype, salt=0):
    """Values of a rank, small enough that nothing overflows or rounds."""
    count = 1
    for size in shape:
        count *= size
    numbers = (torch.arange(count, dtype=torch.int64) * 7 + rank * 3 + salt) % 5
    if dtype == torch.bool:
        return (numbers % 2 == 0).view(shape)
    if dtype in COMPLEX:
        return torch.complex(numbers.double(), (numbers + rank).double()).to(dtype).view(shape)
    if dtype in ONLY_MOVED:
        width = torch.empty((), dtype=dtype).element_size()
        raw = (torch.arange(count * width, dtype=torch.int64) * 11 + rank * 5 + salt) % 120
        return raw.to(torch.uint8).view(dtype).view(shape) if count else torch.empty(shape, dtype=dtype)
    return (numbers + (1 if dtype in INTEGERS else 0)).to(dtype).view(shape)


def is_defined(name, dtype):
    """Whether torch combines such elements so."""
    if name in ("band", "bor", "bxor"):
        return dtype in INTEGERS or dtype == torch.bool
    if dtype in COMPLEX:
        return name in ("sum", "avg")
    return name != "avg" or dtype != torch.bool


def reduced(name, inputs):
    """What one process makes of the inputs of all, in a wider type where it rounds."""
    dtype = inputs[0].dtype
    wide = [tensor.double() if dtype in FLOATS else tensor for tensor in inputs]
    stacked = torch.stack(wide)
    if name == "sum":
        result = stacked.any(0) if dtype == torch.bool else stacked.sum(0)
    elif name == "product":
        result = stacked.all(0) if dtype == torch.bool else stacked.prod(0)
    elif name == "avg":
        total = stacked.sum(0)
        result = total / len(inputs) if dtype in FLOATS + COMPLEX else total.div(len(inputs), rounding_mode="trunc")
    elif name in ("min", "max"):
        result = stacked.amin(0) if name == "min" else stacked.amax(0)
    else:
        combine = {"band": torch.bitwise_and, "bor": torch.bitwise_or, "bxor": torch.bitwise_xor}[name]
        result = wide[0]
        for other in wide[1:]:
            result = combine(result, other)
    return result.to(dtype)


def same(got, expected, context):
    """Fails unless got is what was expected: to the bit, or where it rounds nearly."""
    assert got.dtype == expected.dtype, context
    assert got.shape == expected.shape, context
    if got.dtype in ONLY_MOVED:
        raw = [torch.empty(each.numel(), dtype=each.dtype).copy_(each.reshape(-1)) for each in (got, expected)]
        assert torch.equal(raw[0].view(torch.uint8), raw[1].view(torch.uint8)), context
    elif got.dtype in FLOATS + COMPLEX:
        assert torch.allclose(got, expected, rtol=1e-2 if got.element_size() == 2 else 1e-6, atol=0), (
            context,
            got,
            expected,
        )
    else:
        assert torch.equal(got, expected), (context, got, expected)


def called(function, *arguments, is_async, **named):
    """Done, in either form."""
    work = function(*arguments, async_op=is_async, **named)
    if is_async:
        assert work.wait() in (True, None)
        assert work.is_completed()


def _all_reduce(rank, size, dtype):
    cases = itertools.product(SHAPES, LAYOUTS, OPERATORS, (False, True))
    for shape, layout, name, is_async in cases:
        if not is_defined(name, dtype):
            continue
        tensor = laid_out(input_of(rank, shape, dtype), layout)
        called(dist.all_reduce, tensor, op=OPERATORS[name], is_async=is_async)
        expected = reduced(name, [input_of(r, shape, dtype) for r in range(size)])
        same(tensor, expected, (shape, layout, name, is_async))


@pytest.mark.parametrize("dtype", COMBINED, ids=str)
def test_all_reduce(dtype):
    """Every operator and layout, in both forms."""
    run(3, _all_reduce, dtype)


def _reduce_and_scatter(rank, size, dtype):
    for shape, layout, name, is_async in itertools.product(SHAPES, LAYOUTS, ("sum", "max", "avg"), (False, True)):
        if not is_defined(name, dtype):
            continue
        case, op = (shape, layout, name, is_async), OPERATORS[name]
        root = len(shape) % size
        tensor = laid_out(input_of(rank, shape, dtype), layout)
        called(dist.reduce, tensor, root, op=op, is_async=is_async)
        inputs = [input_of(r, shape, dtype) for r in range(size)]
        same(tensor, reduced(name, inputs) if rank == root else inputs[rank], case)

        blocks = [[input_of(r, shape, dtype, to) for to in range(size)] for r in range(size)]
        expected = reduced(name, [blocks[r][rank] for r in range(size)])
        output = laid_out(torch.zeros(shape).to(dtype), layout)
        called(dist.reduce_scatter, output, [laid_out(b, layout) for b in blocks[rank]], op=op, is_async=is_async)
        same(output, expected, case)
        if shape:
            output = laid_out(torch.zeros(shape).to(dtype), layout)
            called(dist.reduce_scatter_tensor, output, torch.cat(blocks[rank]), op=op, is_async=is_async)
            same(output, expected, case)


@pytest.mark.parametrize("dtype", [torch.int32, torch.bfloat16, torch.float64, torch.bool], ids=str)
def test_reduce_and_reduce_scatter(dtype):
    """Every layout, in both forms, and as lists and single tensors."""
    run(3, _reduce_and_scatter, dtype)


def _moves(rank, size, dtype):
    for shape, layout, is_async in itertools.product(SHAPES, LAYOUTS, (False, True)):
        case = (shape, layout, is_async)
        root = (len(shape) + 1) % size
        inputs = [input_of(r, shape, dtype) for r in range(size)]
        own = laid_out(inputs[rank], layout)

        def empty(shape=shape, layout=layout):
            return laid_out(torch.zeros(shape, dtype=torch.uint8).to(dtype), layout)

        tensor = laid_out(inputs[rank], layout)
        called(dist.broadcast, tensor, root, is_async=is_async)
        same(tensor, inputs[root], case)

        outputs = [empty() for _ in range(size)]
        called(dist.all_gather, outputs, own, is_async=is_async)
        for r in range(size):
            same(outputs[r], inputs[r], case)

        outputs = [empty() for _ in range(size)] if rank == root else None
        called(dist.gather, own, outputs, root, is_async=is_async)
        for r in range(size if rank == root else 0):
            same(outputs[r], inputs[r], case)

        blocks = [input_of(root, shape, dtype, r) for r in range(size)]
        output = empty()
        called(dist.scatter, output, blocks if rank == root else None, root, is_async=is_async)
        same(output, blocks[rank], case)

        sent = [[input_of(r, shape, dtype, to) for to in range(size)] for r in range(size)]
        outputs = [empty() for _ in range(size)]
        called(dist.all_to_all, outputs, [laid_out(b, layout) for b in sent[rank]], is_async=is_async)
        for r in range(size):
            same(outputs[r], sent[r][rank], case)


@pytest.mark.parametrize("dtype", MOVED, ids=str)
def test_moves(dtype):
    """What combines nothing moves every dtype."""
    run(3, _moves, dtype)


def _single_tensor_forms(rank, size):
    own = torch.arange(4) + 10 * rank
    expected = torch.cat([torch.arange(4) + 10 * r for r in range(size)])
    for is_async in (False, True):
        output = torch.zeros(4 * size, dtype=torch.int64)
        called(dist.all_gather_into_tensor, output, own, is_async=is_async)
        assert torch.equal(output, expected)
        # In place: the input is this rank's part of the output.
        output = torch.zeros(4 * size, dtype=torch.int64)
        output[4 * rank : 4 * rank + 4] = own
        called(dist.all_gather_into_tensor, output, output[4 * rank : 4 * rank + 4], is_async=is_async)
        assert torch.equal(output, expected)
        # As FSDP does: the output is this rank's part of the input.
        gradients = torch.arange(4 * size) * (rank + 1)
        part = gradients[4 * rank : 4 * rank + 4]
        called(dist.reduce_scatter_tensor, part, gradients, is_async=is_async)
        total = sum(range(1, size + 1))
        assert torch.equal(part, (torch.arange(4 * size) * total)[4 * rank : 4 * rank + 4])
        # Rank r sends r + to + 1 rows to rank `to`.
        splits = [rank + to + 1 for to in range(size)]
        sent = torch.cat([torch.full((rows, 2), 100 * rank + to) for to, rows in enumerate(splits)])
        output = torch.zeros(sum(splits), 2, dtype=torch.int64)
        called(dist.all_to_all_single, output, sent, splits, splits, is_async=is_async)
        got = torch.cat([torch.full((r + rank + 1, 2), 100 * r + rank) for r in range(size)])
        assert torch.equal(output, got)


def test_single_tensor_forms_in_place_and_with_splits():
    """As FSDP and expert parallelism call them."""
    run(4, _single_tensor_forms)


def _uneven_lists(rank, size):
    outputs = [torch.zeros(r + 1) for r in range(size)]
    dist.all_gather(outputs, torch.full((rank + 1,), float(rank)))
    for r in range(size):
        assert torch.equal(outputs[r], torch.full((r + 1,), float(r)))
    inputs = [torch.full((r + 1,), float(rank)) for r in range(size)]
    output = torch.zeros(rank + 1)
    dist.reduce_scatter(output, inputs)
    assert torch.equal(output, torch.full((rank + 1,), float(sum(range(size)))))


def test_lists_of_different_sizes():
    """Ranks may have parts of different sizes."""
    run(3, _uneven_lists)


def _lists_of_tensors(rank, size):
    backend = dist.group.WORLD._get_backend(torch.device("cpu"))
    pair = [torch.full((3,), float(rank)), torch.full((3,), float(10 * rank))]
    backend.allreduce(pair).wait()
    total = float(sum(11 * r for r in range(size)))
    assert all(torch.equal(tensor, torch.full((3,), total)) for tensor in pair)

    same_twice = torch.full((2,), float(rank + 1))
    tensors = [same_twice, torch.tensor([float(rank)]), same_twice, torch.zeros(0)]
    backend.allreduce_coalesced(tensors).wait()
    assert torch.equal(same_twice, torch.full((2,), float(sum(range(1, size + 1)))))
    assert tensors[1].item() == sum(range(size))

    # The Future has the lists that the call was given.
    inputs = [torch.tensor([2 * rank + i]) for i in range(2)]
    outputs = [[torch.zeros(1, dtype=torch.int64) for _ in range(2 * size)] for _ in inputs]
    got = backend.allgather(outputs, inputs).get_future().wait()
    assert [[tensor.item() for tensor in each] for each in got] == [list(range(2 * size))] * 2

    outputs = [torch.zeros(2 * size), torch.zeros(size, dtype=torch.int64)]
    inputs = [torch.full((2,), float(rank)), torch.tensor([rank])]
    dist.group.WORLD.allgather_into_tensor_coalesced(outputs, inputs).wait()
    assert outputs[1].tolist() == list(range(size))
    assert outputs[0].tolist() == [float(r) for r in range(size) for _ in range(2)]

    lists = [[torch.zeros(2), torch.zeros(1)] for _ in range(size)]
    got = dist.all_gather_coalesced(lists, [inputs[0], torch.tensor([float(rank)])], async_op=True).wait()
    assert [pair[1].item() for pair in got] == [pair[1].item() for pair in lists] == list(range(size))

    outputs = [torch.zeros(2), torch.zeros(1, dtype=torch.int64)]
    inputs = [torch.arange(2.0 * size) + rank, torch.arange(size) * (rank + 1)]
    dist.group.WORLD.reduce_scatter_tensor_coalesced(outputs, inputs).wait()
    assert outputs[1].item() == rank * sum(range(1, size + 1))
    assert outputs[0].tolist() == [size * (2 * rank + i) + sum(range(size)) for i in range(2)]


def test_lists_of_tensors_and_coalesced_forms():
    """Several tensors at once, of several dtypes, one of them twice."""
    run(3, _lists_of_tensors)


def _premultiplied(rank, size):
    tensor = torch.full((4,), float(rank + 1))
    dist.all_reduce(tensor, op=dist._make_nccl_premul_sum(0.5))
    assert torch.equal(tensor, torch.full((4,), 0.5 * sum(range(1, size + 1))))
    output = torch.zeros(2, dtype=torch.float64)
    dist.reduce_scatter_tensor(
        output, torch.ones(2 * size, dtype=torch.float64), op=dist._make_nccl_premul_sum(torch.tensor([2.0]))
    )
    assert torch.equal(output, torch.full((2,), 2.0 * size, dtype=torch.float64))


def test_premultiplied_sums():
    """With a number and with a tensor as factor."""
    run(3, _premultiplied)


def _sparse(rank, size):
    dense = torch.zeros(5, 2)
    dense[rank] = rank + 1.0
    dense[4] = 1.0
    for is_async in (False, True):
        tensor = dense.to_sparse(1)
        called(dist.all_reduce, tensor, is_async=is_async)
        expected = torch.zeros(5, 2)
        expected[4] = size
        for r in range(size):
            expected[r] = r + 1.0
        assert torch.equal(tensor.to_dense(), expected)
    empty = torch.zeros(3).to_sparse() if rank else torch.tensor([0.0, 2.0, 0.0]).to_sparse()
    dist.all_reduce(empty)
    assert empty.to_dense().tolist() == [0.0, 2.0, 0.0]
    several = [dense.to_sparse(1), (10 * dense).to_sparse(1)]
    dist.group.WORLD._get_backend(torch.device("cpu")).allreduce(several).wait()
    assert all(torch.equal(tensor.to_dense(), 11 * expected) for tensor in several)


def test_sparse_all_reduce():
    """Ranks have different entries, or none."""
    run(3, _sparse)


def _with(options, **named):
    for name, value in named.items():
        setattr(options, name, value)
    return options


def _refused_by_backend(backend, rank, size):
    one, two, whole = torch.zeros(1), torch.zeros(2), torch.zeros(1, dtype=torch.int64)
    at_size = _with(dist.ReduceOptions(), rootRank=size)
    second = _with(dist.ReduceOptions(), rootRank=rank, rootTensor=1)
    to_me, from_me = _with(dist.GatherOptions(), rootRank=rank), _with(dist.ScatterOptions(), rootRank=rank)
    to_next = _with(dist.GatherOptions(), rootRank=(rank + 1) % size)
    largest = _with(dist.AllreduceOptions(), reduceOp=dist.ReduceOp.MAX)
    for call, words in (
        (lambda: backend.allreduce([]), "requires non-empty tensor list"),
        (lambda: backend.allreduce([one, whole]), "invalid tensor type at index 1"),
        (lambda: backend.allreduce([one, two]), "invalid tensor size at index 1"),
        (lambda: backend.allreduce([one.to_sparse()], largest), "unsupported reduction operation"),
        (lambda: backend.allreduce([one.to_sparse(), two.to_sparse()]), "invalid tensor size"),
        (lambda: backend.allreduce_coalesced([one, whole]), "must all have the same type"),
        (lambda: backend.allreduce_coalesced([one, one.to_sparse()]), "invalid tensor layout at index 1"),
        (lambda: backend.reduce([one], at_size), f"invalid root rank {size}"),
        (lambda: backend.reduce([one], second), "invalid root tensor 1 of 1"),
        (lambda: backend.gather([[one] * (size + 1)], [one], to_me), f"Incorrect output list size {size + 1}"),
        (lambda: backend.gather([[one] * size], [one], to_next), "requires empty output on non-root"),
        (lambda: backend.scatter([one], [], from_me), "requires a single-element input list"),
        (lambda: backend.allgather([], [one]), "to have the same length"),
        (lambda: backend.allgather([[one] * (size - 1)], [one]), "invalid output tensor list"),
    ):
        # NCCL raises the one, and Gloo the other.
        for kind in (ValueError, RuntimeError):
            with pytest.raises(kind, match=words):
                call()


def _refused(rank, size):
    memory = torch.full((4 * size,), -1.0)
    for call, words in (
        (lambda: dist.all_to_all_single(memory[:size], torch.zeros(2 * size)), "are needed"),
        (lambda: dist.all_to_all_single(memory, torch.zeros(2 * size)), "are needed"),
        (lambda: dist.all_to_all_single(torch.tensor(1.0), torch.tensor(2.0)), "0 rows"),
        (lambda: dist.all_reduce(torch.zeros(2, dtype=torch.complex64), op=dist.ReduceOp.MAX), "complex"),
        (lambda: dist.all_reduce(torch.zeros(2), op=dist.ReduceOp.BAND), "float32"),
        (lambda: dist.all_reduce(torch.zeros(2).to(torch.float8_e5m2)), "Float8_e5m2"),
        (lambda: dist.all_to_all_single(torch.zeros(2 * size), torch.zeros(2 * size), [1] * size, [2] * size), "rows"),
        (lambda: dist.all_reduce(torch.zeros(1).expand(4)), "more than one element"),
    ):
        with pytest.raises((ValueError, RuntimeError), match=words):
            call()
    _refused_by_backend(dist.group.WORLD._get_backend(torch.device("cpu")), rank, size)
    # Nothing of these has been called: the next one is right.
    assert memory.tolist() == [-1.0] * (4 * size)
    tensor = torch.tensor([rank])
    dist.all_reduce(tensor)
    assert tensor.item() == sum(range(size))


def test_what_cannot_be_done_is_refused_before_it_is_called():
    """Each refusal says what is wrong, and the group goes on."""
    run(2, _refused)
