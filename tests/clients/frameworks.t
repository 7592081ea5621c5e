#!/usr/bin/env python3
"""hutch_agent's adapters against the frameworks themselves; check-clients.

Two kinds of agents, of tests/clients/agents: real ones, whose model is a
scripted server, and scripted ones, which yield objects of the framework's own
classes.  What AgentScope Runtime answers with the same scripted agent is the
other half of a comparison, where ours is not better on purpose.

    tests/clients/frameworks.t [WORD]       only tests that have it in name
"""
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TOP, "tests", "lib"))
import modelserver                                      # noqa: E402
import tap                                              # noqa: E402
from agentworker import PACKAGE, Worker, fold, message  # noqa: E402
from tap import equal, true                             # noqa: E402

AGENTS = os.path.join(HERE, "agents")
PYTHONS, WORKERS = {}, {}
if len(sys.argv) > 1:
    os.environ["TEST_ONLY"] = sys.argv[1]


def python(name):
    if name not in PYTHONS:
        made = subprocess.run(
            [os.path.join(TOP, "scripts", "python-with"), name,
             os.path.join(AGENTS, name + ".txt")], stdout=subprocess.PIPE,
            stderr=sys.stderr, text=True, check=True, cwd=TOP)
        PYTHONS[name] = made.stdout.strip()
    return PYTHONS[name]


def worker(packages, agent, **env):
    """A worker of agent, kept for the tests to come."""
    key = (packages, agent, *sorted(env.items()))
    if key not in WORKERS or WORKERS[key].process.poll() is not None:
        path = os.pathsep.join([PACKAGE, AGENTS])
        w = Worker(path=os.path.join(AGENTS, agent), python=python(packages),
                   env={"MODEL": MODEL.url, "PYTHONPATH": path,
                        "no_proxy": "127.0.0.1", **env},
                   options={"cancel_timeout": 10})
        WORKERS[key] = w.__enter__()
    return WORKERS[key]


def shape(m):
    """(type, what it says) of a message: short enough to be compared."""
    said = []
    for p in m["parts"]:
        data = p.get("data")
        if isinstance(data, dict) and "arguments" in data:
            said.append(f"{data['name']}{data['arguments']}")
        elif isinstance(data, dict) and "output" in data:
            said.append(f"{data['call_id']}={data['output']}")
        else:
            said.append({k: v for k, v in p.items()
                         if k not in ("type", "done") and v is not None})
            if list(said[-1]) == ["text"]:
                said[-1] = said[-1]["text"]
    return (m["type"], *said)


def whole(lines):
    """The shapes of a completed run, all of whose messages are complete."""
    equal(lines[-1].get("status"), "completed", str(lines[-1]))
    messages = fold(lines)
    for m in messages:
        equal(m["status"], "completed", str(m))
        equal(m["role"], "tool" if m["type"].endswith("_output")
              else "assistant", "role")
    return [shape(m) for m in messages]


def usage_of(lines):
    return [m["usage"] for m in lines if m.get("op") == "usage"]


def name_test(name):
    def register(function):
        function.__name__ = name
        function.__doc__ = name
        return tap.test(function)

    return register


# ---- real agents ----

def blocks(text):
    return json.dumps([{"type": "text", "text": text}], ensure_ascii=False)


def quoted(text):
    return json.dumps(text, ensure_ascii=False)


def raw(text):
    return text


# packages, agent, how an output is said, whether the client of this framework
# hands on a model's reasoning, usage of one call of the model, what a tool
# that fails gives (None: the run fails), further modes of the handler
REAL = {
    "AgentScope": ("runtime", "agentscope1_agent.py", blocks, True, False,
                   "Error: no luck", ()),
    "AgentScope 2": ("agentscope2", "agentscope2_agent.py", blocks, True,
                     True, "no luck", ()),
    "LangGraph": ("frameworks", "langgraph_agent.py", raw, False, True, None,
                  ("messages", "updates", "values", "messages,updates",
                   "values,messages")),
    "Agno": ("frameworks", "agno_agent.py", quoted, True, True, "no luck",
             ("whole",)),
    "Agent Framework": ("frameworks", "msaf_agent.py", raw, False, True,
                        "Error: Function failed.", ("whole",)),
    "AutoGen": ("frameworks", "autogen_agent.py", raw, True, False, "no luck",
                ("whole", "result")),
}
HELLO = "Hello, world! é世😀"


def real(name, row):
    packages, agent, out, thinks, counts, failure, modes = row

    def ask(word, **more):
        return worker(packages, agent).answer(word, **more)

    @name_test(f"{name}: messages")
    def messages():
        lines = ask("hello")
        equal(whole(lines), [("message", HELLO)])
        deltas = [m["text"] for m in lines if m.get("delta")]
        equal("".join(deltas), HELLO)
        true(len(deltas) >= 3, "it is streamed")
        if counts:
            used, = usage_of(lines)
            equal((used["input_tokens"], used["output_tokens"]), (5, 3))
        want = [("message", "It is 42.")]
        if thinks:
            want.insert(0, ("reasoning", "Hmm, yes"))
        equal([(t, "".join(s)) for t, *s in whole(ask("think"))], want)

    @name_test(f"{name}: tools")
    def tools():
        lines = ask("weather")
        equal(whole(lines), [
            ("message", "Let me check."),
            ("plugin_call", 'get_weather{"city": "北京"}'),
            ("plugin_call_output", "call_1=" + out("Sunny 北京")),
            ("message", "It is Sunny 北京.")])
        if counts:
            used, = usage_of(lines)
            equal((used["input_tokens"], used["output_tokens"]), (10, 6))
        equal(sorted(whole(ask("both"))), sorted([
            ("plugin_call", 'get_weather{"city": "Rome"}'),
            ("plugin_call", 'get_weather{"city": "Oslo"}'),
            ("plugin_call_output", "call_1=" + out("Sunny Rome")),
            ("plugin_call_output", "call_2=" + out("Sunny Oslo")),
            ("message", "Both done.")]))

    @name_test(f"{name}: failures")
    def failures():
        lines = ask("fail")
        equal(lines[-1]["status"], "failed")
        true("scripted failure" in lines[-1]["error"]["message"],
             str(lines[-1]))
        lines = ask("broken")
        if failure is None:
            equal(lines[-1]["status"], "failed")
            true("no luck" in lines[-1]["error"]["message"], str(lines[-1]))
        else:
            equal(whole(lines)[:2], [
                ("plugin_call", "broken{}"),
                ("plugin_call_output", "call_1=" + out(failure))])
        equal(whole(ask("hello")), [("message", HELLO)])

    @name_test(f"{name}: what came before")
    def history():
        lines = ask("", input=[
            message("one"), message("two", "assistant"),
            {"role": "assistant", "type": "plugin_call", "content": [
                {"type": "data", "data": {"call_id": "h1", "name":
                                          "get_weather", "arguments":
                                          '{"city": "Rome"}'}}]},
            {"role": "tool", "type": "plugin_call_output", "content": [
                {"type": "data", "data": {"call_id": "h1", "name":
                                          "get_weather",
                                          "output": '"Sunny"'}}]},
            message("users and all")])
        equal([t for t, *_ in whole(lines)], ["message"])
        equal(whole(lines)[0][1], "one | users and all"
              if name != "AutoGen" else "one | two | users and all")
        if name == "AutoGen":   # has no message for calls that were made
            return
        lines = ask("", input=[
            {"role": "assistant", "type": "function_call", "content": [
                {"type": "data", "data": {"call_id": "h1", "name":
                                          "get_weather", "arguments":
                                          '{"city": "Rome"}'}}]},
            {"role": "tool", "type": "function_call_output", "content": [
                {"type": "data", "data": {"call_id": "h1", "name":
                                          "get_weather",
                                          "output": '"Sunny"'}}]},
            message("dump it")])
        (_, said), = whole(lines)
        seen = json.loads(said)
        call = next(m for m in seen if m.get("tool_calls"))
        equal(json.loads(call["tool_calls"][0]["function"]["arguments"]),
              {"city": "Rome"})
        output = next(m for m in seen if m["role"] == "tool")
        equal(modelserver.text_of(output), "Sunny", "without its quotes")

    @name_test(f"{name}: an image comes in")
    def image():
        png = ("data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAA"
               "fFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
        (_, said), = whole(ask("", input=[{
            "role": "user", "type": "message", "content": [
                {"type": "text", "text": "dump this"},
                {"type": "image", "image_url": png}]}]))
        true("image_url" in said and "iVBORw0KGgo" in said, said[:400])

    @name_test(f"{name}: stopped amid an answer")
    def stopped():
        w = worker(packages, agent)
        MODEL.left.clear()
        run = w.query("slow")
        while "0 " not in w.line_of(run, 60).get("text", ""):
            pass
        w.send(op="cancel", run=run)
        equal(w.all_of(run)[-1]["status"], "canceled")
        true(MODEL.left.wait(20), "the model's connection is closed")
        equal(whole(ask("hello")), [("message", HELLO)])

    if modes:
        @name_test(f"{name}: {', '.join(modes)}")
        def other():
            for mode in modes:
                said = whole(ask("weather", mode=mode))
                calls = [s for s in said if s[0].startswith("plugin")]
                equal(calls, [
                    ("plugin_call", 'get_weather{"city": "北京"}'),
                    ("plugin_call_output", "call_1=" + out("Sunny 北京"))],
                    mode)
                true(said[-1][1].endswith("It is Sunny 北京."), str(said))


for _name, _row in REAL.items():
    real(_name, _row)


@tap.test
def agentscope_session():
    """AgentScope: an agent's memory is kept by the host between queries"""
    w = worker("runtime", "agentscope1_agent.py")
    kept = None
    for text, want in (("hello there", HELLO),
                       ("users?", "hello there | users?")):
        text = text.replace("?", " now") if "?" in text else text
        run = w.query(text, keep=True)
        lines = []
        while not lines or lines[-1].get("op") != "end":
            m = w.next(lambda m: m.get("run") == run)
            if m.get("op") != "ask":
                lines.append(m)
                continue
            if m["what"] == "state.load":
                equal((m["session"], m["user"]), ("s", "u"))
                value = kept and {"value": kept, "version": 1}
            else:
                kept, value = m["value"], {"version": 1}
            w.send(op="result", ask=m["ask"], value=value)
        equal(whole(lines)[-1][1], want.replace("?", " now"))
    true("memory" in json.dumps(kept), "the agent's state")


# ---- scripted agents, also against AgentScope Runtime ----

class Oracle:
    """AgentScope Runtime itself as the server of a scripted agent."""

    def __init__(self, agent):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.process = subprocess.Popen(
            [python("runtime"), os.path.join(AGENTS, agent), str(self.port)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "no_proxy": "127.0.0.1"})
        end = time.monotonic() + 90
        while True:
            try:
                urllib.request.urlopen(
                    f"http://127.0.0.1:{self.port}/health", timeout=5).close()
                return
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    self.close()
                    raise
                time.sleep(0.1)

    def close(self):
        self.process.kill()
        self.process.wait()

    def answer(self, word):
        """(the final response, shapes of its output)."""
        ask = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/process",
            json.dumps({"input": [message(word)], "session_id": word,
                        "user_id": "u"}).encode(),
            {"content-type": "application/json"})
        with urllib.request.urlopen(ask, timeout=30) as reply:
            events = [json.loads(e[6:]) for e in
                      reply.read().decode().split("\n\n") if e]
        last = events[-1]
        output = [{"type": m["type"], "parts": [
            {k: v for k, v in p.items() if k in (
                "type", "text", "data", "image_url", "video_url", "file_url",
                "filename", "format", "refusal")}
            for p in m["content"] or []]} for m in last.get("output") or []]
        return last, [shape(m) for m in output]


URL = "http://127.0.0.1/"
TOOL = [("message", "Let me check."), ("plugin_call", 'f{"é": "北京"}'),
        ("plugin_call_output", 'call_1=[{"type": "text", "text": '
         '"Sunny, 25°C"}]'), ("message", "It is sunny.")]
# word: (ours, theirs): theirs None if the same, False if theirs is not looked
# at, or what theirs is where ours is better.
AGENTSCOPE = {
    "plain": ([("message", "Hello, world")], None),
    "two": ([("message", "first"), ("message", "second one")], None),
    "think": ([("reasoning", "Hmm, yes"), ("message", "It is 42.")], None),
    "tail": ([("reasoning", "Hmm"), ("message", "The answer is 42.")],
             [("reasoning", "Hmm"), ("message", "The answer", " is 42.")]),
    "tool": (TOOL, None),
    "tools": ([("plugin_call", 'f{"i": 1}'), ("plugin_call", 'f{"i": 2}'),
               ("plugin_call_output", 'call_1="r1"'),
               ("plugin_call_output", 'call_2="r2"'), ("message", "done")],
              None),
    "mcp": ([("mcp_call", 'f{"q": "x"}'),
             ("mcp_call_output", 'call_1=[{"type": "text", "text": '
              '"found"}]'), ("message", "ok")], None),
    "image": ([("message", "Here: ", {"image_url": URL + "x.png"})],
              [("message", "Here: ")]),
    "media": ([("message",
                {"image_url": "data:image/png;base64,iVBORw0KGgo="},
                {"data": URL + "a.wav", "format": "wav"},
                {"video_url": URL + "a.mp4"},
                {"file_url": "data:text/plain;base64,aGk=",
                 "filename": "a.txt"},
                {"data": {"type": "odd", "x": 1}})], []),
    "strings": ([("message", "first"), ("message", "second")],
                [("message", "second")]),
    "rewritten": ([("message", "xyz")], [("message", "abcdefxyz")]),
    "empty": ([], None),
}
LANGGRAPH = {
    "plain": ([("message", "Hello, world")], None),
    "tool": ([("plugin_call", 'f{"é": "北京"}'),
              ("plugin_call_output", "c1=Sunny, 25°C"),
              ("message", "It is sunny.")], None),
    "tools": ([("plugin_call", 'f{"i": 1}'),
               ("plugin_call_output", "c1=r1"),
               ("plugin_call", 'f{"i": 2}'),
               ("plugin_call_output", "c2=r2"), ("message", "done")],
              [("plugin_call", 'f{"i": 1}'), ("plugin_call_output", "c1=r1"),
               ("plugin_call", 'f{"i": 1}'), ("plugin_call", 'f{"i": 2}'),
               ("plugin_call_output", "c2=r2"), ("message", "done")]),
    "both": ([("plugin_call", 'f{"i": 1}'), ("plugin_call", 'f{"i": 2}'),
              ("plugin_call_output", "c2=r2"),
              ("plugin_call_output", "c1=r1")], False),
    "whole": ([("plugin_call", 'f{"é": 1}'), ("plugin_call", "g{}"),
               ("plugin_call_output", 'c1=[{"type": "text", "text": "r"}]'),
               ("message", "done")], False),
    "parts": ([("reasoning", "Hmm"),
               ("message", "list content",
                {"image_url": "data:image/png;base64,aGk="})], []),
    "reasoning": ([("reasoning", "Hmm, yes"), ("message", "It is 42.")],
                  [("message", "It is 42.")]),
    "human": ([("message", "answer")],
              [("message", "echoed"), ("message", "answer")]),
    "usage": ([("message", "a"), ("message", "b")], None),
}
AGNO = {
    "plain": ([("message", "Hello, world")], None),
    "think": ([("reasoning", "Hmm, yes"), ("message", "Hello, world")], None),
    "tool": ([("plugin_call", 'f{"é": 1}'),
              ("plugin_call_output", 'call_1="Sunny"'),
              ("message", "Hello, world")], None),
    "open": ([("message", "Let me check."), ("plugin_call", 'f{"é": 1}'),
              ("plugin_call_output", 'call_1="Sunny"'),
              ("message", "Hello, world")],
             [("plugin_call", 'f{"é": 1}'),
              ("plugin_call_output", 'call_1="Sunny"'),
              ("message", "Hello, world")]),
    "nocomplete": ([("message", "never completed")], []),
    "error": ([("plugin_call", 'f{"é": 1}'),
               ("plugin_call_output", 'call_1="no luck"'),
               ("message", "Hello, world")], False),
    "steps": ([("reasoning", "one two"), ("message", "Hello, world")], False),
    "media": ([("message", "See", {"image_url": URL + "x.png"}, "spoken words",
                {"data": "data:audio/pcm;base64,YWJjZA==",
                 "format": "audio/pcm"})], False),
    "team": ([("message", "Team answer"), ("message", "member")], False),
}
TEXT = {
    "plain": ([("message", "Hello, world")], None),
    "none": ([("message", "ab")], None),
}


def compare(name, agent, table):
    oracle = []

    @name_test(f"{name}: scripted, beside AgentScope Runtime")
    def beside():
        oracle.append(Oracle(agent))
        try:
            for word, (_, theirs) in table.items():
                ours = whole(worker("runtime", agent, OURS="1").answer(word))
                driven = whole(worker("runtime", agent).answer(word))
                equal(ours, table[word][0], word)
                equal(driven, ours, f"{word}, their own AgentApp's file")
                if theirs is not False:
                    equal(oracle[0].answer(word)[1],
                          ours if theirs is None else theirs,
                          f"{word}, AgentScope Runtime")
        finally:
            oracle[0].close()

    @name_test(f"{name}: their own file has its routes and its end")
    def rest():
        w = worker("runtime", agent)
        equal([e for e in w.said["endpoints"] if e["path"] in (
            "/process", "/health", "/", "/a2a", "/docs", "/openapi.json")],
            [])
        if name == "AgentScope":
            their_routes(w)
        equal(w.shutdown(), 0)
        if name == "text":
            true("the runner is shut down" in w.log(), "shutdown_handler")


def their_routes(w):
    found = {e["path"]: e for e in w.said["endpoints"]}
    equal(found["/work"]["kind"], "task")
    equal(found["/work"]["queue"], "q1")
    equal(sorted(found), ["/echo", "/gen", "/halt", "/number/{n}", "/work"])
    true(found["/number/{n}"]["operation"].get("parameters"), "described")
    equal(w.reply("/echo", body={"a": "é"}), (200, {"got": {"a": "é"}}))
    equal(w.events("/gen", body={}), ['{"é": 1}', '"two"'])
    equal(w.reply("/work", body={"x": 1}), (200, {"done": {"x": 1}}))
    equal(w.reply("/number/5", "GET", query="q=z"), (200, {"n": 5, "q": "z"}))
    status, said = w.reply("/number/x", "GET")
    equal((status, said["detail"][0]["loc"]), (422, ["path", "n"]))
    equal(w.reply("/nothing", "GET")[0], 404)
    run = w.call("/halt", body={})
    ask = w.next(lambda m: m.get("op") == "ask")
    equal((ask["what"], ask["user"], ask["session"]), ("run.stop", "u", "s"))
    w.send(op="result", ask=ask["ask"], value={"stopped": 2})
    equal(json.loads(w.all_of(run)[-1]["body"]), {"stopped": {"stopped": 2}})


@tap.test
def agentscope_more():
    """AgentScope: scripted usage, metadata and a failure, beside the runtime"""
    w = worker("runtime", "scripted_agentscope.py", OURS="1")
    lines = w.answer("two")
    first, second = fold(lines)
    equal((first["usage"], second["usage"]),
          ({"input_tokens": 1, "output_tokens": 2},
           {"input_tokens": 10, "output_tokens": 20}))
    equal((first["metadata"], second["metadata"]), ({}, {"k": "v"}))
    equal(usage_of(lines), [{"input_tokens": 11, "output_tokens": 22}])
    for env in ({"OURS": "1"}, {}):
        lines = worker("runtime", "scripted_agentscope.py",
                       **env).answer("boom")
        equal(lines[-1]["error"],
              {"code": "AGENT_UNKNOWN_ERROR",
               "message": "Unknown agent error: ValueError: boom é"})
    oracle = Oracle("scripted_agentscope.py")
    try:
        equal(oracle.answer("boom")[0]["error"], lines[-1]["error"])
        equal(oracle.answer("two")[0]["usage"],
              {"input_tokens": 10, "output_tokens": 20}, "only the last")
    finally:
        oracle.close()


@tap.test
def langgraph_more():
    """LangGraph: scripted usage and a tool's error"""
    w = worker("runtime", "scripted_langgraph.py", OURS="1")
    lines = w.answer("usage")
    equal(usage_of(lines), [{"input_tokens": 8, "output_tokens": 2,
                             "total_tokens": 10}])
    outputs = [m for m in fold(w.answer("both"))
               if m["type"] == "plugin_call_output"]
    equal([m["metadata"] for m in outputs], [None, {"status": "error"}])


@tap.test
def agno_more():
    """Agno: a run that failed, one that was canceled"""
    w = worker("runtime", "scripted_agno.py", OURS="1")
    equal(w.answer("failed")[-1]["error"],
          {"code": "bad_luck", "message": "it broke"})
    equal(w.answer("canceled")[-1]["status"], "canceled")


for _args in (("AgentScope", "scripted_agentscope.py", AGENTSCOPE),
              ("LangGraph", "scripted_langgraph.py", LANGGRAPH),
              ("Agno", "scripted_agno.py", AGNO),
              ("text", "scripted_text.py", TEXT)):
    compare(*_args)


@tap.test
def fastapi_types():
    """FastAPI's and pydantic's own types in endpoints of ours"""
    w = worker("runtime", "fastapi_agent.py")
    equal(w.reply("/item", body={"name": "a"}),
          (200, {"name": "a", "price": 1.0}))
    status, said = w.reply("/item", body={"price": -1})
    equal(status, 422)
    equal([(p["type"], p["loc"]) for p in said["detail"]],
          [("missing", ["body", "name"]),
           ("greater_than", ["body", "price"])])
    equal(w.reply("/items", body=[{"name": "a"}, {"name": "b"}]),
          (200, {"names": ["a", "b"]}))
    equal(w.reply("/items", body=[{}])[1]["detail"][0]["loc"],
          ["body", 0, "name"])
    equal(w.reply("/two", body={"item": {"name": "a"}, "note": "n"},
                  query="q=5"), (200, ["a", "n", 5]))
    equal(w.reply("/two", body={"item": {"name": "a"}}),
          (200, ["a", "none", None]))
    equal(w.reply("/query", "GET", query="A=1",
                  headers={"user-agent": "me"}), (200, [1, "x", "me"]))
    equal(w.reply("/query", "GET")[1]["detail"][0]["loc"], ["query", "A"])
    equal(w.reply("/who", "GET", headers={"x-user": "bob"}), (200, "bob"))
    equal(w.reply("/who", "GET", headers={"x-user": "eve"}),
          (403, {"detail": "not you"}))
    equal(w.reply("/who", "GET")[0], 422)
    line = w.all_of(w.call("/raw", body={"a": 1}, query="q=z"))[-1]
    equal((line["body"], line["headers"]["x-a"]),
          ("POST /raw {'a': 1}", "z"))
    lines = w.all_of(w.call("/stream", "GET"))
    equal("".join(m.get("text", "") for m in lines), "ab")
    found = {e["path"]: e for e in w.said["endpoints"]}
    schema = found["/item"]["operation"]["requestBody"]["content"][
        "application/json"]["schema"]
    equal(schema["required"], ["name"])


@tap.test
def msaf_scripted():
    """Agent Framework: scripted"""
    w = worker("frameworks", "scripted_msaf.py")
    for word, want in {
        "plain": [("message", "Hello, world")],
        "think": [("reasoning", "Hmm, yes"), ("message", "It is 42.")],
        "tool": [("message", "Let me check."), ("plugin_call", 'f{"é": 1}'),
                 ("plugin_call_output", "c1=Sunny"),
                 ("message", "It is sunny.")],
        "mapping": [("plugin_call", 'f{"é": 1}'), ("plugin_call", "g{}"),
                    ("plugin_call_output", 'c1={"a": [1]}'),
                    ("plugin_call_output", "c2=no luck")],
        "media": [("message", {"image_url": URL + "x.png"},
                   {"file_url": "data:text/plain;base64,aGk="})],
        "mcp": [("mcp_call", 'search{"q": "x"}'),
                ("mcp_call_output", "c1=found"), ("message", "ok")],
        "messages": [("message", "first"), ("message", "second")],
        "user": [("message", "answer")],
    }.items():
        equal(whole(w.answer(word)), want, word)
    equal(usage_of(w.answer("plain")),
          [{"input_tokens": 5, "output_tokens": 1}])
    equal(w.answer("error")[-1]["error"],
          {"code": "bad_luck", "message": "it broke"})
    asked, = fold(w.answer("approval"))
    equal((asked["type"], asked["parts"][0]["data"]),
          ("mcp_approval_request", {"id": "a1", "name": "f", "arguments": "{}",
                                    "server_label": ""}))


@tap.test
def autogen_scripted():
    """AutoGen: scripted"""
    w = worker("frameworks", "scripted_autogen.py")
    for word, want in {
        "plain": [("message", "Hello, world")],
        "whole": [("message", "Hello, world")],
        "response": [("reasoning", "Hmm"), ("message", "Hello, world")],
        "tags": [("reasoning", "Hmm, yes"), ("message", "It is 42.")],
        "tools": [("message", "Let me check."), ("plugin_call", 'f{"é": 1}'),
                  ("plugin_call", 'f{"é": 2}'),
                  ("plugin_call_output", "c1=r1"),
                  ("plugin_call_output", "c2=no luck"),
                  ("message", "r1\nno luck")],
        "team": [("message", "one"), ("message", "two"),
                 ("message", "over to c"), ("message", "three")],
    }.items():
        equal(whole(w.answer(word)), want, word)
    equal(usage_of(w.answer("plain")),
          [{"input_tokens": 5, "output_tokens": 3}])
    (_, text, image), = whole(w.answer("image"))
    equal(text, "See ")
    true(image["image_url"].startswith("data:image/png;base64,"), str(image))
    equal([m["metadata"] for m in fold(w.answer("team"))][:2],
          [{"original_name": "a"}, {"original_name": "b"}])


MODEL = modelserver.Server()
try:
    sys.exit(tap.run())
finally:
    for _w in WORKERS.values():
        _w.kill()
