#!/usr/bin/env python3
"""kill -9 of the front, twenty times under calls, cells and uploads.

No call is executed twice, none is answered wrongly, and what lives inside a
sandbox lives on: its files, its interpreter's variables, its id, its session.
"""
import collections
import hashlib
import itertools
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
from chaos import (IMAGE, House, Leaks, a_moment, alone, answered,  # noqa: E402
                   need)
from webclient import Client  # noqa: E402
from tap import BUILD, equal, run, test, true  # noqa: E402

need(IMAGE, f"{BUILD}/hutch-front")
KILLS = 20
numbers = itertools.count()


class Load:
    """Callers that go on until they are told to stop, and what they saw."""

    def __init__(self, port, boxes):
        self.port, self.boxes = port, boxes
        self.over = threading.Event()
        self.wrong, self.seen = [], collections.Counter()
        self.done = {b: [] for b in boxes}  # what was answered, by sandbox
        self.files = []  # (sandbox, name, digest, answered)
        self.threads = [threading.Thread(target=self.go, args=(fn, box))
                        for box in boxes
                        for fn in (self.shell, self.shell, self.cell,
                                   self.upload)]

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for t in self.threads:
            t.join(60)
            true(not t.is_alive(), "a caller without an end")

    def go(self, fn, box):
        c = Client(self.port)
        while not self.over.is_set():
            try:
                got = answered(lambda: fn(c, box, f"n{next(numbers)}"))
                self.seen[fn.__name__, got] += 1
            except Exception as e:  # whatever it is: it goes into the report
                self.wrong.append(f"{fn.__name__}: {e!r}")

    def shell(self, c, box, n):
        out = c.shell(box, f"echo {n} >> /workspace/calls; echo {n}")
        equal(out[0], f"{n}\n")
        self.done[box].append(n)
        return True

    def cell(self, c, box, n):
        texts, bad = c.cell(box, f"calls.append('{n}'); print('{n}', kept)")
        equal((texts, bad), ([f"{n} 41\n"], False))
        self.done[box].append(n)
        return True

    def upload(self, c, box, n):
        data = os.urandom(1 << 14) * 64
        file = [box, n, hashlib.sha256(data).hexdigest(), False]
        self.files.append(file)
        r = c.ask("PUT", f"/proxy/{box}/workspace/file?path={n}", data)
        true(r.status in (200, 201), f"{r.status} {r.text}")
        file[3] = True
        return True


def executed(c, box):
    """How often each call was, inside."""
    out = c.shell(box, "cat /workspace/calls")[0].split()
    texts, bad = c.cell(box, "print(*calls)")
    equal(bad, False, texts)
    return collections.Counter(out + texts[0].split())


@test
def twenty_times(d, boxes):
    """twenty times under load: nothing twice, nothing wrong, nothing lost"""
    c = d.client
    with Load(d.port(), boxes) as load:
        for _ in range(KILLS):
            a_moment(0.4)
            d.kill_front()
    d.files = load.files
    equal(load.wrong[:5], [])
    for what in ("shell", "cell", "upload"):
        print(f"# {what}: {load.seen[what, True]} answered, "
              f"{load.seen[what, None]} broken")
        true(load.seen[what, True] > 0, f"no {what} got through")
    for box in boxes:
        times = executed(c, box)
        equal({n: k for n, k in times.items() if k > 1}, {}, "twice")
        equal([n for n in load.done[box] if times[n] != 1], [], "not once")


@test
def uploads_are_whole(d, boxes):
    """a file that was being sent is there whole or not at all"""
    c = d.client
    for box in boxes:
        sums = c.shell(box, "cd /workspace; rm -f calls;"
                       " find . -mindepth 1 -exec sha256sum {} +")[0]
        there = {line.split()[1].lstrip("./"): line.split()[0]
                 for line in sums.splitlines()}
        for of, name, digest, was_answered in d.files:
            if of == box and (was_answered or name in there):
                equal(there.pop(name, None), digest, name)
        equal(there, {}, "half a file is left")


@test
def state_is_kept(d, boxes):
    """variables, background work, ids and sessions outlive it all"""
    c = d.client
    for i, box in enumerate(boxes):
        equal(c.cell(box, "kept += 1; print(kept)"), (["42\n"], False))
        c.cell(box, "kept -= 1")
        equal(c.shell(box, "kill -0 $(cat /tmp/sleeper) && echo on")[0],
              "on\n")
        equal(c.rpc("get_session_mapping", session_ctx_id=f"session{i}"),
              [box])
        equal(c.rpc("get_info", identity=box)["state"], "running")
    equal(sorted(d.sandboxes()), sorted(boxes))
    equal({b["state"] for b in d.sandboxes().values()}, {"running"})


@test
def releases(d, boxes):
    """the last front gives back what the first one made"""
    for box in boxes:
        true(d.client.rpc("release", identity=box), "released")
    equal(d.sandboxes(), {})


def main():
    alone()
    with Leaks() as leaks:
        d = House("pool_size = 0\nblanks = 2\n")
        try:
            d.start()
            leaks.of(d)
            d.put_image()
            c = d.client
            boxes = [c.create(session=f"session{i}") for i in range(2)]
            for box in boxes:
                c.shell(box, "setsid sleep 1000 >/dev/null 2>&1 &"
                        " echo $! > /tmp/sleeper; : > /workspace/calls")
                c.cell(box, "kept, calls = 41, []")
            failed = run(d, boxes)
            equal(d.stop(), 0)
        finally:
            if os.environ.get("TEST_LOG"):
                sys.stderr.write(d.log())
            d.clean()
    return failed


sys.exit(main())
