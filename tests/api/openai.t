#!/usr/bin/env python3
"""OpenAI's doors before an agent of paper: what its clients do not look at."""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
from tap import BUILD, equal, run, test, true  # noqa: E402
from webclient import Client                   # noqa: E402

STATE = tempfile.mkdtemp(prefix="hutch-openai-")


class Server:
    def __init__(self):
        self.proc = subprocess.Popen(
            [os.path.join(BUILD, "tests/api/agents_try"), "-d", STATE],
            stdout=subprocess.PIPE, text=True)
        self.port = int(self.proc.stdout.readline().split()[1])
        self.client = Client(self.port, timeout=20)

    def end(self, kill=False):
        if kill:
            self.proc.kill()
        else:
            self.proc.terminate()
        self.proc.wait(20)

    def ask(self, method, path, body=None):
        return self.client.ask(method, "/v1" + path, body)

    def create(self, **body):
        r = self.ask("POST", "/responses", body)
        equal(r.status, 200, r.text)
        return r.json

    def get(self, name):
        return self.ask("GET", f"/responses/{name}")

    def becomes(self, name, status):
        for _ in range(250):
            now = self.get(name).json["status"]
            if now == status:
                return
            time.sleep(0.02)
        raise AssertionError(f"{name} is {now}, not {status}")

    def raw(self, path, **body):
        """A connection that has asked, and nothing read of it yet."""
        s = socket.create_connection(("127.0.0.1", self.port), 20)
        text = json.dumps(body).encode()
        s.sendall(b"POST /v1%s HTTP/1.1\r\nHost: localhost\r\n"
                  b"Content-Length: %d\r\n\r\n" % (path, len(text)) + text)
        return s


S = Server()


def script(*steps):
    return json.dumps(steps)


def rest(s):
    text = b""
    while piece := s.recv(65536):
        text += piece
    return text


@test
def restart():
    """what was stored is there after a restart; what ran is a failure"""
    global S
    done = S.create(input="first", conversation="talk")
    runs = S.create(input=script({"text": "a"}, {"wait": 60000}),
                    background=True)
    true(runs["status"] in ("queued", "in_progress"), runs["status"])
    S.end(kill=True)
    S = Server()
    again = S.get(done["id"]).json
    done.pop("response")
    equal(again, done)
    cut = S.get(runs["id"]).json
    equal((cut["status"], cut["error"]["code"]), ("failed", "server_error"))
    seen = S.create(input="second", conversation="talk",
                    metadata={"paper": "input"})
    equal([m["content"][0]["text"] for m in json.loads(
        seen["output"][0]["content"][0]["text"])],
        ["first", "You said: first", "second"])


@test
def half_closed():
    """who has sent all, and waits, gets his answer, streamed or not"""
    for stream in (False, True):
        s = S.raw(b"/responses", stream=stream, input=script(
            {"text": "a"}, {"wait": 700}, {"text": "b"}))
        s.shutdown(socket.SHUT_WR)
        text = rest(s).decode()
        true('"status":"completed"' in text and '"a' in text, text)
        s.close()


@test
def gone():
    """who has gone is noticed at once, streamed or not, read or not"""
    for stream in (False, True):
        for read in (False, True):
            name = f"gone_{stream}_{read}"
            s = S.raw(b"/responses", stream=stream, id=name, input=script(
                {"text": "a"}, {"wait": 60000}))
            for _ in range(200):
                if S.get(name).status == 200:
                    break
                time.sleep(0.01)
            if stream and read:
                s.recv(65536)
            began = time.monotonic()
            s.close()
            S.becomes(name, "cancelled")
            true(time.monotonic() - began < 2, "too late")


@test
def ids():
    """a client's own id: once, and of harmless characters"""
    equal(S.create(input="x", id="mine.1")["id"], "mine.1")
    for bad in ("mine.1", "a/b", "ä", "x" * 65, ""):
        r = S.ask("POST", "/responses", {"input": "x", "id": bad})
        equal((r.status, r.json["error"]["param"]), (400, "id"), bad)
    true(S.create(input="x")["id"].startswith("resp_"), "resp_")
    chat = S.ask("POST", "/chat/completions", {
        "messages": [{"role": "user", "content": "x"}]}).json
    true(chat["id"].startswith("chatcmpl-"), chat["id"])


@test
def errors():
    """errors have the shape of the door"""
    for method, path, body, status, code in (
            ("POST", "/responses", "{", 400, "invalid_json"),
            ("POST", "/responses", "", 400, "invalid_json"),
            ("POST", "/responses", {"input": "x", "previous_response_id": "n"},
             400, "previous_response_not_found"),
            ("GET", "/responses/none", None, 404, "not_found"),
            ("GET", "/responses/none?stream=true", None, 404, "not_found"),
            ("DELETE", "/responses/none", None, 404, "not_found"),
            ("POST", "/responses/none/cancel", {}, 404, "not_found"),
            ("GET", "/responses/none/input_items", None, 404, "not_found"),
            ("GET", "/models/none", None, 404, "model_not_found")):
        r = S.ask(method, path, body)
        equal((r.status, r.json["error"]["code"]), (status, code), path)
        equal(sorted(r.json["error"]), ["code", "message", "param", "type"])
    name = S.create(input="x")["id"]
    for query in ("limit=0", "limit=101", "limit=x", "order=up"):
        equal(S.ask("GET", f"/responses/{name}/input_items?{query}").status,
              400, query)
    for query in ("starting_after=x", "starting_after=-1", "starting_after="):
        equal(S.ask("GET", f"/responses/{name}?stream=true&{query}").status,
              400, query)


@test
def busy():
    """a conversation has one run at a time"""
    s = S.raw(b"/responses", conversation="one", stream=True, input=script(
        {"text": "a"}, {"wait": 60000}))
    true(b"200 OK" in s.recv(65536), "200")
    r = S.ask("POST", "/responses", {"input": "x", "conversation": "one"})
    equal((r.status, r.json["error"]["code"]), (409, "conflict"))
    s.close()


@test
def deleted():
    """what is deleted while it runs is stopped, and is not stored"""
    name = S.create(input=script({"wait": 60000}), background=True)["id"]
    equal(S.ask("DELETE", f"/responses/{name}").json,
          {"id": name, "object": "response", "deleted": True})
    equal(S.get(name).status, 404)
    time.sleep(0.1)
    equal(S.get(name).status, 404)


@test
def framing():
    """named events, their numbers where they are kept, and no [DONE]"""
    head, body = rest_of(S.raw(b"/responses", stream=True, input="x"))
    for line in ("text/event-stream", "cache-control: no-cache",
                 "x-accel-buffering: no"):
        true(line in head.lower(), head)
    true("event: response.created\ndata: {" in body, body)
    true("[DONE]" not in body, body)
    head, body = rest_of(S.raw(b"/responses", stream=True, background=True,
                               input="x"))
    true("event: response.created\nid: 0\ndata: {" in body, body)


def rest_of(s):
    text = b""
    while b"\r\n0\r\n\r\n" not in text:
        text += s.recv(65536)
    s.close()
    head, _, body = text.partition(b"\r\n\r\n")
    return head.decode(), body.decode()


@test
def large():
    """a long history is refused, not cut"""
    name = None
    for _ in range(12):
        r = S.ask("POST", "/responses", {
            "input": "x" * (1 << 20), "metadata": {"paper": "id"},
            **({"previous_response_id": name} if name else {})})
        if r.status == 400:
            equal(r.json["error"]["param"], "previous_response_id")
            return
        name = r.json["id"]
    raise AssertionError("no bound")


@test
def references():
    """what items refer to is bounded, however short the request"""
    item = S.create(input="x" * (1 << 20))["output"][0]["id"]
    one = {"type": "item_reference", "id": item}
    user = {"role": "user", "content": "x"}
    equal(S.ask("POST", "/responses", {"input": [one, user]}).status, 200)
    for many in ([one] * 40, [{**one, "id": "msg_none_1"}] * 10000):
        r = S.ask("POST", "/responses", {"input": [*many, user]})
        equal((r.status, r.json["error"]["param"]), (400, "input"), r.text[:200])
    true("MiB" in r.json["error"]["message"], r.text)


if __name__ == "__main__":
    try:
        code = run()
        S.end()
        true(S.proc.returncode == 0, f"server: {S.proc.returncode}")
    finally:
        shutil.rmtree(STATE)
    sys.exit(code)
