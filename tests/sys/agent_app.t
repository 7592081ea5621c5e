#!/usr/bin/env python3
"""An agent of code, from `hutch agent deploy` to the end of its runs.

The true daemon, true sandboxes, the Python package of the tree: what is
streamed, who waits for whom, what becomes of runs whose reader, worker, front
or daemon goes.
"""
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
from agents import (Load, Stream, agent_port, ask_body, deploy,  # noqa: E402
                    is_delta, put, run as ask, tar_of, text_of)
from chaos import IMAGE, House, Leaks, alone, need, until  # noqa: E402
from tap import BUILD, equal, run, test, true  # noqa: E402
from webclient import Client  # noqa: E402

need(IMAGE, f"{BUILD}/hutch-front")

APP = '''
import asyncio, os, sys
from hutch_agent import AgentApp
app = AgentApp(app_name="test")
VERSION = "VERSION"

def said(request):
    return "".join(c.text for m in request.input for c in m.content)

@app.query(framework="text")
async def query(self, msgs=None, request=None, **kw):
    what = said(request)
    if what == "version":
        yield VERSION
    elif what == "env":
        yield os.environ.get("GREETING", "none")
    elif what == "pid":
        yield str(os.getpid())
    elif what == "die":
        yield "going"
        await asyncio.sleep(0.1)
        os._exit(7)
    elif what == "boom":
        yield "Partial"
        raise ValueError("boom")
    elif what == "deaf":
        yield "first"
        await asyncio.sleep(0.1)
        import time
        time.sleep(600)
    elif what == "slow":
        try:
            for i in range(6000):
                yield f"{i} "
                await asyncio.sleep(0.02)
        except asyncio.CancelledError:
            print("was canceled", file=sys.stderr, flush=True)
            raise
    elif what == "flood":
        for i in range(2000):
            yield "x" * 1000
    else:
        for w in ("Hello", ", ", what):
            yield w
'''


def app(version="1"):
    return tar_of(app__py=APP.replace("VERSION\"", version + "\""))


def status(d, name="test"):
    return d.native("GET", f"agents/{name}").json


def logs(d, name="test"):
    return d.native("GET", f"agents/{name}/logs").text


def workers(d):
    return [i for i, s in d.sandboxes().items()
            if "hutch_agent" in s["meta"]]


def start_slow(d, session, **more):
    s = Stream(agent_port(d), ask_body("slow", session, **more))
    equal(s.status, 200)
    s.until(is_delta)
    return s


@test
def deploys_and_streams(d):
    """an agent is deployed and its answer streamed, well-formed to the end"""
    got = deploy(d, "test", app(), title="A test", env={"GREETING": "hi"})
    true("done" in got, got)
    equal(got["done"]["state"], "ready")
    equal(got["done"]["url"], f"http://127.0.0.1:{agent_port(d)}/process")
    s = Stream(agent_port(d), ask_body("world", "s1"))
    equal(s.r.getheader("content-type"), "text/event-stream; charset=utf-8")
    events = s.rest()
    equal([(e["object"], e["status"]) for e in events], [
        ("response", "created"), ("response", "in_progress"),
        ("message", "in_progress"), ("content", "in_progress"),
        ("content", "in_progress"), ("content", "in_progress"),
        ("content", "completed"), ("message", "completed"),
        ("response", "completed")])
    equal([e["sequence_number"] for e in events], list(range(9)))
    equal(events[6]["text"], "Hello, world")
    equal(events[-1]["session_id"], "s1")
    equal(ask(agent_port(d), "env")[:2], ("completed", "hi"))
    equal(len(workers(d)), 1)


@test
def paths_and_whole_answers(d):
    """one door at / and below the agent's name; stream:false is one document"""
    p = agent_port(d)
    for path in ("/process", "/process/stream", "/agents/test/process",
                 "/agents/test/process/"):
        equal(ask(p, "x", path=path)[:2], ("completed", "Hello, x"), path)
    r = Client(p).ask("POST", "/process", ask_body("y", stream=False))
    equal(r.headers["content-type"], "application/json")
    equal(r.json["output"][0]["content"][0]["text"], "Hello, y")
    equal(r.json["status"], "completed")
    for path in ("/nonesuch", "/agents/other/process"):
        equal(Client(p).ask("POST", path, "{}").status, 404, path)
    r = Client(p).ask("GET", "/process")
    equal((r.status, r.headers["allow"]), (405, "POST"))


@test
def what_is_wrong_is_said_before(d):
    """a bad request is a 422 that says where, and no run"""
    p, before = agent_port(d), status(d)["runs_total"]
    cases = [
        ("", "missing", ["body"]),
        ("{", "json_invalid", None),
        ("[]", "dict_type", ["body"]),
        ("{}", "missing", ["body", "input"]),
        ('{"input":"hi"}', "list_type", ["body", "input"]),
        ('{"input":[{"role":"robot"}]}', "literal_error",
         ["body", "input", 0, "role"]),
        ('{"input":[{"content":"hi"}]}', "list_type",
         ["body", "input", 0, "content"]),
        ('{"input":[{"content":[{"type":"smell"}]}]}', "union_tag_invalid",
         ["body", "input", 0, "content", 0]),
        ('{"input":[],"session_id":5}', "string_type",
         ["body", "session_id"]),
        ('{"input":[],"n":9}', "less_than_equal", ["body", "n"]),
    ]
    for body, kind, loc in cases:
        r = Client(p).ask("POST", "/process", body,
                          {"Content-Type": "application/json"})
        equal(r.status, 422, body)
        detail = r.json["detail"][0]
        equal(detail["type"], kind, body)
        if loc:
            equal(detail["loc"], loc, body)
    equal(status(d)["runs_total"], before)


ENDPOINTS = '''

@app.endpoint("/hello", methods=["GET", "POST"])
async def hello(name: str = "you", n: int = 1):
    return {"hello": [name] * n}

@app.endpoint("/items/{key}")
async def items(key: str, body: dict):
    return {"key": key, "body": body}

@app.endpoint("/count")
async def count(n: int):
    for i in range(n):
        yield f"chunk {i}"
        await asyncio.sleep(0.01)

@app.endpoint("/halt")
async def halt(body: dict):
    return await app.stop_chat(session_id=body["session"])

@app.endpoint("/broken")
async def broken():
    raise ValueError("no")

@app.task("/work", queue="q1")
async def work(body: dict):
    if body.get("bad"):
        raise ValueError("bad work")
    return {"did": body}
'''


@test
def endpoints_of_its_own(d):
    """endpoints and tasks of the code are passed through, plain and streamed"""
    code = tar_of(app__py=APP + ENDPOINTS)
    true("done" in deploy(d, "own", code), "deployed")
    c, at = Client(agent_port(d)), "/agents/own"
    r = c.ask("GET", f"{at}/hello?name=a%20b&n=2")
    equal((r.status, r.json, r.headers["content-type"]),
          (200, {"hello": ["a b", "a b"]}, "application/json"))
    equal(c.ask("POST", f"{at}/hello").json, {"hello": ["you"]})
    r = c.ask("POST", f"{at}/hello?n=x")
    equal((r.status, r.json["detail"][0]["loc"]), (422, ["query", "n"]))
    r = c.ask("POST", f"{at}/items/k1", {"a": "\u00e9"})
    equal(r.json, {"key": "k1", "body": {"a": "\u00e9"}})
    equal(c.ask("GET", f"{at}/items/k1").status, 405)
    equal(c.ask("POST", f"{at}/items/k1/more", {}).status, 404)
    r = c.ask("POST", f"{at}/count?n=3")
    equal(r.headers["content-type"], "text/event-stream; charset=utf-8")
    equal(r.text, "".join(f'data: "chunk {i}"\n\n' for i in range(3)))
    r = c.ask("POST", f"{at}/broken")
    equal((r.status, r.text), (500, "Internal Server Error"))
    s = Stream(agent_port(d), ask_body("slow", "halted"), f"{at}/process")
    s.until(is_delta)
    equal(c.ask("POST", f"{at}/halt", {"session": "other"}).json,
          {"stopped": 0})
    equal(c.ask("POST", f"{at}/halt", {"session": "halted"}).json,
          {"stopped": 1})
    equal(s.rest()[-1]["status"], "canceled")
    for body, state, result in (({"a": 1}, "finished", {"did": {"a": 1}}),
                                ({"bad": 1}, "error", None)):
        r = c.ask("POST", f"{at}/work", body,
                  {"Content-Type": "application/json"})
        equal((r.json["status"], r.json["queue"]), ("submitted", "q1"))
        task = r.json["task_id"]
        got = until(lambda: (lambda j: j["status"] == state and j)(
            c.ask("GET", f"{at}/work/{task}").json), state)
        if result:
            equal(got["result"], result)
    equal(d.native("DELETE", "agents/own").status, 204)
    until(lambda: len(workers(d)) == 1, "its sandbox is gone")


def wheel(version):
    out = io.BytesIO()
    info = f"hutchdep-{version}.dist-info"
    with zipfile.ZipFile(out, "w") as z:
        z.writestr("hutchdep.py", f"VERSION = {version!r}\n")
        z.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\n"
                   f"Name: hutchdep\nVersion: {version}\n")
        z.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\n"
                   "Root-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr(f"{info}/RECORD", "hutchdep.py,,\n" + "".join(
            f"{info}/{n},,\n" for n in ("METADATA", "WHEEL", "RECORD")))
    return out.getvalue()


def needy(version, name="requirements.txt", text=None):
    """An agent that needs a wheel, which comes with it."""
    file = f"hutchdep-{version}-py3-none-any.whl"
    out = io.BytesIO(tar_of(app__py=APP.replace(
        'VERSION = "VERSION"', "from hutchdep import VERSION")))
    with tarfile.open(fileobj=out, mode="a") as t:
        for n, data in ((file, wheel(version)),
                        (name, (text or f"./{file}\n").encode())):
            i = tarfile.TarInfo(n)
            i.size = len(data)
            t.addfile(i, io.BytesIO(data))
    return out.getvalue()


def kept(d):
    return sorted(n for n in os.listdir(f"{d.root}/front/agents")
                  if n.startswith("deps-"))


@test
def what_it_requires(d):
    """requirements are installed once, and kept for the next deployment"""
    path = "/agents/needy/process"
    got = deploy(d, "needy", needy("1.0"))
    true("done" in got, got)
    equal(ask(agent_port(d), "version", path=path)[:2], ("completed", "1.0"))
    true("hutchdep" in logs(d, "needy"), logs(d, "needy"))
    first = kept(d)
    equal(len(first), 1)
    true("done" in put(d, "agents/needy/reload", b"", "POST"), "reloaded")
    equal(kept(d), first)
    equal(logs(d, "needy").count("installing"), 1)
    true("done" in deploy(d, "needy", needy("2.0")), "deployed")
    equal(ask(agent_port(d), "version", path=path)[:2], ("completed", "2.0"))
    equal(len(kept(d)), 2)
    project = """[project]
name = "needy"
version = "1"
dependencies = ["hutchdep"]
[tool.uv.sources]
hutchdep = { path = "./hutchdep-3.0-py3-none-any.whl" }
"""
    got = deploy(d, "needy", needy("3.0", "pyproject.toml", project))
    true("done" in got, got)
    equal(ask(agent_port(d), "version", path=path)[:2], ("completed", "3.0"))
    got = deploy(d, "needy", needy("4.0", text="--no-index\nnonesuch==1\n"))
    true("requirements.txt: not installed" in got["detail"], got)
    true("nonesuch" in got["log"], got)
    equal(ask(agent_port(d), "version", path=path)[:2], ("completed", "3.0"))
    for file in kept(d):  # it is made again when it is lost
        os.unlink(f"{d.root}/front/agents/{file}")
    d.kill_front()
    until(lambda: status(d, "needy")["state"] == "ready", "ready", 60)
    equal(ask(agent_port(d), "version", path=path)[:2], ("completed", "3.0"))
    equal(d.native("DELETE", "agents/needy").status, 204)
    until(lambda: len(workers(d)) == 1, "its sandbox is gone")


@test
def sessions_wait_for_nobody(d):
    """two sessions run at once; a second run of one is refused with 409"""
    p = agent_port(d)
    one, two = start_slow(d, "one"), start_slow(d, "two")
    equal(status(d)["runs"], 2)
    code, _, detail = ask(p, "hi", "one")
    equal(code, 409)
    true("one" in detail["detail"], detail)
    equal(ask(p, "hi", "one", user_id="else")[0], "completed")
    equal(ask(p, "hi", "three")[0], "completed")
    runs = d.native("GET", "agents/test/runs").json["runs"]
    equal(sorted(r["session_id"] for r in runs), ["one", "two"])
    for s in (one, two):
        s.leave()
    until(lambda: status(d)["runs"] == 0, "both canceled")


@test
def who_leaves_cancels(d):
    """a reader who leaves cancels the run; the session is free at once"""
    before = status(d)["runs_canceled"]
    start_slow(d, "left").leave()
    until(lambda: status(d)["runs"] == 0, "no run")
    equal(status(d)["runs_canceled"], before + 1)
    equal(ask(agent_port(d), "hi", "left")[0], "completed")
    until(lambda: "was canceled" in logs(d), "the handler knows")


@test
def cancel_by_its_name(d):
    """a run that is canceled by its id ends its stream as canceled"""
    s = start_slow(d, "named")
    run_id = s.events[0]["id"]
    r = d.native("POST", f"agents/test/runs/{run_id}/cancel", {})
    equal(r.status, 204, r.text)
    events = s.rest()
    equal([(e["object"], e["status"]) for e in events[-2:]],
          [("message", "canceled"), ("response", "canceled")])
    r = d.native("POST", f"agents/test/runs/{run_id}/cancel", {})
    equal(r.status, 404)
    equal(ask(agent_port(d), "hi", "named")[0], "completed")


@test
def an_exception_is_a_failed_run(d):
    """what the handler raises ends the run as failed, with its words"""
    state, text, last = ask(agent_port(d), "boom")
    equal((state, text), ("failed", "Partial"))
    true("boom" in last["error"]["message"], last)
    equal(ask(agent_port(d), "hi")[0], "completed")


@test
def a_worker_that_dies(d):
    """a worker's death fails its runs, says so, and the next one works"""
    other, before = start_slow(d, "beside"), status(d)["restarts"]
    state, text, last = ask(agent_port(d), "die")
    equal((state, text), ("failed", "going"))
    equal(last["error"]["code"], "WORKER_DIED")
    true("status 7" in last["error"]["message"], last)
    equal(other.rest()[-1]["error"]["code"], "WORKER_DIED")
    equal(ask(agent_port(d), "hi", "beside")[:2], ("completed", "Hello, hi"))
    equal(status(d)["restarts"], before + 1)
    until(lambda: len(workers(d)) == 1, "one sandbox")


@test
def a_deaf_worker_is_ended(d):
    """a worker that does not end a canceled run in time is ended itself"""
    before = status(d)["restarts"]
    s = Stream(agent_port(d), ask_body("deaf", "deaf"))
    s.until(is_delta)
    s.leave()
    until(lambda: status(d)["restarts"] == before + 1, "it was ended", 30)
    true("cancel_timeout" in logs(d), logs(d)[-500:])
    equal(ask(agent_port(d), "hi", "deaf")[0], "completed")


@test
def a_slow_reader(d):
    """a reader who does not read holds up its own run alone"""
    slow = Stream(agent_port(d), ask_body("flood", "lazy"))
    equal(ask(agent_port(d), "hi")[0], "completed")
    events = slow.rest()
    equal(len(text_of(events)), 2000 * 1000)
    equal(events[-1]["status"], "completed")


@test
def a_quota(d):
    """more runs than max_runs are refused with 429"""
    true("done" in deploy(d, "small", app(), max_runs=2), "deployed")
    path = "/agents/small/process"
    held = [Stream(agent_port(d), ask_body("slow", f"q{i}"), path)
            for i in range(2)]
    for s in held:
        s.until(is_delta)
    equal(ask(agent_port(d), "hi", path=path)[0], 429)
    for s in held:
        s.leave()
    until(lambda: ask(agent_port(d), "hi", path=path)[0] == "completed",
          "room again")


@test
def a_run_that_takes_too_long(d):
    """a run of more than run_timeout fails with TIMEOUT"""
    true("done" in deploy(d, "small", app(), run_timeout=1), "deployed")
    state, _, last = ask(agent_port(d), "slow", path="/agents/small/process")
    equal((state, last["error"]["code"]), ("failed", "TIMEOUT"))


@test
def a_run_that_goes_on(d):
    """on_disconnect = continue: the run goes on when its reader leaves"""
    true("done" in deploy(d, "small", app(), on_disconnect="continue"), "")
    s = Stream(agent_port(d), ask_body("slow", "go"), "/agents/small/process")
    s.until(is_delta)
    s.leave()
    equal(ask(agent_port(d), "hi", "go", "/agents/small/process")[0], 409)
    equal(status(d, "small")["runs"], 1)
    equal(d.native("DELETE", "agents/small").status, 204)
    equal(d.native("GET", "agents/small").status, 404)
    equal(Client(agent_port(d)).ask("POST", "/agents/small/process",
                                    ask_body("hi")).status, 404)
    until(lambda: len(workers(d)) == 1, "its sandbox is gone")


@test
def processes_share(d):
    """several processes: the least busy one gets the run"""
    true("done" in deploy(d, "test", app(), processes=3), "deployed")
    until(lambda: [w["state"] for w in status(d)["workers"]]
          == ["ready"] * 3, "three workers")
    held = [start_slow(d, f"p{i}") for i in range(6)]
    equal(sorted(w["runs"] for w in status(d)["workers"]), [2, 2, 2])
    for s in held:
        s.leave()
    true("done" in deploy(d, "test", app(), processes=1), "deployed")
    until(lambda: len(status(d)["workers"]) == 1, "one again")


@test
def a_new_version_under_load(d):
    """a new version takes over without a run lost or refused"""
    long = start_slow(d, "long")
    with Load(agent_port(d), 4, ask="version") as load:
        load.wait(20)
        for n in range(2, 5):
            got = deploy(d, "test", app(str(n)))
            true("done" in got, got)
            load.wait(20)
        true("done" in put(d, "agents/test/reload", b"", "POST"), "reloaded")
        load.wait(20)
    equal(load.wrong, [])
    equal({s for s, _ in load.seen}, {"completed"})
    equal(list(dict.fromkeys(t for _, t in load.seen)), ["1", "2", "3", "4"])
    equal(long.next()["object"], "content", "the old one goes on")
    long.leave()
    until(lambda: len(workers(d)) == 1, "only the newest worker")


@test
def a_version_that_fails(d):
    """what can't start is refused with its words, and the old one stays"""
    broken = tar_of(app__py="import nonesuch_module\n")
    got = deploy(d, "test", broken)
    true("nonesuch_module" in got["detail"], got)
    equal(ask(agent_port(d), "version")[:2], ("completed", "4"))
    got = deploy(d, "fresh", broken)
    true("nonesuch_module" in got["detail"], got)
    equal(d.native("GET", "agents/fresh").status, 404)
    for name, code, options, word in (
            ("No", app(), {}, "name"),
            ("a", b"no tar at all" * 100, {}, "tar"),
            ("a", None, {}, "no code"),
            ("a", app(), {"colour": "red"}, "colour"),
            ("a", app(), {"processes": 1000}, "processes"),
            ("a", app(), {"image": "nonesuch"}, "nonesuch")):
        got = deploy(d, name, code, **options)
        true(word in got.get("detail", ""), (name, options, got))
    until(lambda: len(workers(d)) == 1, "nothing is left of them")


LINES = '''
import json, sys
def say(**o):
    print(json.dumps(o), flush=True)
for line in sys.stdin:
    o = json.loads(line)
    if o["op"] == "init":
        say(op="ready", protocol=1, framework="lines",
            app={"name": "Of lines", "description": "Says it again",
                 "endpoint_path": "/say"})
    elif o["op"] == "query":
        text = o["request"]["input"][0]["content"][0]["text"]
        if text == "bad":
            for i in range(100):
                print("no json", flush=True)
        if text == "long":
            sys.stdout.write("x" * (20 << 20))
            sys.stdout.flush()
        say(run=o["run"], text="lines: " + text)
        say(run=o["run"], op="end", status="completed")
    elif o["op"] == "shutdown":
        sys.exit(0)
'''


@test
def any_program(d):
    """any program that speaks lines is an agent; one that doesn't is ended"""
    got = deploy(d, "lines", tar_of(main__py=LINES),
                 command=["python3", "main.py"])
    true("done" in got, got)
    path = "/agents/lines/say"
    equal(ask(agent_port(d), "hi", path=path)[:2], ("completed", "lines: hi"))
    told = status(d, "lines")
    equal((told["title"], told["description"], told["path"]),
          ("Of lines", "Says it again", "/say"))
    for how, words in (("bad", "100 bad lines"), ("long", "worker_line")):
        state, _, last = ask(agent_port(d), how, path=path)
        equal((state, last["error"]["code"]), ("failed", "WORKER_DIED"), how)
        true(words in last["error"]["message"], last)
        equal(ask(agent_port(d), "hi", path=path)[0], "completed", how)
    equal(d.native("DELETE", "agents/lines").status, 204)


@test
def the_command_line(d):
    """hutch agent deploys, lists, asks, chats, shows logs and stops"""
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/__pycache__")
        for name in ("app.py", "__pycache__/app.pyc"):
            with open(f"{folder}/{name}", "w", encoding="utf-8") as f:
                f.write(APP)
        r = d.hutch("agent", "deploy", folder, "--name", "cli", "-E",
                    "GREETING=salut")
        equal(r.returncode, 0, r.stderr)
        equal(r.stdout, f"cli\thttp://127.0.0.1:{agent_port(d)}"
                        "/agents/cli/process\n")
        r = d.hutch("agent", "chat", f"{folder}/app.py", "-q", "there")
        equal((r.returncode, r.stdout), (0, "Hello, there\n"), r.stderr)
    r = d.hutch("agent", "list", "-q")
    equal(r.stdout.split(), ["test", "cli"])
    r = d.hutch("agent", "invoke", "cli", "env")
    equal((r.returncode, r.stdout), (0, "salut\n"), r.stderr)
    r = d.hutch("--json", "agent", "invoke", "cli", "x")
    equal(json.loads(r.stdout)["output"][0]["content"][0]["text"], "Hello, x")
    r = d.hutch("agent", "chat", "cli", input="a\n\nboom\nb\nquit\nc\n")
    equal(r.stdout, "Hello, a\nPartial\nHello, b\n", r.stderr)
    true(r.returncode == 1 and "boom" in r.stderr, r)
    r = d.hutch("agent", "logs", "cli")
    true("worker-1 ready" in r.stdout, r.stdout)
    r = d.hutch("agent", "status", "cli")
    true("state          ready" in r.stdout, r.stdout)
    equal(d.hutch("agent", "reload", "cli").returncode, 0)
    equal(d.hutch("agent", "stop", "cli").stdout, "cli\n")
    r = d.hutch("agent", "stop", "cli")
    equal((r.returncode, r.stderr), (1, "hutch: no such agent: cli\n"))


@test
def run_until_interrupted(d):
    """hutch agent run follows the log and stops the agent at an interrupt"""
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/brief.py", "w", encoding="utf-8") as f:
            f.write(APP)
        p = subprocess.Popen(
            [f"{BUILD}/hutch", "--root", d.root, "agent", "run",
             f"{folder}/brief.py"], text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        line = p.stdout.readline()
        true(line.startswith("brief\thttp://127.0.0.1:"), line)
        equal(ask(agent_port(d), "x", path="/agents/brief/process")[:2],
              ("completed", "Hello, x"))
        true("ready" in p.stderr.readline() + p.stderr.readline() +
             p.stderr.readline(), "its log")
        p.send_signal(signal.SIGINT)
        _, err = p.communicate(timeout=20)
        equal(p.returncode, 0, err)
    equal(d.native("GET", "agents/brief").status, 404)


@test
def the_front_is_killed(d):
    """kill -9 of the front: the agent is back, without the old worker"""
    s = start_slow(d, "cut")
    old = workers(d)
    d.kill_front()
    true(all(e["status"] != "completed" or e["object"] != "response"
             for e in read_what_comes(s)), "it looks complete")
    equal(ask(agent_port(d), "version", "cut")[:2], ("completed", "4"))
    until(lambda: len(workers(d)) == 1 and workers(d) != old, "a new worker")


def read_what_comes(s):
    try:
        s.rest()
    except Exception:  # the connection is cut: that is what is wanted
        pass
    return s.events


@test
def the_daemon_is_stopped(d):
    """a stop ends runs as incomplete and says so; at the next start all is
    there"""
    s = start_slow(d, "last")
    stopper = threading.Thread(target=d.stop)
    stopper.start()
    events = s.rest()
    stopper.join()
    equal(events[-1]["status"], "incomplete")
    equal(events[-1]["error"]["code"], "SERVER_STOPPING")
    d.start()
    until(lambda: status(d)["state"] == "ready", "ready")
    equal(ask(agent_port(d), "version")[:2], ("completed", "4"))
    equal(len(workers(d)), 1)


@test
def the_daemon_is_killed(d):
    """kill -9 of the daemon: at the next start all is there"""
    d.kill()
    d.start()
    equal(ask(agent_port(d), "version")[:2], ("completed", "4"))
    equal(len(workers(d)), 1)
    equal(d.native("DELETE", "agents/test").status, 204)
    until(lambda: not workers(d), "no sandbox")
    equal([n for n in os.listdir(f"{d.root}/front/agents")
           if n.startswith("code-")], [])


def main():
    alone()
    with Leaks() as leaks:
        d = House("drain_timeout = 4\ncancel_timeout = 2\n",
                  kind="[type app]\nimage = base\nnet = none\n")
        try:
            d.start()
            leaks.of(d)
            d.put_image()
            failed = run(d)
            equal(d.stop(), 0)
        finally:
            if os.environ.get("TEST_LOG"):
                sys.stderr.write(d.log())
            d.clean()
    return failed


sys.exit(main())
