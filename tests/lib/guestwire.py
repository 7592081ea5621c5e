"""The front's side of a stream to hutch-agent, for tests.

Speaks frames and proto/guest.proto by hand: Python's standard library only.
Every wait has a deadline; nothing sleeps.
"""
import contextlib
import os
import select
import signal
import socket
import struct
import subprocess
import time

OUT, ERR, FILE = 1, 2, 3
# Done.code is 1 + enum err_code
(SYS, INVALID, DENIED, MISSING, BUSY, LIMIT, TIMEOUT, PROTO) = range(1, 9)


def varint(n):
    out = bytearray()
    n &= (1 << 64) - 1
    while n > 0x7f:
        out.append(n & 0x7f | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def number(field, n):
    return varint(field << 3) + varint(n) if n else b""


def data(field, b):
    return varint(field << 3 | 2) + varint(len(b)) + b


def text(field, s):
    return data(field, s if isinstance(s, bytes) else s.encode())


def zigzag(n):
    return n << 1 if n >= 0 else (-n << 1) - 1


def fields(b):
    """{number: [values]}, in order of arrival."""
    out, at = {}, 0

    def take():
        nonlocal at
        n = shift = 0
        while True:
            byte = b[at]
            at += 1
            n |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return n
    while at < len(b):
        key = take()
        if key & 7 == 0:
            value = take()
        elif key & 7 == 2:
            n = take()
            value, at = b[at:at + n], at + n
        else:
            raise ValueError("wire type %d" % (key & 7))
        out.setdefault(key >> 3, []).append(value)
    return out


def unzigzag(n):
    return n >> 1 if not n & 1 else -((n + 1) >> 1)


def arg(name, value):
    b = text(1, name)
    if isinstance(value, bool):
        return b + varint(4 << 3) + varint(int(value))
    if isinstance(value, int):
        return b + varint(3 << 3) + varint(zigzag(value))
    if isinstance(value, (list, tuple)):
        return b + data(5, b"".join(text(1, v) for v in value))
    return b + text(2, value)


class Call:
    """What was said about one call so far."""

    def __init__(self, agent, n):
        self.agent, self.n = agent, n
        self.out = {OUT: bytearray(), ERR: bytearray(), FILE: bytearray()}
        self.taken = 0
        self.entries, self.room, self.done = [], 0, None
        self.done_at = None

    def event(self, kind, body):
        f = fields(body)
        if kind == 3:
            chunk = f.get(2, [b""])[0]
            self.out[f[1][0]] += chunk
            self.taken += len(chunk)
            if self.agent.credit_back:
                self.credit(len(chunk))
        elif kind == 4:
            if self.done is not None:
                raise AssertionError("two Done for call %d" % self.n)
            self.done_at = time.monotonic()
            exit_ = f.get(4, [0])[0]
            self.done = {
                "code": f.get(1, [0])[0],
                "text": f.get(2, [b""])[0].decode("utf-8", "replace"),
                "exit": unzigzag(exit_) if f.get(3, [0])[0] else None,
                "running": bool(f.get(5, [0])[0]),
                "cut_out": f.get(6, [0])[0], "cut_err": f.get(7, [0])[0],
                "flag": bool(f.get(8, [0])[0])}
        elif kind == 5:
            self.room += f.get(1, [0])[0]
        elif kind == 6:
            self.entries.append({
                "path": f.get(1, [b""])[0], "name": f.get(2, [b""])[0],
                "type": f.get(3, [0])[0],
                "size": unzigzag(f.get(4, [0])[0]),
                "mtime_ms": unzigzag(f.get(5, [0])[0])})

    stdout = property(lambda self: bytes(self.out[OUT]))
    stderr = property(lambda self: bytes(self.out[ERR]))
    file = property(lambda self: bytes(self.out[FILE]))

    def wait(self, seconds=20):
        self.agent.until(lambda: self.done is not None, seconds)
        return self

    def wait_out(self, want, seconds=20, stream=OUT):
        self.agent.until(lambda: want in self.out[stream] or self.done,
                         seconds)
        if want not in self.out[stream]:
            raise AssertionError("ended without %r: %r %r %r" % (
                want, self.stdout, self.stderr, self.done))
        return self

    def credit(self, n):
        self.agent.send(self.n, data(6, number(1, n)))

    def cancel(self):
        self.agent.send(self.n, data(5, b""))

    def detach(self):
        self.agent.send(self.n, data(9, b""))

    def resize(self, rows, cols):
        self.agent.send(self.n, data(8, number(1, rows) + number(2, cols)))

    def input(self, b=b"", eof=False, seconds=20):
        """All of it, as room is given."""
        while b:
            self.agent.until(lambda: self.room > 0 or self.done, seconds)
            if self.done:
                return
            n = min(len(b), self.room, 200000)
            self.room -= n
            self.agent.send(self.n, data(4, text(1, b[:n])))
            b = b[n:]
        if eof:
            self.agent.send(self.n, data(4, number(2, 1)))


class Stream:
    """One stream: a front, as the agent sees it."""

    def __init__(self, sock, generation=1, env=None, cwd="/"):
        self.sock, self.calls, self.last = sock, {}, 0
        self.buf, self.gone, self.hello, self.pongs = b"", False, None, 0
        self.credit_back = True
        self.generation, self.cwd = generation, cwd
        self.env = env if env is not None else {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": "/root", "LANG": "C.UTF-8"}

    def send(self, call, kind):
        body = number(1, call) + kind
        self.sock.sendall(struct.pack(">I", len(body)) + body)

    def setup(self, seconds=10):
        env = b"".join(text(2, "%s=%s" % kv) for kv in self.env.items())
        self.send(0, data(2, number(1, self.generation) + env +
                          text(3, self.cwd)))
        self.until(lambda: self.hello is not None, seconds)
        return self

    def ping(self):
        self.send(0, data(7, b""))

    def start(self, tool, args=None, answer_ms=0, work_ms=0, cap=0,
              credit=1 << 20, piece=200000):
        self.last += 1
        call = Call(self, self.last)
        self.calls[self.last] = call
        head = (text(1, tool) + number(3, answer_ms) + number(4, work_ms) +
                number(5, cap) + number(6, credit))
        frames, size = [b""], 0
        for name, value in (args or {}).items():
            if not isinstance(value, (str, bytes)):
                frames[-1] += data(2, arg(name, value))
                continue
            value = value.encode() if isinstance(value, str) else value
            at = 0
            while True:
                part = value[at:at + piece]
                if size + len(part) > piece and frames[-1]:
                    frames.append(b"")
                    size = 0
                frames[-1] += data(2, arg(name, part))
                size += len(part)
                at += len(part)
                if at >= len(value):
                    break
        for i, f in enumerate(frames):
            more = number(7, 1) if i + 1 < len(frames) else b""
            self.send(self.last, data(3, (head if i == 0 else b"") + f + more))
        return call

    def run(self, tool, args=None, seconds=20, **kw):
        return self.start(tool, args, **kw).wait(seconds)

    def shell(self, command, seconds=20, **kw):
        return self.run("run_shell_command", {"command": command}, seconds,
                        **kw)

    def cell(self, code, seconds=30, **kw):
        return self.run("run_ipython_cell", {"code": code}, seconds, **kw)

    def frame(self, b):
        f = fields(b)
        n = f.pop(1, [0])[0]
        for kind, bodies in f.items():
            if kind == 2:
                self.hello = Hello(bodies[0])
            elif kind == 7:
                self.pongs += 1
            elif n in self.calls:
                self.calls[n].event(kind, bodies[0])
            elif n == 0 and kind == 4:
                self.last_words = fields(bodies[0])

    def step(self, seconds):
        if not select.select([self.sock], [], [], max(0, seconds))[0]:
            return
        try:
            got = self.sock.recv(1 << 20)
        except ConnectionResetError:
            got = b""
        if not got:
            self.gone = True
        self.buf += got
        while len(self.buf) >= 4:
            n = struct.unpack(">I", self.buf[:4])[0]
            if len(self.buf) < 4 + n:
                break
            body, self.buf = self.buf[4:4 + n], self.buf[4 + n:]
            self.frame(body)

    def until(self, true, seconds):
        end = time.monotonic() + seconds
        while not true():
            if self.gone:
                raise AssertionError("the agent hung up")
            left = end - time.monotonic()
            if left <= 0:
                raise AssertionError("nothing for %g s" % seconds)
            self.step(left)

    def close(self):
        self.sock.close()


class Hello:
    def __init__(self, b):
        f = fields(b)
        self.generation = f.get(1, [0])[0]
        self.version = f.get(2, [0])[0]
        self.tools = {}
        for t in map(fields, f.get(3, [])):
            params = {}
            for p in map(fields, t.get(3, [])):
                params[p[1][0].decode()] = {
                    "type": p.get(2, [0])[0],
                    "optional": bool(p.get(6, [0])[0])}
            self.tools[t[1][0].decode()] = {
                "internal": bool(t.get(4, [0])[0]), "params": params,
                "text": t.get(2, [b""])[0].decode()}


def below(pid):
    """Its processes: their agent takes in what loses its parent."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            children = [int(p) for p in f.read().split()]
    except OSError:
        return []
    return children + [p for c in children for p in below(c)]


@contextlib.contextmanager
def orphans_too(pid):
    """An agent's end in the block is that of its processes as well, as it is
    where the agent is process 1."""
    orphans = below(pid)
    try:
        yield
    finally:
        for orphan in orphans:
            try:
                os.kill(orphan, signal.SIGKILL)
            except ProcessLookupError:
                pass


class Agent(Stream):
    """hutch-agent --bare, with one stream."""

    def __init__(self, program, files, control=False, wrap=(), **kw):
        kind = socket.SOCK_SEQPACKET if control else socket.SOCK_STREAM
        ours, theirs = socket.socketpair(socket.AF_UNIX, kind)

        def give():
            os.dup2(theirs.fileno(), 3)
        self.proc = subprocess.Popen(
            [*wrap, program, "--bare", files], preexec_fn=give,
            pass_fds=(3,), stdin=subprocess.DEVNULL)
        theirs.close()
        self.control = ours if control else None
        super().__init__(self.new_stream() if control else ours, **kw)

    def new_stream(self):
        """A stream by way of the control socket, as the broker does it."""
        ours, theirs = socket.socketpair()
        socket.send_fds(self.control, [b"stream\0\0"], [theirs.fileno()])
        theirs.close()
        return ours

    def stop(self):
        self.close()
        if self.control:
            self.control.close()
        with orphans_too(self.proc.pid):
            try:
                return self.proc.wait(10)
            except subprocess.TimeoutExpired:
                self.proc.kill()
                self.proc.wait()
                raise
