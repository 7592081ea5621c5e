"""A client of hutch-front, for tests: plain HTTP, the RPC wire, exec."""
import http.client
import json
import select
import socket
import struct
import time


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    text = property(lambda self: self.body.decode("utf-8"))
    json = property(lambda self: json.loads(self.body))


class Client:
    """One connection a request, unless keep is set."""

    def __init__(self, port=None, path=None, token=None, timeout=60):
        self.port, self.path, self.token = port, path, token
        self.timeout = timeout

    def connect(self):
        if self.path:
            return UnixConnection(self.path, self.timeout)
        return http.client.HTTPConnection("127.0.0.1", self.port,
                                          timeout=self.timeout)

    def ask(self, method, path, body=None, headers=None):
        c = self.connect()
        headers = dict(headers or {})
        if self.token:
            headers.setdefault("Authorization", f"Bearer {self.token}")
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        try:
            c.request(method, path, body, headers,
                      encode_chunked=hasattr(body, "__next__"))
            r = c.getresponse()
            names = {k.lower(): v for k, v in r.getheaders()}
            return Reply(r.status, names, r.read())
        finally:
            c.close()

    def rpc(self, name, **body):
        r = self.ask("POST", "/" + name, body)
        if r.status != 200:
            raise AssertionError(f"{name}: {r.status} {r.text}")
        return r.json["data"]

    def failing(self, name, **body):
        """The detail of a 500."""
        r = self.ask("POST", "/" + name, body)
        if r.status != 500:
            raise AssertionError(f"{name}: {r.status} {r.text}")
        return r.json["detail"]

    def create(self, session=None, **more):
        meta = {"session_ctx_id": session} if session else None
        sandbox = self.rpc("create_from_pool", sandbox_type="base", meta=meta,
                           **more)
        if not isinstance(sandbox, str):
            raise AssertionError(f"no sandbox: {sandbox!r}")
        return sandbox

    def tool(self, sandbox, name, **arguments):
        return self.rpc("call_tool", identity=sandbox, tool_name=name,
                        arguments=arguments)

    def shell(self, sandbox, command):
        """stdout, stderr, status"""
        r = self.tool(sandbox, "run_shell_command", command=command)
        items = {i.get("description"): i["text"] for i in r["content"]}
        if None in items:
            raise AssertionError(f"{command}: {items[None]}")
        return (items["stdout"], items.get("stderr", ""),
                int(items["returncode"]) if "returncode" in items else None)

    def cell(self, sandbox, code):
        r = self.tool(sandbox, "run_ipython_cell", code=code)
        return [i["text"] for i in r["content"]], r["isError"]

    def exec(self, sandbox, argv, **more):
        return Exec(self, sandbox, argv, **more)


class Exec:
    """A command over the upgraded connection; see src/cli/exec.h."""

    def __init__(self, client, sandbox, argv, **more):
        c = client.connect()
        c.connect()
        self.sock, self.client = c.sock, client
        token = (f"Authorization: Bearer {client.token}\r\n"
                 if client.token else "")
        self.sock.sendall((f"GET /api/v1/sandboxes/{sandbox}/exec HTTP/1.1\r\n"
                           f"Host: localhost\r\n{token}Connection: upgrade\r\n"
                           f"Upgrade: hutch-exec\r\n\r\n").encode())
        self.buf, self.end = b"", None
        self.out, self.err = bytearray(), bytearray()
        while b"\r\n\r\n" not in self.buf:
            got = self.sock.recv(4096)
            if not got:
                raise AssertionError(f"no head: {self.buf!r}")
            self.buf += got
        head, self.buf = self.buf.split(b"\r\n\r\n", 1)
        self.status = int(head.split()[1])
        if self.status == 101:
            self.send(b"S", json.dumps({"argv": argv, **more}).encode())

    def send(self, what, content=b""):
        self.sock.sendall(struct.pack(">I", len(content) + 1) + what + content)

    def input(self, content):
        for at in range(0, len(content), 32768):
            self.send(b"I", content[at:at + 32768])

    def step(self, seconds):
        if not select.select([self.sock], [], [], max(0, seconds))[0]:
            return True
        got = self.sock.recv(1 << 20)
        buf, at = self.buf + got, 0
        while len(buf) >= at + 4:
            n = struct.unpack_from(">I", buf, at)[0]
            if len(buf) < at + 4 + n:
                break
            what, content = buf[at + 4:at + 5], buf[at + 5:at + 4 + n]
            at += 4 + n
            if what == b"O":
                self.out += content
            elif what == b"E":
                self.err += content
            elif what == b"X":
                self.end = json.loads(content)
        self.buf = buf[at:]
        return bool(got)

    def until(self, true, seconds=20):
        end = time.monotonic() + seconds
        while not true():
            if not self.step(end - time.monotonic()) or \
                    time.monotonic() > end:
                raise AssertionError(
                    f"never: {bytes(self.out[-200:])!r} "
                    f"{bytes(self.err[-200:])!r} {self.end!r}")

    def wait(self, seconds=20):
        self.until(lambda: self.end is not None, seconds)
        self.close()
        return self.end

    def close(self):
        self.sock.close()
