#!/usr/bin/env python3
"""The MCP server's sandboxes: a real front, real agents, a broker of paper."""
import json
import os
import socket
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import tap  # noqa: E402
from paperbroker import Broker  # noqa: E402
from tap import equal, test, true  # noqa: E402
from webclient import Client  # noqa: E402

LIBEXEC = os.path.abspath(os.environ.get("HUTCH_LIBEXEC", tap.BUILD))
BOTH = "application/json, text/event-stream"
META = "io.modelcontextprotocol/"


class Mcp:
    """One session; modern: none."""

    def __init__(self, client, version="2025-11-25"):
        self.client, self.n, self.version = client, 0, version
        self.modern = version >= "2026"
        self.headers = {"Content-Type": "application/json", "Accept": BOTH}
        if not self.modern:
            r = self.post("initialize", protocolVersion=version,
                          capabilities={}, clientInfo={})
            self.headers["Mcp-Session-Id"] = r.headers["mcp-session-id"]
            self.first = r.json["result"]
        self.headers["MCP-Protocol-Version"] = version

    def post(self, method, **params):
        self.n += 1
        headers = dict(self.headers)
        if self.modern:
            params["_meta"] = {META + "protocolVersion": self.version,
                               META + "clientCapabilities": {},
                               **params.get("_meta", {})}
            headers["Mcp-Method"] = method
            if "name" in params:
                headers["Mcp-Name"] = params["name"]
        return self.client.ask("POST", "/mcp", {
            "jsonrpc": "2.0", "id": self.n, "method": method,
            "params": params}, headers)

    def tool(self, tool, **args):
        r = self.post("tools/call", name=tool, arguments=args)
        equal(r.status, 200, r.text)
        return r.json["result"]

    def text(self, tool, **args):
        r = self.tool(tool, **args)
        true(not r["isError"], r)
        return r["content"][0]["text"]

    def end(self):
        return self.client.ask("DELETE", "/mcp", headers=self.headers).status


def boxes(api):
    return [s for s in api.ask("GET", "/api/v1/sandboxes").json["sandboxes"]
            if s["state"] == "running"]


@test
def a_session(c, api):
    """a session has a sandbox, and its end releases it"""
    m = Mcp(c)
    equal(m.first["protocolVersion"], "2025-11-25")
    names = [t["name"] for t in m.post("tools/list").json["result"]["tools"]]
    true({"run_shell_command", "read_file", "write_file",
          "list_files"} <= set(names), names)
    equal(boxes(api), [], "none before it is needed")
    equal(m.text("run_shell_command", command="pwd; echo $((6*7))"),
          "/workspace\n42\n")
    equal(len(boxes(api)), 1)
    r = m.tool("run_shell_command", command="echo a; echo b >&2; exit 3")
    equal(r["structuredContent"],
          {"exit_code": 3, "stdout": "a\n", "stderr": "b\n"})
    true(r["isError"], r)
    other = Mcp(c)
    other.text("run_shell_command", command="touch /workspace/theirs")
    equal(len(boxes(api)), 2, "another session has another")
    equal(other.end(), 200)
    equal(m.end(), 200)
    end = time.monotonic() + 20
    while boxes(api) and time.monotonic() < end:
        time.sleep(0.05)
    equal(boxes(api), [], "all are released")
    equal(m.post("ping").status, 404, "the session is no more")


@test
def files(c, api):
    """files are written, read and listed, large ones too"""
    m = Mcp(c)
    text = "".join(f"{i} \u00e9\u2028\n" for i in range(60000))
    m.text("write_file", path="a/b.txt", content=text)
    equal(m.text("run_shell_command", command="wc -l < a/b.txt").strip(),
          "60000")
    equal(m.text("read_file", path="a/b.txt"), text)
    listed = m.text("list_files", path=".")
    true("a/b.txt" in listed, listed)
    r = m.tool("read_file", path="none")
    true(r["isError"], r)
    r = m.tool("read_file", path="../etc/passwd")
    true(r["isError"], r)
    r = m.post("tools/call", name="write_file", arguments={"path": "x"})
    equal(r.json["error"]["code"], -32602)
    m.text("write_file", path="empty", content="")
    equal(m.text("read_file", path="empty"), "")
    m.end()


@test
def progress(c, api):
    """progress is told on the call's own stream"""
    m = Mcp(c)
    m.text("run_shell_command", command="true")
    r = m.post("tools/call", name="run_shell_command",
               arguments={"command": "sleep 1; echo done"},
               _meta={"progressToken": "t"})
    equal(r.headers["content-type"], "text/event-stream")
    said = [json.loads(x[6:]) for x in r.text.splitlines()
            if x.startswith("data: ")]
    equal(said[0]["params"], {"progressToken": "t", "progress": 0})
    equal(said[-1]["result"]["content"][0]["text"], "done\n")
    equal(said[-1]["id"], m.n)
    m.end()


@test
def by_handle(c, api):
    """without a session a sandbox is what its handle says"""
    m = Mcp(c, "2026-07-28")
    r = m.post("server/discover").json["result"]
    true("2026-07-28" in r["supportedVersions"], r)
    equal(r["resultType"], "complete")
    true(m.tool("run_shell_command", command="id")["isError"],
         "no handle, no sandbox")
    sandbox = m.tool("open_sandbox")["structuredContent"]["sandbox"]
    m.text("write_file", path="x", content="1", sandbox=sandbox)
    equal(m.text("read_file", path="x", sandbox=sandbox), "1")
    m.text("close_sandbox", sandbox=sandbox)
    true(m.tool("read_file", path="x", sandbox=sandbox)["isError"], "closed")
    true(m.tool("close_sandbox", sandbox="none")["isError"], "unknown")


@test
def envelopes(c, api):
    """what is wrong with a request is said as the protocol wants it"""
    post = {"Content-Type": "application/json", "Accept": BOTH}

    def ask(body, **headers):
        r = c.ask("POST", "/mcp", body, {**post, **{
            k.replace("_", "-"): v for k, v in headers.items()}})
        return r.status, (r.json.get("error") or {}).get("code")

    def modern(method, **more):
        return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {
            "_meta": {META + "protocolVersion": "2026-07-28"}, **more}}

    now = {"mcp_protocol_version": "2026-07-28"}
    equal(ask("{"), (400, -32700))
    equal(ask("[]"), (400, -32600))
    equal(ask({"jsonrpc": "2.0", "id": 1, "method": "ping"}), (400, -32600))
    equal(ask({"jsonrpc": "2.0", "id": 1, "method": "ping"},
              mcp_session_id="none"), (404, -32600))
    equal(ask(modern("tools/list")), (400, -32020), "no headers")
    equal(ask(modern("tools/list"), mcp_method="x", **now), (400, -32020))
    equal(ask(modern("tools/list"), mcp_method="tools/list", **now),
          (200, None))
    equal(ask(modern("tools/call", name="\u00e9"), mcp_method="tools/call",
              mcp_name="=?base64?w6k=?=", **now), (200, -32602))
    equal(ask(modern("none"), mcp_method="none", **now), (404, -32601))
    equal(ask({"jsonrpc": "2.0", "id": 1, "method": "x", "params": {
        "_meta": {META + "protocolVersion": "1900-01-01"}}},
        mcp_protocol_version="1900-01-01"), (400, -32022))
    m = Mcp(c, "2025-03-26")
    equal(m.post("none").json["error"]["code"], -32601)
    r = c.ask("POST", "/mcp", {"jsonrpc": "2.0",
                               "method": "notifications/initialized"},
              m.headers)
    equal((r.status, r.body), (202, b""))
    r = c.ask("POST", "/mcp", {}, {**post, "Origin": "http://evil.example"})
    equal(r.status, 403)
    equal(c.ask("GET", "/mcp", headers={"Accept": BOTH}).status, 405)
    m.end()


@test
def listening(c, api):
    """a session's stream is open until the session ends"""
    m = Mcp(c)
    s = socket.create_connection(("127.0.0.1", c.port), 10)
    head = "".join(f"{k}: {v}\r\n" for k, v in m.headers.items())
    s.sendall(f"GET /mcp HTTP/1.1\r\nHost: localhost\r\n{head}\r\n".encode())
    got = s.recv(4096)
    true(got.startswith(b"HTTP/1.1 200"), got)
    m.end()
    while not got.endswith(b"0\r\n\r\n"):
        more = s.recv(4096)
        true(more, "cut")
        got += more
    s.close()


def main():
    if os.geteuid() != 0:
        tap.skip_all("needs root, for a mount namespace")
    for program in ("hutch-front", "hutch-agent"):
        if not os.access(f"{LIBEXEC}/{program}", os.X_OK):
            tap.skip_all(f"{program} is not built")
    b = Broker(LIBEXEC, "timeout = 6\nlog_level = debug\n")
    try:
        status = tap.run(Client(port=b.agent_port), Client(path=b.socket))
        if status and os.environ.get("TEST_LOG"):
            print(b.said(), file=sys.stderr)
        return status
    finally:
        b.stop()


if __name__ == "__main__":
    sys.exit(main())
