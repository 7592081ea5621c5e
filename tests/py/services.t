#!/usr/bin/env python3
"""hutch_agent's services: what a handler asks of the host, and its answers."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "lib"))
from agentworker import Worker, message, text_of  # noqa: E402
from tap import equal, run, test, true            # noqa: E402

AGENT = '''
    import asyncio, json
    from hutch_agent import (AgentApp, Conflict, ServiceError, Session,
                             Request)
    app = AgentApp()

    @app.init
    async def init(self):
        self.start = await self.state.load("boot", {}, "s0", "u0")

    async def steps(word):
        if word == "state":
            yield await app.state.load("n", default="none")
            yield await app.state.load_versioned("n", lock=5)
            yield await app.state.save({"a": 1}, "n", ttl=60, if_version=3)
            yield await app.state.save(None, "n")
            yield await app.state.delete("n")
        elif word == "conflict":
            try:
                await app.state.save(1, if_version=1)
            except Conflict as e:
                yield [e.code, e.message]
        elif word == "error":
            await app.state.load()
        elif word == "history":
            yield [m.get_text_content() for m in
                   await app.history.list(limit=5)]
            yield await app.history.append(
                {"role": "user", "content": []}, "an answer")
            yield await app.history.clear()
        elif word == "memory":
            yield await app.memory.add("likes tea", {"k": 1})
            yield [m.text for m in await app.memory.search("tea", 3)]
            yield await app.memory.list(user_id="other")
            yield await app.memory.delete("m1")
        elif word == "sandbox":
            box, = await app.sandbox.connect()
            yield [box.id, box.type]
            yield await box.run_shell_command("ls")
            yield await box.call("t", {"x": 1})
            yield await box.browser_click(selector="a")
            yield await app.sandbox.release()
        elif word == "wait":
            yield "asking"
            yield await app.history.list()
        elif word == "session":
            class Agent:
                def state_dict(self): return {"memory": [1]}
                def load_state_dict(self, d): self.got = d
            a = Agent()
            s = Session(app)
            await s.save_session_state("S", "U", agent=a)
            await s.load_session_state("S", "U", agent=a)
            yield a.got

    @app.query(framework="text")
    async def query(self, request):
        if request.text == "thread":
            def work():
                return [app.state.load("n"), asyncio.run(other())]
            async def other():
                return await app.memory.list()
            yield await asyncio.to_thread(work)
        if request.text == "start":
            yield self.start
        async for x in steps(request.text):
            yield json.dumps(x)

    @app.endpoint("/stop")
    async def stop(request: dict):
        return await app.stop_chat(user_id=request["u"],
                                   session_id=request["s"])

    @app.endpoint("/sync")
    def sync(request: dict):
        return app.state.load("n", session_id="s5", user_id="u5")
'''


def host(w, run, answers):
    """Answers a run's asks in their order; (asks, lines)."""
    asks, lines = [], []
    answers = list(answers)
    while True:
        m = w.next(lambda m: m.get("op") == "ask" or m.get("run") == run)
        if m.get("op") == "ask":
            asks.append({k: v for k, v in m.items()
                         if k not in ("op", "ask", "run")})
            if m["what"] != "run.stop":
                equal(m.get("run"), run, "the run stands in the ask")
            value = answers.pop(0)
            if isinstance(value, Exception):
                w.send(op="result", ask=m["ask"], error=value.args[0])
            else:
                w.send(op="result", ask=m["ask"], value=value)
        else:
            lines.append(m)
            if m.get("op") in ("end", "reply"):
                return asks, lines


def texts(lines):
    return [m["text"] for m in lines if "text" in m]


@test
def start(w):
    """init asks before the worker is ready"""
    asks, lines = host(w, w.query("start"), [])
    equal(asks, [])
    equal(text_of(lines), '{"from": "the host"}')


@test
def state(w):
    """state is loaded, saved by version, deleted"""
    asks, lines = host(w, w.query("state"), [
        None, {"value": [1], "version": 3}, {"version": 4}, {"version": 5},
        None])
    equal(asks, [
        {"what": "state.load", "name": "n"},
        {"what": "state.load", "name": "n", "lock": 5},
        {"what": "state.save", "name": "n", "value": {"a": 1}, "ttl": 60,
         "if_version": 3},
        {"what": "state.save", "name": "n", "value": None},
        {"what": "state.delete", "name": "n"}])
    equal(texts(lines), ['"none"', "[[1], 3]", "4", "5", "null"])
    _, lines = host(w, w.query("conflict"),
                    [Exception({"code": "conflict", "message": "v2"})])
    equal(texts(lines), ['["conflict", "v2"]'])
    _, lines = host(w, w.query("error"),
                    [Exception({"code": "QUOTA", "message": "full"})])
    equal(lines[-1]["error"], {"code": "QUOTA", "message": "full"})


@test
def history(w):
    """history is listed, added to, cleared"""
    asks, lines = host(w, w.query("history"), [
        [message("one"), message("two")], None, None])
    equal(texts(lines), ['["one", "two"]', "null", "null"])
    equal(asks[0], {"what": "history.list", "limit": 5})
    equal([m["role"] for m in asks[1]["messages"]], ["user", "assistant"])
    equal(asks[1]["messages"][1]["content"][0]["text"], "an answer")
    equal(asks[2], {"what": "history.clear"})


@test
def memory(w):
    """memory is added to, searched, listed, deleted from"""
    asks, lines = host(w, w.query("memory"), [
        {"id": "m1"}, [{"id": "m1", "text": "likes tea"}], {"memories": []},
        None])
    equal(asks, [
        {"what": "memory.add", "text": "likes tea", "metadata": {"k": 1}},
        {"what": "memory.search", "query": "tea", "limit": 3},
        {"what": "memory.list", "user": "other"},
        {"what": "memory.delete", "id": "m1"}])
    equal(texts(lines), ['{"id": "m1"}', '["likes tea"]', "[]", "null"])


@test
def sandboxes(w):
    """the session's sandboxes are made, used, given back"""
    asks, lines = host(w, w.query("sandbox"), [
        [{"id": "b1", "type": "base"}], {"out": "x"}, 2, 3, None])
    equal(asks, [
        {"what": "sandbox.connect", "types": ["base"]},
        {"what": "sandbox.call", "id": "b1", "tool": "run_shell_command",
         "arguments": {"command": "ls"}},
        {"what": "sandbox.call", "id": "b1", "tool": "t",
         "arguments": {"x": 1}},
        {"what": "sandbox.call", "id": "b1", "tool": "browser_click",
         "arguments": {"selector": "a"}},
        {"what": "sandbox.release"}])
    equal(texts(lines)[1:4], ['{"out": "x"}', "2", "3"])


@test
def threads(w):
    """in a thread the same calls return their values; on its loop they wait"""
    asks, lines = host(w, w.query("thread"), [{"value": 1, "version": 1}, []])
    equal(text_of(lines), "[1, []]")
    asks, lines = host(w, w.call("/sync", body={}),
                       [{"value": 7, "version": 1}])
    equal(asks, [{"what": "state.load", "name": "n", "session": "s5",
                  "user": "u5"}])
    equal(lines[-1]["body"], "7")


@test
def modules(w):
    """the state of modules, with the methods of AgentScope's sessions"""
    asks, lines = host(w, w.query("session"), [
        {"version": 1}, {"value": {"agent": {"memory": [1]}}, "version": 1}])
    equal(asks[0], {"what": "state.save", "name": "modules", "session": "S",
                    "user": "U", "value": {"agent": {"memory": [1]}}})
    equal(text_of(lines), '{"memory": [1]}')


@test
def stopping(w):
    """stop_chat asks the host; a canceled ask is forgotten"""
    asks, lines = host(w, w.call("/stop", body={"u": "U", "s": "S"}),
                       [{"stopped": 1}])
    equal(asks, [{"what": "run.stop", "user": "U", "session": "S"}])
    equal(json.loads(lines[-1]["body"]), {"stopped": 1})
    r = w.query("wait")
    w.line_of(r)
    w.next(lambda m: m.get("op") == "ask")
    _, lines = host(w, w.call("/stop", body={"u": "u", "s": "s"}),
                    [Exception({"code": "unknown", "message": "?"})])
    equal(lines[-1]["body"], '{"stopped":1}', "this worker's own")
    equal(w.all_of(r)[-1]["status"], "canceled")
    r = w.query("wait")
    w.line_of(r)
    ask = w.next(lambda m: m.get("op") == "ask")
    w.send(op="cancel", run=r)
    equal(w.all_of(r)[-1]["status"], "canceled")
    w.send(op="result", ask=ask["ask"], value=[])
    true(w.process.poll() is None, "alive")


worker = Worker(AGENT)
try:
    first = worker.next(lambda m: m.get("op") == "ask")
    equal({k: first[k] for k in ("what", "name", "session", "user")},
          {"what": "state.load", "name": "boot", "session": "s0",
           "user": "u0"})
    worker.send(op="result", ask=first["ask"],
                value={"value": {"from": "the host"}, "version": 1})
    with worker:
        sys.exit(run(worker))
finally:
    worker.kill()
