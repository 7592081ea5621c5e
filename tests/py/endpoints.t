#!/usr/bin/env python3
"""hutch_agent's endpoints and tasks: what functions get and give."""
import base64
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "lib"))
from agentworker import Worker          # noqa: E402
from tap import equal, run, test, true  # noqa: E402

AGENT = '''
    import asyncio, dataclasses, time
    from typing import List, Optional
    from hutch_agent import (AgentApp, AgentRequest, Depends, HTMLResponse,
                             HTTPException, JSONResponse, RedirectResponse,
                             Request, Response, Router, StreamingResponse)
    app = AgentApp(app_name="t")
    app.state.word = "bag"

    @app.endpoint("/plain")
    def plain(request: dict):
        "Says what it got."
        return {"got": request, "uni": "\\u00e9\\u4e16"}

    @app.endpoint("/untyped")
    async def untyped(request):
        return request

    @app.endpoint("/get", methods=["GET", "put"])
    async def get(q: str = "dflt", n: int = 1, on: Optional[bool] = None,
                  f: float = 0.5, many: List[int] = None):
        return {"q": q, "n": n, "on": on, "f": f}

    @app.get("/lists")
    def lists(names: str, request: Request):
        return {"last": names, "all": request.query_lists["names"],
                "agent": request.headers.get("User-Agent"),
                "state": request.app.state.word}

    @app.get("/users/{user}/files/{path:path}")
    def user_file(user: int, path: str):
        return [user, path]

    @app.endpoint("/gen")
    async def gen(request: dict):
        for i in range(2):
            yield f"chunk {i}\\n"
        yield {"i": 1, "\\u00e9": "\\u4e16 \\u2028"}
        yield [1, 2.5, None, True]
        yield None

    @app.endpoint("/gensync")
    def gensync(request: dict):
        for i in range(3):
            yield {"i": i}

    @app.endpoint("/gengiven")
    def gengiven(request: dict):
        return (i for i in range(2))

    @app.endpoint("/generr")
    async def generr(request: dict):
        yield "one"
        raise ValueError("gen failed \\u00e9")

    @app.endpoint("/plainerr")
    def plainerr(request: dict):
        raise ValueError("plain failed")

    @app.endpoint("/slow")
    async def slow(request: dict):
        await asyncio.sleep(3600)

    @app.endpoint("/teapot")
    def teapot():
        raise HTTPException(418, "no coffee", {"x-why": "tea"})

    @dataclasses.dataclass
    class Item:
        name: str
        price: float = 1.0

    @app.endpoint("/item")
    def item(item: Item):
        return item

    @app.endpoint("/items")
    def items(items: List[Item]):
        return [i.name for i in items]

    @app.endpoint("/two")
    def two(a: Item, b: dict):
        return [a.price, b]

    @app.endpoint("/agentreq")
    def agentreq(request: AgentRequest):
        return {"session": request.session_id, "n": len(request.input),
                "text": request.text}

    @app.post("/raw")
    async def raw(request: Request):
        return Response(await request.body(), 201, {"x-a": "b"},
                        "application/octet-stream")

    @app.get("/page")
    def page():
        return HTMLResponse("<p>\\u00e9</p>")

    @app.get("/away")
    def away():
        return RedirectResponse("/page")

    @app.delete("/json", status_code=202)
    def json_():
        return JSONResponse({"a": float("inf")}, 299)

    @app.get("/stream")
    def stream():
        return StreamingResponse(iter(["a", b"\\xff\\x00", "c"]),
                                 media_type="text/x")

    @app.get("/large")
    def large():
        return "y" * 300000

    async def page_of(page: int = 1):
        return page * 10

    def opened(at=Depends(page_of)):
        print("opened")
        yield {"from": at}
        print("closed")

    @app.get("/depends")
    async def depends(rows=Depends(opened), at: int = Depends(page_of)):
        return [rows, at]

    router = Router(prefix="/r")
    @router.get("/in")
    def within(): return "router"
    app.include_router(router, prefix="/api")

    @app.task("/work", queue="q1")
    async def work(request: dict):
        await asyncio.sleep(request.get("sleep", 0))
        if request.get("fail"):
            raise ValueError("task failed \\u00e9")
        return {"echo": request, "type": str(type(request))}

    @app.task("/workgen")
    def workgen(item: Item):
        for i in range(3):
            yield {"i": i}

    @app.task("/thread")
    def thread(request: dict):
        time.sleep(0.01)
        return {1, 2}
'''


@test
def plain(w):
    """a dict of the body, JSON of what comes back"""
    equal(w.reply("/plain", body={"a": 1}),
          (200, {"got": {"a": 1}, "uni": "\u00e9\u4e16"}))
    equal(w.reply("/untyped", body=[1, "x"]), (200, [1, "x"]))
    equal(w.reply("/agentreq", body={
        "session_id": "S", "input": [{"role": "user", "content": [
            {"type": "text", "text": "hi"}]}]}),
        (200, {"session": "S", "n": 1, "text": "hi"}))
    equal(w.reply("/agentreq", body={}),
          (200, {"session": None, "n": 0, "text": ""}))


@test
def query(w):
    """values of the query string by their types"""
    equal(w.reply("/get", "GET"), (200, {"q": "dflt", "n": 1, "on": None,
                                         "f": 0.5}))
    equal(w.reply("/get", "PUT", query="q=a%20b&n=7&on=yes&f=1e3"),
          (200, {"q": "a b", "n": 7, "on": True, "f": 1000.0}))
    equal(w.reply("/lists", "GET", query="names=a&names=b",
                  headers={"user-agent": "me"}),
          (200, {"last": "b", "all": ["a", "b"], "agent": "me",
                 "state": "bag"}))
    equal(w.reply("/users/5/files/a/b.txt", "GET"), (200, [5, "a/b.txt"]))


@test
def wrong(w):
    """what does not fit is a 422 that says where"""
    status, said = w.reply("/get", "GET", query="n=x&on=maybe")
    equal(status, 422)
    equal([(p["type"], p["loc"], p["input"]) for p in said["detail"]],
          [("int_parsing", ["query", "n"], "x"),
           ("bool_parsing", ["query", "on"], "maybe")])
    equal(w.reply("/lists", "GET")[1]["detail"][0],
          {"type": "missing", "loc": ["query", "names"],
           "msg": "Field required", "input": None})

    def of(path, raw, headers=None):
        status, said = w.reply(path, raw=raw, headers=headers)
        equal(status, 422, raw)
        return [(p["type"], p["loc"]) for p in said["detail"]]

    equal(of("/plain", ""), [("missing", ["body"])])
    equal(of("/plain", "null"), [("missing", ["body"])])
    equal(of("/plain", "{\"a\": "), [("json_invalid", ["body", 6])])
    equal(of("/plain", "[]"), [("dict_type", ["body"])])
    equal(of("/plain", "{}", {"content-type": "text/plain"}),
          [("dict_type", ["body"])])
    equal(of("/item", "{\"price\": \"x\"}"),
          [("missing", ["body", "name"]),
           ("float_parsing", ["body", "price"])])
    equal(of("/items", "{}"), [("list_type", ["body"])])
    equal(of("/items", "[{\"name\": \"a\"}, {}]"),
          [("missing", ["body", 1, "name"])])
    equal(of("/two", "{\"a\": {\"name\": \"n\"}}"),
          [("missing", ["body", "b"])])
    equal(w.reply("/plain", raw="[" * 200000),
          (400, {"detail": "There was an error parsing the body"}))
    equal(w.reply("/none"), (404, {"detail": "Not Found"}))
    equal(w.reply("/plain", "GET")[0], 404)


@test
def types(w):
    """dataclasses in and out, several bodies, lists"""
    equal(w.reply("/item", body={"name": "a", "price": 2}),
          (200, {"name": "a", "price": 2.0}))
    equal(w.reply("/items", body=[{"name": "a"}, {"name": "b"}]),
          (200, ["a", "b"]))
    equal(w.reply("/two", body={"a": {"name": "n"}, "b": {"x": 1}}),
          (200, [1.0, {"x": 1}]))


@test
def streams(w):
    """generators as server-sent events, an error as the last"""
    equal(w.events("/gen", body={}),
          ['"chunk 0\\n"', '"chunk 1\\n"',
           '{"i": 1, "\u00e9": "\u4e16 \\u2028"}',
           "[1, 2.5, null, true]", "null"])
    equal(w.events("/gensync", body={}),
          ['{"i": 0}', '{"i": 1}', '{"i": 2}'])
    equal(w.events("/gengiven", body={}), ["0", "1"])
    equal(w.events("/generr", body={}),
          ['"one"', '{"error": "gen failed \u00e9", "error_type": '
           '"ValueError", "message": "Error in streaming generator"}'])


@test
def errors(w):
    """an exception is a 500, HTTPException what it says"""
    line = w.all_of(w.call("/plainerr", body={}))[-1]
    equal((line["status"], line["type"], line["body"]),
          (500, "text/plain; charset=utf-8", "Internal Server Error"))
    line = w.all_of(w.call("/teapot"))[-1]
    equal((line["status"], line["headers"], line["body"]),
          (418, {"x-why": "tea"}, '{"detail":"no coffee"}'))
    r = w.call("/slow", body={})
    w.send(op="cancel", run=r)
    equal(w.all_of(r), [{"run": r, "op": "end", "status": "canceled"}])


@test
def responses(w):
    """answers of an endpoint's own making"""
    w.last += 1
    data = bytes(range(256))
    w.send(op="call", run=w.last, method="POST", path="/raw",
           body64=base64.b64encode(data).decode())
    line = w.all_of(w.last)[-1]
    equal((line["status"], line["headers"], line["type"]),
          (201, {"x-a": "b"}, "application/octet-stream"))
    equal(base64.b64decode(line["body64"]), data)
    line = w.all_of(w.call("/page", "GET"))[-1]
    equal((line["type"], line["body"]),
          ("text/html; charset=utf-8", "<p>\u00e9</p>"))
    line = w.all_of(w.call("/away", "GET"))[-1]
    equal((line["status"], line["headers"]), (307, {"location": "/page"}))
    equal(w.reply("/json", "DELETE"), (299, {"a": None}))
    lines = w.all_of(w.call("/stream", "GET"))
    equal([m.get("text") or base64.b64decode(m["data64"])
           for m in lines[1:-1]], ["a", b"\xff\x00", "c"])
    equal(lines[0]["type"], "text/x")
    lines = w.all_of(w.call("/large", "GET"))
    equal(lines[0]["type"], "application/json")
    equal(json.loads("".join(m["text"] for m in lines[1:-1])), "y" * 300000)
    equal(w.reply("/api/r/in", "GET"), (200, "router"))


@test
def depends(w):
    """dependencies are called with the request's own parameters, and left"""
    equal(w.reply("/depends", "GET", query="page=3"), (200, [{"from": 30},
                                                            30]))
    w.wait_log("closed")
    equal(w.reply("/depends", "GET", query="page=x")[0], 422)


@test
def tasks(w):
    """a task's reply is its result; its body is a dict whatever its type"""
    equal(w.reply("/work", body={"x": 1}),
          (200, {"echo": {"x": 1}, "type": "<class 'dict'>"}))
    equal(w.reply("/workgen", body={}),
          (200, [{"i": 0}, {"i": 1}, {"i": 2}]))
    equal(w.reply("/thread", body={}), (200, [1, 2]))
    line = w.all_of(w.call("/work", body={"fail": 1}))[-1]
    equal((line["status"], json.loads(line["body"])),
          (500, {"detail": "task failed \u00e9"}))
    equal(w.reply("/work", raw="[]")[0], 422)


@test
def said(w):
    """what ready says of them"""
    found = {e["path"]: e for e in w.said["endpoints"]}
    equal(found["/work"]["kind"], "task")
    equal(found["/work"]["queue"], "q1")
    equal(found["/workgen"]["queue"], "celery")
    equal(found["/get"]["methods"], ["GET", "PUT"])
    true(found["/gen"]["stream"], "a stream")
    equal(found["/plain"]["operation"]["description"], "Says what it got.")
    body = found["/item"]["operation"]["requestBody"]
    equal(body["content"]["application/json"]["schema"],
          {"type": "object", "title": "Item", "properties": {
              "name": {"type": "string"}, "price": {"type": "number"}},
              "required": ["name"]})
    equal([p["name"] for p in found["/users/{user}/files/{path:path}"]
           ["operation"]["parameters"]], ["user", "path"])


with Worker(AGENT) as worker:
    sys.exit(run(worker))
