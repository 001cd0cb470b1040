"""python/hoop/_store.py - the store of a job: keys and values that all its members see

The coordinator keeps the store. A control of the C library makes one call at a time, so a
store has as many controls as threads call at once.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import ItemsView, Iterable, Iterator, KeysView, MutableMapping, ValuesView
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, Union, overload

from hoop._binding import ffi, lib
from hoop._enums import Status
from hoop._error import Exhausted, OutOfRange, Timeout, closed
from hoop._options import Setting, listed
from hoop._work import Seconds, check_call, milliseconds, seconds, watch

if TYPE_CHECKING:
    from collections.abc import Callable

Key = Union[str, bytes]
T = TypeVar("T")
Value = Union[bytes, bytearray, memoryview, str, int]

# The most keys that one call of the C library takes.
_BATCH = 1024
# How long a watch polls before it checks whether the store has been closed.
_POLL_MS = 1000
_MISSING: Any = object()


class StoreEvent(NamedTuple):
    """A change of a key. It has no value: get the value, which may be newer already.

    kind is "set", "deleted" or "expired". Each change has its own revision.
    """

    kind: str
    key: str
    revision: int


class CompareSet(NamedTuple):
    """What compare_set() has done.

    applied says whether the value was written. value is what the key has now; it is None if the
    key does not exist.
    """

    applied: bool
    value: bytes | None


def _decoded(key: Key) -> str:
    """Return key as the str that the store returns for it."""
    try:
        return key if isinstance(key, str) else key.decode()
    except UnicodeDecodeError:
        raise ValueError(f"key {key!r} is not UTF-8") from None


def _key(key: Key) -> Any:
    """Return key as a C string."""
    if isinstance(key, str):
        key = key.encode(errors="surrogateescape")
    elif not isinstance(key, bytes):
        raise TypeError(f"a key is {type(key).__name__}; it is str or bytes")
    else:
        _decoded(key)
    if not key or b"\0" in key:
        raise ValueError(f"key {key!r} is empty, or has a byte 0")
    return ffi.new("char[]", key)


def _bytes(value: Value) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, int) and not isinstance(value, bool):
        return b"%d" % value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeError(f"a value is {type(value).__name__}; it is bytes, str, or int, which is written in decimal")


def _value(value: Value, ttl: Seconds | None = None) -> tuple[Any, Any]:
    """Return a struct hoop_control_value, and the bytes that it borrows."""
    given = _bytes(value)
    held = ffi.from_buffer(given)
    made = ffi.new("struct hoop_control_value *", {"bytes": held, "n_bytes": len(given), "ttl_ms": _ttl(ttl)})
    return made, held


def _ttl(ttl: Seconds | None) -> int:
    if ttl is None:
        return 0
    ms = milliseconds(ttl)
    if not ms:
        raise ValueError("ttl is 0; it is more, or None")
    return ms


def _text(text: Any) -> str:
    # Programs in C may have stored a text that is not UTF-8; _key() accepts the escaped form.
    return ffi.string(text).decode(errors="surrogateescape")  # type: ignore[no-any-return]


def _read(value: Any) -> bytes | None:
    return None if value.bytes == ffi.NULL else bytes(ffi.buffer(value.bytes, value.n_bytes))


def _check_call(status: int, operation: str) -> None:
    check_call(status, operation, adds_note=False)


class Store(MutableMapping[str, bytes]):
    """The key-value store of a job, as a mapping of str to bytes.

    session.store is the store of a session. hoop.Store(coordinator="node0:4667", job="ten")
    opens one for a program that is not a member: its settings are those of join(), and a
    setting that is not given comes from the environment. timeout is how long a call may take.

    A key is a str, or its UTF-8 as bytes, of 1 to 1,024 bytes. A value has at most 1 MiB of
    bytes. A str is stored as UTF-8, and an int as decimal digits, as add() does. Each call that
    writes is atomic, also setdefault(), add() and compare_set(). Any thread may call.

    Calls raise hoop.NotFound if there is no such job, hoop.Unavailable or hoop.Timeout if the
    coordinator does not answer, hoop.Exhausted if a limit of the store is reached, and
    hoop.Closed if the store has been closed.
    """

    def __init__(self, *, timeout: Seconds = 5.0, **settings: Setting) -> None:
        items = listed(settings)
        ms = milliseconds(timeout)

        def create(out: Any) -> int:
            options = ffi.new("struct hoop_control_options *", {"timeout_ms": ms, "settings": items[0]})
            return lib.hoop_control_create(options, out)  # type: ignore[no-any-return]

        self._begin(create)
        # Creating a control now checks the address and the settings.
        self._give(self._take("Store"))

    @classmethod
    def _of(cls, session: Any) -> Store:
        """Return the store of a C session. It is open until close()."""
        made = cls.__new__(cls)
        made._begin(lambda out: lib.hoop_session_control(session, out))
        return made

    def _begin(self, create: Callable[[Any], int]) -> None:
        self._create = create
        self._lock = Lock()
        self._idle: deque[Any] = deque()
        self._pid = os.getpid()
        self._is_closed = False

    def _take(self, operation: str) -> Any:
        """Return a control that no other thread uses."""
        if self._is_closed:
            raise closed("store has been closed, or its session left", operation)
        if self._pid != os.getpid():
            # In a forked child, the connections belong to the parent.
            self._begin(self._create)
        try:
            return self._idle.pop()
        except IndexError:
            pass
        out = ffi.new("hoop_control_t **")
        with self._lock:
            if self._is_closed:
                raise closed("store has been closed, or its session left", operation)
            watch()
            _check_call(self._create(out), operation)
        return out[0]

    def _give(self, control: Any) -> None:
        lib.hoop_control_set_timeout(control, 0)
        self._idle.append(control)
        if self._is_closed:
            self._release()

    def _release(self) -> None:
        while self._idle:
            try:
                lib.hoop_control_destroy(self._idle.pop())
            except IndexError:  # another thread has taken the last one
                return

    def close(self) -> None:
        """Close the connections of the store. A second call does nothing.

        A call that another thread makes at that moment still ends as it would have.
        """
        with self._lock:
            self._is_closed = True
        if self._pid == os.getpid():
            self._release()

    def __del__(self) -> None:
        # Nothing is released if __init__ has failed, or if another process owns the controls.
        if getattr(self, "_pid", None) == os.getpid():
            self._release()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._is_closed:
            return "<hoop.Store, closed>"
        control = self._take("repr")
        try:
            job, at = (_text(f(control)) for f in (lib.hoop_control_job_name, lib.hoop_control_coordinator))
        finally:
            self._give(control)
        return f"<hoop.Store of job {job!r} at {at}>"

    # Values.

    def _values(self, operation: str, keys: list[Key], timeout_ms: int) -> list[bytes | None]:
        """Return the result of a call with several keys. If timeout_ms is 0, the store's timeout applies."""
        c_keys = [_key(key) for key in keys]
        call = lib.hoop_control_wait if timeout_ms else lib.hoop_control_multi_get
        out = ffi.new("const struct hoop_control_value **")
        found: list[bytes | None] = []
        control = self._take(operation)
        try:
            lib.hoop_control_set_timeout(control, timeout_ms)
            for i in range(0, len(c_keys), _BATCH):
                batch = c_keys[i : i + _BATCH]
                _check_call(call(control, batch, len(batch), out), operation)
                found += [_read(out[0][j]) for j in range(len(batch))]
        finally:
            self._give(control)
        return found

    def _some(self, keys: list[str]) -> list[bytes | None]:
        """Return the values of keys as multi_get() does, in parts if one answer cannot hold them."""
        try:
            return self._values("multi_get", list(keys), 0) if keys else []
        except Exhausted:
            if len(keys) == 1:
                raise
            half = len(keys) // 2
            return self._some(keys[:half]) + self._some(keys[half:])

    def multi_get(self, keys: Iterable[Key]) -> list[bytes | None]:
        """Return the values of several keys in their order; None stands for a key that does not exist."""
        return self._values("multi_get", list(keys), 0)

    def __getitem__(self, key: Key) -> bytes:
        value = self._values("get", [key], 0)[0]
        if value is None:
            raise KeyError(key)
        return value

    def __contains__(self, key: object) -> bool:
        return isinstance(key, (str, bytes)) and self._values("contains", [key], 0)[0] is not None

    def set(self, key: Key, value: Value, ttl: Seconds | None = None) -> None:
        """Write a value. The key expires after ttl seconds; if ttl is None, it does not."""
        c_key, (c_value, held) = _key(key), _value(value, ttl)
        control = self._take("set")
        try:
            _check_call(lib.hoop_control_set(control, c_key, c_value), "set")
        finally:
            self._give(control)
        del held

    def __setitem__(self, key: Key, value: Value) -> None:
        self.set(key, value)

    def __delitem__(self, key: Key) -> None:
        c_key = _key(key)
        control = self._take("delete")
        try:
            status = lib.hoop_control_delete(control, c_key)
            if status != Status.NOT_FOUND:
                return _check_call(status, "delete")
        finally:
            self._give(control)
        raise KeyError(key)

    def add(self, key: Key, n: int = 1, ttl: Seconds | None = None) -> int:
        """Add n to a counter and return the sum. A key that does not exist counts as 0.

        The key expires after ttl seconds; if ttl is None, its lifetime is unchanged.
        It raises hoop.Refused if the value is no number, and hoop.OutOfRange if the sum has more
        than 64 bits.
        """
        c_key, out = _key(key), ffi.new("int64_t *")
        control = self._take("add")
        try:
            _check_call(lib.hoop_control_add(control, c_key, n, _ttl(ttl), out), "add")
        finally:
            self._give(control)
        return int(out[0])

    def compare_set(
        self,
        key: Key,
        expected: Value | None,
        value: Value,
        ttl: Seconds | None = None,
    ) -> CompareSet:
        """Write value if the key has the expected value; None expects that the key does not exist."""
        c_key, (c_value, held) = _key(key), _value(value, ttl)
        c_expected, _kept = _value(b"" if expected is None else expected)
        out = ffi.new("struct hoop_control_exchange *")
        control = self._take("compare_set")
        try:
            given = ffi.NULL if expected is None else c_expected
            _check_call(lib.hoop_control_compare_set(control, c_key, given, c_value, out), "compare_set")
            if out.is_applied:
                return CompareSet(True, bytes(ffi.buffer(held)))
            return CompareSet(False, _read(out.present))
        finally:
            self._give(control)

    def setdefault(self, key: Key, default: Value = b"") -> bytes:
        """Return the value of the key. If the key does not exist, write default and return it."""
        value = self.compare_set(key, None, default).value
        assert value is not None
        return value

    @overload
    def pop(self, key: Key) -> bytes: ...
    @overload
    def pop(self, key: Key, default: bytes) -> bytes: ...
    @overload
    def pop(self, key: Key, default: T) -> bytes | T: ...
    def pop(self, key: Key, default: Any = _MISSING) -> Any:
        """Delete a key and return the value that it had.

        If several callers pop a key, only one of them gets its value. A value that is set between
        reading and deleting is lost.
        """
        try:
            value = self[key]
            del self[key]
        except KeyError:
            if default is _MISSING:
                raise
            return default
        return value

    def clear(self) -> None:
        """Delete every key that exists now."""
        for key in self:
            try:
                del self[key]
            except KeyError:  # another client has deleted it
                continue

    # Keys.

    def _pages(self, prefix: Key) -> Iterator[tuple[list[str], int, int]]:
        """Yield for each page its keys, the number of keys after it, and the revision of the store."""
        after: Any = ffi.NULL
        c_prefix = _key(prefix) if prefix else ffi.NULL
        out = ffi.new("const struct hoop_control_keys **")
        while True:
            scan = ffi.new("struct hoop_control_scan *", {"prefix": c_prefix, "after": after})
            control = self._take("keys")
            try:
                _check_call(lib.hoop_control_list(control, scan, out), "keys")
                page = out[0]
                keys = [_text(page.keys[i].key) for i in range(page.n_keys)]
                n_more, revision = int(page.n_more), int(page.revision)
            finally:
                self._give(control)
            yield keys, n_more, revision
            if not n_more:
                return
            after = _key(keys[-1])

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys in the order of their bytes. It may or may not meet keys that change meanwhile."""
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def keys(self, prefix: Key = "") -> KeysView[str]:
        """Return a view of the keys that begin with prefix. Each use of the view reads the store again."""
        return _Keys(self, prefix)

    def items(self, prefix: Key = "") -> ItemsView[str, bytes]:
        """Return a view of the keys that begin with prefix and their values, read some pages at a time."""
        return _Items(self, prefix)

    def values(self, prefix: Key = "") -> ValuesView[bytes]:
        """Return a view of the values of the keys that begin with prefix."""
        return _Values(self, prefix)

    # Changes.

    def wait(self, keys: Key | Iterable[Key], timeout: Seconds = 600.0) -> dict[str, bytes]:
        """Wait until all keys exist, and return their values by key.

        It raises hoop.Timeout if they do not all exist after timeout seconds; the text names one.
        """
        wanted: list[Key] = [keys] if isinstance(keys, (str, bytes)) else list(keys)
        values = self._values("wait", wanted, max(1, milliseconds(timeout)))
        names = [_decoded(key) for key in wanted]
        return {name: value for name, value in zip(names, values) if value is not None}

    def watch(self, prefix: Key = "", timeout: Seconds | None = None) -> StoreWatch:
        """Return an iterator over the changes, from now on, of keys that begin with prefix.

        It yields StoreEvent. timeout is how many seconds the iterator waits for the next change;
        if it is None, it waits as long as the store is open.
        """
        return StoreWatch(self, prefix, timeout)


class StoreWatch(Iterator[StoreEvent]):
    """An iterator over the changes of keys with a prefix, in their order and without a gap.

    One thread at a time uses it.
    """

    def __init__(self, store: Store, prefix: Key, timeout: Seconds | None) -> None:
        self._store = store
        self._prefix = prefix
        self._timeout = timeout
        self._events: deque[StoreEvent] = deque()
        self._since = self._now()

    def _now(self) -> int:
        for _, _, revision in self._store._pages(self._prefix):
            return revision
        raise AssertionError

    def __next__(self) -> StoreEvent:
        """Return the next change.

        It raises hoop.Timeout if there is none within the watch's timeout, or if the coordinator
        does not answer; the next call then waits on. It raises hoop.OutOfRange if so many changes
        have passed that some are lost; the next call then begins with changes from now on. It
        raises hoop.Closed if the store has been closed.
        """
        return self.next(self._timeout)

    def next(self, timeout: Seconds | None = None) -> StoreEvent:
        """Return the next change within timeout seconds. With 0 it returns one that is there already."""
        left = None if timeout is None else max(1, milliseconds(timeout))
        while not self._events:
            ms = _POLL_MS if left is None else min(left, _POLL_MS)
            try:
                self._poll(ms)
            except OutOfRange:
                self._since = self._now()
                raise
            if left is not None and timeout is not None and not self._events:
                left -= ms
                if left <= 0:
                    what = f"no key that begins with {self._prefix!r} has changed within {seconds(timeout):g} s"
                    raise Timeout(what, Status.TIMEOUT, "watch")
        return self._events.popleft()

    def _poll(self, ms: int) -> None:
        out = ffi.new("const struct hoop_control_events **")
        c_prefix = _key(self._prefix) if self._prefix else ffi.NULL
        control = self._store._take("watch")
        try:
            lib.hoop_control_set_timeout(control, ms)
            _check_call(lib.hoop_control_watch(control, c_prefix, self._since, out), "watch")
            found = out[0]
            for i in range(found.n_events):
                event = found.events[i]
                self._events.append(StoreEvent(_text(event.kind), _text(event.key), int(event.revision)))
            self._since = int(found.revision)
        finally:
            self._store._give(control)


def _begins(key: object, prefix: Key) -> bool:
    return isinstance(key, (str, bytes)) and _decoded(key).startswith(_decoded(prefix))


class _Keys(KeysView[str]):
    def __init__(self, store: Store, prefix: Key) -> None:
        super().__init__(store)
        self._store, self._prefix = store, prefix

    def __len__(self) -> int:
        for keys, n_more, _ in self._store._pages(self._prefix):
            return len(keys) + n_more
        return 0

    def __iter__(self) -> Iterator[str]:
        for keys, _, _ in self._store._pages(self._prefix):
            yield from keys

    def __contains__(self, key: object) -> bool:
        return _begins(key, self._prefix) and key in self._store


class _Items(ItemsView[str, bytes]):
    def __init__(self, store: Store, prefix: Key) -> None:
        super().__init__(store)
        self._store, self._prefix = store, prefix

    def __len__(self) -> int:
        return len(self._store.keys(self._prefix))

    def __contains__(self, item: object) -> bool:
        if not (isinstance(item, tuple) and len(item) == 2 and _begins(item[0], self._prefix)):
            return False
        value = self._store.get(item[0])
        return value is not None and bool(value == item[1])

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        for keys, _, _ in self._store._pages(self._prefix):
            for key, value in zip(keys, self._store._some(keys)):
                if value is not None:  # deleted meanwhile
                    yield key, value


class _Values(ValuesView[bytes]):
    def __init__(self, store: Store, prefix: Key) -> None:
        super().__init__(store)
        self._items = store.items(prefix)

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[bytes]:
        for _, value in self._items:
            yield value

    def __contains__(self, value: object) -> bool:
        return any(found == value for found in self)
