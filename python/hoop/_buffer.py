"""python/hoop/_buffer.py - finds the memory, the length and the dtype of an array

Three protocols tell these without a copy, and without importing any array library: the
buffer protocol (numpy, array, bytes), __array_interface__ (numpy arrays of types that the
buffer protocol does not know, such as those of ml_dtypes) and DLPack (torch, JAX).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Union

from hoop._binding import ffi, lib
from hoop._enums import DType, ReduceOp


class ArrayInterface(Protocol):
    """The protocol of numpy arrays, and of others that can be viewed as such."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...


class DLPack(Protocol):
    """The protocol of torch tensors, and of those of most other libraries."""

    def __dlpack__(self, *, stream: Any = ...) -> Any: ...

    def __dlpack_device__(self) -> tuple[Any, int]: ...


Buffer = Union[bytes, bytearray, memoryview, ArrayInterface, DLPack]
Op = Union[ReduceOp, str]

# A pointer that keeps its memory alive, the number of elements, and their dtype.
Place = tuple[Any, int, int]
# send, recv, the number of elements of a block, and their dtype.
Operands = tuple[Any, Any, int, int]

NULL = ffi.NULL
IN_PLACE = ffi.cast("void *", -1)
_from_buffer = ffi.from_buffer
_CHARS = ffi.typeof("char[]")
_POINTER = ffi.typeof("void *")
# Errors of the fast path; the slow path then handles the array, or says what is wrong.
_MISSED = (AttributeError, KeyError, TypeError, ValueError, BufferError)

_NAMES: dict[str, int] = {dtype.name.lower(): int(dtype) for dtype in DType}
# Numbers by dtype object; several objects may mean the same dtype.
_dtypes: dict[Any, int] = {}
# The kinds of elements by the format characters of the buffer protocol.
_FORMATS = {
    **dict.fromkeys("bhilqn", "int"),
    **dict.fromkeys("BHILQNc", "uint"),
    **dict.fromkeys("efd", "float"),
    **dict.fromkeys(("Zf", "Zd", "F", "D"), "complex"),
    "?": "bool",
}
# The values of DLDataTypeCode and DLDeviceType in DLPack.
_DLPACK_KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}
_DLPACK_HOST = (1, 3)
_DLPACK_DEVICES = {2: "CUDA", 4: "OpenCL", 7: "Vulkan", 8: "Metal", 10: "ROCm", 14: "oneAPI"}


def operator(op: Op) -> int:
    """Return the number of a reduction operator, which may be given by its name.

    It raises ValueError if there is no such operator.
    """
    try:
        return ReduceOp[op.upper()] if isinstance(op, str) else ReduceOp(op)
    except (KeyError, ValueError):
        names = ", ".join(known.name.lower() for known in ReduceOp)
        raise ValueError(f"op is {op!r}; there are {names}") from None


def _named(name: str) -> int:
    try:
        return _NAMES[name]
    except KeyError:
        raise TypeError(f"elements are {name}; there are {', '.join(_NAMES)}") from None


def _sized(kind: str, n_bytes: int) -> int:
    return _named(kind if kind == "bool" else f"{kind}{8 * n_bytes}")


def _dtype(dtype: Any) -> int:
    """Return the number of a dtype object of numpy, ml_dtypes, torch or JAX."""
    if getattr(dtype, "byteorder", "=") not in "=|<":
        raise TypeError(f"elements are {dtype}, of another byte order than this machine's")
    found = _named(getattr(dtype, "name", None) or str(dtype).rpartition(".")[2])
    _dtypes[dtype] = found
    return found


def _dense(is_dense: bool) -> None:
    if not is_dense:
        raise ValueError(
            "it is not C-contiguous; give a copy that is, by numpy.ascontiguousarray() or a tensor's contiguous()"
        )


def _writable(is_writable: bool) -> None:
    if not is_writable:
        raise TypeError("it is read-only, but a result is to be written to it")


def _count(shape: Sequence[int]) -> int:
    n = 1
    for size in shape:
        n *= size
    return n


def _by_interface(array: Any, is_output: bool) -> Place:
    interface = array.__array_interface__
    if hasattr(array, "dtype"):
        dtype = _dtype(array.dtype)
    else:
        order, kind, size = interface["typestr"][0], interface["typestr"][1], interface["typestr"][2:]
        if order == ">":
            raise TypeError("elements are of another byte order than this machine's")
        kinds = {"i": "int", "u": "uint", "f": "float", "c": "complex", "b": "bool"}
        dtype = _sized(kinds.get(kind) or str(kind), int(size))
    _dense(interface.get("strides") is None)
    address, is_readonly = interface["data"]
    _writable(not (is_output and is_readonly))
    return kept(address, (array, interface)), _count(interface["shape"]), dtype


def kept(address: Any, owner: Any) -> Any:
    """Return address, a number or a pointer, as a pointer that keeps owner alive."""

    def release(_: Any, owner: Any = owner) -> None:
        del owner

    return ffi.gc(ffi.cast(_POINTER, address), release)


def _by_dlpack(array: Any, is_output: bool) -> Place:
    device = int(array.__dlpack_device__()[0])
    if device not in _DLPACK_HOST:
        kind = _DLPACK_DEVICES.get(device, f"of DLPack's type {device}")
        raise TypeError(f"it lies on a device ({kind}), and hoop moves what is in the host's memory: copy it there")
    try:
        capsule = array.__dlpack__(max_version=(1, 0))
    except TypeError:  # a library older than versions of DLPack
        capsule = array.__dlpack__()
    # This import takes time, so it is made only here.
    import ctypes

    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    if "versioned" in repr(capsule):
        managed = ffi.cast("struct hoop_py_dlpack_versioned *", pointer_of(capsule, b"dltensor_versioned"))
        _writable(not (is_output and managed.flags & 1))
        tensor = managed.tensor
    else:
        tensor = ffi.cast("struct hoop_py_dlpack *", pointer_of(capsule, b"dltensor")).tensor
    if tensor.lanes != 1:
        raise TypeError("elements are vectors")
    shape = [tensor.shape[i] for i in range(tensor.ndim)]
    if tensor.strides != NULL:
        step = 1
        for i in reversed(range(tensor.ndim)):
            _dense(shape[i] == 1 or tensor.strides[i] == step or 0 in shape)
            step *= shape[i]
    dtype = _sized(_DLPACK_KINDS.get(tensor.code, "opaque"), tensor.bits // 8)
    address = int(ffi.cast("uintptr_t", tensor.data)) + tensor.byte_offset
    # The capsule is not consumed, so its own destructor frees what it holds.
    return kept(address, (array, capsule)), _count(shape), dtype


def _by_torch(array: Any) -> Place | None:
    """Describe a torch tensor, because DLPack takes 15 us to do so.

    It returns None if the tensor cannot be used; DLPack then says what is wrong.
    """
    try:
        if not array.is_cpu or array.requires_grad or not array.is_contiguous() or array.is_conj() or array.is_neg():
            return None
        dtype = _dtypes.get(array.dtype)
        where = ffi.cast(_POINTER, array.data_ptr())
    except (AttributeError, RuntimeError):  # a tensor of another library, or one without memory
        return None
    return where, array.numel(), _dtype(array.dtype) if dtype is None else dtype


def _by_buffer(array: Any, is_output: bool) -> Place:
    try:
        view = memoryview(array)
    except TypeError:
        said = "it is no array and not bytes-like; objects go by send_object(), broadcast_object() and the like"
        raise TypeError(said) from None
    code = view.format.lstrip("@=<")
    if code not in _FORMATS:
        raise TypeError(f"elements are of the format {view.format!r}")
    dtype = _sized(_FORMATS[code], view.itemsize)
    _dense(view.c_contiguous)
    _writable(not (is_output and view.readonly))
    where = _from_buffer(array)
    if isinstance(array, memoryview):
        # Collecting a view whose buffer is in use would end the process, so view is kept alive.
        where = kept(where, view)
    return where, view.nbytes // view.itemsize, dtype


def _describe(call: str, what: str, array: Any, is_output: bool) -> Place:
    """Describe array by any of the protocols. Errors name the call and the argument."""
    try:
        if hasattr(array, "__array_interface__"):
            return _by_interface(array, is_output)
        if hasattr(array, "__dlpack_device__"):
            found = _by_torch(array) if hasattr(array, "data_ptr") else None
            return found or _by_dlpack(array, is_output)
        return _by_buffer(array, is_output)
    except (TypeError, ValueError, BufferError) as error:
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(f"{call}: {what} ({type(array).__name__}): {error}") from None


def place(call: str, what: str, array: Any, is_output: bool) -> Place:
    """Return where array lies, its number of elements, and their dtype. Errors name the call and the argument."""
    try:
        # The order matters: an object whose size is a method is no buffer.
        return _from_buffer(_CHARS, array, is_output), array.size, _dtypes[array.dtype]
    except _MISSED:
        return _describe(call, what, array, is_output)


def shape(call: str, what: str, array: Any) -> tuple[int, ...]:
    """Return the sizes of array's dimensions, outermost first."""
    found: Any = getattr(array, "shape", None)
    if found is None and hasattr(array, "__array_interface__"):
        found = array.__array_interface__["shape"]
    if found is None:
        try:
            found = memoryview(array).shape
        except TypeError:
            raise TypeError(f"{call}: {what} ({type(array).__name__}) has no shape") from None
    return tuple(found)


def is_root(comm: Any, call: str, root: int) -> bool:
    """Return whether this rank is the root. C reports a root that the communicator does not have."""
    if not 0 <= root < 2**31:
        raise ValueError(f"{call}: root is {root}; it is a rank, 0 or more")
    return bool(comm.rank == root)


def sizes(comm: Any, what: str, counts: Sequence[int]) -> Any:
    """Return counts as a C array.

    It raises ValueError if counts does not have one entry for each rank.
    """
    if len(counts) != comm.size and comm.size:
        raise ValueError(f"{what} has {len(counts)} entries, the communicator {comm.size} ranks")
    return ffi.new("size_t[]", list(counts))


def _misfit(call: str, n: int, dtype: int, n_out: int, out_dtype: int) -> ValueError:
    return ValueError(
        f"{call}: send has blocks of {n} {DType(dtype).name.lower()}, recv of {n_out} {DType(out_dtype).name.lower()}"
    )


def _blocks(call: str, what: str, n: int, blocks: int, is_exact: bool) -> int:
    """Return the number of elements of a block of a buffer with n elements.

    If is_exact is true, blocks is the number of elements that the buffer must have. It raises
    ValueError if the elements do not fit.
    """
    if is_exact:
        if n != blocks:
            raise ValueError(f"{call}: {what} has {n} elements, and {blocks} are needed")
        return 0
    if blocks == 1:
        return n
    count, rest = divmod(n, blocks) if blocks else (0, 0)
    if rest:
        raise ValueError(f"{call}: {what} has {n} elements, which are not {blocks} equal blocks")
    return count


def even(call: str, send: Any, recv: Any, n_send: int, n_recv: int) -> Operands:
    """Return the two buffers as C takes them, the number of elements of a block, and their dtype.

    n_send and n_recv say how many blocks send and recv hold. If one buffer is None, the call
    is in place.
    """
    if send is None or recv is None:
        buffer, what = (send, "send") if recv is None else (recv, "recv")
        if buffer is None:
            raise TypeError(f"{call}: neither send nor recv is given")
        try:  # the same as place(), which takes 60 ns longer
            where, n, dtype = _from_buffer(_CHARS, buffer, True), buffer.size, _dtypes[buffer.dtype]
        except _MISSED:
            where, n, dtype = _describe(call, what, buffer, True)
        blocks = n_send if n_send > n_recv else n_recv
        return IN_PLACE, where, n if blocks == 1 else _blocks(call, what, n, blocks, False), dtype
    try:
        c_send, n, dtype = _from_buffer(_CHARS, send), send.size, _dtypes[send.dtype]
    except _MISSED:
        c_send, n, dtype = _describe(call, "send", send, False)
    try:
        c_recv, n_out, out_dtype = _from_buffer(_CHARS, recv, True), recv.size, _dtypes[recv.dtype]
    except _MISSED:
        c_recv, n_out, out_dtype = _describe(call, "recv", recv, True)
    if n_send != 1:
        n = _blocks(call, "send", n, n_send, False)
    if n_recv != 1:
        n_out = _blocks(call, "recv", n_out, n_recv, False)
    if n != n_out or dtype != out_dtype:
        raise _misfit(call, n, dtype, n_out, out_dtype)
    return c_send, c_recv, n, dtype


def operands(
    call: str,
    send: Buffer | None,
    recv: Buffer | None,
    n_send: int,
    n_recv: int,
    is_exact: bool = False,
    sends: bool | None = None,
    recvs: bool | None = None,
) -> Operands:
    """Return what even() returns, for calls with a root and for calls with counts.

    If is_exact is true, n_send and n_recv are numbers of elements. sends is None if every rank
    has a send; otherwise only root has one, and sends says whether this rank is root. recvs
    says the same of recv.
    """
    if send is not None and recv is not None and sends is not False and recvs is not False:
        if not is_exact:
            return even(call, send, recv, n_send, n_recv)
        c_send, n, dtype = place(call, "send", send, False)
        c_recv, n_out, out_dtype = place(call, "recv", recv, True)
        _blocks(call, "send", n, n_send, True)
        _blocks(call, "recv", n_out, n_recv, True)
        if dtype != out_dtype:
            raise _misfit(call, n, dtype, n_out, out_dtype)
        return c_send, c_recv, 0, dtype
    if recvs is False:  # this rank receives nothing
        buffer, what, blocks, is_output = send, "send", n_send, False
    elif sends is False:
        buffer, what = (recv, "recv") if recv is not None else (send, "send")
        blocks, is_output = n_recv, True
    else:
        # The call is in place. root's buffer is only read if the other ranks receive its content.
        buffer, what = (send, "send") if recv is None else (recv, "recv")
        blocks, is_output = max(n_send, n_recv), sends is None
    if buffer is None:
        raise TypeError(f"{call}: {'send is not' if recvs is False else 'neither send nor recv is'} given")
    where, n, dtype = place(call, what, buffer, is_output)
    count = _blocks(call, what, n, blocks, is_exact)
    if recvs is False:
        return where, NULL, count, dtype
    return (IN_PLACE, where, count, dtype) if is_output else (where, IN_PLACE, count, dtype)


assert lib.HOOP_BOOL == DType.BOOL
