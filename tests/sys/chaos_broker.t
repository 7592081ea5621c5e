#!/usr/bin/env python3
"""kill -9 of the broker, twenty times, whatever it is doing.

After its next start nothing of any sandbox is left, old ids restore, and the
store is whole.  In a network of its own: sandboxes have a way out.
"""
import os
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
from chaos import (IMAGE, House, Leaks, a_moment, alone,  # noqa: E402
                   empty_groups, groups, need, network, processes, read,
                   strangers, until)
from daemon import make_root  # noqa: E402
from layout import of_folder  # noqa: E402
from tap import BUILD, equal, run, test, true  # noqa: E402

need(IMAGE, f"{BUILD}/hutch-front", "/usr/sbin/nft")
EACH = 4


def quiet(fn, *args, **kw):
    """In a thread: what it says does not count, the daemon dies under it."""
    def go():
        try:
            fn(*args, **kw)
        except Exception:  # of any kind
            pass
    t = threading.Thread(target=go)
    t.start()
    return t


def mounts():
    return sorted(line.split(b" ", 2)[2] for line in
                  read("/proc/self/mountinfo").splitlines())


class Life:
    """One daemon, the sandboxes that it had, and what there was before."""

    def __init__(self, d):
        self.d, self.known = d, set()
        self.mounts, self.network = mounts(), network()
        self.groups = None

    def create(self):
        box = self.d.client.create()
        self.known.add(box)
        return box

    def die(self):
        self.d.kill()
        frozen = {p for p, v in strangers(self.d).items()
                  if v[1] in "DT" and b"hutch-agent" in cmdline(p)}
        until(lambda: not set(strangers(self.d)) - frozen - held(),
              "an end without a broker")

    def look(self):
        """What the next start left of the one before."""
        d = self.d
        equal(strangers(d), {}, "processes")
        equal(mounts(), self.mounts, "mounts")
        # The kernel takes a namespace apart after its last user is gone.
        until(lambda: network() == self.network, "the network as before", 3)
        until(lambda: not empty_groups(d.number, self.groups),
              "no group too many", 2)
        store = f"{d.root}/store"
        equal(os.listdir(f"{store}/staging"), [], "staging")
        until(lambda: not os.listdir(f"{store}/trash"), "empty trash")
        true({"base", "small"} <= set(d.images()), d.images())
        records = d.sandboxes(every=True)
        equal({records[b]["state"] for b in self.known} or {"recycled"},
              {"recycled"})
        equal({records[b]["reason"] for b in self.known} or
              {"daemon_restart"}, {"daemon_restart"})
        equal([r for r in records.values() if r["state"] == "running"], [])

    def restore(self):
        """Old ids work again; then all is given back."""
        c = self.d.client
        for box in sorted(self.known)[:2]:
            equal(c.shell(box, "echo again")[0], "again\n")
        for box in self.known:
            true(c.rpc("release", identity=box), "released")
        self.known = set()
        equal(self.d.sandboxes(), {})


def cmdline(pid):
    return read(f"/proc/{pid}/cmdline") or b""


def held():
    """Of a frozen sandbox: what can't run can't die; see the next start."""
    out = set()
    for pid in processes():
        for line in (read(f"/proc/{pid}/cgroup") or b"").splitlines():
            number, _, path = line.decode().split(":", 2)
            if number != "0":
                continue
            for top in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup"):
                text = read(f"{top}{path}/cgroup.events")
                if text and b"frozen 1" in text:
                    out.add(pid)
    return out


def twenty(life, begin, sign, most=0.3):
    """Dies EACH times a moment after begin(); all is looked at each time."""
    for _ in range(EACH):
        count = life.d.log().count(sign)
        threads = begin() or []
        life.d.wait_log(sign, 30, count + 1)  # it has begun
        a_moment(most)
        life.die()
        for t in threads:
            t.join(60)
            true(not t.is_alive(), "a caller without an end")
        life.d.start()
        life.look()
        life.restore()


@test
def idle(life):
    """with sandboxes that do nothing, one of them frozen"""
    def begin():
        boxes = [life.create() for _ in range(2)]
        r = life.d.native("POST", f"sandboxes/{boxes[0]}/pause", {})
        equal(r.status, 204, r.text)
    twenty(life, begin, "sandbox started")


@test
def creating(life):
    """while sandboxes are created and released"""
    def churn():
        while True:  # until there is no daemon
            c = life.d.client
            c.rpc("release", identity=c.create())
    twenty(life, lambda: [quiet(churn) for _ in range(4)],
           "sandbox started")


@test
def calling(life):
    """while commands run, with children that left their group"""
    def begin():
        box = life.create()
        return [quiet(life.d.client.shell, box,
                      "setsid sleep 1000 & sleep 1000")
                for _ in range(3)]
    twenty(life, begin, "sandbox started")


@test
def thinking(life):
    """while cells run in warm interpreters"""
    def begin():
        warm = life.d.log().count("interpreter is warm")
        boxes = [life.create() for _ in range(2)]
        life.d.wait_log("interpreter is warm", 30, warm + 1)
        code = ("import subprocess as s, os\n"
                "s.Popen(['setsid', 'sleep', '1000'])\n"
                "while True: os.getpid()")
        for box in boxes:
            life.d.client.cell(box, "1")
        return [quiet(life.d.client.cell, box, code) for box in boxes]
    twenty(life, begin, "interpreter is warm")


@test
def importing(life):
    """while images are imported, and removed"""
    small = f"{life.d.top}/small.tar"

    def churn():
        while life.d.hutch("image", "import", small, "other").returncode == 0:
            life.d.hutch("image", "rm", "other")
    twenty(life, lambda: [
        quiet(life.d.hutch, "image", "import", IMAGE, "again"),
        quiet(churn)], "import started", 1)


@test
def starting(life):
    """while it starts"""
    d = life.d
    life.create()
    for _ in range(EACH):
        d.kill()
        log = os.open(d.log_path, os.O_WRONLY | os.O_APPEND)
        d.proc = subprocess.Popen(d.command(), stdin=subprocess.DEVNULL,
                                  stdout=log, stderr=log)
        os.close(log)
        a_moment(0.08)
    life.die()
    life.d.start()
    life.look()
    life.restore()


def main():
    alone()
    with Leaks() as leaks:
        d = House("pool_size = 0\nblanks = 2\n", net="nat")
        try:
            life = Life(d)
            d.start()
            leaks.of(d)
            d.put_image()
            with open(f"{d.top}/small.tar", "wb") as f:
                f.write(of_folder(make_root(f"{d.top}/small")))
            d.put_image(f"{d.top}/small.tar", "small")
            life.groups = groups(d.number)
            failed = run(life)
            equal(d.stop(), 0)
        finally:
            if os.environ.get("TEST_LOG"):
                sys.stderr.write(d.log())
            d.clean()
    return failed


sys.exit(main())
