#!/usr/bin/env python3
"""AG-UI, A2A and MCP before an agent of code in the true daemon."""
import http.client
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
from agents import agent_port, deploy, tar_of  # noqa: E402
from chaos import IMAGE, House, alone, need, until  # noqa: E402
from tap import BUILD, equal, run, test, true  # noqa: E402
from webclient import Client  # noqa: E402

need(IMAGE, f"{BUILD}/hutch-front")

APP = '''
import asyncio, os
from hutch_agent import AgentApp
app = AgentApp(app_name="test")

@app.query(framework="text")
async def query(self, msgs=None, request=None, **kw):
    what = "".join(c.text for m in request.input for c in m.content)
    if what == "die":
        yield "going"
        await asyncio.sleep(0.1)
        os._exit(7)
    elif what == "slow":
        for i in range(6000):
            yield f"{i} "
            await asyncio.sleep(0.02)
    else:
        for w in ("Hello", ", ", what):
            yield w
'''


class Stream:
    def __init__(self, d, path, body):
        self.c = http.client.HTTPConnection("127.0.0.1", agent_port(d),
                                            timeout=30)
        self.c.request("POST", path, json.dumps(body),
                       {"Content-Type": "application/json"})
        self.r = self.c.getresponse()

    def __iter__(self):
        for line in self.r:
            if line.startswith(b"data: "):
                yield json.loads(line[6:])


def post(d, path, body, headers=None):
    return Client(port=agent_port(d)).ask(
        "POST", path, body, {"Content-Type": "application/json",
                             "Accept": "application/json",
                             **(headers or {})})


def agui(text, thread="T"):
    return {"threadId": thread, "runId": "R",
            "messages": [{"id": "1", "role": "user", "content": text}]}


def rpc(method, params):
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def a2a(text):
    return {"message": {"kind": "message", "messageId": "m", "role": "user",
                        "parts": [{"kind": "text", "text": text}]}}


def words(artifacts):
    return "".join(p["text"] for a in artifacts for p in a["parts"])


@test
def by_agui(d):
    """AG-UI: an answer, and a worker that dies in the middle"""
    equal("done" in deploy(d, "test", tar_of(app__py=APP), title="A test"),
          True)
    events = list(Stream(d, "/ag-ui", agui("world")))
    equal("".join(e.get("delta", "") for e in events), "Hello, world")
    equal(events[-1]["type"], "RUN_FINISHED")
    events = list(Stream(d, "/ag-ui", agui("die")))
    equal([e["type"] for e in events][-2:],
          ["TEXT_MESSAGE_END", "RUN_ERROR"])
    s = Stream(d, "/ag-ui", agui("slow", "S"))
    next(e for e in s if e["type"] == "TEXT_MESSAGE_CONTENT")
    r = post(d, "/stop", {"session_id": "S", "user_id": "default_user_id"})
    equal(r.status, 200, r.text)
    events = list(s)
    equal(events[-1]["type"], "RUN_FINISHED")
    equal(events[-1]["result"], "agent run canceled")


@test
def by_a2a(d):
    """A2A: a task, its cancel, and its end when the front is killed"""
    card = Client(port=agent_port(d)).ask(
        "GET", "/.well-known/agent-card.json").json
    equal(card["url"], f"http://127.0.0.1:{agent_port(d)}/a2a")
    task = post(d, "/a2a", rpc("message/send", a2a("you"))).json["result"]
    equal((task["status"]["state"], words(task["artifacts"])),
          ("completed", "Hello, you"))
    s = iter(Stream(d, "/a2a", rpc("message/stream", a2a("slow"))))
    slow = next(s)["result"]["id"]
    next(e for e in s if e["result"]["kind"] == "artifact-update")
    got = post(d, "/a2a", rpc("tasks/cancel", {"id": slow})).json["result"]
    equal(got["status"]["state"], "canceled")
    equal(list(s)[-1]["result"]["status"]["state"], "canceled")
    s = iter(Stream(d, "/a2a", rpc("message/stream", a2a("slow"))))
    cut = next(s)["result"]["id"]
    next(e for e in s if e["result"]["kind"] == "artifact-update")
    d.kill_front()

    def state():
        try:
            r = post(d, "/a2a", rpc("tasks/get", {"id": cut}))
            return r.status == 200 and r.json["result"]["status"]["state"]
        except OSError:
            return None
    until(lambda: state() == "failed", "the task has failed", 30)
    got = post(d, "/a2a", rpc("tasks/get", {"id": task["id"]}))
    equal(words(got.json["result"]["artifacts"]), "Hello, you")


@test
def by_mcp(d):
    """MCP: the agent and a sandbox as tools of one session"""
    r = post(d, "/mcp", rpc("initialize", {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"}}))
    session = {"Mcp-Session-Id": r.headers["mcp-session-id"]}

    def tool(name, **args):
        r = post(d, "/mcp", rpc("tools/call", {
            "name": name, "arguments": args}), session)
        true("result" in r.json, r.text)
        return r.json["result"]["content"][0]["text"]
    until(lambda: tool("test", message="there") == "Hello, there",
          "the agent answers", 30)
    equal(tool("run_shell_command", command="echo $((6*7))"), "42\n")
    equal(tool("run_ipython_cell", code="6 * 7").split()[-1], "42")
    tool("write_file", path="x", content="y")
    equal(tool("read_file", path="x"), "y")
    r = Client(port=agent_port(d)).ask("DELETE", "/mcp", headers=session)
    equal(r.status, 200)


def main():
    alone()
    d = House("drain_timeout = 4\ncancel_timeout = 2\n",
              kind="[type app]\nimage = base\nnet = none\n")
    try:
        d.start()
        d.put_image()
        failed = run(d)
        equal(d.stop(), 0)
    finally:
        if os.environ.get("TEST_LOG"):
            sys.stderr.write(d.log())
        d.clean()
    return failed


if __name__ == "__main__":
    sys.exit(main())
