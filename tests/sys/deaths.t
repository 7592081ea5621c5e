#!/usr/bin/env python3
"""kill -9, twenty times each: the front under calls, the broker, a fetcher."""
import os
import random
import select
import signal
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
from live import TYPE, Client, front_pid, hutch, token  # noqa: E402
from daemon import BUILD, Daemon, make_root, need_root  # noqa: E402
from layout import of_folder  # noqa: E402
from tap import equal, run, skip_all, test, true  # noqa: E402

need_root()
if not os.path.exists(f"{BUILD}/hutch-front"):
    skip_all("no hutch-front here")
TIMES = int(os.environ.get("TEST_DEATHS", "20"))


def descendants(pid):
    out, todo = [], [pid]
    while todo:
        p = todo.pop()
        try:
            with open(f"/proc/{p}/task/{p}/children") as f:
                kids = [int(k) for k in f.read().split()]
        except OSError:
            continue
        out += kids
        todo += kids
    return out


class Watched:
    """Processes by pidfd, so that a number used again is not taken for one."""

    def __init__(self, pids):
        self.fds = {}
        for p in pids:
            try:
                self.fds[os.pidfd_open(p)] = p
            except ProcessLookupError:
                pass

    def all_gone(self, seconds=10):
        left = dict(self.fds)
        try:
            while left:
                done = select.select(list(left), [], [], seconds)[0]
                if not done:
                    raise AssertionError(f"alive: {list(left.values())}")
                for fd in done:
                    del left[fd]
        finally:
            for fd in self.fds:
                os.close(fd)


def cgroups(number):
    out = []
    for at, dirs, _ in os.walk("/sys/fs/cgroup"):
        if os.path.basename(at) == f"hutch-{number}":
            out += [f"{at}/{d}" for d in dirs]
    return out


def mounts():
    with open("/proc/self/mountinfo") as f:
        return sorted(line.split(" ", 2)[2] for line in f)


class Caller(threading.Thread):
    """Calls one after the other; each leaves its number in a file."""

    def __init__(self, c, box, name):
        super().__init__()
        self.c, self.box, self.name_ = c, box, name
        self.ok, self.asked, self.stop = [], [], False

    def run(self):
        n = 0
        while not self.stop:
            n += 1
            mark = f"{self.name_}.{n}"
            self.asked.append(mark)
            try:
                got = self.c.shell(
                    self.box, f"echo {mark} >> /workspace/marks; echo {mark}",
                    20)
            except (OSError, AssertionError, ValueError):
                continue  # nobody knows whether it ran
            if got != mark + "\n":
                raise AssertionError(f"{got!r} for {mark}")
            self.ok.append(mark)


@test
def front(d, c):
    """the front, under calls: none runs twice, no sandbox is lost"""
    box = c.create()
    callers = [Caller(c, box, n) for n in "abc"]
    for t in callers:
        t.start()
    for _ in range(TIMES):
        enough = sum(len(t.ok) for t in callers) + 3
        while sum(len(t.ok) for t in callers) < enough:
            select.select([], [], [], 0.005)
        serving = d.log().count("msg=serving")
        os.kill(front_pid(d), signal.SIGKILL)
        d.wait_log("msg=serving", 30, serving + 1)
    for t in callers:
        t.stop = True
    for t in callers:
        t.join(30)
        true(not t.is_alive(), "a caller without an end")
    marks = c.shell(box, "cat /workspace/marks").split()
    equal(len(marks), len(set(marks)), "a call ran twice")
    asked = {m for t in callers for m in t.asked}
    true(set(marks) <= asked, "marks of nobody")
    for t in callers:
        equal(set(t.ok) - set(marks), set(), "answered and not run")
    equal(c.post("/release", {"identity": box})[1], {"data": True})


@test
def broker(d, c):
    """the broker: nothing outlives it, the store is whole, old ids restore"""
    before = mounts()
    box = c.create()
    for i in range(TIMES):
        with open(f"{d.root}/instance") as f:
            number = f.read().strip()
        t = threading.Thread(target=lambda: ignore(
            lambda: c.shell(box, "sleep 30; echo late")))
        t.start()
        if i % 4 == 0:
            ignore(lambda: c.create())
        select.select([], [], [], random.random() / 10)
        was = Watched(descendants(d.proc.pid))
        d.proc.kill()
        d.proc.wait()
        t.join(30)
        was.all_gone()
        d.start()
        equal(mounts(), before)
        running = len(descendants(d.proc.pid))
        true(running < 10, f"{running} processes at the start")
        equal([g for g in cgroups(number)
               if len(os.path.basename(g)) == 32 and not alive(g)], [])
        d.wait_log("msg=serving", count=d.log().count("front started"))
        c.port = Client(d).port
        equal(c.shell(box, "echo back"), "back\n")
    out = hutch(d, "image", "ls")
    true("try:1" in out.stdout, out.stdout)
    equal(c.post("/release", {"identity": box})[1], {"data": True})


def alive(cgroup):
    """Of the front, say: it belongs to the life that is now."""
    try:
        with open(f"{cgroup}/cgroup.procs") as f:
            return f.read() != ""
    except OSError:
        return True


def ignore(fn):
    try:
        fn()
    except (OSError, AssertionError, ValueError):
        pass


@test
def fetcher(d, c):
    """a fetcher: no image half there, and the next import works"""
    tar = f"{d.top}/image.tar"
    layers = sorted(os.listdir(f"{d.root}/store/layers"))
    for _ in range(TIMES):
        started = d.log().count("import started")
        ended = d.log().count("import ended")
        t = threading.Thread(target=lambda: hutch(
            d, "image", "import", tar, "dead:1"))
        t.start()
        d.wait_log("import started", count=started + 1)
        select.select([], [], [], random.random() / 20)
        for pid in descendants(d.proc.pid):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    if b"hutch-fetch" in f.read():
                        os.kill(pid, signal.SIGKILL)
            except (FileNotFoundError, ProcessLookupError):
                pass  # it was done
        t.join(60)
        d.wait_log("import ended", count=ended + 1)
        equal(os.listdir(f"{d.root}/store/staging"), [])
        equal(sorted(os.listdir(f"{d.root}/store/layers")), layers)
    r = hutch(d, "image", "import", tar, "dead:1")
    equal(r.returncode, 0, r.stderr)
    equal(hutch(d, "image", "rm", "dead:1").returncode, 0)


def main():
    d = Daemon(token("first") + TYPE, front=f"{BUILD}/hutch-front")
    try:
        root = make_root(f"{d.top}/image")
        d.start()
        d.wait_log("msg=serving")
        with open(f"{d.top}/image.tar", "wb") as f:
            f.write(of_folder(root))
        r = hutch(d, "image", "import", f"{d.top}/image.tar", "try:1")
        equal(r.returncode, 0, r.stderr)
        failed = run(d, Client(d))
        equal(d.stop(), 0)
    finally:
        if os.environ.get("TEST_LOG"):
            sys.stderr.write(d.log())
        d.clean()
    return failed


sys.exit(main())
