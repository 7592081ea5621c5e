"""Msgs of AgentScope 1, by the query's first word."""
import asyncio

import scripted
from agentscope.message import Msg

app = scripted.app("agentscope")
PNG = "iVBORw0KGgo="
URL = "http://127.0.0.1/"


def text(t):
    return {"type": "text", "text": t}


def thinking(t):
    return {"type": "thinking", "thinking": t}


def use(number, arguments, **more):
    return {"type": "tool_use", "id": f"call_{number}", "name": "f",
            "input": arguments, **more}


def result(number, output):
    return {"type": "tool_result", "id": f"call_{number}", "name": "f",
            "output": output}


def source(data=None, media_type=None, url=None):
    if url:
        return {"type": "url", "url": url}
    return {"type": "base64", "media_type": media_type, "data": data}


def grown(key, *texts):
    return [(key, [text(t)], i == len(texts) - 1)
            for i, t in enumerate(texts)]


SCRIPT = {
    "plain": grown("m1", "Hello", "Hello, ", "Hello, world"),
    "two": grown("m1", "first") + grown("m2", "second", "second one"),
    "think": [("m1", [thinking("Hmm")], False),
              ("m1", [thinking("Hmm, yes")], True),
              *grown("m2", "It is ", "It is 42.")],
    "tail": [("m1", [thinking("Hmm")], False),
             ("m1", [thinking("Hmm"), text("The answer")], False),
             ("m1", [thinking("Hmm"), text("The answer is 42.")], True)],
    "tool": [("m1", [text("Let me check.")], False),
             ("m1", [text("Let me check."), use(1, {})], False),
             ("m1", [text("Let me check."), use(1, {"é": "北京"})], True),
             ("t1", [result(1, [text("Sunny, 25°C")])], True),
             *grown("m2", "It is", "It is sunny.")],
    "tools": [("m1", [use(1, {"i": 1}), use(2, {"i": 2})], True),
              ("t1", [result(1, "r1")], False),
              ("t2", [result(2, "r2")], False),
              ("t1", [result(1, "r1")], True),
              ("t2", [result(2, "r2")], True), *grown("m2", "done")],
    "mcp": [("m1", [use(1, {"q": "x"}, tool_type="mcp",
                        server_label="srv")], True),
            ("t1", [result(1, [text("found")])], True),
            *grown("m2", "ok")],
    "image": [("m1", [text("Here: ")], False),
              ("m1", [text("Here: "), {
                  "type": "image", "source": source(url=URL + "x.png")}],
               True)],
    "media": [("m1", [
        {"type": "image", "source": source(PNG, "image/png")},
        {"type": "audio", "source": source(url=URL + "a.wav")},
        {"type": "video", "source": source(url=URL + "a.mp4")},
        {"type": "file", "filename": "a.txt",
         "source": source("aGk=", "text/plain")},
        {"type": "odd", "x": 1}], True)],
    "strings": [("m1", "first", True), ("m2", "second", True)],
    "rewritten": [("m1", [text("abcdef")], False),
                  ("m1", [text("xyz")], True)],
    "empty": [("m1", [text("")], True)],
    "boom": [("m1", [text("Partial")], False)],
}


@app.query(framework="agentscope")
async def query(self, msgs, request=None, **kwargs):
    word = scripted.word(request)
    made = {}
    for key, content, last in SCRIPT[word]:
        tool = key.startswith("t")
        msg = made.setdefault(key, Msg(
            "system" if tool else "Friday", content,
            "system" if tool else "assistant"))
        msg.content = content
        if key == "m1" and word == "two":
            msg.usage = {"input_tokens": 1, "output_tokens": 2}
        elif key == "m2":
            msg.usage = {"input_tokens": 10, "output_tokens": 20}
            msg.metadata = {"k": "v"}
        await asyncio.sleep(0)
        yield msg, last
    if word == "boom":
        raise ValueError("boom é")


@app.endpoint("/echo")
def echo(request: dict):
    return {"got": request}


@app.endpoint("/gen")
async def gen(request: dict):
    yield {"é": 1}
    yield "two"


@app.task("/work", queue="q1")
async def work(request: dict):
    return {"done": request}


@app.get("/number/{n}")
async def number(n: int, q: str = "none"):
    return {"n": n, "q": q}


@app.post("/halt")
async def halt(request: dict):
    return {"stopped": await app.stop_chat(user_id="u", session_id="s")}


scripted.serve(app)
