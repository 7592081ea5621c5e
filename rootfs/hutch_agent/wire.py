"""Lines of JSON to and from the host.

Knows no operation of the protocol.  Text is UTF-8 whatever a handler made of
it: a lone surrogate, which UTF-8 can't say, becomes U+FFFD, and a number that
JSON can't say becomes null.
"""
import asyncio
import dataclasses
import datetime
import enum
import json
import math
import os

HIGH = 256 << 10  # so much may wait for the host before runs are held
LOW = 64 << 10
DEPTH = 60        # of what is made plain


def plain(value, depth=0):
    """value as what JSON has: never fails, whatever an agent puts in."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth > DEPTH:
        return str(type(value))
    if isinstance(value, dict):
        return {_key(k): plain(v, depth + 1) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v, depth + 1) for v in value]
    return _object(value, depth)


def _key(key):
    if isinstance(key, enum.Enum):
        key = key.value
    return key if isinstance(key, str) else str(key)


def _object(value, depth):
    if isinstance(value, enum.Enum):
        return plain(value.value, depth + 1)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    try:
        for name in ("model_dump", "to_map", "to_dict"):
            make = getattr(value, name, None)
            if callable(make) and not isinstance(value, type):
                return plain(make(), depth + 1)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {f.name: plain(getattr(value, f.name), depth + 1)
                    for f in dataclasses.fields(value)}
        return str(value)
    except Exception:  # an object that can't even be printed
        return object.__repr__(value)


_compact = json.JSONEncoder(ensure_ascii=False, allow_nan=False,
                            separators=(",", ":")).encode
_spaced = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
text_of = json.encoder.encode_basestring  # a JSON string of a str, in C


def compact(value):
    try:
        return _compact(value)
    except (TypeError, ValueError, RecursionError):
        return _compact(plain(value))


def spaced(value):
    """The style of Python's json.dumps, which is that of tools' arguments."""
    try:
        return _spaced(value)
    except (TypeError, ValueError, RecursionError):
        return _spaced(plain(value))


def utf8(text):
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode(
            "utf-16-le", "replace").encode()


class Out:
    """Lines go out whole and in order; the loop is never blocked by them."""

    def __init__(self, loop, fd, gone):
        self.loop, self.fd, self.gone = loop, fd, gone
        self.held, self.held_size = [], 0
        self.rest = b""        # encoded, refused by the pipe so far
        self.soon = self.waiting = False
        self.dead = False
        self.waiters = []
        os.set_blocking(fd, False)

    @property
    def full(self):
        return self.held_size + len(self.rest) > HIGH

    def line(self, text):
        """text without its newline."""
        self.held.append(text)
        self.held_size += len(text)
        if not self.soon:
            self.soon = True
            self.loop.call_soon(self.flush)

    def flush(self):
        self.soon = False
        if self.waiting:
            return
        if self.held:
            self.held.append("")
            data = "\n".join(self.held)
            self.held, self.held_size = [], 0
            self.rest = self.rest + utf8(data) if self.rest else utf8(data)
        self._write()

    def _write(self):
        view = memoryview(self.rest)
        try:
            while len(view):
                view = view[os.write(self.fd, view[:1 << 20]):]
        except BlockingIOError:
            pass
        except OSError:
            self._die()
            view = view[:0]
        self.rest = bytes(view)
        if self.rest and not self.waiting:
            self.waiting = True
            self.loop.add_writer(self.fd, self._again)
        elif not self.rest and self.waiting:
            self.waiting = False
            self.loop.remove_writer(self.fd)
            if self.held:
                self.flush()
        if self.waiters and self.held_size + len(self.rest) < LOW:
            self._wake()

    def _again(self):
        self._write()

    def _die(self):
        if not self.dead:
            self.dead = True
            self.gone()

    def _wake(self):
        waiters, self.waiters = self.waiters, []
        for w in waiters:
            if not w.done():
                w.set_result(None)

    async def room(self):
        """Returns when there is room again."""
        while self.full and not self.dead:
            waiter = self.loop.create_future()
            self.waiters.append(waiter)
            await waiter

    async def drain(self):
        """Returns when everything has gone out."""
        self.flush()
        while (self.rest or self.held) and not self.dead:
            await asyncio.sleep(0.002)


class In:
    """Calls line(object) for each line, gone() at the end."""

    def __init__(self, loop, fd, line, bad, gone):
        self.loop, self.fd = loop, fd
        self.line, self.bad, self.gone = line, bad, gone
        self.rest = []
        os.set_blocking(fd, False)
        loop.add_reader(fd, self._readable)

    def _readable(self):
        try:
            data = os.read(self.fd, 1 << 20)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            self.gone()
            return
        *lines, last = data.split(b"\n")
        if lines:
            lines[0] = b"".join(self.rest) + lines[0]
            self.rest = []
        if last:
            self.rest.append(last)
        for text in lines:
            self._one(text)

    def _one(self, text):
        if not text.strip():
            return
        try:
            value = json.loads(text.decode("utf-8", "replace"))
        except (ValueError, RecursionError) as e:
            self.bad(f"a line that is no JSON: {e}")
            return
        if isinstance(value, dict):
            self.line(value)
        else:
            self.bad("a line that is no object")

    def close(self):
        self.loop.remove_reader(self.fd)
