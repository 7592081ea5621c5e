"""Agents through the whole daemon: deploying them, and streams read by hand."""
import http.client
import io
import json
import select
import tarfile
import threading
import time


def tar_of(**files):
    """A tar of texts; "__" in a name is a dot."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w",
                      format=tarfile.USTAR_FORMAT) as t:
        for name, text in files.items():
            data = text.encode()
            info = tarfile.TarInfo(name.replace("__", "."))
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))
    return out.getvalue()


def deploy(d, name, code=None, **options):
    """The last line of the answer."""
    body = json.dumps(options).encode() + b"\n" + (code or b"")
    return put(d, f"agents/{name}", body)


def put(d, path, body, method="PUT"):
    from webclient import Client
    r = Client(path=f"{d.root}/run/api.sock", timeout=300).ask(
        method, "/api/v1/" + path, body,
        {"Content-Type": "application/x-hutch-agent"})
    if r.status != 200:
        raise AssertionError(f"{path}: {r.status} {r.text}")
    return json.loads(r.text.strip().split("\n")[-1])


def ask_body(text, session=None, **more):
    body = {"input": [{"role": "user", "type": "message", "content": [
        {"type": "text", "text": text}]}], **more}
    if session is not None:
        body["session_id"] = session
    return json.dumps(body)


class Stream:
    """One POST, its events read as they come."""

    def __init__(self, port, body, path="/process", token=None):
        self.c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        headers = {"Content-Type": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self.c.request("POST", path, body, headers)
        self.r = self.c.getresponse()
        self.status = self.r.status
        self.events, self.buffer, self.over = [], b"", False

    def more(self):
        """Another chunk into the buffer; False at the end of the body.  Read
        by hand: http.client takes a body that was cut for a whole one."""
        head = self.r.fp.readline()
        if not head:
            raise http.client.IncompleteRead(b"")
        size = int(head, 16)
        data = self.r.fp.read(size + 2)
        if len(data) < size + 2:
            raise http.client.IncompleteRead(data)
        self.buffer += data[:size]
        return size > 0

    def next(self):
        """The next event; None at the end; IncompleteRead if it was cut."""
        while not self.over or b"\n" in self.buffer:
            if b"\n" not in self.buffer:
                self.over = not self.more()
                continue
            line, self.buffer = self.buffer.split(b"\n", 1)
            if line.startswith(b"data: "):
                self.events.append(json.loads(line[6:]))
                return self.events[-1]
        return None

    def until(self, fn):
        while True:
            e = self.next()
            if e is None:
                raise AssertionError(f"it ended: {self.events[-3:]}")
            if fn(e):
                return e

    def rest(self):
        while self.next() is not None:
            pass
        return self.events

    def leave(self):
        self.r.close()
        self.c.close()


def is_delta(e):
    return e["object"] == "content" and e.get("delta") is True


def text_of(events):
    return "".join(e["text"] for e in events if is_delta(e))


def run(port, text, session=None, path="/process", **more):
    """(status or HTTP status, text, last event) of a whole run."""
    s = Stream(port, ask_body(text, session, **more), path)
    if s.status != 200:
        return s.status, None, json.loads(s.r.read() or b"null")
    events = s.rest()
    s.leave()
    for i, e in enumerate(events):
        if e["sequence_number"] != i:
            raise AssertionError(f"a gap at {i}: {e}")
    last = events[-1]
    if last["object"] != "response":
        raise AssertionError(f"no end: {last}")
    return last["status"], text_of(events), last


def agent_port(d):
    import re
    return int(re.findall(r" agent_port=(\d+)", d.log())[-1])


class Load:
    """Runs one after another on some threads, until told to stop."""

    def __init__(self, port, threads=4, path="/process", ask="hi"):
        self.port, self.path, self.ask = port, path, ask
        self.over = threading.Event()
        self.seen, self.wrong = [], []
        self.threads = [threading.Thread(target=self.go, args=(i,))
                        for i in range(threads)]

    def go(self, i):
        while not self.over.is_set():
            try:
                self.seen.append(run(self.port, self.ask, f"load{i}",
                                     self.path)[:2])
            except Exception as e:  # it goes into the report
                self.wrong.append(repr(e))

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for t in self.threads:
            t.join(60)

    def wait(self, more, seconds=60):
        """Until so many more runs are over."""
        want = len(self.seen) + more
        end = time.monotonic() + seconds
        while len(self.seen) < want:
            if time.monotonic() > end:
                raise AssertionError(f"only {len(self.seen)} of {want} runs; "
                                     f"{self.wrong[:3]}")
            select.select([], [], [], 0.02)
