#!/usr/bin/env python3
"""hutch-front between HTTP and real agents, with a broker of paper."""
import hashlib
import json
import os
import socket
import sqlite3
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import tap  # noqa: E402
from webclient import Client  # noqa: E402
from paperbroker import Broker  # noqa: E402
from tap import equal, test, true  # noqa: E402

LIBEXEC = os.path.abspath(os.environ.get("HUTCH_LIBEXEC", tap.BUILD))


def until(fn, what, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if fn():
            return
        time.sleep(0.02)
    raise AssertionError(f"never: {what}")


def items(r):
    return [(i.get("description"), i["text"]) for i in r["content"]]


# ---- the RPC wire ----

@test
def create_call_release(b, c, u):
    """a sandbox is created, called and released, as the SDK does it"""
    sb = c.create("s1")
    true(sb.startswith("runtime_sandbox_container_") and len(sb) == 51, sb)
    equal(c.tool(sb, "run_shell_command",
                 command="echo a; echo b >&2; exit 2"),
          {"meta": None, "isError": True, "content": [
              {"type": "text", "text": "a\n", "annotations": None,
               "description": "stdout"},
              {"type": "text", "text": "b\n", "annotations": None,
               "description": "stderr"},
              {"type": "text", "text": "2", "annotations": None,
               "description": "returncode"}]})
    equal(c.shell(sb, "pwd; id -u"), ("/workspace\n0\n", "", 0))
    equal(c.rpc("get_status", identity=sb), "running")
    equal(c.rpc("check_health", identity=sb), True)
    equal(c.rpc("get_session_mapping", session_ctx_id="s1"), [sb])
    equal(c.rpc("list_session_keys"), ["s1"])
    equal(c.rpc("release", identity=sb), True)
    equal(c.rpc("get_session_mapping", session_ctx_id="s1"), [])
    equal(c.rpc("get_info", identity=sb)["state"], "released")
    equal(c.rpc("get_status", identity=sb), None)
    true("No container found" in c.failing(
        "call_tool", identity=sb, tool_name="run_shell_command",
        arguments={"command": "echo"}), "a released one is none")


@test
def record(b, c, u):
    """the record has its 20 keys in order, and the meta as it was given"""
    meta = {"session_ctx_id": "r", "n": 12345678901234567890123,
            "f": 0.1, "t": "\x1f#1\u2028\x7f", "d": {"z": None, "a": [1, -1]}}
    sb = c.rpc("create_from_pool", sandbox_type="base", meta=meta)
    r = c.ask("POST", "/get_info", {"identity": sb[-25:]})
    equal(list(r.json["data"]), [
        "session_id", "container_id", "container_name", "url", "ports",
        "mount_dir", "storage_path", "runtime_token", "version", "meta",
        "timeout", "sandbox_type", "state", "session_ctx_id",
        "last_active_at", "recycled_at", "released_at", "updated_at",
        "recycle_reason", "redirect_to"])
    equal(r.json["data"]["meta"], meta)
    equal(r.headers["content-type"], "application/json")
    true('"n":12345678901234567890123,"f":0.1,' in r.text, "digit for digit")
    true(", " not in r.text, "compact")
    equal(r.json["data"]["url"],
          f"http://127.0.0.1:{b.port}/proxy/{sb}")
    equal(c.ask("POST", "/get_info_async", {"args": sb}).json, r.json)
    c.rpc("release", identity=sb)


@test
def cannot_create(b, c, u):
    """what can't be made is null, and never an error the SDK would misread"""
    for t in ("gui", "browser_async", "mobile", "appworld", "bfcl"):
        equal(c.rpc("create_from_pool", sandbox_type=t), None, t)
    b.fail_builds = 1
    equal(c.rpc("create", sandbox_type="base"), None)
    equal(c.rpc("create", sandbox_type="base", environment={"A": None}), None)
    true("'wrong' is not a valid SandboxType" in
         c.failing("create", sandbox_type="wrong"), "a type nobody knows")


@test
def environment(b, c, u):
    """variables of a request reach the sandbox; the reserved ones don't"""
    sb = c.rpc("create", sandbox_type="base", environment={
        "A": "x y", "N": 5, "SECRET_TOKEN": "s"})
    equal(c.shell(sb, 'echo "$A,$N,$SECRET_TOKEN"')[0], "x y,5,\n")
    c.rpc("release", identity=sb)


@test
def tools(b, c, u):
    """list_tools has generic last, one group on demand, none for a stranger"""
    sb = c.create()
    both = c.rpc("list_tools", identity=sb, tool_type=None)
    equal(list(both), ["generic"])
    for name, param in (("run_ipython_cell", "code"),
                        ("run_shell_command", "command")):
        t = both["generic"][name]
        equal(list(t), ["name", "json_schema"])
        f = t["json_schema"]["function"]
        equal((f["name"], list(f["parameters"]["properties"]),
               f["parameters"]["required"]), (name, [param], [param]))
    equal(len(both["generic"]), 2)
    equal(c.rpc("list_tools", identity=sb, tool_type="generic"), both)
    equal(c.rpc("list_tools", identity=sb, tool_type="zzz"), {"zzz": {}})
    equal(c.rpc("add_mcp_servers", identity=sb,
                server_configs={"mcpServers": {}}), "OK")
    r = c.rpc("add_mcp_servers", identity=sb, server_configs={
        "mcpServers": {"time": {"command": "uvx"}}})
    true(r["isError"] and "'time'" in r["content"][0]["text"], r)
    c.rpc("release", identity=sb)


@test
def odd_output(b, c, u):
    """bytes that are no text are replaced, NUL is kept, signals are told"""
    sb = c.create()
    equal(c.shell(sb, r"printf '\377a\000\342\202'")[0], "\ufffda\0\ufffd")
    equal(c.shell(sb, "kill -9 $$"), ("", "", -9))
    equal(c.shell(sb, "printf '%s' '\U0001f600\xe9\r\n'")[0],
          "\U0001f600\xe9\r\n")
    r = c.tool(sb, "run_shell_command", command="a\0b")
    true(r["isError"] and "NUL" in r["content"][0]["text"], r)
    long = "echo " + "x" * 300000
    equal(len(c.shell(sb, long)[0]), 300001)
    c.rpc("release", identity=sb)


@test
def capped_output(b, c, u):
    """output beyond the cap keeps its head and tail and says what is missing"""
    sb = c.create()
    out, _, status = c.shell(sb, "echo first; yes | head -c 20000000; "
                                 "echo last")
    equal(status, 0)
    true(out.startswith("first\ny\n") and out.endswith("y\nlast\n"), "ends")
    true(len(out) < 1100000 and "bytes left out" in out, len(out))
    c.rpc("release", identity=sb)


@test
def background(b, c, u):
    """a shell call does not wait for what it left in the background"""
    sb = c.create()
    start = time.monotonic()
    equal(c.shell(sb, "sleep 30 & echo x")[0], "x\n")
    true(time.monotonic() - start < 5, "at once")
    c.rpc("release", identity=sb)


@test
def concurrent(b, c, u):
    """calls of one sandbox run side by side"""
    sb = c.create()
    got = {}

    def one(i):
        got[i] = c.shell(sb, f"sleep 0.5; echo {i}")[0]
    threads = [threading.Thread(target=one, args=(i,)) for i in range(8)]
    start = time.monotonic()
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    equal(got, {i: f"{i}\n" for i in range(8)})
    true(time.monotonic() - start < 3, "side by side")
    c.rpc("release", identity=sb)


@test
def early_answer(b, c, u):
    """a call is answered before the client's clock, and the work goes on"""
    sb = c.create()
    start = time.monotonic()
    r = c.tool(sb, "run_shell_command",
               command="echo so far; sleep 6; touch done")
    took = time.monotonic() - start
    true(3 < took < 5, took)
    true(r["isError"], r)
    equal(items(r)[0], ("stdout", "so far\n"))
    true("goes on" in items(r)[1][1] and len(items(r)) == 2, r)
    until(lambda: c.shell(sb, "test -e done")[2] == 0, "the work's end")
    c.rpc("release", identity=sb)


@test
def bounded_work(b, c, u):
    """a call may bound its own work"""
    sb = c.create()
    r = c.tool(sb, "run_shell_command", command="echo x; sleep 61.7",
               timeout=0.5)
    true(r["isError"], r)
    equal(items(r)[0], ("stdout", "x\n"))
    until(lambda: c.shell(sb, "pgrep -f '^sleep 61.7'")[0] == "", "its end")
    c.rpc("release", identity=sb)


@test
def client_leaves(b, c, u):
    """work whose client has gone is finished"""
    sb = c.create()
    s = socket.create_connection(("127.0.0.1", b.port))
    body = json.dumps({"identity": sb, "tool_name": "run_shell_command",
                       "arguments": {"command": "touch began; sleep 1; "
                                                "touch ended"}})
    s.sendall(f"POST /call_tool HTTP/1.1\r\nHost: localhost\r\n"
              f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
    until(lambda: c.shell(sb, "test -e began")[2] == 0, "its beginning")
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    s.close()
    until(lambda: c.shell(sb, "test -e ended")[2] == 0, "its end")
    c.rpc("release", identity=sb)


@test
def released_under_a_call(b, c, u):
    """a call whose sandbox is released is answered at once with the reason"""
    sb = c.create()
    got = []
    t = threading.Thread(target=lambda: got.append(c.tool(
        sb, "run_shell_command", command="touch began; sleep 60")))
    t.start()
    until(lambda: c.shell(sb, "test -e began")[2] == 0, "its beginning")
    c.rpc("release", identity=sb)
    t.join(5)
    true(got and got[0]["isError"], got)


# ---- the in-box API ----

@test
def box_tools(b, c, u):
    """the in-box API answers behind /proxy, by id and by session id"""
    sb = c.create()
    for who in (sb, sb[-25:]):
        r = c.ask("GET", f"/proxy/{who}/healthz")
        equal((r.status, r.body, r.headers.get("content-type")),
              (200, b"OK", None))
    p = f"/proxy/{sb}"
    r = c.ask("POST", p + "/tools/run_shell_command",
              {"command": "echo x", "timeout": 5, "split_output": False})
    equal(items(r.json), [("stdout", "x\n"), ("returncode", "0")])
    r = c.ask("POST", p + "/tools/run_shell_command", {})
    equal((r.status, r.json), (422, {"detail": [{
        "type": "missing", "loc": ["body", "command"],
        "msg": "Field required", "input": None}]}))
    r = c.ask("POST", p + "/tools/run_shell_command", {"command": 5})
    equal((r.status, r.json["detail"][0]["type"],
           r.json["detail"][0]["input"]), (422, "string_type", 5))
    r = c.ask("POST", p + "/tools/run_shell_command", "{")
    equal((r.status, r.json["detail"][0]["type"]), (422, "json_invalid"))
    r = c.ask("POST", p + "/tools/run_shell_command", {"command": ""})
    equal((r.status, r.json), (400, {"detail": "Command is required."}))
    equal(c.ask("GET", p + "/mcp/list_tools").json, {})
    r = c.ask("POST", p + "/mcp/call_tool", {"tool_name": "x"})
    equal((r.status, r.json), (404, {"detail": "Tool 'x' not found."}))
    r = c.ask("GET", "/proxy/nope/healthz")
    equal((r.status, r.json), (404, {"detail": "sandbox not found: nope"}))
    r = c.ask("GET", p + "/nope")
    equal((r.status, r.json), (404, {"detail": "Not Found"}))
    r = c.ask("POST", p + "/healthz")
    equal((r.status, r.headers["allow"]), (405, "GET"))
    r = c.ask("POST", p + "/workspace/file?path=x", "body")
    equal((r.status, r.headers["allow"]), (405, "GET, PUT"))
    paths = c.ask("GET", p + "/openapi.json").json["paths"]
    true("/workspace/files:batch" in paths and "/healthz" in paths, paths)
    c.rpc("release", identity=sb)
    equal(c.ask("GET", p + "/healthz").status, 404)


# ---- the workspace ----

class Files:
    """fs.* of one sandbox, as (status, content)."""

    def __init__(self, c, sb):
        self.c, self.at = c, f"/proxy/{sb}/workspace"

    def ask(self, method, path, body=None, headers=None):
        r = self.c.ask(method, self.at + path, body, headers)
        plain = r.headers.get("content-type") != "application/json"
        return r.status, r.body if plain else r.json

    def put(self, path, body):
        return self.ask("PUT", f"/file?path={path}", body)

    def get(self, path, more=""):
        return self.ask("GET", f"/file?path={path}{more}")


def form(parts, boundary="----agentscope-" + "a" * 32):
    """(name, file name or None, content), as the SDK's async client sends."""
    out = b""
    for name, filename, content in parts:
        out += (f'--{boundary}\r\nContent-Disposition: form-data; '
                f'name="{name}"').encode()
        if filename is not None:
            out += (f'; filename="{filename}"\r\nContent-Type: '
                    f'application/octet-stream').encode()
        out += b"\r\n\r\n" + content + b"\r\n"
    return (out + f"--{boundary}--\r\n".encode(),
            {"Content-Type": f"multipart/form-data; boundary={boundary}"})


DENIED = (403, {"detail": "Permission error. Access restricted to "
                          "/workspace directory."})


@test
def file_round_trip(b, c, u):
    """a file: written, read as text and as bytes; what is wrong with a path"""
    sb = c.create()
    f = Files(c, sb)
    status, e = f.put("d%2Fa.txt", b"hi\r\nthere\rx\n")
    equal((status, list(e), e["path"], e["name"], e["type"], e["size"]),
          (200, ["path", "name", "type", "size", "mtime_ms"],
           "/workspace/d/a.txt", "a.txt", "file", 12))
    true(abs(e["mtime_ms"] / 1000 - time.time()) < 60, e)
    r = c.ask("GET", f.at + "/file?path=d%2Fa.txt&format=text")
    equal((r.headers["content-type"], r.text),
          ("text/plain; charset=utf-8", "hi\nthere\nx\n"))
    r = c.ask("GET", f.at + "/file?path=d/a.txt&format=bytes")
    equal((r.headers["content-type"], r.body),
          ("application/octet-stream", b"hi\r\nthere\rx\n"))
    equal(f.put("e", b"")[1]["size"], 0)
    equal(f.get("e"), (200, b""))
    f.put("bad", b"a\xffb")
    equal(f.get("bad"), (200, "a\ufffdb".encode()))
    for path in ("nope", "d", "d/a.txt/x"):
        equal(f.get(path), (404, {"detail": "not found"}), path)
    for path in ("d", "", ".", "/workspace"):
        equal(f.put(path, b"x"),
              (409, {"detail": "path exists and is a directory"}), path)
    for path in ("/etc/passwd", "../x", "d/../../x", "/workspace2/x",
                 "/workspace/../etc/passwd"):
        equal(f.get(path), DENIED, path)
        equal(f.put(path, b"x"), DENIED, path)
    c.shell(sb, "ln -s /etc out; ln -s d in; mkfifo pipe")
    equal(f.get("out/passwd"), DENIED)
    equal(f.get("in/a.txt")[0], 200)
    equal(f.get("pipe")[0], 400)
    equal(f.put("d/../n%20%C3%A9%0Ax", b"1")[1]["path"],
          "/workspace/n \u00e9\nx")
    equal(f.ask("GET", "/file")[1]["detail"][0]["type"], "missing")
    equal(f.get("e", "&format=zz")[1]["detail"][0]["type"], "literal_error")
    c.rpc("release", identity=sb)


@test
def listing(b, c, u):
    """list: depth, order of keys, odd entries"""
    sb = c.create()
    f = Files(c, sb)
    c.shell(sb, "mkdir -p a/b/c; echo x >a/f; ln -s a/f lf; ln -s a ld; "
                "ln -s nowhere dangling; mkfifo p; printf x >a/b/deep; "
                "touch \"$(printf 'q\\377')\"")

    def names(query):
        status, got = f.ask("GET", "/list?" + query)
        equal(status, 200, str(got)[:200])
        return {e["path"][11:]: (e["type"], e["size"]) for e in got}
    top = names("path=")
    equal(top, {"a": ("dir", None), "lf": ("file", 3), "ld": ("dir", None),
                "p": ("other", None), "q\ufffd": ("file", 0)})
    equal(names("path=.&depth=1"), top)
    equal(sorted(names("path=a&depth=2")),
          ["a/b", "a/b/c", "a/b/deep", "a/f"])
    true("a/b/c" in names("path=&depth=3"), "three levels")
    true("a/b/c" in names("path=&depth="), "no depth is all")
    for query, kind in (("path=a&depth=0", "greater_than_equal"),
                        ("path=a&depth=x", "int_parsing"),
                        ("depth=1", "missing")):
        status, got = f.ask("GET", "/list?" + query)
        equal((status, got["detail"][0]["type"]), (422, kind), query)
    for path in ("nope", "a/f"):
        equal(f.ask("GET", "/list?path=" + path),
              (404, {"detail": "not found"}), path)
    equal(f.ask("GET", "/list?path=/etc"), DENIED)
    for path, there in (("a", True), ("a/f", True), ("zz", False),
                        ("dangling", False)):
        equal(f.ask("GET", "/exists?path=" + path),
              (200, {"exists": there}), path)
    equal(f.ask("GET", "/exists?path=/etc"), DENIED)
    c.rpc("release", identity=sb)


@test
def changing(b, c, u):
    """mkdir, move, remove"""
    sb = c.create()
    f = Files(c, sb)

    def post(path, body):
        return f.ask("POST", path, body)
    equal(post("/mkdir", {"path": "m/n"}), (200, {"created": True}))
    equal(post("/mkdir", {"path": "m/n"}), (200, {"created": False}))
    equal(post("/mkdir", {"path": "."}), (200, {"created": False}))
    f.put("file", b"12")
    equal(post("/mkdir", {"path": "file"}),
          (409, {"detail": "path exists and is not a directory"}))
    for body in ({}, {"path": ""}, {"path": None}):
        equal(post("/mkdir", body), (400, {"detail": "path is required"}))
    for body in ("{", "[]", '{"path":5}', '{"path":"a\\u0000b"}'):
        equal(post("/mkdir", body)[0], 400, body)
    equal(post("/mkdir", {"path": "/etc/x"}), DENIED)
    status, e = post("/move", {"source": "file", "destination": "q/r"})
    equal((status, e["path"], e["size"]), (200, "/workspace/q/r", 2))
    equal(post("/move", {"source": "zz", "destination": "y"}),
          (404, {"detail": "source not found"}))
    equal(post("/move", {"source": "zz"}),
          (400, {"detail": "source and destination are required"}))
    equal(post("/move", {"source": "q/r", "destination": "m"})[0], 409)
    equal(post("/move", {"source": "/etc/passwd", "destination": "x"}), DENIED)
    f.put("other", b"abc")
    equal(post("/move", {"source": "other", "destination": "q/r"})[0], 200)
    equal(f.get("q/r"), (200, b"abc"))
    c.shell(sb, "ln -s nowhere dangling")
    for path in ("q/r", "q/r", "m", "dangling"):
        equal(f.ask("DELETE", "/entry?path=" + path), (204, b""), path)
    equal(c.shell(sb, "ls -A"), ("q\n", "", 0))
    equal(f.ask("DELETE", "/entry?path=/etc"), DENIED)
    true(f.ask("DELETE", "/entry?path=")[0] in (403, 409), "the root stays")
    c.rpc("release", identity=sb)


@test
def batch(b, c, u):
    """many files in one form: both clients' orders, and what is wrong"""
    sb = c.create()
    f = Files(c, sb)

    def post(*parts):
        return f.ask("POST", "/files:batch", *form(parts))
    path, file = "paths", "files"
    status, got = post((path, None, b"b/1"), (path, None, b"b/2"),
                       (file, "1", b"one"), (file, "2", b"two!"))
    equal((status, [(e["path"], e["size"]) for e in got]),
          (200, [("/workspace/b/1", 3), ("/workspace/b/2", 4)]))
    status, got = post((path, None, "b/\u00e9".encode()), (file, "x", b""),
                       (path, None, b"b/4"), (file, "y", b"z" * 300000))
    equal([(e["name"], e["size"]) for e in got],
          [("\u00e9", 0), ("4", 300000)])
    equal(f.get("b/4", "&format=bytes"), (200, b"z" * 300000))
    status, got = post((file, "f5.txt", b"55"), (file, "x/f6.txt", b"66"),
                       ("other", None, b"?"))
    equal([e["path"] for e in got],
          ["/workspace/f5.txt", "/workspace/x/f6.txt"])
    many = [(path, None, f"many/{i}".encode()) for i in range(200)]
    many += [(file, str(i), b"m%d" % i) for i in range(200)]
    status, got = post(*many)
    equal([e["name"] for e in got], [str(i) for i in range(200)])
    equal(f.get("many/199"), (200, b"m199"))
    equal(post(), (200, []))
    short = (400, {"detail": "`paths` length must match `files` length"})
    equal(post((path, None, b"p"), (file, "a", b"1"), (file, "b", b"2")),
          short)
    equal(post((path, None, b"p"), (path, None, b"q"), (file, "a", b"1")),
          short)
    equal(post((path, None, b""), (file, "a", b"1")),
          (400, {"detail": "missing target path for a part"}))
    equal(post((path, None, b"b"), (file, "a", b"1")),
          (409, {"detail": "target exists and is a directory: b"}))
    equal(post((path, None, b"/etc/x"), (file, "a", b"1")), DENIED)
    equal(f.ask("POST", "/files:batch", b"xx")[0], 400)
    body, headers = form([(file, "cut", b"1")])
    equal(f.ask("POST", "/files:batch", body[:-10], headers)[0], 400)
    c.rpc("release", identity=sb)


def rss(pid):
    """KiB; 0 of a sanitised build, whose memory is its own affair."""
    with open(f"/proc/{pid}/maps") as f:
        if "libasan" in f.read():
            return 0
    with open(f"/proc/{pid}/status") as f:
        return next(int(ln.split()[1]) for ln in f if ln.startswith("VmRSS"))


@test
def large_files(b, c, u):
    """a file of 300 MB goes up and down in bounded memory"""
    sb = c.create()
    piece = os.urandom(1 << 20)
    most, digest = [0], hashlib.sha256()

    def pieces():
        for _ in range(300):
            digest.update(piece)
            most[0] = max(most[0], rss(b.front.pid))
            yield piece
    r = c.ask("PUT", f"/proxy/{sb}/workspace/file?path=big", pieces())
    equal((r.status, r.json["size"]), (200, 300 << 20))
    conn, down = c.connect(), hashlib.sha256()
    conn.request("GET", f"/proxy/{sb}/workspace/file?path=big&format=bytes")
    r = conn.getresponse()
    while got := r.read(1 << 20):
        down.update(got)
        most[0] = max(most[0], rss(b.front.pid))
    conn.close()
    equal(down.hexdigest(), digest.hexdigest())
    true(most[0] < 64 * 1024, f"{most[0]} KiB")
    c.rpc("release", identity=sb)


@test
def broken_upload(b, c, u):
    """an upload that breaks off leaves the old file and nothing else"""
    sb = c.create()
    f = Files(c, sb)
    f.put("f", b"old")
    s = socket.create_connection(("127.0.0.1", b.port))
    s.sendall(f"PUT {f.at}/file?path=f HTTP/1.1\r\nHost: localhost\r\n"
              f"Content-Length: 1000000\r\n\r\n".encode() + b"x" * 70000)
    until(lambda: c.shell(sb, "ls -A | wc -l")[0].strip() != "1",
          "a file beside it")
    s.close()
    until(lambda: c.shell(sb, "ls -A")[0] == "f\n", "its end")
    equal(f.get("f"), (200, b"old"))
    c.rpc("release", identity=sb)


@test
def anywhere(b, c, u):
    """the native interface reaches every file of a sandbox, for hutch cp"""
    sb = c.create()
    at = f"/api/v1/sandboxes/{sb}/files?path="
    equal(u.ask("PUT", at + "/etc/hutch-test&mode=750", b"new").status, 204)
    equal(c.shell(sb, "stat -c %a /etc/hutch-test; cat /etc/hutch-test")[0],
          "750\nnew")
    equal(u.ask("GET", at + "/etc/hutch-test").body, b"new")
    equal(u.ask("PUT", at + "rel/dir&dir=1").status, 204)
    equal(u.ask("PUT", at + "rel/f", b"1").status, 204)
    got = u.ask("GET", at + "/workspace/rel&list=1").json["entries"]
    equal(sorted((e["path"], e["type"]) for e in got),
          [("/workspace/rel/dir", "dir"), ("/workspace/rel/f", "file")])
    r = u.ask("GET", at + "rel/f&list=1")
    equal((r.status, r.json), (400, {"code": "invalid",
                                     "detail": "not a directory"}))
    r = u.ask("GET", at + "nope&list=1")
    equal((r.status, r.json["code"]), (404, "missing"))
    equal(u.ask("GET", at + "nope").json["code"], "missing")
    true("passwd" in [e["name"] for e in u.ask(
        "GET", at + "/etc&list=1").json["entries"]], "/etc")
    c.rpc("release", identity=sb)


@test
def git(b, c, u):
    """the watcher commits, compares and tells the history"""
    sb = c.create()
    w = f"/proxy/{sb}/watcher"
    r = c.ask("GET", w + "/git_logs")
    true(r.status == 500 and "not a git repository" in r.json["detail"], r.text)
    c.shell(sb, "git init -q; printf 'one\n' >f; mkdir d; printf 'x' >'d/a b'")
    first = c.ask("POST", w + "/commit_changes", {"commit_message": "first"})
    equal((first.status, first.json["message"], len(first.json["commit"])),
          (200, "first", 40))
    c.shell(sb, "printf 'one\ntwo\n' >f; rm 'd/a b'; printf 'n\n' >new")
    staged = c.ask("POST", w + "/generate_diff",
                   {"commit_a": "", "commit_b": ""}).json
    equal(staged, {"diffs": {
        "d/a b": "--- a/d/a b\n+++ b/d/a b\n@@ -0,0 +1 @@\n+x",
        "f": "--- a/f\n+++ b/f\n@@ -1,2 +1 @@\n one\n-two",
        "new": "--- a/new\n+++ b/new\n@@ -1 +0,0 @@\n-n"}})
    second = c.ask("POST", w + "/commit_changes")
    equal(second.json["message"], "Automated commit")
    a, z = first.json["commit"], second.json["commit"]
    equal(c.ask("POST", w + "/generate_diff",
                {"commit_a": a, "commit_b": z}).json["diffs"]["f"],
          "--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n one\n+two")
    equal(c.ask("POST", w + "/generate_diff",
                {"commit_a": a, "commit_b": a}).json, {"diffs": {}})
    r = c.ask("POST", w + "/generate_diff", {"commit_a": a, "commit_b": ""})
    equal((r.status, r.json), (200, {
        "status_code": 400, "detail": "Invalid commit range",
        "headers": None}))
    equal(c.ask("POST", w + "/generate_diff",
                {"commit_a": "zz", "commit_b": "--help"}).status, 500)
    equal(c.ask("POST", w + "/generate_diff",
                {"commit_a": None, "commit_b": None}).status, 422)
    logs = c.ask("GET", w + "/git_logs").json["logs"]
    equal([(e["commit"], e["author"], e["message"]) for e in logs],
          [(z, "User", "Automated commit"), (a, "User", "first")])
    equal(logs[0]["diff"]["new"], staged["diffs"]["new"])
    equal(logs[1]["diff"], {})
    true(logs[0]["date"].endswith("+00:00"), logs[0]["date"])
    c.rpc("release", identity=sb)


# ---- our own ----

@test
def native_life(b, c, u):
    """sandboxes by the native interface: create, look, pause, end"""
    r = u.ask("POST", "/api/v1/sandboxes", {"type": "base", "env": {"A": "1"},
                                            "meta": {"x": 1}})
    equal(r.status, 201, r.text)
    sb = r.json["id"]
    equal((r.json["state"], r.json["paused"], r.json["meta"]),
          ("running", False, {"x": 1}))
    path = f"/api/v1/sandboxes/{sb}"
    equal(u.ask("GET", path).json, r.json)
    true(sb in [s["id"] for s in
                u.ask("GET", "/api/v1/sandboxes").json["sandboxes"]], "listed")
    equal(u.ask("GET", path + "/stats").json["memory"], 2)
    equal(u.ask("POST", path + "/pause").status, 204)
    equal(u.ask("GET", path).json["paused"], True)
    r = u.ask("GET", path + "/files?path=/workspace&list=1")
    equal((r.status, r.json["code"]), (409, "busy"), r.text)
    equal(u.ask("POST", path + "/resume").status, 204)
    equal(c.shell(sb, "echo $A")[0], "1\n")
    log = u.ask("GET", path + "/logs").text.splitlines()
    true("created" in log[0] and "run_shell_command: exit 0" in log[-1], log)
    equal(u.ask("DELETE", path).status, 204)
    true(u.ask("GET", path + "/logs").text.endswith("released: released\n"),
         "its end")
    r = u.ask("DELETE", path)
    equal((r.status, r.json["code"]), (404, "missing"))
    equal(u.ask("GET", "/api/v1/sandboxes/nope/stats").status, 404)
    r = u.ask("POST", "/api/v1/sandboxes", {"imag": "x"})
    equal((r.status, r.json["code"]), (400, "invalid"), r.text)
    r = u.ask("POST", "/api/v1/sandboxes", {"mount_dir": "/tmp"})
    true(r.status == 403 and "allow_mount_dir" in r.json["detail"], r.json)
    r = u.ask("POST", "/api/v1/sandboxes", {"image": "x", "dir": "#x"})
    equal(r.status, 400, r.json)
    r = u.ask("POST", "/api/v1/sandboxes", {"image": "nope:1"})
    equal((r.status, r.json["code"]), (404, "missing"), r.text)
    true(sb not in [s["id"] for s in
                    u.ask("GET", "/api/v1/sandboxes").json["sandboxes"]],
         "not listed")
    true(sb in [s["id"] for s in u.ask(
        "GET", "/api/v1/sandboxes?all=1").json["sandboxes"]], "but known")


@test
def follow_logs(b, c, u):
    """a log that is followed shows each call as it ends"""
    sb = c.create()
    conn = u.connect()
    conn.request("GET", f"/api/v1/sandboxes/{sb}/logs?follow=1")
    r = conn.getresponse()
    c.shell(sb, "exit 7")
    line = b""
    while b"exit 7" not in line:
        got = r.read1(4096)
        true(got, line)
        line += got
    conn.close()
    c.rpc("release", identity=sb)


@test
def execs(b, c, u):
    """exec: streams apart, status, input, variables, programs that are none"""
    sb = c.create()
    x = u.exec(sb, ["sh", "-c", "echo o; echo e >&2; exit 3"])
    equal((x.status, x.wait(), x.out, x.err),
          (101, {"exit": 3}, b"o\n", b"e\n"))
    x = u.exec(sb, ["cat"])
    blob = os.urandom(300000)
    x.input(blob)
    x.send(b"I")
    equal(x.wait(), {"exit": 0})
    true(x.out == blob, "all of it came back")
    x = u.exec(sb, ["sh", "-c", 'echo "$A $PWD"'], env={"A": "b"}, cwd="/tmp")
    equal((x.wait(), x.out), ({"exit": 0}, b"b /tmp\n"))
    x = u.exec(sb, ["no-such-program"])
    equal((x.wait()["exit"], b"no-such-program" in x.err), (127, True))
    x = u.exec(sb, [])
    equal(x.wait()["code"], "invalid")
    x = u.exec(sb, ["sh", "-c", "kill -TERM $$"])
    equal(x.wait(), {"exit": -15})
    equal(u.exec("nope", ["true"]).status, 404)
    equal(u.ask("GET", f"/api/v1/sandboxes/{sb}/exec").status, 426)
    c.rpc("release", identity=sb)


@test
def exec_terminal(b, c, u):
    """exec on a terminal: size, resize, kill"""
    sb = c.create()
    x = u.exec(sb, ["sh"], tty=True, rows=10, cols=20)
    x.input(b"stty size\n")
    x.until(lambda: b"10 20" in x.out)
    x.send(b"R", b'{"rows":33,"cols":44}')
    x.input(b"stty size\n")
    x.until(lambda: b"33 44" in x.out)
    x.input(b"exit 5\n")
    equal(x.wait(), {"exit": 5})
    x = u.exec(sb, ["sleep", "100"])
    x.send(b"K")
    true("exit" in x.wait(), x.end)
    c.rpc("release", identity=sb)


@test
def exec_leaves(b, c, u):
    """a command ends when its client leaves; with remove, its sandbox too"""
    sb = c.create()
    x = u.exec(sb, ["sh", "-c", "echo $$; exec sleep 1234.7"])
    x.until(lambda: b"\n" in x.out)
    x.close()
    until(lambda: c.shell(sb, "pgrep -f '^sleep 1234.7'")[2] == 1, "its end")
    x = u.exec(sb, ["true"], remove=True)
    equal(x.wait(), {"exit": 0})
    until(lambda: c.rpc("get_info", identity=sb)["state"] == "released",
          "the end of the sandbox")


@test
def exec_slow_reader(b, c, u):
    """a client that does not read holds the command up, not the front"""
    sb = c.create()
    x = u.exec(sb, ["sh", "-c", "head -c 50000000 /dev/zero; echo x >&2"])
    x.until(lambda: len(x.out) > 0)
    seen = []
    for _ in range(10):
        c.shell(sb, "true")
        seen.append(rss(b.front.pid))
    true(max(seen) < 64 * 1024, seen)
    equal(x.wait(60), {"exit": 0})
    equal((len(x.out), x.err), (50000000, b"x\n"))
    c.rpc("release", identity=sb)


@test
def images(b, c, u):
    """images: list, one, remove; their names may have slashes"""
    b.put_image("repo/name:1")
    names = [i["name"] for i in u.ask("GET", "/api/v1/images").json["images"]]
    equal(names, ["base:latest", "repo/name:1"])
    one = u.ask("GET", "/api/v1/images/repo%2Fname:1").json
    equal((one["name"], one["imported_at"]), ("repo/name:1", 1796048410.5))
    equal(u.ask("DELETE", "/api/v1/images/repo%2Fname:1").status, 204)
    r = u.ask("GET", "/api/v1/images/repo%2Fname:1")
    equal((r.status, r.json["code"]), (404, "missing"))
    equal(u.ask("DELETE", "/api/v1/images/repo%2Fname:1").status, 404)


@test
def image_import(b, c, u):
    """an import is handed on unread while it comes in, and told line by line"""
    blob = os.urandom(3000000)
    pieces = (blob[i:i + 50000] for i in range(0, len(blob), 50000))
    r = u.ask("POST", "/api/v1/images?name=new:1", pieces)
    lines = [json.loads(ln) for ln in r.text.splitlines()]
    equal(lines[-1]["done"]["name"], "new:1")
    true(all("progress" in ln for ln in lines[:-1]), lines)
    equal(b.imported[-1],
          ("new:1", len(blob), hashlib.sha256(blob).hexdigest()))
    r = u.ask("POST", "/api/v1/images?name=broken:1", b"x")
    equal(json.loads(r.text.splitlines()[-1]),
          {"code": "limit", "detail": "it is too large"})
    r = u.ask("POST", "/api/v1/images?name=mute:1", b"x")
    equal(json.loads(r.text.splitlines()[-1])["code"], "protocol")
    equal(u.ask("POST", "/api/v1/images", b"x").status, 400)
    u.ask("DELETE", "/api/v1/images/new:1")


@test
def image_import_early(b, c, u):
    """a fetcher that gives up early is heard while the body still comes"""
    s = u.connect()
    s.putrequest("POST", "/api/v1/images?name=early:1")
    s.putheader("Transfer-Encoding", "chunked")
    s.endheaders()
    s.send(b"4\r\nnope\r\n")
    r = s.getresponse()
    equal(json.loads(r.readline()),
          {"code": "invalid", "detail": "it is no image"})
    s.close()


@test
def image_export(b, c, u):
    """an export streams; a failure is an error before it, a cut within"""
    r = u.ask("GET", "/api/v1/export?image=base:latest")
    equal((r.status, r.headers["content-type"], len(r.body)),
          (200, "application/x-tar", 64 * 65536))
    r = u.ask("GET", "/api/v1/export?image=missing:1")
    equal((r.status, r.json), (404, {"code": "missing",
                                     "detail": "no such image"}))
    try:
        u.ask("GET", "/api/v1/export?image=broken:1")
        raise AssertionError("it looked whole")
    except (OSError, Exception) as e:
        if isinstance(e, AssertionError):
            raise


@test
def whole_daemon(b, c, u):
    """info, doctor, a backup, metrics"""
    equal(u.ask("GET", "/api/v1/info").json["root"], b.dir)
    checks = {x["name"]: x for x in
              u.ask("GET", "/api/v1/doctor").json["checks"]}
    true(checks["type base"]["ok"] and checks["broker"]["ok"], checks)
    sb = c.create()
    copy = u.ask("GET", "/api/v1/backup")
    with tempfile.NamedTemporaryFile() as f:
        f.write(copy.body)
        f.flush()
        db = sqlite3.connect(f.name)
        equal(db.execute("pragma integrity_check").fetchone(), ("ok",))
        true(sb in str(db.execute("select * from sandbox").fetchall()), "in it")
        db.close()
    text = u.ask("GET", "/metrics").text
    true(f'hutch_sandbox_memory_bytes{{sandbox="{sb}",type="base",' in text,
         text)
    true('hutch_sandboxes{state="' in text and
         "\nhutch_sandbox_create_seconds_count " in text, text)
    for line in text.splitlines():
        true(line.startswith("#") or len(line.rsplit(" ", 1)) == 2, line)
    c.rpc("release", identity=sb)


@test
def doors(b, c, u):
    """health, the description, pages; what is no route"""
    equal(c.ask("GET", "/health").json,
          {"status": "healthy", "version": "[<SandboxType.BASE: 'base'>]"})
    doc = c.ask("GET", "/openapi.json").json
    equal(doc["info"], {"title": "Runtime Manager Service",
                        "version": "v1.1.5"})
    for name in ("/create_from_pool", "/get_info_async", "/health",
                 "/proxy/{identity}/{path}", "/desktop/{identity}/{path}"):
        true(name in doc["paths"], name)
    equal(len([p for p in doc["paths"] if p.count("/") == 1 and
               "post" in doc["paths"][p]]), 28)
    equal(c.ask("GET", "/docs").status, 200)
    equal(c.ask("GET", "//health").status, 200)
    r = c.ask("GET", "/nope")
    equal((r.status, r.json), (404, {"detail": "Not Found"}))
    r = c.ask("GET", "/create")
    equal((r.status, r.json, r.headers["allow"]),
          (405, {"detail": "Method Not Allowed"}, "POST"))
    equal(c.ask("GET", "/desktop/x/vnc/vnc.html").status, 404)


@test
def tenants(b, c, u):
    """a tenant sees and touches its own; an administrator all"""
    def digest(token):
        return hashlib.sha256(token.encode()).hexdigest()
    other = Broker(LIBEXEC, "".join(
        f"[tenant {name}]\ntoken_sha256 = {digest(token)}\n{more}\n"
        for name, token, more in (("a", "ta", ""), ("b", "tb", ""),
                                  ("root", "tr", "admin = yes"))))
    try:
        a, z, root = (Client(port=other.port, token=t)
                      for t in ("ta", "tb", "tr"))
        sock = Client(path=other.socket)
        sb = a.create("s")
        equal(z.rpc("get_session_mapping", session_ctx_id="s"), [])
        equal(z.rpc("list_session_keys"), [])
        true("No container found" in z.failing("get_info", identity=sb), "z")
        equal(z.rpc("get_status", identity=sb), None)
        equal(z.rpc("release", identity=sb), True)  # as of an unknown one
        z.rpc("cleanup")
        equal(a.shell(sb, "echo mine")[0], "mine\n")
        equal(z.ask("GET", f"/proxy/{sb}/workspace/list?path=").status, 404)
        for path in ("", "/stats", "/logs", "/files?path=/etc/passwd"):
            equal(z.ask("GET", f"/api/v1/sandboxes/{sb}{path}").status, 404,
                  path)
        equal(z.exec(sb, ["true"]).status, 404)
        equal(z.ask("DELETE", f"/api/v1/sandboxes/{sb}").status, 404)
        equal(z.ask("GET", "/api/v1/sandboxes").json, {"sandboxes": []})
        for who in (root, sock):
            equal([x["id"] for x in who.ask(
                "GET", "/api/v1/sandboxes").json["sandboxes"]], [sb])
        x = root.exec(sb, ["echo", "seen"])
        equal((x.wait(), bytes(x.out)), ({"exit": 0}, b"seen\n"))
        for method, path in (("GET", "/metrics"), ("GET", "/api/v1/backup"),
                             ("POST", "/api/v1/images?name=x"),
                             ("DELETE", "/api/v1/images/x"),
                             ("GET", "/api/v1/export?image=x")):
            equal(z.ask(method, path).status, 403, path)
            equal(Client(port=other.port).ask(method, path).status, 401, path)
        equal(root.ask("GET", "/metrics").status, 200)
        r = z.ask("POST", "/api/v1/sandboxes", {"dir": "/etc"})
        equal((r.status, r.json["code"]), (403, "denied"))
        true(f'what=create sandbox={sb} outcome=ok' in other.said() and
             "tenant=a" in other.said(), "audit")
    finally:
        other.stop()


# ---- lives of the front ----

@test
def front_dies(b, c, u):
    """sandboxes outlive the front, with their files and their ids"""
    sb = c.create("keep")
    c.shell(sb, "echo kept >f; export X=1")
    b.front_restart()
    until(lambda: c.ask("POST", "/call_tool", {
        "identity": sb, "tool_name": "run_shell_command",
        "arguments": {"command": "cat f"}}).json.get("data", {}).get(
            "isError") is False, "an answer")
    equal(c.shell(sb, "cat f"), ("kept\n", "", 0))
    equal(c.rpc("get_session_mapping", session_ctx_id="keep"), [sb])
    c.rpc("release", identity=sb)


@test
def box_dies(b, c, u):
    """a sandbox that ends by itself is told of, and at once"""
    sb = c.create()
    c.shell(sb, "true")
    box = list(b.boxes.values())[-1]
    box.proc.kill()
    until(lambda: c.rpc("get_status", identity=sb) != "running", "its end")
    r = c.ask("POST", "/call_tool", {
        "identity": sb, "tool_name": "run_shell_command",
        "arguments": {"command": "true"}})
    true(r.status == 500 or r.json["data"]["isError"], r.text)


@test
def cleanup(b, c, u):
    """cleanup releases everything"""
    ids = [c.create(f"c{i}") for i in range(3)]
    equal(c.rpc("cleanup"), None)
    for sb in ids:
        equal(c.rpc("get_info", identity=sb)["state"], "released")
    equal(c.rpc("list_session_keys"), [])


@test
def leaves_in_order(b, c, u):
    """SIGTERM: what runs is answered, then it leaves"""
    sb = c.create()
    got = []
    t = threading.Thread(target=lambda: got.append(
        c.shell(sb, "touch began; sleep 1; echo whole")))
    t.start()
    until(lambda: c.shell(sb, "test -e began")[2] == 0, "its beginning")
    equal(b.stop(), 0)
    t.join(10)
    equal(got, [("whole\n", "", 0)])


def main():
    if os.geteuid() != 0:
        tap.skip_all("needs root, for a mount namespace")
    for program in ("hutch-front", "hutch-agent"):
        if not os.access(f"{LIBEXEC}/{program}", os.X_OK):
            tap.skip_all(f"{program} is not built")
    b = Broker(LIBEXEC, "timeout = 6\nlog_level = debug\ndrain_timeout = 10\n")
    try:
        status = tap.run(b, Client(port=b.port), Client(path=b.socket))
        if status and os.environ.get("TEST_LOG"):
            print(b.said(), file=sys.stderr)
        return status
    finally:
        b.stop()


if __name__ == "__main__":
    sys.exit(main())
