#!/usr/bin/env python3
"""The agents' doors that are no protocol's own: agents_try.  Prints TAP."""
import hashlib
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from tap import BUILD, equal, run, test, true  # noqa: E402
from webclient import Client  # noqa: E402

PATIENCE = 20
TOKEN, ADMIN = "t" * 32, "a" * 32


class Server:
    def __init__(self, *args):
        self.p = subprocess.Popen(
            [os.path.join(BUILD, "tests/api/agents_try"), *args],
            stdout=subprocess.PIPE, text=True)
        self.port = int(self.p.stdout.readline().split()[1])
        self.client = Client(self.port)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.p.send_signal(signal.SIGTERM)
        self.p.communicate(timeout=PATIENCE)
        if kind is None:
            equal(self.p.returncode, 0, "its end")

    def ask(self, method, path, body=None, **headers):
        headers = {k.replace("_", "-"): v for k, v in headers.items()}
        if body is not None:
            headers.setdefault("content-type", "application/json")
        return self.client.ask(method, path, body, headers)

    def stream(self, body, **headers):
        """A POST /process whose events come one by one."""
        c = http.client.HTTPConnection("127.0.0.1", self.port,
                                       timeout=PATIENCE)
        headers = {k.replace("_", "-"): v for k, v in headers.items()}
        c.request("POST", "/process", json.dumps(body),
                  {"content-type": "application/json", **headers})
        r = c.getresponse()
        equal(r.status, 200)
        return c, r


def events(r):
    data, number = None, None
    for line in r:
        line = line.decode().rstrip("\n")
        if line.startswith("data: "):
            data = json.loads(line[6:])
        elif line.startswith("id: "):
            number = int(line[4:])
        elif line == "" and data is not None:
            yield number, data
            data = None


def asked(text, **more):
    return {"input": [{"role": "user", "type": "message", "content": [
        {"type": "text", "text": text}]}], **more}


def script(*lines, **more):
    return asked(json.dumps(list(lines)), **more)


def until(so, what):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        value = so()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"never: {what}")


@test
def discovery(s):
    """the agent says where its doors are"""
    r = s.ask("GET", "/")
    equal(r.json["service"], "AgentScope Runtime")
    equal(r.json["endpoints"]["process"], "/process")
    equal(r.json["endpoints"]["stream"], "/process/stream")
    equal(r.json["endpoints"]["task_status"], "/process/task/{task_id}")
    r = s.ask("GET", "/agents/paper/")
    equal(r.json["endpoints"]["task"], "/agents/paper/process/task")
    equal(s.ask("GET", "/agents/nobody/").status, 404)


@test
def health(s):
    """health, readiness and liveness are told"""
    for base in ("", "/agents/paper"):
        r = s.ask("GET", base + "/health")
        equal((r.status, r.json["status"], r.json["runner"]),
              (200, "healthy", "ready"))
        true(abs(r.json["timestamp"] - time.time()) < 60, r.text)
        equal(s.ask("GET", base + "/readiness").json["status"], "ready")
        equal(s.ask("GET", base + "/liveness").json["status"], "alive")
    equal(s.ask("GET", "/agents/nobody/health").status, 404)
    r = s.ask("POST", "/health", {})
    equal((r.status, r.headers["allow"]), (405, "GET"))


@test
def described(s):
    """OpenAPI and its page need no other host"""
    r = s.ask("GET", "/openapi.json")
    doc = r.json
    equal(doc["openapi"], "3.1.0")
    equal(doc["info"], {"title": "Paper agent", "version": "v1.1.5",
                        "description": "Says what it is told to say"})
    equal(doc["paths"]["/process"]["post"]["tags"], ["agent-api"])
    body = doc["paths"]["/process"]["post"]["requestBody"]
    name = body["content"]["application/json"]["schema"]["$ref"]
    equal(name, "#/components/schemas/AgentRequest")
    for path in ("/process/task", "/process/task/{task_id}", "/stop",
                 "/health", "/v1/responses"):
        true(path in doc["paths"], path)
    for r in (s.ask("GET", "/docs"), s.ask("GET", "/agents/paper/redoc")):
        equal(r.headers["content-type"], "text/html; charset=utf-8")
        true("/process/task/{task_id}" in r.text, r.text)
        true("://" not in r.text, "it names another host")
    equal(s.ask("GET", "/agents/paper/openapi.json").json["servers"],
          [{"url": "/agents/paper"}])


@test
def stream_alias(s):
    """/process/stream is /process"""
    r = s.ask("POST", "/process/stream", asked("a b"))
    equal(r.headers["content-type"], "text/event-stream; charset=utf-8")
    true("\nid: " not in r.text, "ids where nobody asked for them")
    equal(s.ask("GET", "/process/stream").status, 405)


@test
def a_task(s):
    """a task is submitted, followed and fetched"""
    r = s.ask("POST", "/process/task",
              script({"text": "a"}, {"wait": 400}, {"text": "b"}))
    task = r.json.pop("task_id", None) or r.json["task_id"]
    want = {"status": "submitted", "queue": "stream_query",
            "message": "Stream query task submitted successfully"}
    equal({k: r.json[k] for k in want}, want)
    path = "/process/task/" + task
    r = s.ask("GET", path)
    equal((r.status, r.json["status"], r.json["result"]),
          (200, "running", None))
    true(abs(r.json["started_at"] - time.time()) < 60, r.text)
    r = until(lambda: (lambda r: r if r.json["status"] == "finished"
                       else None)(s.ask("GET", path)), "finished")
    equal(r.json["result"]["object"], "response")
    equal(r.json["result"]["status"], "completed")
    equal(r.json["result"]["output"][0]["content"][0]["text"], "ab")
    # Of another agent, or none: not found, and 200 as clients expect.
    r = s.ask("GET", "/process/task/nope")
    equal((r.status, r.json), (200, {"error": "Task nope not found"}))


@test
def a_failed_task(s):
    """a run that failed is a finished task; a wrong body is 422 at once"""
    r = s.ask("POST", "/process/task",
              script({"op": "end", "status": "failed",
                      "error": {"code": "E", "message": "m"}}))
    path = "/process/task/" + r.json["task_id"]
    r = until(lambda: (lambda r: r if r.json["status"] == "finished"
                       else None)(s.ask("GET", path)), "finished")
    equal(r.json["result"]["status"], "failed")
    equal(r.json["result"]["error"], {"code": "E", "message": "m"})
    r = s.ask("POST", "/process/task", {"inputs": []})
    equal((r.status, r.json["detail"][0]["loc"]), (422, ["body", "input"]))


@test
def tasks_are_bounded(_):
    """tasks are bounded: what is over goes first, what goes on is not lost"""
    with Server("-s", "tasks_max=3") as s:
        slow = script({"wait": 60000})
        first = s.ask("POST", "/process/task", asked("x")).json["task_id"]
        until(lambda: s.ask("GET", "/process/task/" + first)
              .json["status"] == "finished", "finished")
        for _ in range(3):
            equal(s.ask("POST", "/process/task", slow).status, 200)
        true("error" in s.ask("GET", "/process/task/" + first).json,
             "the oldest is still there")
        r = s.ask("POST", "/process/task", slow)
        equal(r.status, 429)
        true("3 tasks" in r.json["detail"], r.text)


@test
def tasks_survive(_):
    """results outlive the process; what went on then says so"""
    with tempfile.TemporaryDirectory() as d:
        with Server("-d", d) as s:
            done = s.ask("POST", "/process/task", asked("x")).json["task_id"]
            until(lambda: s.ask("GET", "/process/task/" + done)
                  .json["status"] == "finished", "finished")
            open_ = s.ask("POST", "/process/task",
                          script({"wait": 60000})).json["task_id"]
        with Server("-d", d) as s:
            r = s.ask("GET", "/process/task/" + done)
            equal(r.json["result"]["status"], "completed")
            r = s.ask("GET", "/process/task/" + open_)
            equal(r.json["status"], "error")
            true("restarted" in r.json["result"], r.text)


@test
def stopped(s):
    """/stop ends what a session does, and says how much that was"""
    c, r = s.stream(script({"text": "0 "}, {"wait": 60000}, session_id="S1",
                           user_id="u"))
    seen = []
    for _, e in events(r):
        seen.append(e)
        if e["object"] == "content":
            break
    reply = s.ask("POST", "/stop", {"session_id": "S1", "user_id": "u",
                                    "input": []})
    equal(reply.json, {"status": "success", "stopped": 1,
                       "message": "Interrupt signal broadcasted."})
    last = [e for _, e in events(r)]
    equal([e["status"] for e in last], ["canceled"] * 3)
    equal(last[-1]["object"], "response")
    numbers = [e["sequence_number"] for e in seen + last]
    equal(numbers, list(range(len(numbers))))
    c.close()
    # The session is usable at once; nothing going on is a success too.
    equal(s.ask("POST", "/process", asked("x", session_id="S1",
                                          stream=False)).status, 200)
    equal(s.ask("POST", "/stop", {"session_id": "S1"}).json["stopped"], 0)


@test
def stop_by_id(s):
    """/stop of a run by its id; a body that names nothing is wrong"""
    c, r = s.stream(script({"text": "0 "}, {"wait": 60000}, id="run-7"))
    next(events(r))
    equal(s.ask("POST", "/stop", {"id": "run-7"}).json["stopped"], 1)
    equal([e for _, e in events(r)][-1]["status"], "canceled")
    c.close()
    r = s.ask("POST", "/stop", {})
    equal((r.status, r.json["detail"][0]["loc"]),
          (422, ["body", "session_id"]))
    r = s.ask("POST", "/stop", {"session_id": 5})
    equal((r.status, r.json["detail"][0]["type"]), (422, "string_type"))
    r = s.ask("POST", "/stop", "{", content_type="application/json")
    equal((r.status, r.json["detail"][0]["type"]), (422, "json_invalid"))


@test
def resumed(s):
    """who asks for it may come back for the rest of a stream"""
    body = script({"text": "a"}, {"wait": 500}, {"text": "b"}, id="R1")
    c, r = s.stream(body, prefer="resume")
    equal(r.headers["preference-applied"], "resume")
    seen = []
    for number, e in events(r):
        equal(number, e["sequence_number"])
        seen.append(number)
        if e["object"] == "content":
            break
    c.close()
    r = s.ask("GET", "/process/runs/R1", last_event_id=str(seen[-1]))
    equal(r.headers["content-type"], "text/event-stream; charset=utf-8")
    rest = list(events(r.body.splitlines(True)))
    equal(seen + [n for n, _ in rest], list(range(len(seen) + len(rest))))
    equal(rest[-1][1]["status"], "completed")
    equal(rest[-1][1]["output"][0]["content"][0]["text"], "ab")
    # Over: it can be read again, also from the first; and by a parameter.
    r = s.ask("GET", "/agents/paper/process/runs/R1")
    equal(next(events(r.body.splitlines(True)))[0], 0)
    r = s.ask("GET", "/process/runs/R1?after=4")
    equal(next(events(r.body.splitlines(True)))[0], 5)
    equal(s.ask("GET", "/process/runs/R2").status, 404)


@test
def not_resumed(_):
    """who does not come back in time has left"""
    with Server("-s", "kept_time=1") as s:
        c, r = s.stream(script({"text": "a"}, {"wait": 60000}, id="R",
                               session_id="S"), prefer="resume")
        next(events(r))
        c.sock.close()
        c.close()
        busy = s.ask("POST", "/process", asked("x", session_id="S"))
        equal(busy.status, 409)
        until(lambda: s.ask("POST", "/process", asked(
            "x", session_id="S")).status == 200, "the session is free")


@test
def admin(_):
    """status and shutdown are for who has an admin's token"""
    def sha(token):
        return hashlib.sha256(token.encode()).hexdigest()

    with Server("-s", "tenant a/token_sha256=" + sha(TOKEN),
                "-s", "tenant b/token_sha256=" + sha(ADMIN),
                "-s", "tenant b/admin=yes") as s:
        equal(s.ask("GET", "/health").status, 200)
        doors = (("GET", "/admin/status"), ("POST", "/shutdown"),
                 ("POST", "/admin/shutdown"))
        for method, path in (*doors, ("POST", "/stop"), ("POST", "/process"),
                             ("POST", "/process/task")):
            equal(s.ask(method, path).status, 401, path)
        s.client.token = TOKEN
        for method, path in doors:
            equal(s.ask(method, path).status, 403, path)
        task = s.ask("POST", "/process/task", asked("x")).json["task_id"]
        equal(s.ask("POST", "/process", asked("x")).status, 200)
        s.client.token = ADMIN
        status = s.ask("GET", "/admin/status")
        equal(status.json["pid"], s.p.pid)
        true(status.json["memory_usage"] > 1 << 20, status.text)
        true(0 <= status.json["uptime"] < 600, status.text)
        equal(status.json["agents"][0]["name"], "paper")
        r = s.ask("POST", "/shutdown")
        equal((r.status, r.json["detail"]),
              (403, "paper: the configuration has it"))
        # Another tenant's task is an unknown one.
        true("error" in s.ask("GET", "/process/task/" + task).json, task)


@test
def cors(_):
    """pages of named origins may ask, after a preflight"""
    with Server("-s", "cors_origins=https://a.example") as s:
        headers = {"origin": "https://a.example",
                   "access-control-request-method": "POST",
                   "access-control-request-headers": "authorization,x-y"}
        r = s.client.ask("OPTIONS", "/anything", None, headers)
        equal((r.status, r.text), (200, "OK"))
        equal(r.headers["access-control-allow-origin"], "https://a.example")
        equal(r.headers["access-control-allow-methods"],
              "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT")
        equal(r.headers["access-control-allow-headers"], "authorization,x-y")
        equal(r.headers["access-control-allow-credentials"], "true")
        equal(r.headers["access-control-max-age"], "600")
        equal(r.headers["vary"], "Origin")
        bad = s.client.ask("OPTIONS", "/x", None, {
            **headers, "access-control-request-method": "TRACE"})
        equal((bad.status, bad.text), (400, "Disallowed CORS method"))
        bad = s.client.ask("OPTIONS", "/x", None, {
            **headers, "access-control-request-private-network": "true"})
        equal((bad.status, bad.text), (400, "Disallowed CORS private-network"))
        bad = s.client.ask("OPTIONS", "/x", None, {
            **headers, "origin": "https://b.example"})
        true(bad.status in (400, 403), bad.status)
        r = s.ask("POST", "/process", asked("x"),
                  origin="https://a.example")
        equal(r.headers["access-control-allow-origin"], "https://a.example")


@test
def many_at_once(s):
    """300 streams at once: no event lost, no gap"""
    bad = []

    def one(i):
        c, r = s.stream(script(*[{"text": f"{k} "} for k in range(20)],
                               session_id=f"many-{i}"))
        numbers = [e["sequence_number"] for _, e in events(r)]
        c.close()
        if numbers != list(range(26)):
            bad.append(numbers)

    threads = [threading.Thread(target=one, args=(i,)) for i in range(300)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(PATIENCE * 3)
    equal(bad, [])


if __name__ == "__main__":
    with Server() as server:
        run(server)
