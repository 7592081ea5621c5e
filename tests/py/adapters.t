#!/usr/bin/env python3
"""hutch_agent's adapters as far as they need no framework."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "lib"))
from agentworker import PACKAGE, Worker, fold, message  # noqa: E402
from tap import equal, run, test, true                  # noqa: E402

sys.path.insert(0, PACKAGE)
sys.dont_write_bytecode = True
from hutch_agent.adapters import inputs, media, native  # noqa: E402
from hutch_agent.request import AgentRequest            # noqa: E402
from hutch_agent.stream import Call, Stream             # noqa: E402
from hutch_agent.wire import plain, spaced, utf8        # noqa: E402


def call(*ids, kind="plugin_call"):
    return {"type": kind, "role": "assistant", "content": [
        {"type": "data", "data": {"call_id": i, "name": "f",
                                  "arguments": "{}"}} for i in ids]}


def gave(*ids, kind="plugin_call_output", output='"r"'):
    return {"type": kind, "role": "tool", "content": [
        {"type": "data", "data": {"call_id": i, "name": "f",
                                  "output": output}} for i in ids]}


def taken(*messages):
    """What models see: a letter a turn, and its call."""
    found = []
    for m in inputs.paired(AgentRequest(input=list(messages))["input"]):
        for t in inputs.turns([m]):
            if isinstance(t, inputs.Called):
                found.append("call " + t.id)
            elif isinstance(t, inputs.Gave):
                found.append(f"{t.id}={t.output}")
            elif isinstance(t, inputs.Said):
                found.append(inputs.plain_text(t.parts))
    return found


@test
def pairs():
    """outputs without calls are dropped, calls without outputs are closed"""
    equal(taken(message("a"), call("1"), gave("1"), message("b")),
          ["a", "call 1", "1=r", "b"])
    equal(taken(gave("1"), message("b")), ["b"])
    equal(taken(call("1"), gave("1", "2"), message("b")),
          ["call 1", "1=r", "b"])
    equal(taken(call("1", "2"), gave("2"), message("b"), call("3")),
          ["call 1", "call 2", "2=r", "1=" + inputs.INTERRUPTED, "b",
           "call 3"])
    equal(taken(call("1"), message("hm", "assistant"), gave("1")),
          ["call 1", "hm", "1=r"], "it comes later")
    equal(taken(call("1"), call("2", kind="mcp_call"), message("b")),
          ["call 1", "call 2", "1=" + inputs.INTERRUPTED,
           "2=" + inputs.INTERRUPTED, "b"])


@test
def values():
    """arguments and outputs of any form"""
    equal(inputs.object_of('{"a": 1}'), {"a": 1})
    for odd in ("[1]", "x", None, 5, ""):
        equal(inputs.object_of(odd), {}, repr(odd))
    equal(inputs.output_of('"r1"'), "r1")
    equal(inputs.output_of("r1"), "r1")
    equal(inputs.output_of("42"), "42")
    equal(inputs.output_of('[{"type": "text", "text": "x"}]'),
          [{"type": "text", "text": "x"}])
    equal(inputs.output_text([{"type": "text", "text": "x"},
                              {"type": "text", "text": "y"}]), "xy")
    equal(inputs.output_text({"a": "\u4e16"}), '{"a": "\u4e16"}')


@test
def calls():
    """a call in several parts is one; several in one message are several"""
    m = {"type": "function_call", "content": [
        {"type": "data", "data": {"call_id": "1", "name": "f",
                                  "arguments": ""}},
        {"type": "data", "data": {"call_id": "1", "arguments": '{"a": 1}'}},
        {"type": "data", "data": {"call_id": "2", "name": "g",
                                  "arguments": None}}]}
    equal([(t.id, t.name, t.arguments) for t in inputs.turns([m])],
          [("1", "f", {"a": 1}), ("2", "g", {})])


@test
def urls():
    """media by URL and by data"""
    equal(media.split("data:image/png;base64,aGk="), ("image/png", "aGk="))
    equal(media.split("http://x/a.png"), None)
    equal(media.suffix("http://x/a.b/c.WAV?x=1.y"), "wav")
    equal(media.suffix("http://x/a"), None)
    equal(media.part("audio", "http://x/a.mp3"),
          {"type": "audio", "data": "http://x/a.mp3", "format": "mp3"})
    equal(media.by_type("text/plain", data="aGk=", name="a.txt"),
          {"type": "file", "file_url": "data:text/plain;base64,aGk=",
           "filename": "a.txt"})
    equal(media.url_of({"type": "audio", "data": "aGk=", "format": "mp3"}),
          "data:audio/mp3;base64,aGk=")
    equal(media.url_of({"type": "file", "filename": "a.pdf",
                        "file_data": "aGk="}),
          "data:application/pdf;base64,aGk=")


class Lines(list):
    def __call__(self, text):
        import json
        self.append(json.loads(text))


@test
def growing():
    """a long call that grows is told seldom enough: not its square"""
    lines = Lines()
    m = Call(Stream(1, lines), "c", "f")
    text = ""
    for i in range(20000):
        text += "0123456789"
        m.arguments(text)
    m.close()
    size = sum(len(str(line)) for line in lines)
    true(size < 10 * len(text), f"{size} for {len(text)}")
    equal(lines[-2]["data"]["arguments"], text)
    equal(fold(lines)[0]["status"], "completed")


@test
def runtime_events():
    """AgentScope Runtime's own events become lines"""
    lines = Lines()
    n = native.Native(Stream(1, lines))
    n.feed({"object": "message", "status": "in_progress", "id": "m",
            "type": "message", "role": "assistant", "content": None})
    n.feed({"object": "content", "status": "in_progress", "msg_id": "m",
            "type": "text", "delta": True, "index": 0, "text": "a"})
    n.feed({"object": "content", "status": "completed", "msg_id": "m",
            "type": "text", "delta": None, "index": 0, "text": "ab"})
    n.feed({"object": "message", "status": "completed", "id": "m", "type":
            "message", "content": [{"type": "text", "text": "ab"}]})
    n.feed({"object": "message", "status": "completed", "id": "n",
            "type": "plugin_call", "role": "assistant", "content": [
                {"type": "data", "data": {"call_id": "c"}}]})
    said = fold(lines)
    equal([(m["type"], m["status"], m["parts"][0].get("text"))
           for m in said], [("message", "completed", "ab"),
                            ("plugin_call", "completed", None)])


@test
def anything():
    """any value can be said as JSON"""
    loop = []
    loop.append(loop)
    class Odd:
        def __str__(self):
            raise ValueError("no")
    true(isinstance(spaced({"loop": loop, "odd": Odd(), "n": float("inf"),
                            (1, 2): b"\xff"}), str), "a string")
    equal(plain({"a": {1}, "b": (1,), "c": range}),
          {"a": [1], "b": [1], "c": str(range)})
    equal(utf8("a\ud800b\ud83d\ude00"), "a\ufffdb\U0001f600".encode())


@test
def missing():
    """a framework that is not installed is named at the start"""
    w = Worker("from hutch_agent import AgentApp\napp = AgentApp()\n"
               "@app.query(framework='autogen')\n"
               "async def query(self, msgs): yield ''\n")
    try:
        line = w.next()
        equal(line["op"], "failed")
        true("framework autogen: No module named 'autogen" in
             line["message"], str(line))
    finally:
        w.kill()


sys.exit(run())
