#!/usr/bin/env python3
"""Attacks of a guest that is root inside, through the whole daemon."""
import contextlib
import hashlib
import http.client
import json
import os
import re
import select
import shutil
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
from attacked import TYPE, Box, house  # noqa: E402
from daemon import need_root  # noqa: E402
from live import Client, hutch  # noqa: E402
import ocitar  # noqa: E402
from layout import tar_of  # noqa: E402
from tap import equal, run, test, true  # noqa: E402

need_root()
TRIES = int(os.environ.get("HUTCH_TRIES", "10000"))
CYCLES = int(os.environ.get("HUTCH_CYCLES", "200"))
LEND = tempfile.mkdtemp(prefix="hutch-lend-")
TOKEN = hashlib.sha256(b"first").hexdigest()


def mounts():
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        return len(f.readlines())


def beside(pid):
    """The groups beside those of a process, if they are ours"""
    found = set()
    with open(f"/proc/{pid}/cgroup", encoding="ascii") as f:
        for line in f:
            _, trees, at = line.rstrip().split(":", 2)
            top = trees.replace("name=", "") or "unified"
            at = os.path.dirname(f"/sys/fs/cgroup/{top}{at}")
            if "/hutch-" in at and os.path.isdir(at):
                found |= {e.path for e in os.scandir(at) if e.is_dir()}
    return found


def cgroups(pid):
    """How many there are where this daemon's sandboxes have theirs"""
    found = set()
    for kid in children(pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found |= beside(kid)
    return len(found)


def slab(name):
    with open("/proc/slabinfo", encoding="ascii") as f:
        for line in f:
            if line.startswith(name + " "):
                return int(line.split()[1])
    return 0


# Two builds may be tested at once.
HOST_FILE = f"/etc/hutch-attack-54.{os.getpid()}"


def survivors():
    n = 0
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            try:
                with open(f"/proc/{pid}/comm", encoding="ascii") as f:
                    n += f.read() == "survivor\n"
            except OSError:
                pass
    return n


def may_lift():
    """CAP_SYS_RESOURCE: the daemon's own limits don't bound all sandboxes"""
    with open("/proc/self/status", encoding="ascii") as f:
        caps = re.search(r"CapEff:\t(\w+)", f.read()).group(1)
    return int(caps, 16) >> 24 & 1


@test
def counted(d, c):
    """55, 65: who takes all signals, queues, terminals leaves others theirs"""
    greedy, other = Box(d), Box(d)
    p = greedy.popen("/probe", "counted", "20")
    got = dict(p.stdout.readline().strip().split("=") for _ in range(3))
    true(int(got["terminals"]) <= 64, f"terminals: {got}")
    mine = other.probe("counted", "0")
    if not may_lift():  # then queues are one amount for all
        mine["queues"] = got["queues"]
    equal(mine, got, "the other one's")
    greedy.end()
    p.wait(20)
    p.stdout.close()
    other.end()


@test
def working_directory(d, c):
    """3, 4: no descriptor of ours as working directory, none is inherited"""
    box = Box(d)
    for n in (*range(3, 20), 100, 255):
        for who in ("self", "1"):
            r = hutch(d, "exec", "-w", f"/proc/{who}/fd/{n}", box.id, "--",
                      "cat", "/proc/self/cwd/etc/hostname")
            true(r.returncode not in (0, 1), f"fd {n} of {who}: {r.stdout}")
    for at in ("/proc/1/cwd", "/proc/1/root", "nowhere"):
        r = hutch(d, "exec", "-w", at, box.id, "--", "ls")
        true(r.returncode != 0, at)
    r = hutch(d, "exec", "-w", "../../../..", box.id, "--", "ls", "-d",
              "workspace", "etc")
    true(r.returncode != 0 or r.stdout == "etc\nworkspace\n", r.stdout)
    r = box.run("ls", "/proc/self/fd")
    equal(r.stdout.split(), ["0", "1", "2", "3"], "ls's own is 3")
    box.end()


@test
def places_of_volumes(d, c):
    """9, 10: what a request may mount, and where"""
    os.mkdir(f"{LEND}/in")
    os.symlink("/etc", f"{LEND}/link")
    for folder in ("/", "/etc", "/proc", "/sys", "/dev", "relative",
                   f"{LEND}/../etc", f"{LEND}/in/../../../etc",
                   f"{LEND}/link", f"{LEND}/link/apt", f"{LEND}/none",
                   f"{LEND}.", f"{LEND}/in/..//..", "/proc/self/root/etc"):
        status, body = c.ask("POST", "/api/v1/sandboxes",
                             {"type": "base", "mount_dir": folder})
        true(status >= 400, f"{folder}: {status} {body}")
    for more in ({"volumes": ["/:/host"]}, {"mounts": "/:/proc"},
                 {"readonly_mounts": {"/": "/x"}}, {"runtime": "x"},
                 {"privileged": True}):
        status, _ = c.ask("POST", "/api/v1/sandboxes",
                          {"type": "base", **more})
        equal(status, 400, str(more))
    # A link that its owner exchanges while it is opened.
    swap = f"{LEND}/swap"
    stop = threading.Event()

    def exchange():
        while not stop.is_set():
            os.symlink("/etc", swap + ".new")
            os.rename(swap + ".new", swap)
            os.mkdir(swap + ".new")
            os.unlink(swap)
            os.rename(swap + ".new", swap)
            os.rmdir(swap)
    t = threading.Thread(target=exchange)
    t.start()
    try:
        end = time.monotonic() + 3
        made = 0
        while time.monotonic() < end:
            status, body = c.ask("POST", "/api/v1/sandboxes",
                                 {"type": "base", "mount_dir": swap})
            if status == 201:
                made += 1
                r = hutch(d, "exec", body["id"], "--", "ls", "/workspace")
                equal(r.stdout, "", "what the link led to")
                hutch(d, "rm", body["id"])
    finally:
        stop.set()
        t.join()


@test
def image_config(d, c):
    """43: what an image's config says works inside and nowhere else"""
    with open(f"{d.top}/evil.tar", "wb") as f:
        f.write(ocitar.archive(ocitar.image(tar_of(f"{d.top}/image"), more={
            "Env": ["LD_PRELOAD=/nowhere/evil.so", "EVIL=yes",
                    "LD_LIBRARY_PATH=/evil", "HUTCH_ROOT=/evil"],
            "Labels": {"io.x/hook": "/bin/sh -c 'touch /evil'",
                       "devices": "/dev/mem"},
            "Volumes": {"/etc": {}, "/proc/sys": {}},
            "WorkingDir": "/proc/1/fd/3", "User": "0:0",
            "StopSignal": "SIGKILL",
            "Entrypoint": ["/probe", "survive"]})))
    r = hutch(d, "image", "import", f"{d.top}/evil.tar", "evil:1")
    equal(r.returncode, 0, r.stderr)
    box = Box(d, "evil:1")
    r = box.run("sh", "-c", "echo $EVIL; test -e /dev/mem; echo $?")
    equal(r.stdout, "yes\n1\n", r.stderr)
    true("LD_PRELOAD" not in r.stderr or "ld.so" in r.stderr, r.stderr)
    for pid in children(d.proc.pid):
        with open(f"/proc/{pid}/environ", "rb") as f:
            true(b"EVIL" not in f.read(), f"environment of {pid}")
        with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
            true("evil" not in f.read(), f"maps of {pid}")
    true(not os.path.exists("/evil"), "a label was run")
    box.end()


def children(pid):
    out = [pid]
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children",
                      encoding="ascii") as f:
                for kid in f.read().split():
                    out += children(int(kid))
    return out


@test
def files_against_a_race(d, c):
    """54: reads and writes while a link takes the place of their folder"""
    with open(HOST_FILE, "w", encoding="utf-8") as f:
        f.write("of the host\n")
    try:
        race(d, c)
        with open(HOST_FILE, encoding="utf-8") as f:
            equal(f.read(), "of the host\n")
        equal([x for x in os.listdir("/etc") if x.startswith("hutch-w")], [])
    finally:
        os.unlink(HOST_FILE)


def race(d, c):
    box = Box(d)
    # What is out of the workspace and inside is as foreign as the host's.
    r = box.run("sh", "-c", "mkdir /etc/hutch; echo inside >/etc/hutch/secret; "
                "cd /workspace; mkdir a; echo own >a/secret")
    equal(r.returncode, 0, r.stderr)
    p = box.popen("/probe", "exchange", "/workspace")
    equal([p.stdout.readline() for _ in range(5)],
          ["link=0\n"] * 4 + ["ready\n"])
    conn = http.client.HTTPConnection("127.0.0.1", c.port, timeout=20)
    head = {"Authorization": f"Bearer {c.token}"}
    at = f"/proxy/{box.id}/workspace"
    seen, end = {}, time.monotonic() + 12
    for i in range(TRIES):
        if time.monotonic() > end:
            break
        if i % 4 == 3:
            conn.request("PUT", f"{at}/file?path=a/hutch-w{i % 7}", b"w", head)
        elif i % 4 == 2:
            conn.request("GET", f"{at}/list?path=a", None, head)
        else:
            conn.request("GET", f"{at}/file?path=a/secret", None, head)
        reply = conn.getresponse()
        body = reply.read()
        seen[reply.status] = seen.get(reply.status, 0) + 1
        true(b"inside" not in body and b"of the host" not in body and
             b"passwd" not in body, f"try {i}: {body!r}")
    conn.close()
    true(seen.get(200, 0) > 100, seen)
    true(seen.get(403, 0) + seen.get(404, 0) > 20, seen)
    print(f"# {sum(seen.values())} tries: {seen}")
    r = box.run("sh", "-c", "ls /etc | grep hutch-w; ls /etc/hutch")
    equal(r.stdout, "secret\n", "written outside")
    box.end()
    p.wait(20)
    p.stdout.close()


@test
def survivors_end(d, c):
    """56: who forks twice and ignores all is gone 100 ms after the end"""
    late = 0
    for _ in range(10):
        box = Box(d)
        box.run("sh", "-c", "/probe survive; /probe survive; /probe survive")
        until(lambda: survivors() >= 3, "they are there")
        box.end()  # answered as soon as the broker has killed the group
        started = time.monotonic()
        until(lambda: survivors() == 0, "they are gone", 5)
        late += time.monotonic() - started > 0.1
    # Others use the machine too.
    true(late <= 3, f"{late} of 10 later than 100 ms")


@test
def cycles(d, c):
    """56: after many of them nothing is left"""
    def one():
        status, body = c.ask("POST", "/api/v1/sandboxes", {"type": "base"})
        equal(status, 201, body)
        equal(c.ask("DELETE", f"/api/v1/sandboxes/{body['id']}")[0], 204)

    def fds():
        return len(os.listdir(f"/proc/{d.proc.pid}/fd"))

    def state():
        return mounts(), len(children(d.proc.pid)), cgroups(d.proc.pid)
    one()
    until_same(state)
    before, nets, most = state(), slab("net_namespace"), fds() + 8
    end = time.monotonic() + 15
    n = 0
    while n < CYCLES and time.monotonic() < end:
        one()
        n += 1
    print(f"# {n} cycles")
    until(lambda: state() == before, lambda: (state(), before))
    until(lambda: fds() <= most, lambda: (fds(), most))
    until(lambda: slab("net_namespace") <= nets + 20,
          lambda: (slab("net_namespace"), nets))


def until_same(state):
    """Until it is the same for half a second."""
    end, last, since = time.monotonic() + 10, state(), time.monotonic()
    while time.monotonic() - since < 0.5:
        true(time.monotonic() < end, "never at rest")
        select.select([], [], [], 0.05)
        if state() != last:
            last, since = state(), time.monotonic()


def until(condition, what, seconds=10):
    end = time.monotonic() + seconds
    while not condition():
        true(time.monotonic() < end,
             f"never: {what() if callable(what) else what}")
        select.select([], [], [], 0.005)


class Http(Client):
    def ask(self, method, path, body=None, headers=None):
        """(status, JSON or bytes)"""
        conn = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            head = {"Content-Type": "application/json"} if body else {}
            if self.token:
                head["Authorization"] = f"Bearer {self.token}"
            conn.request(method, path, json.dumps(body) if body else None,
                         {**head, **(headers or {})})
            r = conn.getresponse()
            data = r.read()
            try:
                return r.status, json.loads(data)
            except ValueError:
                return r.status, data
        finally:
            conn.close()


def main():
    d = house(f"mount_allow = {LEND}\nallow_mount_dir = yes\n"
              f"[tenant one]\ntoken_sha256 = {TOKEN}\nadmin = yes\n" + TYPE)
    try:
        return run(d, Http(d))
    finally:
        if os.environ.get("TEST_LOG"):
            sys.stderr.write(d.log())
        d.clean()
        shutil.rmtree(LEND)


sys.exit(main())
