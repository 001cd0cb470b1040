"""tests/python/test_buffers.py - what may be given as a buffer, and what is said of what may not"""

import array
import gc
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

from hoop import DType
from hoop._binding import ffi
from hoop._buffer import IN_PLACE, even, operands, place
from ranks import HERE


class OnlyDLPack:
    """numpy's array as torch's tensors are seen."""

    def __init__(self, of):
        self.of = of

    def __dlpack__(self, **rest):
        return self.of.__dlpack__(**rest)

    def __dlpack_device__(self):
        return self.of.__dlpack_device__()


class OldDLPack(OnlyDLPack):
    """Older than versions, which could not say what is read-only."""

    def __dlpack__(self, stream=None):
        return self.of.__dlpack__(stream=stream)


class OnDevice(OnlyDLPack):
    """Memory of a GPU."""

    def __dlpack_device__(self):
        return 2, 0


class OnlyInterface:
    """What numpy's older protocol says, without a dtype."""

    def __init__(self, of):
        self.__array_interface__ = of.__array_interface__


def address(pointer):
    """As numpy tells it."""
    return int(ffi.cast("uintptr_t", pointer))


def of(buffer):
    """Address, elements and type, as an output."""
    send, recv, count, dtype = even("allreduce", buffer, None, 1, 1)
    assert send == IN_PLACE
    return address(recv), count, dtype


@pytest.mark.parametrize("dtype", DType)
def test_numpy_of_every_dtype_is_not_copied(dtype):
    """Also of no elements, of no dimensions and of several."""
    name = ml_dtypes.bfloat16 if dtype is DType.BFLOAT16 else dtype.name.lower()
    for shape in ((), (3,), (2, 3), (2, 0)):
        x = np.zeros(shape, name)
        found = of(x)
        assert found[1:] == (x.size, dtype)
        assert found[0] == x.ctypes.data or not x.size


@pytest.mark.parametrize("wrap", [OnlyDLPack, OldDLPack, OnlyInterface])
@pytest.mark.parametrize("dtype", sorted(set(DType) - {DType.BFLOAT16}))
def test_other_protocols_are_not_copied(wrap, dtype):
    """The same bytes, by DLPack of both versions and the array interface."""
    x = np.zeros((2, 3), dtype.name.lower())
    assert of(wrap(x)) == (x.ctypes.data, 6, dtype)


def test_buffer_protocol_without_arrays():
    """What Python itself has."""
    doubles = array.array("d", [1, 2, 3])
    assert of(doubles) == (doubles.buffer_info()[0], 3, DType.FLOAT64)
    assert of(bytearray(7))[1:] == (7, DType.UINT8)
    assert of(memoryview(bytearray(8)).cast("i"))[1:] == (2, DType.INT32)
    _, _, count, dtype = even("allgather", b"abc", bytearray(6), 1, 2)
    assert (count, dtype) == (3, DType.UINT8)


@pytest.mark.parametrize(
    "read_only",
    [
        b"abcd",
        memoryview(b"abcd"),
        np.broadcast_to(np.float32(1), 1),
        pytest.param(
            OnlyDLPack(np.broadcast_to(np.float32(1), 1)),
            marks=pytest.mark.skipif(np.__version__ < "2.1", reason="numpy told of no read-only memory before"),
        ),
        OnlyInterface(np.broadcast_to(np.float32(1), 1)),
    ],
)
def test_read_only_output_is_refused(read_only):
    """An input may be."""
    with pytest.raises(TypeError, match=r"^allreduce: send \(.*read-only"):
        of(read_only)
    operands("broadcast", read_only, None, 1, 1, sends=True)
    operands("reduce", read_only, None, 1, 1, recvs=False)


@pytest.mark.parametrize("view", [np.s_[::2], np.s_[:, 1], np.s_[::-1], np.s_[:, :2]])
@pytest.mark.parametrize("wrap", [lambda x: x, OnlyDLPack, OnlyInterface, memoryview])
def test_not_contiguous_is_refused(view, wrap):
    """With what to do."""
    x = np.zeros((4, 4), np.float32)[view]
    with pytest.raises(ValueError, match="C-contiguous; give a copy"):
        of(wrap(x))
    with pytest.raises(ValueError, match="C-contiguous"):
        even("allreduce", wrap(x), np.zeros(x.size, np.float32), 1, 1)


def collected_in_use():
    """What has a view, and what C has of it, goes in a cycle; its program releases another."""
    whole = bytearray(b"a" * 64)
    view = memoryview(whole)
    where = place("send", "buffer", view, True)[0]
    view.release()
    with pytest.raises(BufferError):
        whole.append(0)
    assert ffi.buffer(where, 64)[:] == whole
    cycle = {"view": memoryview(bytearray(8))}
    cycle["self"], cycle["where"] = cycle, place("send", "buffer", cycle["view"], True)
    del cycle
    gc.collect()
    print("collected")


def test_view_in_use_may_be_collected():
    """As one is of a call that was interrupted: that ended the process."""
    code = "import test_buffers; test_buffers.collected_in_use()"
    done = subprocess.run(
        [sys.executable, "-B", "-c", code], cwd=HERE, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "collected\n", "")


def test_fortran_order_is_refused():
    """Its elements are in another order than they seem."""
    with pytest.raises(ValueError, match="C-contiguous"):
        of(np.zeros((2, 3), order="F"))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (np.zeros(2, ">f4"), "another byte order"),
        (OnlyInterface(np.zeros(2, ">f4")), "another byte order"),
        (np.zeros(2, object), "elements are object; there are int8"),
        (np.zeros(2, "f4,i4"), "there are int8"),
        (np.zeros(2, "datetime64[s]"), "there are int8"),
        (np.zeros(2, np.longdouble), "there are int8"),
        (OnDevice(np.zeros(2)), r"on a device \(CUDA\)"),
        (1.0, "bytes-like"),
        ([1.0, 2.0], "bytes-like"),
        ("text", "bytes-like"),
    ],
)
def test_what_is_no_buffer_is_refused(wrong, said):
    """The text names the call, the argument and its type."""
    with pytest.raises(TypeError, match=said) as caught:
        of(wrong)
    assert str(caught.value).startswith(f"allreduce: send ({type(wrong).__name__}): ")


def test_sizes_and_dtypes_have_to_fit():
    """Blocks are counted, not guessed."""
    f4 = np.zeros(12, np.float32)
    assert even("allgather", f4[:3], f4, 1, 4)[2] == 3
    assert even("allgather", None, f4, 1, 4)[2] == 3
    assert operands("gather", f4, None, 1, 4, recvs=False)[2] == 12
    assert operands("gather", f4, None, 1, 4, recvs=True)[2] == 3
    assert operands("scatter", None, f4, 4, 1, sends=False)[2] == 12
    with pytest.raises(ValueError, match="recv has 12 elements, which are not 5 equal blocks"):
        even("allgather", f4[:3], f4, 1, 5)
    with pytest.raises(ValueError, match="send has blocks of 2 float32, recv of 3 float32"):
        even("allgather", f4[:2], f4, 1, 4)
    with pytest.raises(ValueError, match="float32, recv of 12 float64"):
        even("allreduce", f4, np.zeros(12), 1, 1)
    with pytest.raises(ValueError, match="send has 12 elements, and 11 are needed"):
        operands("scatterv", f4, None, 11, 3, is_exact=True, sends=True)
    with pytest.raises(TypeError, match="neither send nor recv"):
        even("allreduce", None, None, 1, 1)


def test_torch_is_not_copied():
    """By DLPack, bfloat16 and bool, too; what needs gradients says so itself."""
    torch = pytest.importorskip("torch")
    for name in ("float32", "bfloat16", "bool", "int64", "complex64"):
        x = torch.zeros(3, 4, dtype=getattr(torch, name))
        assert of(x) == (x.data_ptr(), 12, DType[name.upper()])
        assert of(x[1]) == (x[1].data_ptr(), 4, DType[name.upper()])
    with pytest.raises(ValueError, match="C-contiguous"):
        of(torch.zeros(3, 4).T)
    for wrong in (
        torch.zeros(3, requires_grad=True),
        torch.zeros(3, dtype=torch.complex64).conj(),
        torch.zeros(3, dtype=torch.complex64).conj().imag,
        torch.zeros(3, device="meta"),
        torch.zeros(3).to_sparse(),
        torch.zeros(3, dtype=torch.float8_e5m2),
    ):
        with pytest.raises((TypeError, ValueError), match=r"^allreduce: send \(Tensor\): "):
            of(wrong)
