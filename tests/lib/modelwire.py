"""hutch-model without a broker: its link, and a stream as a front has one."""
import http.server
import os
import select
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

HEAD = struct.Struct("=HHI")
RELOAD, STREAM = 104, 105
ASK, BODY, CREDIT, CANCEL, REPLY, BYTES, DONE = range(1, 8)
CHAT, PUSH, TRACES = range(1, 4)
FRAME = struct.Struct("=III")
QUERY = struct.Struct("=II32s64s1024s512s1024s")
ERRS = ["sys", "invalid", "denied", "missing", "busy", "limit", "timeout",
        "proto"]
PIECE = 65536


class Model:
    """The process, and one stream to it."""

    def __init__(self, program, lines, env=None):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.link = ours
        self.log = tempfile.TemporaryFile()

        def place():
            os.dup2(theirs.fileno(), 3)
        self.proc = subprocess.Popen(
            [program], close_fds=False, preexec_fn=place,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=self.log, env={"PATH": "/usr/bin", "no_proxy": "*",
                                  **(env or {})})
        theirs.close()
        self.call = 0
        self.got = bytearray()
        self.calls = {}
        self.tell(lines)

    def say(self, kind, fd):
        socket.send_fds(self.link, [HEAD.pack(kind, 1, 0)], [fd])
        os.close(fd)

    def tell(self, lines):
        fd = os.memfd_create("lines")
        os.write(fd, lines.encode())
        self.say(RELOAD, fd)
        self.stream = self.connect()  # what it says comes after the lines

    def connect(self):
        a, b = socket.socketpair()
        self.say(STREAM, b.detach())
        return a

    def frame(self, kind, call, value=0, data=b""):
        body = FRAME.pack(kind, call, value) + data
        self.stream.sendall(struct.pack(">I", len(body)) + body)

    def ask(self, name="m", body=b"{}", op=CHAT, url="", token="", auth="",
            trace="", credit=True):
        self.call += 1
        self.calls[self.call] = {"status": None, "body": bytearray(), "done": None,
                                 "credit": credit, "retry": 0}
        self.frame(ASK, self.call, 0, QUERY.pack(
            op, len(body), name.encode(), trace.encode(), url.encode(),
            token.encode(), auth.encode()))
        for i in range(0, len(body), PIECE):
            self.frame(BODY, self.call, 0, body[i:i + PIECE])
        return self.call

    def turn(self, seconds=10):
        """One read's worth; False: nothing came."""
        if not select.select([self.stream], [], [], seconds)[0]:
            return False
        data = self.stream.recv(1 << 16)
        if not data:
            raise AssertionError(f"hutch-model hung up: {self.said()}")
        self.got += data
        while len(self.got) >= 4:
            n = struct.unpack(">I", self.got[:4])[0]
            if len(self.got) < 4 + n:
                break
            self.one(bytes(self.got[4:4 + n]))
            del self.got[:4 + n]
        return True

    def one(self, frame):
        kind, call, value = FRAME.unpack(frame[:12])
        data, c = frame[12:], self.calls[call]
        if c["done"] is not None:
            raise AssertionError("a frame after DONE")
        if kind == REPLY:
            c["status"], c["retry"] = value, struct.unpack("=I", data)[0]
        elif kind == BYTES:
            c["body"] += data
            if c["credit"]:
                self.frame(CREDIT, call, len(data))
        elif kind == DONE:
            c["done"] = ERRS[value - 1] if value else "ok"
            c["why"] = data[:-1].decode()
        else:
            raise AssertionError(f"a frame of kind {kind}")

    def until(self, ready, seconds=20):
        end = time.monotonic() + seconds
        while not ready():
            left = end - time.monotonic()
            if left <= 0 or not self.turn(left):
                raise AssertionError(f"nothing more comes: {self.said()}")

    def wait(self, call, seconds=20):
        c = self.calls[call]
        self.until(lambda: c["done"] is not None, seconds)
        return c

    def said(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def stop(self):
        self.link.close()
        try:
            code = self.proc.wait(20)
        except subprocess.TimeoutExpired:
            self.proc.send_signal(signal.SIGKILL)
            self.proc.wait()
            raise AssertionError("hutch-model did not leave")
        if code != 0:
            raise AssertionError(f"exit {code}: {self.said()}")


class Endpoint(http.server.ThreadingHTTPServer):
    """An endpoint that does what fn(handler, body) says."""
    daemon_threads = True

    def __init__(self, fn):
        outer = self
        self.seen = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                n = int(self.headers.get("content-length", 0))
                body = self.rfile.read(n)
                outer.seen.append((self.path, dict(self.headers), body))
                fn(self, body)

            def log_message(self, *args):
                pass
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, address):
        pass  # clients of these tests leave whenever they like


def reply(handler, status, body, headers=()):
    handler.send_response(status)
    for name, value in headers:
        handler.send_header(name, value)
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)
