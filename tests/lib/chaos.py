"""A daemon of its own with the true front, alone in its namespaces.

alone() gives the test its own network, mounts and process numbers, so that
what a daemon left behind can be told from what others on this host do.
"""
import ctypes
import http.client
import json
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from webclient import Client  # noqa: E402
from daemon import BUILD, Daemon  # noqa: E402
from tap import equal, skip_all, true  # noqa: E402

CACHE = os.environ.get("HUTCH_CACHE", "/var/cache/hutch")
IMAGE = os.path.join(CACHE, "base.tar")
CGROUPS = "/sys/fs/cgroup"
LEAKCHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                         "../../scripts/leakcheck")
NEWNS, NEWPID, NEWNET = 0x20000, 0x20000000, 0x40000000
libc = ctypes.CDLL(None, use_errno=True)


def need(*paths):
    if os.geteuid() != 0:
        skip_all("has to be root")
    for path in paths:
        if not os.path.exists(path):
            skip_all(f"{path} is missing")


def reap_all(child):
    """What process 1 is for: orphans, and the test's own end."""
    while True:
        pid, status = os.wait()
        if pid == child:
            os._exit(os.waitstatus_to_exitcode(status) & 0xff)


def alone():
    """Returns in a grandchild, in namespaces with a made-up uplink."""
    flags = NEWNS | NEWPID | NEWNET
    if libc.unshare(flags) != 0:
        skip_all(f"unshare: {os.strerror(ctypes.get_errno())}")
    first = os.fork()
    if first == 0:
        libc.prctl(1, signal.SIGKILL)  # PDEATHSIG: all ends with the test
    else:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]) & 0xff)
    for line in ("mount --make-rprivate /", "mount -t proc proc /proc",
                 "sysctl -qw net.ipv6.conf.default.accept_dad=0",
                 "ip link set lo up",
                 "ip link add up0 type veth peer name up1",
                 "ip addr add 203.0.113.2/24 dev up0", "ip link set up0 up",
                 "ip link set up1 up",
                 "ip route add default via 203.0.113.1"):
        subprocess.run(line.split(), check=True)
    child = os.fork()
    if child != 0:
        reap_all(child)


def until(fn, what, seconds=20):
    """Ask again until it is so: the other side is a program of its own."""
    end = time.monotonic() + seconds
    while True:
        got = fn()
        if got:
            return got
        if time.monotonic() > end:
            raise AssertionError(f"never: {what}")
        select.select([], [], [], 0.02)


def a_moment(most):
    """Whatever goes on goes on for so long: the moment is the test."""
    select.select([], [], [], random.uniform(0, most))


class House(Daemon):
    """type: lines of [type base]; image, net follow from the arguments."""

    def __init__(self, config="", image="base", net="none", kind=""):
        self.net = net
        self.text = (f"{config}\n[type base]\nimage = {image}\n"
                     f"net = {net}\n{kind}\n")
        super().__init__(self.text, front=f"{BUILD}/hutch-front")
        for name in ("hutch_cell.py", "hutch_zygote.py"):
            shutil.copy(f"{BUILD}/{name}", self.libexec)
        # A number that nobody gets who did not ask for it: see Leaks.
        os.makedirs(self.root, 0o711)
        self.number = random.choice([
            n for n in range(8, 32)
            if not os.path.exists(f"/run/hutch-instances/{n}")])
        with open(f"{self.root}/instance", "w", encoding="ascii") as f:
            f.write(f"{self.number}\n")
        self.client = None

    def start(self, seconds=30):
        before = self.log().count("msg=serving")
        super().start(seconds)
        self.wait_log("msg=serving", seconds, before + 1)
        self.client = Client(self.port())
        return self

    def port(self):
        return int(re.findall(r" port=(\d+)", self.log())[-1])

    def hutch(self, *args, seconds=120, **kw):
        return subprocess.run(
            [f"{BUILD}/hutch", "--root", self.root, *args],
            capture_output=True, text=True, timeout=seconds, **kw)

    def put_image(self, tar=IMAGE, name="base"):
        r = self.hutch("image", "import", tar, name)
        equal(r.returncode, 0, r.stderr)

    def native(self, method, path, body=None):
        return Client(path=f"{self.root}/run/api.sock").ask(
            method, "/api/v1/" + path, body)

    def sandboxes(self, every=False):
        r = self.native("GET", "sandboxes" + ("?all=1" if every else ""))
        return {s["id"]: s for s in r.json["sandboxes"]}

    def images(self):
        r = self.native("GET", "images")
        return sorted(i["name"] for i in r.json["images"])

    def child(self, name):
        """The pid of a process of ours by the program's name, or None."""
        for pid in children(self.proc.pid):
            if name.encode() in (read(f"/proc/{pid}/cmdline") or b""):
                return pid
        return None

    def front(self):
        return until(lambda: self.child("hutch-front"), "a front")

    def kill_front(self):
        """kill -9; comes back when the next one serves."""
        served = self.log().count("msg=serving")
        os.kill(self.front(), signal.SIGKILL)
        self.wait_log("msg=serving", 30, served + 1)

    def kill(self):
        self.proc.kill()
        self.proc.wait()


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return None


def children(pid):
    text = read(f"/proc/{pid}/task/{pid}/children") or b""
    return [int(p) for p in text.split()]


def processes():
    """{pid: (ppid, state, comm)} of this process namespace."""
    out = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        stat = read(f"/proc/{pid}/stat")
        if stat:
            comm, rest = stat.decode(errors="replace").rsplit(")", 1)
            rest = rest.split()
            out[int(pid)] = (int(rest[1]), rest[0], comm.split("(", 1)[1])
    return out


def strangers(d):
    """Processes that are neither this test nor below the daemon."""
    all_ = processes()
    mine = {1, os.getpid()}
    if d.proc is not None and d.proc.poll() is None:
        mine.add(d.proc.pid)

    def known(pid):
        while pid > 1 and pid not in mine and pid in all_:
            pid = all_[pid][0]
        return pid > 1 and pid in mine
    return {p: v for p, v in all_.items() if p != 1 and not known(p)}


def groups(number):
    """Directories of this instance, below every hierarchy."""
    out = set()
    for at, dirs, _ in os.walk(CGROUPS):
        for name in dirs:
            path = os.path.join(at, name)
            if re.search(rf"/hutch-{number}(\.main)?(/|$)", path):
                out.add(path[len(CGROUPS):])
    return out


def empty_groups(number, usual):
    """Of this instance, those that no process is in or below, but the usual.
    """
    now = groups(number)
    full = {g for g in now if read(f"{CGROUPS}{g}/cgroup.procs")}
    return {g for g in now - usual
            if not any((f + "/").startswith(g + "/") for f in full)}


def tool(*argv):
    return subprocess.run(argv, capture_output=True, text=True,
                          timeout=20).stdout


def network():
    """All of the network that is seen from here, as lines."""
    links = [f"{x['ifname']} {x['operstate']}" for x in
             json.loads(tool("ip", "-j", "link") or "[]")]
    return {"links": sorted(links),
            "routes": tool("ip", "route", "show", "table", "all"),
            "routes6": re.sub(r" expires \S+", "", tool(
                "ip", "-6", "route", "show", "table", "all")),
            "rules": tool("ip", "rule"),
            "nft": tool("nft", "list", "tables")}


class Leaks:
    """scripts/leakcheck around a block, for what is this test's own."""

    def __init__(self):
        fd, self.file = tempfile.mkstemp(prefix="hutch-leaks-")
        os.close(fd)
        self.mine = "^[^/]"

    def of(self, d):
        """Cgroups and directories are everybody's: these are ours."""
        with open(f"{d.root}/instance", encoding="ascii") as f:
            equal(f.read().strip(), str(d.number), "the number asked for")
        self.mine += (rf"|^/.*hutch-{d.number}\b|{re.escape(d.top)}"
                      rf"|hutch-instances/{d.number}$")

    def __enter__(self):
        self.fds = len(os.listdir("/proc/self/fd"))
        subprocess.run([LEAKCHECK, "snapshot", self.file, "--files",
                        "/run/hutch-instances"], check=True)
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            r = subprocess.run(
                [LEAKCHECK, "compare", self.file, "--wait", "5", "--only",
                 self.mine, "--files", "/run/hutch-instances"],
                capture_output=True, text=True, timeout=60)
        os.unlink(self.file)
        if kind is None:
            equal(r.returncode, 0, r.stdout + r.stderr)
            equal(len(os.listdir("/proc/self/fd")), self.fds, "descriptors")


def answered(fn):
    """fn's result, or None when the connection broke."""
    try:
        return fn()
    except (ConnectionError, http.client.HTTPException):
        return None
