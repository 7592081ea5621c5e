#!/usr/bin/env python3
"""The HTTP server from outside: httpd_try over raw sockets.  Prints TAP."""
import json
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

TRY = os.environ.get("HTTPD_TRY", "tests/api/httpd_try")
GET = b"GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"
PATIENCE = 20  # for what should happen at once, on a busy machine
TESTS = []
# AddressSanitizer gives freed memory back late, and has a shadow of its own.
with open(TRY, "rb") as binary:
    ASAN = b"__asan_init" in binary.read()
GROWTH = 40000 if ASAN else 4096  # KiB that a bounded buffer may cost


def test(f):
    TESTS.append(f)
    return f


class Server:
    """httpd_try; at its end every handled request must have been closed."""

    def __init__(self, *args, nofile=None):
        def limit():
            if nofile:
                resource.setrlimit(resource.RLIMIT_NOFILE, (nofile, nofile))
        self.unix = args[args.index("-u") + 1] if "-u" in args else None
        env = dict(os.environ)
        env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + \
            ":quarantine_size_mb=4:thread_local_quarantine_size_kb=64"
        self.p = subprocess.Popen([TRY, *args], stdout=subprocess.PIPE,
                                  text=True, env=env, preexec_fn=limit)
        if self.unix:
            until(lambda: os.path.exists(self.unix))
            self.port = 0
        else:
            self.port = int(self.p.stdout.readline().split()[1])

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.p.poll() is None:
            self.p.send_signal(signal.SIGINT)
        out = self.p.communicate(timeout=PATIENCE)[0]
        if kind is None:
            same(self.p.returncode, 0)
            words = out.split()
            assert "handled" in words, out
            same(words[words.index("handled") + 1],
                 words[words.index("closed") + 1])

    def connect(self):
        if self.unix:
            s = socket.socket(socket.AF_UNIX)
            s.connect(self.unix)
        else:
            s = socket.create_connection(("127.0.0.1", self.port))
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        s.settimeout(PATIENCE)
        return Client(s)

    def ask(self, data):
        with self.connect() as c:
            c.send(data)
            return c.reply()

    def stats(self):
        return json.loads(self.ask(request("GET", "/stats")).body)

    def memory(self):
        """The most that was resident, in KiB."""
        with open(f"/proc/{self.p.pid}/status", encoding="ascii") as f:
            for line in f:
                if line.startswith("VmHWM"):
                    return int(line.split()[1])
        raise AssertionError("no VmHWM")

    def cpu(self):
        with open(f"/proc/{self.p.pid}/stat", encoding="ascii") as f:
            words = f.read().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


class Reply:
    def __init__(self, status, fields, body):
        self.status, self.fields, self.body = status, fields, body


class Cut(Exception):
    """The connection ended inside a reply."""


class Client:
    def __init__(self, s):
        self.s, self.buf = s, b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.s.close()

    def send(self, data):
        self.s.sendall(data)

    def send_as_far_as_it_goes(self, data):
        try:
            self.s.sendall(data)
        except (ConnectionError, BrokenPipeError):
            pass

    def more(self):
        try:
            got = self.s.recv(262144)
        except ConnectionResetError:
            got = b""
        self.buf += got
        return len(got) > 0

    def take(self, n):
        while len(self.buf) < n:
            if not self.more():
                raise Cut
        out, self.buf = self.buf[:n], self.buf[n:]
        return out

    def line(self):
        while b"\r\n" not in self.buf:
            if not self.more():
                raise Cut
        out, self.buf = self.buf.split(b"\r\n", 1)
        return out

    def head(self):
        words = self.line().split(b" ", 2)
        fields = {}
        while True:
            line = self.line()
            if not line:
                return int(words[1]), fields
            name, value = line.split(b": ", 1)
            fields[name.decode()] = value.decode()

    def chunks(self):
        while True:
            n = int(self.line(), 16)
            data = self.take(n)
            same(self.line(), b"")
            if n == 0:
                return
            yield data

    def reply(self, head=False):
        status, fields = self.head()
        if head or status in (204, 304):
            body = b""
        elif "content-length" in fields:
            body = self.take(int(fields["content-length"]))
        elif fields.get("transfer-encoding") == "chunked":
            body = b"".join(self.chunks())
        else:
            body = self.rest()
        return Reply(status, fields, body)

    def rest(self):
        while self.more():
            pass
        out, self.buf = self.buf, b""
        return out

    def ends(self):
        """Nothing more comes, and then the end."""
        same(self.rest(), b"")

    def reset(self):
        self.s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                          struct.pack("ii", 1, 0))
        self.s.close()


def same(got, want):
    assert got == want, f"got {got!r}, want {want!r}"


def until(f, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not f():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.01)


def took(f):
    start = time.monotonic()
    f()
    return time.monotonic() - start


def request(method, path, *fields, body=None, host="localhost"):
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", *fields]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + (body or b"")


POST = b"POST /whole HTTP/1.1\r\nHost: localhost\r\n"
SMUGGLED = [
    POST + b"Content-Length: 6\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    POST + b"Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
    POST + b"Content-Length: +3\r\n\r\nabc",
    POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    POST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    POST + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n"
    b"0\r\n\r\n",
    POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"0\r\n\r\n",
    POST + b"Content-Length : 3\r\n\r\nabc",
    POST + b": 3\r\n\r\n",
    POST + b"A: b\r\n Content-Length: 3\r\n\r\n",
    POST + b"A: b\nContent-Length: 3\r\n\r\n",
    POST + b"A: b\0c\r\n\r\n",
    b"GET /hello HTTP/1.1\r\n\r\n",
    b"GET /hello HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    POST + b"Transfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n",
    POST + b"Transfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n",
    POST + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
    POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\na b\r\n\r\n",
]


@test
def smuggled_requests_are_never_served(_):
    with Server() as s:
        for data in SMUGGLED:
            with s.connect() as c:
                c.send(data + GET)
                reply = c.reply()
                same((data, reply.status), (data, 400))
                same(reply.fields["connection"], "close")
                json.loads(reply.body)["detail"]
                c.ends()
        stats = s.stats()
        same((stats["handled"], stats["bad"]), (0, len(SMUGGLED)))


@test
def two_honest_requests_are_both_served(_):
    with Server() as s, s.connect() as c:
        c.send(request("POST", "/whole", body=b"one") + GET)
        same(c.reply().body, b"one")
        same(c.reply().body, b'{"hello":1}')
        c.send(request("POST", "/echo", body=b"two") + GET)
        c.s.shutdown(socket.SHUT_WR)
        same(c.reply().body, b"two")
        same(c.reply().body, b'{"hello":1}')
        c.ends()


@test
def byte_by_byte_is_the_same(_):
    chunked = (b"POST /whole HTTP/1.1\r\nHost: localhost\r\n"
               b"Transfer-Encoding: chunked\r\n\r\n"
               b"3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nT: t\r\n\r\n")
    with Server("-h", "10000", "-b", "10000") as s, s.connect() as c:
        for data in GET, chunked, request("POST", "/whole", body=b"abcde"):
            for i in range(len(data)):
                c.send(data[i:i + 1])
            same(c.reply().status, 200)


@test
def a_connection_serves_many(_):
    with Server() as s, s.connect() as c:
        for i in range(300):
            c.send(request("POST", "/whole", body=b"%d" % i))
            same(c.reply().body, b"%d" % i)
        c.send(request("GET", "/hello", "Connection: close"))
        same(c.reply().fields["connection"], "close")
        c.ends()


@test
def path_then_token_then_body(_):
    token = "token_sha256=" \
        "8ed3f6ad685b959ead7022518e1af76cd816f8e8ec7ccdda1ed4018e8f2223f8"
    with Server("-s", "tenant t/" + token) as s:
        large = "Content-Length: 100000"
        def status(method, path, *fields):
            return s.ask(request(method, path, *fields)).status
        same(status("POST", "/nope", large), 404)
        same(status("PUT", "/key", large), 405)
        same(status("POST", "/key", large), 401)
        same(status("POST", "/key", large, "Authorization: Bearer x"), 401)
        same(status("POST", "/key", large, "Authorization: Bearer alpha"),
             413)
        r = s.ask(request("POST", "/key", "authorization: bearer alpha"))
        same(json.loads(r.body), {"tenant": 0, "admin": 0})
        r = s.ask(request("POST", "/key"))
        same(r.fields["www-authenticate"], "Bearer")
        same(r.body, b'{"detail":"Authentication required"}')
        same(status("GET", "/admin", "Authorization: Bearer alpha"), 403)
        same(status("GET", "/admin"), 401)
        # With tokens any Host may be named: we may be behind a proxy.
        same(s.ask(request("GET", "/hello", host="x.example")).status, 200)


@test
def only_loopback_hosts_and_own_pages_without_tokens(_):
    with Server() as s:
        def status(host, *fields):
            return s.ask(request("POST", "/whole", *fields, host=host,
                                 body=b"")).status
        same(status("evil.example"), 403)
        same(status("localhost.evil.example:8000"), 403)
        same(status("127.0.0.1:8000"), 200)
        same(status("[::1]:8000"), 200)
        same(status("localhost", "Origin: http://evil.example"), 403)
        same(status("localhost", "Origin: null"), 403)
        same(status("localhost:1", "Origin: http://localhost:2"), 403)
        same(status("localhost:1", "Origin: http://localhost:1"), 200)
        r = s.ask(request("POST", "/whole", "Origin: http://localhost",
                          body=b""))
        assert "access-control-allow-origin" not in r.fields
        # No CORS unless it is asked for: a preflight is any OPTIONS.
        r = s.ask(request("OPTIONS", "/whole", "Origin: http://localhost",
                          "Access-Control-Request-Method: POST"))
        same((r.status, r.fields["allow"]), (405, "POST, PUT"))


@test
def cors_for_the_origins_that_were_named(_):
    asks = ("Access-Control-Request-Method: POST",
            "Access-Control-Request-Headers: x-a, x-b")
    with Server("-s", "cors_origins=http://a.example,http://b.example") as s:
        r = s.ask(request("OPTIONS", "/any", "Origin: http://b.example",
                          *asks))
        same((r.status, r.body), (200, b"OK"))
        want = {"access-control-allow-origin": "http://b.example",
                "access-control-allow-credentials": "true",
                "access-control-allow-methods":
                "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT",
                "access-control-max-age": "600",
                "access-control-allow-headers": "x-a, x-b",
                "vary": "Origin"}
        same({k: r.fields.get(k) for k in want}, want)
        r = s.ask(request("GET", "/nope", "Origin: http://a.example"))
        same(r.status, 404)
        same(r.fields["access-control-allow-origin"], "http://a.example")
        r = s.ask(request("OPTIONS", "/any", "Origin: http://c.example",
                          *asks))
        same(r.status, 403)
    with Server("-s", "cors_origins=*") as s:
        r = s.ask(request("GET", "/hello", "Origin: http://x.example"))
        same(r.fields["access-control-allow-origin"], "*")
        assert "vary" not in r.fields
        r = s.ask(request("GET", "/hello", "Origin: http://x.example",
                          "Cookie: a=b"))
        same(r.fields["access-control-allow-origin"], "http://x.example")
        same(r.fields["vary"], "Origin")


@test
def a_head_has_a_total_deadline(_):
    with Server("-h", "600") as s, s.connect() as c:
        def drip():
            c.send(b"GET /hello HTTP/1.1\r\nHost: localhost\r\n")
            for _ in range(200):
                c.send_as_far_as_it_goes(b"A: b\r\n")
                c.s.settimeout(0.05)
                try:
                    if c.more():
                        break
                except TimeoutError:
                    pass
            c.s.settimeout(PATIENCE)
            same(c.reply().status, 408)
            c.ends()
        assert 0.5 < took(drip) < 5


@test
def silent_connections_are_closed(_):
    with Server("-h", "400", "-i", "800") as s:
        with s.connect() as c:
            assert 0.3 < took(c.ends) < 5
        with s.connect() as c:
            c.send(GET)
            same(c.reply().status, 200)
            # With a FIN, not a reset: the client may have just sent.
            assert 0.7 < took(lambda: same(c.s.recv(1), b"")) < 5


@test
def a_body_must_make_progress(_):
    post = "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8\r\n\r\n"
    with Server("-b", "400") as s:
        for path in "/whole", "/count":
            with s.connect() as c:
                c.send(post.format(path).encode() + b"123")
                same(c.reply().status, 408)
                c.ends()
        with s.connect() as c:
            c.send(post.format("/echo").encode() + b"123")
            try:
                c.reply()
                raise AssertionError("it looked complete")
            except Cut:
                pass
        with s.connect() as c:
            c.send(post.format("/count").encode())
            for i in range(8):
                c.send(b"x")
                time.sleep(0.15)  # slow, but it moves
            same(json.loads(c.reply().body)["n"], 8)
        with s.connect() as c:
            # While its consumer does not look, the client owes nothing.
            c.send(post.format("/waits").encode())
            time.sleep(1.2)
            c.send(b"12345678")
            same(json.loads(c.reply().body)["n"], 8)


@test
def a_half_close_is_not_leaving(_):
    with Server() as s:
        with s.connect() as c:
            c.send(request("POST", "/count", body=b"x" * 1000))
            c.s.shutdown(socket.SHUT_WR)
            same(json.loads(c.reply().body)["n"], 1000)
            c.ends()
        c = s.connect()
        c.send(request("GET", "/hang"))
        c.s.shutdown(socket.SHUT_WR)
        time.sleep(1.3)  # longer than the server looks whether it is there
        same(s.stats()["busy"], 2)
        c.reset()
        until(lambda: s.stats()["busy"] == 1, 5)


@test
def a_reset_is_leaving(_):
    with Server() as s:
        for data in (request("GET", "/hang"),
                     request("POST", "/hang", body=b"x" * 1000)):
            c = s.connect()
            c.send(data)
            until(lambda: s.stats()["busy"] == 2)
            c.reset()
            until(lambda: s.stats()["busy"] == 1, 3)


@test
def a_truncated_request_is_an_error(_):
    with Server() as s:
        for data in (b"GET /hello HTT", POST + b"Content-Length: 5\r\n\r\nab",
                     POST + b"Transfer-Encoding: chunked\r\n\r\n3\r\nab"):
            with s.connect() as c:
                c.send(data)
                c.s.shutdown(socket.SHUT_WR)
                same(c.reply().status, 400)
                c.ends()
        same(s.stats()["handled"], 0)


@test
def continue_is_said_when_the_body_is_wanted(_):
    wait = "Expect: 100-continue"
    with Server() as s:
        for path in "/whole", "/count", "/echo":
            with s.connect() as c:
                c.send(request("POST", path, wait, "Content-Length: 3"))
                same(c.head()[0], 100)
                c.send(b"abc")
                same(c.reply().status, 200)
                c.send(GET)
                same(c.reply().status, 200)
        with s.connect() as c:
            c.send(request("POST", "/whole", wait, body=b"abc"))
            same(c.reply().status, 200)  # it came already: no 100
        for path, status in (("/nope", 404), ("/small", 413),
                             ("/refuse", 403)):
            with s.connect() as c:
                c.send(request("POST", path, wait, "Content-Length: 99"))
                r = c.reply()
                same((r.status, r.fields["connection"]), (status, "close"))
                c.ends()


def read_slowly(c, left, first):
    """Some at first, a pause, and then all of it."""
    got = len(c.take(first))
    time.sleep(1)
    while got < left:
        if not c.more():
            break
        got += len(c.buf)
        c.buf = b""
    return got


@test
def a_slow_reader_costs_bounded_memory(_):
    n = 200 << 20
    with Server("-w", "5000") as s:
        before = s.memory()
        for query in f"n={n}", f"n={n}&chunked=1&piece=65536":
            with s.connect() as c:
                c.send(request("GET", "/stream?" + query))
                c.head()
                got = read_slowly(c, n, 100000)
                assert got >= n, got
        grown = s.memory() - before
        assert grown < GROWTH, f"{grown} KiB"


@test
def a_reader_who_does_not_read_is_cut(_):
    with Server("-w", "700") as s, s.connect() as c:
        c.s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        c.send(request("GET", "/stream?n=100000000"))
        until(lambda: s.stats()["busy"] == 2)
        start = time.monotonic()
        until(lambda: s.stats()["busy"] == 1)
        assert time.monotonic() - start < 5
        assert len(c.rest()) < 100000000


@test
def an_upload_of_300_mb_costs_bounded_memory(_):
    n, piece = 300 << 20, b"x" * (1 << 20)
    with Server() as s:
        before = s.memory()
        with s.connect() as c:
            c.send(request("POST", "/count", f"Content-Length: {n}"))
            for _ in range(n // len(piece)):
                c.send(piece)
            same(json.loads(c.reply().body)["n"], n)
            c.send(request("POST", "/count", "Transfer-Encoding: chunked"))
            for _ in range(n // len(piece)):
                c.send(b"100000\r\n" + piece + b"\r\n")
            c.send(b"0\r\n\r\n")
            same(json.loads(c.reply().body)["n"], n)
        grown = s.memory() - before
        assert grown < GROWTH, f"{grown} KiB"


@test
def a_paused_body_waits_in_the_client(_):
    data = os.urandom(1 << 20) * 40
    with Server("-w", "10000", "-b", "10000") as s, s.connect() as c:
        before = s.memory()
        sender = threading.Thread(target=c.send, args=(
            request("POST", "/echo", body=data),))
        sender.start()
        time.sleep(1)
        grown = s.memory() - before
        assert grown < GROWTH, f"{grown} KiB"
        r = c.reply()
        sender.join()
        assert r.body == data


@test
def a_flood_of_pipelined_requests_is_bounded(_):
    with Server("-w", "10000") as s, s.connect() as c:
        before = s.memory()
        c.s.setblocking(False)
        sent, stuck = 0, 0
        while stuck < 50 and sent < 64 << 20:
            try:
                sent += c.s.send(GET * 1000)
                stuck = 0
            except BlockingIOError:
                stuck += 1
                time.sleep(0.01)
        grown = s.memory() - before
        assert grown < GROWTH, f"{grown} KiB"


@test
def a_reply_that_went_wrong_never_looks_complete(_):
    with Server() as s:
        for how in "short", "long", "chunked", "error", "abort":
            for version in b"1.1", b"1.0":
                with s.connect() as c:
                    c.send(request("GET", "/wrong/" + how)
                           .replace(b"HTTP/1.1", b"HTTP/" + version) + GET)
                    try:
                        status, fields = c.head()
                        whole = "content-length" not in fields and \
                            "transfer-encoding" not in fields
                        while True:
                            got = c.s.recv(100)
                            if not got:
                                break
                            c.buf += got
                        assert not whole, "an end like any other"
                        assert not c.buf.endswith(b"0\r\n\r\n"), how
                        assert b"hello" not in c.buf, "it went on"
                        n = int(fields.get("content-length", "99"))
                        assert len(c.buf) < n, how
                    except (Cut, ConnectionResetError):
                        pass


@test
def http_1_0_is_understood(_):
    with Server() as s:
        with s.connect() as c:
            c.send(b"GET /events?n=2 HTTP/1.0\r\n\r\n"
                   .replace(b"\r\n\r\n", b"\r\nHost: localhost\r\n\r\n"))
            status, fields = c.head()
            assert "transfer-encoding" not in fields
            same(fields["connection"], "close")
            same(c.rest(), b"data: {}\n\n" * 2)
        with s.connect() as c:
            ask = (b"GET /hello HTTP/1.0\r\nHost: localhost\r\n"
                   b"Connection: keep-alive\r\n\r\n")
            for _ in range(2):
                c.send(ask)
                same(c.reply().fields["connection"], "keep-alive")


@test
def draining_finishes_what_runs_and_takes_no_more(_):
    with Server("-w", "10000") as s:
        idle, busy, late = s.connect(), s.connect(), s.connect()
        idle.send(GET)
        idle.reply()
        late.send(POST + b"Content-Length: 2\r\n\r\na")
        busy.send(request("GET", "/stream?n=50000000"))
        busy.head()
        until(lambda: s.stats()["busy"] == 3)
        s.p.send_signal(signal.SIGTERM)
        same(idle.s.recv(1), b"")
        late.send(b"b")
        r = late.reply()
        same((r.body, r.fields["connection"]), (b"ab", "close"))
        late.ends()
        try:
            s.connect()
            raise AssertionError("it still listens")
        except ConnectionRefusedError:
            pass
        same(len(busy.take(50000000)), 50000000)
        busy.ends()
        same(s.p.wait(PATIENCE), 0)


@test
def above_the_cap_is_503(_):
    with Server("-c", "4", "-i", "60000", "-h", "60000") as s:
        held = [s.connect() for _ in range(4)]
        for c in held:
            c.send(request("GET", "/hang"))
        time.sleep(0.1)
        with s.connect() as c:
            c.send(GET)
            r = c.reply()
            same((r.status, r.fields["connection"]), (503, "close"))
            c.ends()
        held.pop().reset()
        kept = []

        def served():
            c = s.connect()
            kept[:] = [c]
            c.send(GET)
            return c.reply().status == 200
        until(served)
        # An idle one gives its place away.
        c = kept[0]
        time.sleep(1.2)
        with s.connect() as d:
            d.send(GET)
            same(d.reply().status, 200)
        same(c.s.recv(1), b"")
        for c in held:
            c.s.close()


@test
def a_thousand_connections(_):
    with Server("-c", "1100", "-i", "60000", "-h", "60000",
                "-b", "60000") as s:
        all_of_them = [s.connect() for _ in range(1000)]
        for _ in range(3):
            for i, c in enumerate(all_of_them):
                c.send(request("POST", "/whole", body=b"%d" % i))
            for i, c in enumerate(all_of_them):
                same(c.reply().body, b"%d" % i)
        for c in all_of_them:
            c.s.close()
        assert s.memory() < 20000 + GROWTH * 4, s.memory()


@test
def no_descriptors_left_is_survived(_):
    with Server("-c", "100", nofile=24) as s:
        held = [s.connect() for _ in range(40)]
        cpu = s.cpu()
        time.sleep(1)
        assert s.cpu() - cpu < 0.3, "it spins"
        for c in held:
            c.s.close()
        same(s.ask(GET).status, 200)


@test
def an_early_reply_reaches_who_still_sends(_):
    body = b"x" * (6 << 20)
    with Server("-w", "10000") as s:
        for path, status in (("/refuse", 403), ("/small", 413),
                             ("/nope", 404), ("/whole", 413)):
            with s.connect() as c:
                c.send_as_far_as_it_goes(request("POST", path, body=body))
                r = c.reply()
                same((r.status, r.fields["connection"]), (status, "close"))
                json.loads(r.body)
                c.ends()
        # The last word is a FIN; what still comes is heard, not reset.
        with s.connect() as c:
            c.send(request("POST", "/refuse", "Content-Length: 5000000") +
                   body[:100000])
            same(c.reply().status, 403)
            time.sleep(0.1)
            c.send(body[:1000000])
            same(c.s.recv(1), b"")
        for path, status in ("/some", 200), ("/some?whole=1", 507):
            with s.connect() as c:
                c.send_as_far_as_it_goes(
                    request("POST", path, body=body) + GET)
                r = c.reply()
                same(r.status, status)
                same(r.fields.get("connection"),
                     "close" if status == 507 else None)
                c.ends()
        # Too large only turns out on the way.
        with s.connect() as c:
            c.send_as_far_as_it_goes(
                request("POST", "/whole", "Transfer-Encoding: chunked") +
                b"600000\r\n" + body + b"\r\n0\r\n\r\n")
            same(c.reply().status, 413)
            c.ends()


@test
def a_small_refused_body_keeps_the_connection(_):
    with Server() as s, s.connect() as c:
        for _ in range(3):
            c.send(request("POST", "/refuse", body=b"GET /hello HTTP/1.1"))
            same(c.reply().status, 403)
            c.send(request("POST", "/nope", body=b"x" * 60000) + GET)
            same(c.reply().status, 404)
            same(c.reply().status, 200)


@test
def bodies_where_none_belongs(_):
    with Server() as s:
        same(s.ask(request("GET", "/hello", body=b"")).status, 200)
        same(s.ask(request("GET", "/hello", body=b"x")).status, 413)
        same(s.ask(request("GET", "/hello", "Transfer-Encoding: chunked") +
                   b"0\r\n\r\n").status, 413)
        same(s.ask(request("POST", "/small", body=b"x" * 16)).status, 200)
        same(s.ask(request("POST", "/small", body=b"x" * 17)).status, 413)
        same(s.ask(request("POST", "/small", "Transfer-Encoding: chunked") +
                   b"10\r\n" + b"x" * 16 + b"\r\n1\r\ny\r\n0\r\n\r\n").status,
             413)


@test
def bodies_share_a_bound(_):
    large = b"x" * 1000000  # of the 1 MiB that one may have
    with Server("-b", "60000", "-c", "100") as s:
        held = [s.connect() for _ in range(33)]
        for c in held:
            c.send(POST + b"Content-Length: 1048576\r\n\r\n" + large)
        until(lambda: s.stats()["collected"] == 33 * len(large))
        assert s.memory() < 70000 + GROWTH, s.memory()
        refused = s.ask(request("POST", "/whole", body=large))
        same((refused.status, refused.fields["retry-after"]), (503, "1"))
        held[0].s.close()
        until(lambda: s.stats()["busy"] == 33)
        same(s.ask(request("POST", "/whole", body=b"x")).body, b"x")
        held[1].send(b"y" * 48576)
        same(len(held[1].reply().body), 1048576)
        for c in held:
            c.s.close()


@test
def a_tunnel_carries_bytes_both_ways(_):
    ask = request("GET", "/tunnel", "Connection: Upgrade", "Upgrade: echo")
    with Server("-i", "300", "-b", "300", "-h", "300") as s:
        with s.connect() as c:
            c.send(ask + b"early ")
            status, fields = c.head()
            same(status, 101)
            same(fields["upgrade"], "echo")
            same(fields["connection"].lower(), "upgrade")
            same(c.take(6), b"early ")
            time.sleep(0.8)  # no deadline of ours
            c.send(b"GET / HTTP/1.1\r\n\r\n")
            same(c.take(18), b"GET / HTTP/1.1\r\n\r\n")
            c.s.shutdown(socket.SHUT_WR)
            same(c.rest(), b"bye")
        r = s.ask(request("GET", "/tunnel"))
        same((r.status, r.fields["upgrade"]), (426, "echo"))
        same(s.ask(request("GET", "/tunnel", "Upgrade: echo")).status, 426)
        same(s.ask(request("GET", "/tunnel", "Connection: Upgrade",
                           "Upgrade: echo", body=b"x")).status, 413)
        c = s.connect()
        c.send(ask)
        c.head()
        c.reset()
        until(lambda: s.stats()["busy"] == 1, 3)


@test
def head_is_not_implied(_):
    with Server() as s, s.connect() as c:
        c.send(request("HEAD", "/hello"))
        r = c.reply(head=True)
        same((r.status, r.fields["allow"]), (405, "GET"))
        c.send(request("HEAD", "/head"))
        r = c.reply(head=True)
        same((r.status, r.fields["content-length"]), (200, "11"))
        c.send(request("BREW", "/whole"))
        r = c.reply()
        same((r.status, r.fields["allow"]), (405, "POST, PUT"))
        same(r.body, b'{"detail":"Method Not Allowed"}')
        c.send(request("GET", "/nope"))
        same(c.reply().body, b'{"detail":"Not Found"}')


@test
def names_are_decoded(_):
    with Server() as s:
        def body(path):
            return s.ask(request("GET", path)).body.decode()
        same(body("/name/a%20b/c/d%2Fe?q=1+2%263"),
             "a b|c/d/e||1 2&3|/name/a b/c/d/e")
        same(body("//name///x//y//?x=1&q=%C3%A9&q=2"),
             "x|y/||\xe9|/name/x/y/")
        same(body("/name/x"), "x|||(null)|/name/x")
        for path in ("/name/%00/y", "/name/%zz/y", "/name/%4", "/hello?a=%",
                     "/hello?%00=1", "/hello?a=%f"):
            same((path, s.ask(request("GET", path)).status), (path, 400))


@test
def errors_have_the_contracts_shape(_):
    with Server() as s:
        r = s.ask(request("GET", "/fails"))
        same(r.status, 409)
        same(r.fields["content-type"], "application/json")
        same(json.loads(r.body), {"detail": 'a "busy"\n\ufffd thing'})
        assert b" " not in r.body.split(b":", 1)[0]


@test
def nobody_writes_lines_into_our_heads(_):
    with Server() as s, s.connect() as c:
        c.send(request("POST", "/whole?type=a%0d%0aX:%20y%0a%0a%7f",
                       body=b"b"))
        r = c.reply()
        same(r.fields["content-type"], "a??X: y???")
        same(r.fields["x-type"], "a??X: y???")
        same(r.body, b"b")
        c.send(GET)
        same(c.reply().status, 200)


@test
def a_streams_head_comes_at_once(_):
    with Server() as s, s.connect() as c:
        c.send(request("GET", "/events?n=0&open=1"))
        status, fields = c.head()
        same((status, fields["content-type"]), (200, "text/event-stream"))
        same(fields["x-accel-buffering"], "no")
        assert "content-length" not in fields


@test
def the_unix_socket_is_for_administrators(tmp):
    path = os.path.join(tmp, "s")
    with Server("-u", path) as s:
        r = s.ask(request("GET", "/admin", host="anything"))
        same(json.loads(r.body), {"tenant": 0, "admin": 1})
        # Here leaving differs from half-closing, and is seen at once.
        c = s.connect()
        c.send(request("GET", "/hang"))
        until(lambda: s.stats()["busy"] == 2)
        c.s.close()
        until(lambda: s.stats()["busy"] == 1, 3)


def main():
    print(f"1..{len(TESTS)}", flush=True)
    only = sys.argv[1:]
    failed = 0
    for i, f in enumerate(TESTS, 1):
        name = f.__name__.replace("_", " ")
        if only and f.__name__ not in only:
            print(f"ok {i} - {name} # SKIP not asked for")
            continue
        try:
            with tempfile.TemporaryDirectory() as tmp:
                f(tmp)
            print(f"ok {i} - {name}", flush=True)
        except Exception as e:  # whatever it is, it is a failure of this one
            failed += 1
            line = e.__traceback__
            while line.tb_next:
                line = line.tb_next
            print(f"not ok {i} - {name}")
            print(f"# line {line.tb_lineno}: {type(e).__name__} "
                  f"{str(e)[:400]!s}".replace("\n", " "), flush=True)
            for at in iter_lines(e):
                print(f"#   at line {at}", flush=True)
    return 1 if failed else 0


def iter_lines(e):
    at = e.__traceback__
    while at:
        yield at.tb_lineno
        at = at.tb_next


if __name__ == "__main__":
    sys.exit(main())
