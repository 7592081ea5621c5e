"""A worker of hutch-worker(7) and what comes from it, for tests."""
import json
import os
import queue
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
PACKAGE = os.path.join(TOP, "rootfs")
DEADLINE = 20


def message(text, role="user"):
    return {"role": role, "type": "message",
            "content": [{"type": "text", "text": text}]}


class Worker:
    """with Worker(code) as w: ...; code is the text of an agent's file."""

    def __init__(self, code=None, path=None, args=(), options=None,
                 python=None, env=None, init=True):
        self.folder = tempfile.TemporaryDirectory()
        if path is None:
            path = os.path.join(self.folder.name, "agent.py")
            with open(path, "w", encoding="utf-8") as f:
                f.write(textwrap.dedent(code))
        self.err = open(os.path.join(self.folder.name, "log"), "w+b")
        self.process = subprocess.Popen(
            [python or sys.executable, "-m", "hutch_agent", *args, path],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.err,
            cwd=self.folder.name,
            env={**os.environ, "PYTHONPATH": PACKAGE,
                 "PYTHONDONTWRITEBYTECODE": "1", **(env or {})})
        self.lines = queue.Queue()      # of runs: taken by the one who asks
        self.kept = []
        self.last = 0
        self.reading = threading.Event()
        self.reading.set()
        threading.Thread(target=self._read, daemon=True).start()
        if init:
            self.init(options)

    def init(self, options=None):
        self.send(op="init", protocol=1, name="test", options=options or {})

    def ready(self):
        line = self.next(lambda m: m.get("op") in ("ready", "failed"),
                         DEADLINE * 6)
        assert line["op"] == "ready", line
        return line

    def __enter__(self):
        self.said = self.ready()
        return self

    def __exit__(self, *_):
        self.kill()

    def kill(self):
        if self.err.closed:
            return
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.err.close()
        self.folder.cleanup()

    def _read(self):
        while True:
            self.reading.wait()
            try:
                line = self.process.stdout.readline()
            except ValueError:      # closed by a test
                line = b""
            if not line:
                break
            try:
                self.lines.put(json.loads(line))
            except ValueError:
                self.lines.put({"not json": repr(line)})
        self.lines.put(None)

    def send(self, **members):
        self.raw(json.dumps(members).encode() + b"\n")

    def raw(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def next(self, wanted=lambda m: True, seconds=DEADLINE):
        """The first line, kept or to come, that is wanted."""
        for i, m in enumerate(self.kept):
            if wanted(m):
                return self.kept.pop(i)
        end = time.monotonic() + seconds
        while True:
            try:
                m = self.lines.get(timeout=max(0.001,
                                               end - time.monotonic()))
            except queue.Empty:
                raise AssertionError(
                    f"nothing came in {seconds} s; log:\n{self.log()}") \
                    from None
            if m is None:
                self.lines.put(None)
                raise AssertionError(f"the worker has gone; log:\n"
                                     f"{self.log()}")
            if wanted(m):
                return m
            self.kept.append(m)

    def query(self, text="", run=None, **request):
        """Starts a run; its number."""
        if run is None:
            self.last += 1
            run = self.last
        request.setdefault("input", [message(text)])
        request.setdefault("id", f"r{run}")
        request.setdefault("session_id", "s")
        request.setdefault("user_id", "u")
        self.send(op="query", run=run, request=request)
        return run

    def call(self, path, method="POST", body=None, query="", headers=None,
             raw=None):
        self.last += 1
        text = raw if raw is not None else (
            "" if body is None else json.dumps(body))
        if headers is None:
            headers = {"content-type": "application/json"} if text else {}
        self.send(op="call", run=self.last, name="x", method=method, path=path,
                  query=query, headers=headers, body=text)
        return self.last

    def line_of(self, run, seconds=DEADLINE):
        return self.next(lambda m: m.get("run") == run, seconds)

    def all_of(self, run, seconds=DEADLINE):
        """Its lines with their end."""
        lines = []
        while not lines or lines[-1].get("op") not in ("end", "reply"):
            line = self.line_of(run, seconds)
            assert line["run"] == run
            lines.append(line)
        return lines

    def answer(self, text="", **request):
        """The lines of a whole run."""
        return self.all_of(self.query(text, **request))

    def reply(self, *args, **kw):
        """(status, value) of a call that is answered with JSON."""
        line = self.all_of(self.call(*args, **kw))[-1]
        assert line["op"] == "reply", line
        return line["status"], json.loads(line["body"])

    def events(self, *args, **kw):
        """The data of a call that is answered by a stream."""
        lines = self.all_of(self.call(*args, **kw))
        assert lines[0]["op"] == "start", lines
        text = "".join(m["text"] for m in lines if m["op"] == "data")
        return [e[6:] for e in text.split("\n\n") if e]

    def shutdown(self):
        """The exit status."""
        self.send(op="shutdown")
        return self.process.wait(DEADLINE)

    def log(self):
        self.err.flush()
        with open(self.err.name, encoding="utf-8", errors="replace") as f:
            return f.read()

    def wait_log(self, text):
        end = time.monotonic() + DEADLINE
        while text not in self.log():
            assert time.monotonic() < end, f"no {text!r} in {self.log()}"
            time.sleep(0.02)


def text_of(lines):
    """What a run's bare texts say together."""
    return "".join(m["text"] for m in lines if "text" in m and
                   "object" not in m)


def fold(lines):
    """A run's messages as a reader ends up with them, in their order.

    The host's part in small: [(type, role, parts, usage, closed)].
    """
    order, found, plain = [], {}, None

    def begin(name, type="message", role=None):
        order.append({"id": name, "type": type, "role": role or "assistant",
                      "parts": [], "usage": None, "metadata": None,
                      "status": None})
        found[name] = order[-1]
        return order[-1]

    for m in lines:
        if m.get("op"):
            continue
        if "object" not in m:
            if plain is None:
                plain = begin(object())
                plain["parts"].append({"type": "text", "text": "",
                                       "done": False})
            plain["parts"][0]["text"] += m["text"]
            continue
        name = m.get("id") if m["object"] == "message" else m["msg_id"]
        if m["object"] == "message":
            it = plain if name is None else found.get(name)
            if it is None:
                it = begin(name, m.get("type", "message"), m.get("role"))
            for k in ("usage", "metadata", "status"):
                if k in m:
                    it[k] = m[k]
            if m.get("status"):
                for p in it["parts"]:
                    p["done"] = True
                if name is None:
                    plain = None
            continue
        it = found.get(name) or begin(name)
        assert it["status"] is None, f"part of a message that is complete: {m}"
        index = m["index"]
        assert index <= len(it["parts"]), f"a part is left out: {m}"
        value = {k: v for k, v in m.items() if k not in (
            "run", "object", "msg_id", "index", "delta", "status")}
        if index == len(it["parts"]):
            it["parts"].append({"type": value["type"], "done": False})
        part = it["parts"][index]
        assert not part["done"], f"more of a part that is complete: {m}"
        assert part["type"] == value["type"], f"another type: {m}"
        if m.get("delta"):
            key = value["type"]
            part[key] = part.get(key, "") + value[key]
        else:
            part.update(value)
        if m.get("status") == "completed":
            part["done"] = True
    return order
