#!/usr/bin/env python3
"""AG-UI's and A2A's doors before an engine of paper: what no client checks."""
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import tap  # noqa: E402
from tap import equal, test, true  # noqa: E402
from webclient import Client  # noqa: E402

SLOW = json.dumps([{"text": "one "}, {"wait": 30000}, {"text": "two"}])


class Doors:
    def __init__(self, state, *args):
        self.process = subprocess.Popen(
            [f"{tap.BUILD}/tests/api/agents_try", "-d", state, *args],
            stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().split()[1])
        self.client = Client(port=self.port)
        self.n = 0

    def stop(self):
        self.process.terminate()
        equal(self.process.wait(20), 0, "exit status")
        self.process.stdout.close()

    def rpc(self, method, params=None, headers=None, client=None):
        self.n += 1
        body = {"jsonrpc": "2.0", "id": self.n, "method": method}
        if params is not None:
            body["params"] = params
        r = (client or self.client).ask("POST", "/a2a", body, headers)
        equal((r.status, r.json["id"]), (200, self.n))
        return r.json

    def ok(self, method, **params):
        r = self.rpc(method, params)
        true("result" in r, r)
        return r["result"]

    def code(self, method, params=None, **more):
        return self.rpc(method, params, **more)["error"]["code"]

    def stream(self, body, path="/a2a", headers=None):
        return Stream(self.port, path, body, headers)


class Stream:
    """Events as they come."""

    def __init__(self, port, path, body, headers=None):
        self.c = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        self.c.request("POST", path, json.dumps(body),
                       {"Content-Type": "application/json",
                        **(headers or {})})
        self.r = self.c.getresponse()
        self.id = None

    def next(self):
        """None at the end."""
        while True:
            line = self.r.readline().decode()
            if not line:
                return None
            if line.startswith("id: "):
                self.id = int(line[4:])
            if line.startswith("data: "):
                return json.loads(line[6:])

    def rest(self):
        return list(iter(self.next, None))

    def leave(self):
        self.r.close()
        self.c.close()


def message(text, **more):
    return {"message": {"kind": "message", "messageId": "m", "role": "user",
                        "parts": [{"kind": "text", "text": text}], **more}}


def new(text, **more):
    return {"message": {"messageId": "m", "role": "ROLE_USER",
                        "parts": [{"text": text}], **more}}


def call(method, params, number=7):
    return {"jsonrpc": "2.0", "id": number, "method": method,
            "params": params}


def words(artifacts):
    return "".join(p.get("text", "") for a in artifacts for p in a["parts"])


def until(fn, what, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        got = fn()
        if got:
            return got
        time.sleep(0.02)
    raise AssertionError(f"never: {what}")


def agui(text, thread="T", run="R"):
    return {"threadId": thread, "runId": run,
            "messages": [{"id": "1", "role": "user", "content": text}]}


# ---- AG-UI ----

@test
def agui_requests(d):
    """AG-UI: what is wrong is a 422 that says where, ids are made up"""
    def wrong(body, **headers):
        r = d.client.ask("POST", "/ag-ui", body, headers or {
            "Content-Type": "application/json"})
        equal(r.status, 422, r.text)
        return [(x["type"], x["loc"]) for x in r.json["detail"]]
    equal(wrong({"threadId": "T"}), [("missing", ["body", "runId"])])
    equal(wrong("[]"), [("model_attributes_type", ["body"])])
    equal(wrong("{")[0][0], "json_invalid")
    equal(wrong(""), [("missing", ["body"])])
    equal(wrong({"threadId": "T", "runId": "R", "messages": [
        {"role": "user", "content": ""}]}),
        [("missing", ["body", "messages", 0, "user", "id"])])
    events = d.stream(agui("x", "", ""), "/ag-ui").rest()
    true(events[0]["threadId"].startswith("thread_"), events[0])
    true(events[0]["runId"].startswith("run_"), events[0])
    equal(events[-1]["runId"], events[0]["runId"])


@test
def agui_leaving(d):
    """AG-UI: a reader that leaves ends the run; meanwhile there is no other"""
    s = d.stream(agui(SLOW, "leaver"), "/ag-ui")
    while s.next()["type"] != "TEXT_MESSAGE_CONTENT":
        pass
    r = d.client.ask("POST", "/ag-ui", agui("x", "leaver"),
                     {"Content-Type": "application/json"})
    equal(r.status, 409, r.text)
    s.leave()
    until(lambda: d.client.ask(
        "POST", "/ag-ui", agui("x", "leaver"),
        {"Content-Type": "application/json"}).status == 200,
        "the session is usable", 5)


# ---- A2A: the envelope ----

@test
def envelopes(d):
    """A2A: envelopes that are wrong, and ids that come back as they were"""
    def ask(body):
        r = d.client.ask("POST", "/a2a", body)
        equal(r.status, 200, r.text)
        return r.json["id"], r.json["error"]["code"]
    equal(ask("{"), (None, -32700))
    equal(ask(b"\xff"), (None, -32700))
    equal(ask([]), (None, -32600))
    equal(ask("1"), (None, -32600))
    equal(ask({"jsonrpc": "1.0", "id": 1, "method": "x"}), (1, -32600))
    equal(ask({"id": "a", "method": "x"}), ("a", -32600))
    equal(ask({"jsonrpc": "2.0", "id": 1.5, "method": "x"}), (None, -32600))
    equal(ask({"jsonrpc": "2.0", "id": True, "method": "x"}), (None, -32600))
    equal(ask({"jsonrpc": "2.0", "id": 1, "method": 1}), (1, -32600))
    equal(ask({"jsonrpc": "2.0", "id": 1}), (1, -32600))
    equal(ask({"jsonrpc": "2.0", "id": 1, "method": "tasks/get",
               "params": []}), (1, -32600))
    equal(ask({"jsonrpc": "2.0", "id": 1, "method": "tasks/get"}),
          (1, -32602))
    equal(ask({"jsonrpc": "2.0", "method": "message/send",
               "params": message("x")}), (None, -32602))
    for number in ("x\u2028\"", 9007199254740993, 123456789012345678901, -1):
        equal(ask(call("none", {}, number)), (number, -32601))


@test
def params(d):
    """A2A: params that are wrong; versions that are not known"""
    equal(d.code("message/send", {}), -32602)
    equal(d.code("message/send", message("x", taskId="none")), -32001)
    equal(d.code("SendMessage", new("x", parts=[])), -32602)
    equal(d.code("tasks/get", {"id": "none"}), -32001)
    equal(d.code("tasks/get", {"id": "x", "historyLength": -1}), -32602)
    for name in ("set", "get", "list", "delete"):
        equal(d.code(f"tasks/pushNotificationConfig/{name}",
                     {"id": "x", "taskId": "x"}), -32003)
    equal(d.code("agent/getAuthenticatedExtendedCard"), -32007)
    equal(d.code("GetExtendedAgentCard"), -32004)
    for bad in ({"pageSize": 0}, {"pageSize": 101}, {"pageToken": "x"},
                {"status": "x"}, {"statusTimestampAfter": "soon"},
                {"historyLength": -1}):
        equal(d.code("ListTasks", bad), -32602, bad)
    for version, known in (("0.3", 1), ("0.3.0", 1), ("1.0", 1), ("", 1),
                           ("0.2", 0), ("2.0", 0)):
        r = d.rpc("ListTasks", {}, {"A2A-Version": version})
        equal("result" in r, bool(known), version)
        if not known:
            equal(r["error"]["code"], -32009)


@test
def card(d):
    """A2A: the card's address is the one that the client knows"""
    def url(path="/.well-known/agent-card.json", **headers):
        r = d.client.ask("GET", path, headers={
            k.replace("_", "-"): v for k, v in headers.items()})
        equal(r.status, 200)
        return r.json["url"]
    here = f"127.0.0.1:{d.port}"
    equal(url(), f"http://{here}/a2a")
    equal(url("/.well-known/agent.json"), f"http://{here}/a2a")
    equal(url("/agents/paper/.well-known/agent-card.json"),
          f"http://{here}/agents/paper/a2a")
    equal(url(Host="localhost:1"), "http://localhost:1/a2a")
    equal(url(X_Forwarded_Proto="https", X_Forwarded_Host="a.example",
              X_Forwarded_Prefix="/x"), "https://a.example/x/a2a")
    equal(url(X_Forwarded_Host="a\"><b"), f"http://{here}/a2a")
    equal(d.client.ask("GET", "/agents/none/.well-known/agent.json").status,
          404)


# ---- A2A: tasks ----

@test
def leaving(d):
    """A2A: a task goes on without its reader, and who comes back misses
    nothing"""
    script = json.dumps([{"text": "a"}] + [
        x for i in range(20) for x in ({"wait": 50}, {"text": f" {i}"})])
    s = d.stream(call("message/stream", message(script)))
    first = s.next()["result"]
    equal(first["kind"], "task")
    seen = ""
    while seen.count(" ") < 3:
        e = s.next()["result"]
        if e["kind"] == "artifact-update":
            seen += words([e["artifact"]])
    s.leave()
    late = d.stream(call("tasks/resubscribe", {"id": first["id"]}, "late"))
    task = late.next()
    equal((task["id"], task["result"]["kind"]), ("late", "task"))
    whole = words(task["result"]["artifacts"])
    for e in late.rest():
        equal(e["id"], "late")
        if e["result"]["kind"] == "artifact-update":
            whole += words([e["result"]["artifact"]])
    equal(e["result"]["status"]["state"], "completed")
    want = "a" + "".join(f" {i}" for i in range(20))
    equal(whole, want, "from the task as it was")
    again = d.ok("tasks/get", id=first["id"])
    equal(words(again["artifacts"]), want)


@test
def last_event(d):
    """A2A: Last-Event-ID brings what was missed, once and in order"""
    script = json.dumps([{"text": "a"}, {"text": "b"}, {"text": "c"},
                         {"wait": 500}, {"text": "d"}])
    s = d.stream(call("message/stream", message(script)))
    task = s.next()["result"]["id"]
    s.next()
    equal(s.next()["result"]["artifact"]["parts"][0]["text"], "a")
    mark = s.id
    s.leave()
    late = d.stream(call("tasks/resubscribe", {"id": task}),
                    headers={"Last-Event-ID": str(mark)})
    events = [e["result"] for e in late.rest()]
    equal(words([e["artifact"] for e in events
                 if e["kind"] == "artifact-update"]), "bcd")
    equal(late.id, mark + len(events), "numbers without gaps")


@test
def other_version(d):
    """A2A: a task of one version, seen by the other"""
    s = d.stream(call("SendStreamingMessage", new(json.dumps(
        [{"text": "x"}, {"wait": 300}, {"text": "y"}]))))
    task = s.next()["result"]["task"]["id"]
    late = d.stream(call("tasks/resubscribe", {"id": task}))
    events = [e["result"] for e in late.rest()]
    equal([e["kind"] for e in events], ["task", "task"])
    equal(events[-1]["status"]["state"], "completed")
    equal(words(events[-1]["artifacts"]), "xy")
    s.rest()
    old = d.ok("tasks/get", id=task)
    equal(old["history"][0]["role"], "user")
    equal(old["artifacts"][0]["parts"][0]["kind"], "text")
    mine = d.ok("GetTask", id=task)
    equal(mine["history"][0]["role"], "ROLE_USER")
    equal(mine["status"]["state"], "TASK_STATE_COMPLETED")


@test
def restart(d):
    """A2A: tasks outlive the front; what was worked on has failed"""
    with tempfile.TemporaryDirectory() as state:
        one = Doors(state)
        done = one.ok("message/send", **message("hello"))
        s = one.stream(call("message/stream", message(SLOW)))
        cut = s.next()["result"]["id"]
        while s.next()["result"]["kind"] != "artifact-update":
            pass
        one.process.kill()
        one.process.wait()
        one.process.stdout.close()
        two = Doors(state)
        got = two.ok("tasks/get", id=done["id"])
        equal(words(got["artifacts"]), "You said: hello")
        got = two.ok("tasks/get", id=cut)
        equal(got["status"]["state"], "failed")
        true("restarted" in words([got["status"]["message"]]), got)
        equal(two.code("tasks/cancel", {"id": cut}), -32002)
        listed = two.ok("ListTasks", status="TASK_STATE_FAILED")
        equal([t["id"] for t in listed["tasks"]], [cut])
        two.stop()


@test
def tenants(d):
    """A2A: a task of another tenant is an unknown one"""
    with tempfile.TemporaryDirectory() as state:
        one = Doors(state, "-s", "bearer_token=mine")
        equal(one.client.ask("POST", "/a2a", {}).status, 401)
        equal(one.client.ask("POST", "/ag-ui", {}).status, 401)
        equal(one.client.ask("POST", "/mcp", {}).status, 401)
        c = one.client.ask("GET", "/.well-known/agent-card.json").json
        true(c["supportsAuthenticatedExtendedCard"], "a known caller")
        equal(c["securitySchemes"]["bearer"]["type"], "http")
        c = one.client.ask("GET", "/.well-known/agent-card.json",
                           headers={"A2A-Version": "1.0"}).json
        equal(list(c["securitySchemes"]["bearer"]),
              ["httpAuthSecurityScheme"])
        one.client.token = "mine"
        equal(one.ok("GetExtendedAgentCard")["name"], "Paper agent")
        one.stop()


@test
def push(d):
    """A2A: who wants to be told is kept with the task, and told at its end"""
    with tempfile.TemporaryDirectory() as state:
        one = Doors(state, "-p")
        c = one.client.ask("GET", "/.well-known/agent-card.json").json
        true(c["capabilities"]["pushNotifications"], "the card says so")
        s = one.stream(call("message/stream", {
            **message(SLOW), "configuration": {
                "pushNotificationConfig": {"id": "a", "url": "http://h/a"}}}))
        task = s.next()["result"]["id"]
        other = one.ok("CreateTaskPushNotificationConfig", taskId=task,
                       url="http://h/b", authentication={
                           "scheme": "Bearer", "credentials": "x"})
        equal(other["authentication"]["scheme"], "Bearer")
        got = one.ok("tasks/pushNotificationConfig/get", id=task,
                     pushNotificationConfigId=other["id"])
        equal(got["pushNotificationConfig"]["authentication"],
              {"schemes": ["Bearer"], "credentials": "x"})
        listed = one.ok("ListTaskPushNotificationConfigs", taskId=task)
        equal([x["url"] for x in listed["configs"]],
              ["http://h/a", "http://h/b"])
        one.ok("DeleteTaskPushNotificationConfig", taskId=task, id="a")
        equal(one.code("tasks/pushNotificationConfig/get", {
            "id": task, "pushNotificationConfigId": "a"}), -32001)
        equal(one.code("tasks/pushNotificationConfig/set", {
            "taskId": task, "pushNotificationConfig": {"url": "file:///x"}}),
            -32602)
        one.ok("tasks/cancel", id=task)
        s.rest()
        told = one.process.stdout.readline().split(" ", 2)
        equal(told[:2], ["push", "http://h/b"])
        equal(json.loads(told[2])["task"]["status"]["state"],
              "TASK_STATE_CANCELED")
        one.stop()


def main():
    if not os.access(f"{tap.BUILD}/tests/api/agents_try", os.X_OK):
        tap.skip_all("agents_try is not built")
    with tempfile.TemporaryDirectory() as state:
        d = Doors(state)
        try:
            return tap.run(d)
        finally:
            d.process.terminate()
            d.process.wait(20)


if __name__ == "__main__":
    sys.exit(main())
