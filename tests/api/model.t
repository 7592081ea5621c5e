#!/usr/bin/env python3
"""hutch-model by itself: endpoints of these tests, and a front of paper."""
import json
import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
from modelwire import (BODY, CANCEL, CREDIT, PUSH, TRACES, Endpoint, Model,
                       reply)  # noqa: E402
from tap import BUILD, SANITISED, equal, run, skip_all, test, true  # noqa: E402

PROGRAM = os.path.join(BUILD, "hutch-model")
KEY = "sk-test-0123456789abcdef"
if not os.path.exists(PROGRAM):
    skip_all("no hutch-model here")


def lines(url, more=""):
    return (f"log debug\nmodel m\nurl {url}\nid x\nkey {KEY}\n"
            f"header X-Org: org-hidden-value\ntimeout 20\nstall 5\nmost 4\n"
            f"{more}model s\nurl stub:\nid s\ntimeout 20\nstall 5\nmost 4\n")


class Case:
    def __init__(self, fn, more=""):
        self.end = Endpoint(fn)
        self.model = Model(PROGRAM, lines(self.end.url, more))

    def __enter__(self):
        return self.model, self.end

    def __exit__(self, kind, value, trace):
        self.end.shutdown()
        if kind is None:
            self.model.stop()
        else:
            self.model.proc.kill()
            self.model.proc.wait()


def said(text, **more):
    return json.dumps({"model": "x", "stream": True, "messages": [
        {"role": "user", "content": text}], **more}).encode()


@test
def key_is_added():
    """a request gets its endpoint's key and headers, and its body as it is"""
    with Case(lambda h, b: reply(h, 200, b"fine")) as (m, e):
        c = m.wait(m.ask(body=b'{"a": 1}', trace="00-abc-def-01"))
        equal((c["status"], c["body"], c["done"]), (200, b"fine", "ok"))
        path, headers, body = e.seen[0]
        equal(path, "/v1/chat/completions")
        equal(headers["Authorization"], f"Bearer {KEY}")
        equal(headers["X-Org"], "org-hidden-value")
        equal(headers["traceparent"], "00-abc-def-01")
        equal(headers["Content-Type"], "application/json")
        equal(body, b'{"a": 1}')


@test
def key_is_hidden():
    """what an endpoint quotes of its key does not come through, split or not"""
    def quote(h, b):
        text = f"no such key: {KEY}, of org-hidden-value".encode()
        h.send_response(401)
        h.send_header("content-length", str(2 * len(text)))
        h.end_headers()
        for i in range(0, len(text)):
            h.wfile.write(text[i:i + 1])
            h.wfile.flush()
        h.wfile.write(text)
    with Case(quote) as (m, e):
        c = m.wait(m.ask())
        equal(c["status"], 401)
        equal(c["body"], b"no such key: [hidden], of [hidden]" * 2)


@test
def no_redirect():
    """a redirect is an answer like any other"""
    def away(h, b):
        reply(h, 307, b"", [("Location", "http://127.0.0.1:1/x")])
    with Case(away) as (m, e):
        c = m.wait(m.ask())
        equal((c["status"], c["done"]), (307, "ok"))
        equal(len(e.seen), 1)


@test
def unknown():
    """an unknown model is an error, and so is one that is not there"""
    with Case(lambda h, b: None) as (m, e):
        c = m.wait(m.ask(name="other"))
        equal((c["status"], c["done"]), (None, "missing"))
        m.tell(lines("http://127.0.0.1:1/v1"))
        c = m.wait(m.ask())
        equal((c["status"], c["done"]), (None, "busy"))
        m.tell(lines("http://no-such-host.invalid/v1"))
        c = m.wait(m.ask())
        equal((c["status"], c["done"]), (None, "missing"))


@test
def slow_reader():
    """an answer that nobody reads waits at its endpoint, and others go on"""
    big = b"x" * (40 << 20)
    with Case(lambda h, b: reply(h, 200, big)) as (m, e):
        slow = m.ask(credit=False)
        m.until(lambda: len(m.calls[slow]["body"]) >= 200000)
        quick = m.wait(m.ask())
        equal(len(quick["body"]), len(big))
        true(len(m.calls[slow]["body"]) <= 256 * 1024, "more than the window")
        m.calls[slow]["credit"] = True
        m.frame(CREDIT, slow, len(m.calls[slow]["body"]))
        c = m.wait(slow)
        equal((len(c["body"]), c["done"]), (len(big), "ok"))
        with open(f"/proc/{m.proc.pid}/status") as f:
            peak = int([x for x in f if x.startswith("VmHWM")][0].split()[1])
        true(SANITISED or peak < 100 << 10, f"peak of {peak} KiB")


@test
def cancel():
    """a canceled call ends at once, here and at its endpoint"""
    left = threading.Event()

    def endless(h, b):
        h.send_response(200)
        h.send_header("transfer-encoding", "chunked")
        h.end_headers()
        try:
            while True:
                h.wfile.write(b"3\r\nabc\r\n")
                h.wfile.flush()
                time.sleep(0.01)
        except OSError:
            left.set()
    with Case(endless) as (m, e):
        n = m.ask()
        m.until(lambda: m.calls[n]["body"])
        m.frame(CANCEL, n)
        equal(m.wait(n)["done"], "busy")
        true(left.wait(10), "the endpoint was not left")


@test
def places():
    """more than concurrency wait for their turn, in order"""
    gate = threading.Event()
    now, most = [0], [0]
    lock = threading.Lock()

    def wait(h, b):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        gate.wait(10)
        with lock:
            now[0] -= 1
        reply(h, 200, b)
    with Case(wait) as (m, e):
        asked = [m.ask(body=str(i).encode()) for i in range(10)]
        while len(e.seen) < 4:
            time.sleep(0.01)
        m.frame(CANCEL, asked[9])
        equal(m.wait(asked[9])["done"], "busy")
        gate.set()
        for i in range(9):
            equal(m.wait(asked[i])["body"], str(i).encode())
        equal(most[0], 4)
        equal(len(e.seen), 9)


@test
def failures():
    """an end in the middle, silence and Retry-After are told apart"""
    def how(h, b):
        if b == b"cut":
            h.send_response(200)
            h.send_header("content-length", "100")
            h.end_headers()
            h.wfile.write(b"half")
            h.wfile.flush()
            h.connection.shutdown(2)
        elif b == b"busy":
            reply(h, 429, b"later", [("Retry-After", "7")])
        else:
            time.sleep(30)
    with Case(how) as (m, e):
        m.tell(lines(e.url).replace("stall 5", "stall 1"))
        c = m.wait(m.ask(body=b"cut"))
        equal((c["status"], c["body"], c["done"]), (200, b"half", "proto"))
        c = m.wait(m.ask(body=b"busy"))
        equal((c["status"], c["retry"], c["done"]), (429, 7, "ok"))
        c = m.wait(m.ask(body=b"silence"))
        equal((c["status"], c["done"]), (None, "timeout"))
        true(KEY not in m.said(), "the key in the log")


@test
def push():
    """a push goes to public addresses only, unless the operator says so"""
    with Case(lambda h, b: reply(h, 200, b"")) as (m, e):
        for url in (e.url, "http://localhost/x", "http://10.0.0.1/x",
                    "http://169.254.169.254/latest", "http://[::1]/x",
                    "http://[::ffff:127.0.0.1]/x", "http://0/x",
                    "http://2130706433/x"):
            c = m.wait(m.ask(op=PUSH, url=url))
            equal((c["status"], c["done"]), (None, "denied"), url)
        for url in ("file:///etc/passwd", "gopher://x/", "", "x y"):
            c = m.wait(m.ask(op=PUSH, url=url))
            true(c["done"] not in ("ok", None), url)
        equal(e.seen, [])
        m.tell("push anywhere\n" + lines(e.url))
        c = m.wait(m.ask(op=PUSH, url=e.url + "/hook", token="t1",
                         auth="Bearer theirs", body=b'{"id":1}'))
        equal((c["status"], c["done"]), (200, "ok"))
        path, headers, body = e.seen[0]
        equal(path, "/v1/hook")
        equal(headers["X-A2A-Notification-Token"], "t1")
        equal(headers["Authorization"], "Bearer theirs")
        true("X-Org" not in headers, "a model's header")


@test
def collector():
    """traces go to the configured collector, if there is one"""
    with Case(lambda h, b: reply(h, 200, b"{}")) as (m, e):
        equal(m.wait(m.ask(op=TRACES))["done"], "missing")
        m.tell(lines(e.url) + f"collector c\nurl {e.url[:-3]}\n")
        equal(m.wait(m.ask(op=TRACES, body=b'{"x":1}'))["status"], 200)
        equal(e.seen[0][0], "/v1/traces")


@test
def hostile():
    """a front that breaks a rule loses its stream, and only that"""
    with Case(lambda h, b: reply(h, 200, b)) as (m, e):
        def broken(*frames):
            keep, m.stream = m.stream, m.connect()
            for f in frames:
                m.frame(*f)
            m.stream.settimeout(10)
            equal(m.stream.recv(100), b"")
            m.stream = keep
        broken((99, 1))
        broken((1, 1, 0, b"short"))
        broken((1, 0, 0, b"\0" * 2664))
        broken((1, 1, 0, b"\1" + b"\xff" * 2663))
        equal(m.wait(m.ask(body=b"still"))["body"], b"still")
        n = m.ask(body=b"")
        m.frame(BODY, 77, 0, b"for nobody")
        equal(m.wait(n)["done"], "ok")


@test
def scripted():
    """a model of stub: answers by itself"""
    with Case(lambda h, b: None) as (m, e):
        c = m.wait(m.ask(name="s", body=said("hello there")))
        equal((c["status"], c["done"]), (200, "ok"))
        events = [x[6:] for x in c["body"].decode().split("\n\n") if x]
        equal(events[-1], "[DONE]")
        text = "".join(json.loads(x)["choices"][0]["delta"].get("content", "")
                       for x in events[:-1])
        equal(text, "You said: hello there")
        c = m.wait(m.ask(name="s", body=said("script: fail 503 so tired")))
        equal(c["status"], 503)
        equal(json.loads(c["body"])["error"]["message"], "so tired")
        c = m.wait(m.ask(name="s", body=said("script: say a ;; cut")))
        equal((c["status"], c["done"]), (200, "proto"))
        n = m.ask(name="s", body=said("script: endless on and on "),
                  credit=False)
        m.until(lambda: len(m.calls[n]["body"]) >= 256 * 1024)
        m.frame(CANCEL, n)
        equal(m.wait(n)["done"], "busy")
        equal(len(m.calls[n]["body"]), 256 * 1024)
        equal(e.seen, [])


@test
def stub_server():
    """hutch model-stub serves the same model over HTTP"""
    p = subprocess.Popen([f"{BUILD}/hutch", "model-stub", "0"],
                         stdout=subprocess.PIPE, text=True)
    try:
        url = p.stdout.readline().strip()

        def ask(text, **more):
            return urllib.request.urlopen(urllib.request.Request(
                url + "/chat/completions", said(text, **more),
                {"Content-Type": "application/json"}), timeout=20)
        with urllib.request.urlopen(url + "/models", timeout=20) as r:
            equal(json.load(r)["data"][0]["id"], "stub")
        with ask("hi", stream=False) as r:
            equal(json.load(r)["choices"][0]["message"]["content"],
                  "You said: hi")
        began = time.monotonic()
        with ask("count to 5") as r:
            equal(r.headers["Content-Type"], "text/event-stream; charset=utf-8")
            equal(r.read().count(b"data: "), 8)
        true(time.monotonic() - began > 0.4, "not at its pace")
        try:
            ask("script: fail 429 slow")
            raise AssertionError("no failure")
        except urllib.error.HTTPError as e:
            equal(e.code, 429)
        try:
            with ask("script: say a ;; cut") as r:
                r.read()
            raise AssertionError("no cut")
        except (OSError, urllib.error.URLError):
            pass
    finally:
        p.terminate()
        equal(p.wait(20), 0)


sys.exit(run())
