#!/usr/bin/env python3
"""Attack 57: other tenants' sandboxes, tokens, browsers, paths in ids."""
import hashlib
import http.client
import json
import os
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
from attacked import TYPE, house  # noqa: E402
from daemon import need_root  # noqa: E402
from live import Client  # noqa: E402
from tap import equal, run, test, true  # noqa: E402

need_root()


def tenant(name, more=""):
    digest = hashlib.sha256(name.encode()).hexdigest()
    return f"[tenant {name}]\ntoken_sha256 = {digest}\n{more}"


class Http:
    def __init__(self, port, token=None):
        self.port, self.token = port, token

    def ask(self, method, path, body=None, headers=None, host=None):
        """(status, text)"""
        conn = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            conn.putrequest(method, path, skip_host=True,
                            skip_accept_encoding=True)
            conn.putheader("Host", host or f"127.0.0.1:{self.port}")
            if self.token:
                conn.putheader("Authorization", f"Bearer {self.token}")
            data = b""
            if body is not None:
                data = body if isinstance(body, bytes) else \
                    json.dumps(body).encode()
                conn.putheader("Content-Type", "application/json")
                conn.putheader("Content-Length", str(len(data)))
            for k, v in (headers or {}).items():
                conn.putheader(k, v)
            conn.endheaders(data)
            r = conn.getresponse()
            self.headers = {k.lower(): v for k, v in r.getheaders()}
            return r.status, r.read().decode(errors="replace")
        finally:
            conn.close()


# What may be done to a sandbox, with its id in the path.
BY_PATH = [
    ("GET", "/proxy/{}/healthz", None),
    ("POST", "/proxy/{}/tools/run_shell_command", {"command": "id"}),
    ("POST", "/proxy/{}/tools/run_ipython_cell", {"code": "1"}),
    ("GET", "/proxy/{}/mcp/list_tools", None),
    ("GET", "/proxy/{}/workspace/file?path=secret", None),
    ("PUT", "/proxy/{}/workspace/file?path=secret", b"evil"),
    ("GET", "/proxy/{}/workspace/list?path=.", None),
    ("GET", "/proxy/{}/workspace/exists?path=secret", None),
    ("DELETE", "/proxy/{}/workspace/entry?path=secret", None),
    ("POST", "/proxy/{}/workspace/mkdir", {"path": "evil"}),
    ("POST", "/proxy/{}/workspace/move",
     {"source": "secret", "destination": "evil"}),
    ("POST", "/proxy/{}/watcher/commit_changes", {"commit_message": "x"}),
    ("GET", "/proxy/{}/watcher/git_logs", None),
    ("GET", "/proxy/{}/nowhere", None),
    ("GET", "/api/v1/sandboxes/{}", None),
    ("DELETE", "/api/v1/sandboxes/{}", None),
    ("POST", "/api/v1/sandboxes/{}/pause", {}),
    ("POST", "/api/v1/sandboxes/{}/stop", {}),
    ("GET", "/api/v1/sandboxes/{}/stats", None),
    ("GET", "/api/v1/sandboxes/{}/logs", None),
    ("GET", "/api/v1/sandboxes/{}/files?path=/workspace/secret", None),
    ("PUT", "/api/v1/sandboxes/{}/files?path=/workspace/evil", b"x"),
]
# The RPC wire has nothing but 200 and a null for what is not there.
BY_RPC = [
    ("get_status", {}), ("get_info", {}), ("check_health", {}), ("stop", {}),
    ("list_tools", {}), ("release", {}), ("start", {}),
    ("call_tool", {"tool_name": "run_shell_command",
                   "arguments": {"command": "id"}}),
]


@test
def other_tenants(d, one, two, admin):
    """57: another tenant's sandbox is one that does not exist"""
    status, body = one.ask("POST", "/create_from_pool", {
        "sandbox_type": "base", "meta": {"session_ctx_id": "of-one"}})
    equal(status, 200)
    box = json.loads(body)["data"]
    equal(one.ask("PUT", f"/proxy/{box}/workspace/file?path=secret",
                  b"mine")[0], 200)
    for name in (box, box.rsplit("_", 1)[-1], "of-one"):
        for method, path, body in BY_PATH:
            here = two.ask(method, path.format(name), body)
            none = two.ask(method, path.format("x" * len(name)), body)
            equal(here[0], none[0], f"{method} {path}: {here}")
            true(here[0] == 404, f"{method} {path}: {here}")
            equal(here[1].replace(name, "ID"),
                  none[1].replace("x" * len(name), "ID"), path)
        for call, more in BY_RPC:
            def body_of(name):
                status, text = two.ask("POST", "/" + call,
                                       {"identity": name, **more})
                return status, text.replace(name, "ID")
            equal(body_of(name), body_of("x" * len(name)), call)
    equal(json.loads(two.ask("POST", "/get_session_mapping",
                             {"session_ctx_id": "of-one"})[1])["data"], [])
    equal(json.loads(two.ask("POST", "/list_session_keys", {})[1])["data"],
          [])
    equal(json.loads(two.ask("GET", "/api/v1/sandboxes?all=1")[1]),
          {"sandboxes": []})
    equal(one.ask("GET", f"/proxy/{box}/workspace/file?path=secret"),
          (200, "mine"))
    for method, path in (("GET", "/metrics"), ("GET", "/api/v1/doctor"),
                         ("GET", "/api/v1/backup"),
                         ("GET", "/api/v1/export?name=try:1"),
                         ("POST", "/api/v1/images?name=x:1"),
                         ("DELETE", "/api/v1/images/try:1")):
        equal(one.ask(method, path, b"" if method == "POST" else None)[0],
              403, path)
    two.ask("POST", "/cleanup", {})
    equal(one.ask("GET", f"/proxy/{box}/workspace/file?path=secret"),
          (200, "mine"), "after the other's cleanup")
    equal(one.ask("DELETE", f"/api/v1/sandboxes/{box}")[0], 204)


@test
def tokens(d, one, two, admin):
    """57: a token that is none: 401, whatever it is like"""
    for token in (None, "", "on", "onee", "One", "one\tx", "*",
                  hashlib.sha256(b"one").hexdigest(), "one,two", "x" * 4000):
        c = Http(one.port, token)
        for method, path, body in (*BY_PATH,
                                   ("POST", "/create_from_pool", {}),
                                   ("GET", "/api/v1/sandboxes", None),
                                   ("GET", "/metrics", None)):
            status, text = c.ask(method, path.format("x"), body)
            equal(status, 401, f"{token!r}: {method} {path}: {text}")
    equal(one.ask("GET", "/api/v1/sandboxes",
                  headers={"Authorization": "Bearer two"})[0] in (400, 401),
          True, "two tokens at once")
    c = Http(one.port)
    equal(c.ask("GET", "/api/v1/sandboxes?token=one")[0], 401)
    equal(c.ask("GET", "/api/v1/sandboxes",
                headers={"Cookie": "token=one; Authorization=Bearer one"})[0],
          401)


@test
def no_paths_in_ids(d, one, two, admin):
    """57: an id is a word to look up, never a path"""
    odd = ("..", ".", "%2e%2e", "..%2f..%2f..%2fetc%2fpasswd", "%00",
           "a%00b", "%2e%2e%2fsaved", "....//", "*", "%25s%25n", "'--",
           "%27%20or%201=1--", "%ff%fe", "a" * 300, "%0d%0aX-Evil:1",
           "%c0%ae%c0%ae%2f")
    for name in odd:
        for method, path, body in BY_PATH:
            status, text = admin.ask(method, path.format(name), body)
            true(status in (400, 403, 404, 405, 414),
                 f"{method} {path.format(name)}: {status} {text}")
            true("root:" not in text and "x-evil" not in admin.headers, text)
    for name in ("../../etc/passwd", "..", "", "a\0b", "/", "a" * 5000,
                 "%s%n", "' or 1=1 --", "\r\nX: y"):
        for call, more in BY_RPC:
            status, text = admin.ask("POST", "/" + call,
                                     {"identity": name, **more})
            true(status in (200, 400, 404, 422, 500) and "root:" not in text,
                 f"{call} {name!r}: {status} {text}")
            if status == 200:
                # What is not there has been released, as upstream has it.
                got = json.loads(text)["data"]
                true(got in (None, False, [], {}) or "'isError': True" in
                     str(got) or call == "release", f"{call} {name!r}: {got}")
    for kind in ("../base", "base/../base", "base\0", "BASE/"):
        status, text = admin.ask("POST", "/api/v1/sandboxes", {"type": kind})
        true(status in (400, 404, 422), f"{kind!r}: {status} {text}")
    for name in ("../x", "/etc/passwd", "try:1/../../x", "..:..", "a b"):
        status, text = admin.ask("POST", "/api/v1/sandboxes",
                                 {"type": "base", "image": name})
        true(status in (400, 404, 422), f"{name!r}: {status} {text}")
    equal(os.path.exists("/etc/passwd"), True)


@test
def browsers_with_tokens(d, one, two, admin):
    """57: with tokens a foreign page has none to send and none is set"""
    c = Http(one.port)
    evil = {"Origin": "http://evil.example"}
    for method, path, body in BY_PATH:
        status, text = c.ask(method, path.format("x"), body, evil,
                             "evil.example")
        equal(status, 401, path)
        true("access-control-allow-origin" not in c.headers, c.headers)
        true("set-cookie" not in c.headers, c.headers)
    c.ask("OPTIONS", "/create_from_pool", None, {
        **evil, "Access-Control-Request-Method": "POST"})
    true("access-control-allow-origin" not in c.headers, c.headers)


@test
def browsers_without_tokens(d, one, two, admin):
    """57: without tokens: no foreign page, no name that was rebound"""
    open_ = house(TYPE)
    try:
        c = Http(Client(open_).port)
        status, text = c.ask("POST", "/create_from_pool",
                             {"sandbox_type": "base"})
        equal(status, 200, text)
        box = json.loads(text)["data"]
        attempts = [(m, p.format(box), b) for m, p, b in BY_PATH]
        attempts += [("POST", "/create_from_pool", {"sandbox_type": "base"}),
                     ("POST", "/cleanup", {}),
                     ("POST", "/call_tool", {
                         "identity": box, "tool_name": "run_shell_command",
                         "arguments": {"command": "id"}})]
        for method, path, body in attempts:
            for host, origin in (
                    ("evil.example", None), (f"evil.example:{c.port}", None),
                    ("127.0.0.1.evil.example", None), ("localhost.evil", None),
                    ("10.0.0.1", None), ("", None), ("0.0.0.0", None),
                    (None, "http://evil.example"), (None, "null"),
                    (None, f"http://127.0.0.1:{c.port}.evil.example"),
                    (None, "http://localhost.evil"),
                    ("evil.example", "http://evil.example")):
                head = {"Origin": origin} if origin is not None else {}
                # A form of a page that asks nobody first.
                status, text = c.ask(method, path, body, {
                    **head, "Sec-Fetch-Site": "cross-site"}, host or
                    (None if host is None else " "))
                true(status in (400, 403),
                     f"{method} {path} {host} {origin}: {status} {text}")
                true("access-control-allow-origin" not in c.headers, c.headers)
        with socket.create_connection(("127.0.0.1", c.port), 10) as s:
            s.sendall(f"GET /api/v1/sandboxes HTTP/1.0\r\n\r\n".encode())
            line = s.recv(4096).split(b"\r\n")[0]
            true(b" 400" in line or b" 403" in line, f"without Host: {line}")
        equal(c.ask("GET", f"/proxy/{box}/healthz")[0], 200, "it is there")
    finally:
        open_.clean()


@test
def the_socket_of_the_daemon(d, one, two, admin):
    """57: the sockets are for root and the daemon's group"""
    for name in ("api.sock", "admin.sock"):
        at = f"{d.root}/run/{name}"
        if not os.path.exists(at):
            continue
        equal(os.stat(at).st_mode & 0o007, 0, f"{at}: others")
        pid = os.fork()
        if pid == 0:
            os.setgroups([])
            os.setresgid(12345, 12345, 12345)
            os.setresuid(12345, 12345, 12345)
            s = socket.socket(socket.AF_UNIX)
            try:
                s.connect(at)
            except PermissionError:
                os._exit(0)
            os._exit(1)
        equal(os.waitpid(pid, 0)[1], 0, f"{at} let a stranger in")


def main():
    d = house(tenant("one") + tenant("two") + tenant("root", "admin = yes\n")
              + TYPE)
    try:
        port = Client(d).port
        return run(d, Http(port, "one"), Http(port, "two"), Http(port, "root"))
    finally:
        if os.environ.get("TEST_LOG"):
            sys.stderr.write(d.log())
        d.clean()


sys.exit(main())
