#!/usr/bin/env python3
"""bench: hutch beside its peers, in one run, as ratios.

  tests/bench/bench.py [--rounds N] [--each N] [--only NAME,...] [--quick]

Everything happens in a network namespace of its own with a made-up uplink, so
that sandboxes have `nat` and the host's network is left alone.  A row a
figure: ours, the peer's, the ratio, the bar; exits 1 when one is short.
Needs root, the build directory in $HUTCH_BUILD, and bwrap, crun, runc for the
peers (a missing one is said and its rows are left out).
"""
import argparse
import ctypes
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

BUILD = os.path.abspath(os.environ.get("HUTCH_BUILD", "build"))
CACHE = os.environ.get("HUTCH_CACHE", "/var/cache/hutch")
CLONE_NEWNET, CLONE_NEWNS = 0x40000000, 0x00020000
libc = ctypes.CDLL(None, use_errno=True)


def unshare(flags):
    if libc.unshare(flags) != 0:
        raise OSError(ctypes.get_errno(), "unshare")


def run(*argv, **kw):
    return subprocess.run(argv, check=True, capture_output=True, text=True,
                          **kw)


class Http:
    """One kept-alive connection; no library between us and the clock."""

    def __init__(self, port):
        self.s = socket.create_connection(("127.0.0.1", port))
        self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buf = b""

    def post(self, path, body):
        data = json.dumps(body).encode()
        self.s.sendall(b"POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                       b"Content-Type: application/json\r\n"
                       b"Content-Length: %d\r\n\r\n%s"
                       % (path.encode(), len(data), data))
        while b"\r\n\r\n" not in self.buf:
            self.more()
        head, self.buf = self.buf.split(b"\r\n\r\n", 1)
        length = 0
        for line in head.lower().split(b"\r\n")[1:]:
            if line.startswith(b"content-length:"):
                length = int(line[15:])
        while len(self.buf) < length:
            self.more()
        body, self.buf = self.buf[:length], self.buf[length:]
        if b" 200 " not in head.split(b"\r\n")[0]:
            raise RuntimeError(f"{path}: {head!r} {body!r}")
        return json.loads(body)["data"]

    def more(self):
        got = self.s.recv(65536)
        if not got:
            raise RuntimeError("the daemon closed the connection")
        self.buf += got


class Daemon:
    def __init__(self, work, name, port, **options):
        self.root = os.path.join(work, name)
        os.makedirs(self.root)
        conf = os.path.join(work, name + ".conf")
        net = options.pop("net", "none")
        with open(conf, "w", encoding="ascii") as f:
            for k, v in options.items():
                f.write(f"{k} = {v}\n")
            f.write(f"[type base]\nimage = base\nnet = {net}\n")
        self.port = port
        env = {k: v for k, v in os.environ.items()
               if not k.startswith(("HUTCH_", "BEARER"))}
        env.update(PORT=str(port), HOST="127.0.0.1")
        if "agent_port" not in options:
            env["HUTCH_AGENT_PORT"] = "0"
        self.log = open(os.path.join(work, name + ".log"), "wb")
        self.p = subprocess.Popen(
            [os.path.join(BUILD, "hutchd"), "--root", self.root, "--config",
             conf, "--libexec", BUILD], env=env, stdin=subprocess.DEVNULL, stderr=self.log,
            cwd=work)
        deadline = time.time() + 30
        while True:
            try:
                self.http = Http(port)
                break
            except OSError:
                if time.time() > deadline or self.p.poll() is not None:
                    raise RuntimeError(f"{name} did not start, see "
                                       f"{self.log.name}") from None
                time.sleep(0.02)

    def import_base(self, tar):
        run(os.path.join(BUILD, "hutch"), "--root", self.root, "image",
            "import", tar, "base")
        self.http = Http(self.port)

    def create(self):
        got = self.http.post("/create_from_pool", {
            "sandbox_type": "base", "meta": {}})
        if not got:
            raise RuntimeError(f"no sandbox, see {self.log.name}")
        return got

    def call(self, box, tool, **args):
        got = self.http.post("/call_tool", {
            "identity": box, "tool_name": tool, "arguments": args})
        return got["content"][0]["text"]

    def release(self, box):
        self.http.post("/release", {"identity": box})

    def stop(self):
        self.p.send_signal(signal.SIGTERM)
        try:
            self.p.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.p.kill()
        self.log.close()


def timed(fn):
    t = time.perf_counter()
    fn()
    return (time.perf_counter() - t) * 1e3


def firsts(*argv, **kw):
    """ms of each, by first.c: see there."""
    r = subprocess.run([os.path.join(BUILD, "tests/bench/first"), *argv],
                       capture_output=True, text=True, stdin=subprocess.DEVNULL,
                       **kw)
    if r.returncode != 0:
        raise RuntimeError(r.stderr.strip())
    return [float(x) for x in r.stdout.split()]


def spawn_shell(command):
    """posix_spawn of /bin/sh -c on the host, until it has ended."""
    r, w = os.pipe()
    t = time.perf_counter()
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", command], os.environ,
                         file_actions=[(os.POSIX_SPAWN_DUP2, w, 1)])
    os.close(w)
    while os.read(r, 4096):
        pass
    os.waitpid(pid, 0)
    ms = (time.perf_counter() - t) * 1e3
    os.close(r)
    return ms


ROWS = []


def row(name, ours, peer, bar, unit="ms"):
    """bar: the most ours / peer may be; peer None: the most ours may be."""
    ratio = ours / peer if peer else ours
    good = ratio <= bar
    ROWS.append(good)
    peer_text = f"{peer:10.3f}" if peer else " " * 10
    print(f"{'ok   ' if good else 'short'} {name:52} {ours:10.3f} "
          f"{peer_text} {ratio:8.3f} <= {bar:.3f} {unit}", flush=True)


def bundle(work, root, runtime):
    """An OCI bundle over the same root, the same command."""
    at = os.path.join(work, "bundle-" + runtime)
    os.makedirs(at)
    run(runtime, "spec", cwd=at)
    path = os.path.join(at, "config.json")
    with open(path, encoding="utf-8") as f:
        spec = json.load(f)
    spec["root"] = {"path": root, "readonly": False}
    spec["process"]["terminal"] = False
    spec["process"]["args"] = ["sh", "-c", "echo hi"]
    # Raising limits may be forbidden, which a device program would need.
    spec["process"].pop("rlimits", None)
    spec["linux"].pop("resources", None)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(spec, f)
    return at


def private_cgroup2():
    """What crun needs on a hybrid host: cgroup2 alone on /sys/fs/cgroup."""
    unshare(CLONE_NEWNS)
    run("mount", "--make-rprivate", "/")
    if not os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        run("mount", "-t", "cgroup2", "cgroup2", "/sys/fs/cgroup")


def peers(work, root):
    """name: fn(count), which gives the ms of each of so many starts."""
    def bwrap(count):
        return firsts("spawn", str(count), "bwrap", "--unshare-all", "--bind",
                      root, "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs",
                      "/tmp", "sh", "-c", "echo hi")

    def oci(runtime, at, **kw):
        return lambda count: firsts("spawn", str(count), runtime, "run",
                                    "--bundle", at, "@", **kw)

    have = {}
    if shutil.which("bwrap"):
        have["bwrap"] = bwrap
    if shutil.which("crun"):
        # What crun needs on a hybrid host is made once, and not counted.
        have["crun"] = oci("crun", bundle(work, root, "crun"),
                           preexec_fn=private_cgroup2)
    if shutil.which("runc"):
        have["runc"] = oci("runc", bundle(work, root, "runc"))
    for name in ("bwrap", "crun", "runc"):
        if name not in have:
            print(f"# {name} is not installed: its rows are left out")
            continue
        try:
            have[name](1)
        except (RuntimeError, OSError, subprocess.SubprocessError) as e:
            print(f"# {name} does not run here ({e}): its rows are left out")
            del have[name]
    return have


def network():
    """A namespace with an uplink that leads nowhere."""
    unshare(CLONE_NEWNET)
    for line in ("link set lo up", "link add up0 type veth peer name up1",
                 "addr add 203.0.113.2/24 dev up0", "link set up0 up",
                 "link set up1 up", "route add default via 203.0.113.1"):
        run("ip", *line.split())


def interleave(rounds, each, subjects):
    """Medians over rounds of medians of `each`, subjects in turn."""
    sums = {k: [] for k in subjects}
    for _ in range(rounds):
        for name, fn in subjects.items():
            fn()
            sums[name].append(statistics.median(fn() for _ in range(each)))
    return {k: statistics.median(v) for k, v in sums.items()}


def interleave_firsts(rounds, each, subjects):
    """The same for fn(count).  What one leaves behind (network namespaces to
    make and to take apart) is not to be in the next one's time."""
    sums = {k: [] for k in subjects}
    for _ in range(rounds):
        for name, fn in subjects.items():
            few = each if name not in ("runc", "crun") else max(5, each // 5)
            time.sleep(1)
            sums[name].append(statistics.median(fn(few)))
    return {k: statistics.median(v) for k, v in sums.items()}


def settle():
    time.sleep(0.5)


def bench_create(a, work, root, base):
    plain = Daemon(work, "plain", 18101, blanks=0, pool_size=0,
                   net="nat")
    blanks = Daemon(work, "blanks", 18102, blanks=2, pool_size=0, net="nat")
    try:
        for d in (plain, blanks):
            d.import_base(base)
        for d in (plain, blanks):
            d.http = Http(d.port)
        have = peers(work, root)

        def ours(count):
            return firsts("http", str(plain.port), str(count), "0")

        def with_blanks(count):
            # A blank is made again between two creations; awake, as in the
            # other rows: a processor that has slept is slow for a while.
            return firsts("http", str(blanks.port), str(count), "6")

        for fn in (ours, with_blanks):  # the first of an image is slower
            fn(a.each)
        m = interleave_firsts(a.rounds, a.each, {
            "ours": ours, "blanks": with_blanks, **have})
        for name, bar in (("bwrap", 0.7), ("crun", 0.25), ("runc", 1 / 9)):
            if name in m:
                row(f"create, first output; no blanks / {name}", m["ours"],
                    m[name], bar)
        if "bwrap" in m:
            row("create, first output; blanks 2 / bwrap", m["blanks"],
                m["bwrap"], 0.45)
        plain.http = Http(plain.port)  # the first was idle too long
        alive = [plain.create() for _ in range(a.alive)]
        crowded = interleave_firsts(max(1, a.rounds - 2), a.each, {
            "ours": ours})["ours"]
        row(f"the same with {a.alive} alive / none", crowded, m["ours"], 1.5)
        plain.http = Http(plain.port)
        for box in alive:
            plain.release(box)
        settle()
    finally:
        plain.stop()
        blanks.stop()


def resident(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def front_of(d):
    with open(f"/proc/{d.p.pid}/task/{d.p.pid}/children",
              encoding="ascii") as f:
        for pid in f.read().split():
            if "hutch-front" in os.readlink(f"/proc/{pid}/exe"):
                return int(pid)
    raise RuntimeError("no front")


class Stuffed:
    """1 GB in the front's heap, by its ordinary door: requests that never
    end.  json_max lets each have 64 MiB, which the front collects."""
    EACH = 63 << 20

    def __init__(self, d, size):
        self.socks, front = [], front_of(d)
        piece, deadline = bytes(1 << 20), time.time() + 60
        for _ in range(-(-size // self.EACH)):
            s = socket.create_connection(("127.0.0.1", d.port), 60)
            self.socks.append(s)
            s.sendall(b"POST /create HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                      b"Content-Type: application/json\r\n"
                      b"Content-Length: %d\r\n\r\n" % (self.EACH + 1))
            for _ in range(self.EACH >> 20):
                s.sendall(piece)
        while resident(front) < size:
            if time.time() > deadline:
                raise RuntimeError(f"the front has {resident(front)} bytes")
            time.sleep(0.01)

    def close(self):
        for s in self.socks:
            s.close()


def bench_heap(a, work, base):
    d = Daemon(work, "heap", 18106, blanks=0, pool_size=0, net="nat",
               json_max="64MiB", body_timeout="1h")
    try:
        d.import_base(base)
        empty, full = [], []

        def median():
            firsts("http", str(d.port), str(max(10, a.each // 4)), "0")
            time.sleep(1)
            return statistics.median(
                firsts("http", str(d.port), str(a.each), "0"))

        for _ in range(a.rounds):
            empty.append(median())
            stuffed = Stuffed(d, 10 ** 9)
            try:
                full.append(median())
            finally:
                stuffed.close()
        row("the same with 1 GB in the front's heap / none",
            statistics.median(full), statistics.median(empty), 1.1)
    finally:
        d.stop()


IPY_COLD = ("/opt/venv/bin/python -c 'from IPython.core.interactiveshell "
            "import InteractiveShell as S; S.instance().run_cell(\"1+1\")'")


def bench_python(a, work, base):
    d = Daemon(work, "python", 18103, blanks=2, pool_size=0)
    p = Daemon(work, "pool", 18104, blanks=2, pool_size=4)
    try:
        for x in (d, p):
            x.import_base(base)
        for x in (d, p):
            x.http = Http(x.port)

        def cold_peer():
            box = d.create()
            d.call(box, "run_shell_command", command="true")
            ms = timed(lambda: d.call(box, "run_shell_command",
                                      command=IPY_COLD))
            d.release(box)
            return ms

        def first_cell(x):
            box = None

            def go():
                nonlocal box
                box = x.create()
                if x.call(box, "run_ipython_cell", code="1+1") != \
                        "Out[1]: 2\n":
                    raise RuntimeError("wrong answer")
            ms = timed(go)
            x.release(box)
            return ms

        def pooled():
            time.sleep(0.15)
            return first_cell(p)

        few = max(10, a.each // 5)
        m = interleave(max(1, a.rounds - 2), few, {
            "peer": cold_peer, "cell": lambda: first_cell(d),
            "pool": pooled})
        row("create, first cell; no pool / cold InteractiveShell",
            m["cell"], m["peer"], 0.2)
        row("create, first cell; from a pool", m["pool"], None, 5)
        n, t = 40, time.perf_counter()
        for _ in range(n):
            p.release(p.create())
        took = time.perf_counter() - t
        row("seconds per sandbox when a pool is drained", took / n, None,
            1 / 15, "s")
    finally:
        d.stop()
        p.stop()


def pool_is_full(d, size):
    with urllib.request.urlopen(f"http://127.0.0.1:{d.port}/metrics",
                                timeout=10) as r:
        return b'hutch_pool_sandboxes{state="warm"} %d\n' % size in r.read()


def wait_full(d, size):
    deadline = time.time() + 60
    while not pool_is_full(d, size):
        if time.time() > deadline:
            raise RuntimeError("the pool does not fill")
        time.sleep(0.02)


def bench_refill(a, work, base, size=20):
    """From the first taken until as many are ready again: their interpreters
    have joined and have run cells, and what is taken next shows it."""
    d = Daemon(work, "refill", 18107, blanks=2, pool_size=size)
    try:
        d.import_base(base)
        d.http = Http(d.port)
        rates, cells = [], []
        for _ in range(max(2, a.rounds)):
            wait_full(d, size)
            settle()
            t = time.perf_counter()
            boxes = [d.create() for _ in range(size)]
            wait_full(d, size)
            rates.append((time.perf_counter() - t) / size)
            for box in boxes:
                cells.append(timed(lambda box=box: d.call(
                    box, "run_ipython_cell", code="1+1")))
                d.release(box)
        row("a drained pool fills again, seconds each",
            statistics.median(rates), None, 1 / 15, "s")
        row("first cell of what it was filled with",
            statistics.median(cells), None, 5)
    finally:
        d.stop()


def bench_live(a, work, base):
    d = Daemon(work, "live", 18105, blanks=0, pool_size=0)
    try:
        d.import_base(base)
        box = d.create()
        d.call(box, "run_ipython_cell", code="1")
        m = interleave(a.rounds, a.each, {
            "shell": lambda: timed(lambda: d.call(
                box, "run_shell_command", command="echo hi")),
            "spawn": lambda: spawn_shell("echo hi"),
            "cell": lambda: timed(lambda: d.call(
                box, "run_ipython_cell", code="1+1"))})
        row("shell call on a live sandbox / 1.5 spawns + 1 ms", m["shell"],
            1.5 * m["spawn"] + 1, 1.0)
        row("warm cell", m["cell"], None, 2.0)
    finally:
        d.stop()


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--each", type=int, default=100)
    p.add_argument("--alive", type=int, default=500)
    p.add_argument("--only", default="create,heap,python,refill,live")
    p.add_argument("--quick", action="store_true")
    p.add_argument("--keep", action="store_true")
    a = p.parse_args()
    if a.quick:
        a.rounds, a.each, a.alive = 2, 20, 50
    if os.geteuid() != 0:
        sys.exit("bench: run it as root: it makes namespaces and sandboxes")
    base = os.path.join(CACHE, "base.tar")
    root = os.path.join(CACHE, "base.tree")  # tests/lib/basetree.py's
    if not os.path.exists(base):
        sys.exit(f"bench: {base} is missing: run scripts/box-build first")
    work = tempfile.mkdtemp(prefix="hutch-bench-")
    network()
    try:
        if not os.path.isdir(root):
            root = os.path.join(work, "tree")
            d = Daemon(work, "export", 18100)
            d.import_base(base)
            run(os.path.join(BUILD, "hutch"), "--root", d.root, "image",
                "export", "base", root)
            d.stop()
        print(f"      {'figure':52} {'ours':>10} {'peer':>10} {'ratio':>8}")
        for name, fn in (("create", lambda: bench_create(a, work, root, base)),
                         ("heap", lambda: bench_heap(a, work, base)),
                         ("python", lambda: bench_python(a, work, base)),
                         ("refill", lambda: bench_refill(a, work, base)),
                         ("live", lambda: bench_live(a, work, base))):
            if name in a.only.split(","):
                fn()
    finally:
        if a.keep:
            print(f"# kept: {work}")
        else:
            shutil.rmtree(work, ignore_errors=True)
    print(f"{sum(ROWS)} ok, {len(ROWS) - sum(ROWS)} short")
    return 0 if all(ROWS) else 1


if __name__ == "__main__":
    sys.exit(main())
