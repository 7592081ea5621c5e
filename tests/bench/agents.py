#!/usr/bin/env python3
"""agents: event streams of hutch beside upstream's, in one run.

  tests/bench/agents.py [--only NAME,...] [--streams N] [--seconds S]

The front is bound to one core, the load to another, as upstream's server is.
Rows: many slow streams, a flood, events per core, short answers, memory of an
open stream, the first event.  Needs root, $HUTCH_BUILD, the base image for the
rows with Python's worker, and for the peer a virtual environment with
agentscope-runtime 1.1.5, uvloop and httptools in $UPSTREAM (without it those
rows say only ours).
"""
import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import bench  # noqa: E402

BUILD, UPSTREAM = bench.BUILD, os.environ.get("UPSTREAM", "")
PORT, AGENTS, PEER = 18830, 18831, 18832
SAYER = os.path.join(BUILD, "tests/bench/sayer")
TICK = os.sysconf("SC_CLK_TCK")


def children(pid):
    out = []
    for p in os.listdir("/proc"):
        if p.isdigit():
            try:
                with open(f"/proc/{p}/stat") as f:
                    rest = f.read().rsplit(")", 1)
            except OSError:
                continue
            if int(rest[1].split()[1]) == pid:
                out.append((int(p), rest[0].split("(", 1)[1]))
    return out


def cpu(*pids):
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICK


def rss(pid):
    with open(f"/proc/{pid}/status") as f:
        for line in f:
            if line.startswith("VmRSS"):
                return int(line.split()[1])
    return 0


def load(port, path, n, script, at_once=None, watch=None):
    argv = ["taskset", "-c", "1", os.path.join(BUILD, "tests/bench/streams"),
            str(port), path, str(n), script]
    if at_once:
        argv.append(str(at_once))
    p = subprocess.Popen(argv, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    p.stderr.readline()
    seen = watch() if watch else None
    out = json.loads(p.stdout.read())
    p.wait()
    return out, seen


class Ours:
    def __init__(self, work):
        self.d = bench.Daemon(work, "agents", PORT, agent_port=AGENTS,
                              agent_runs=20000, agent_connections=20000)
        self.front = next(p for p, name in children(self.d.p.pid)
                          if name == "hutch-front")
        for t in os.listdir(f"/proc/{self.front}/task"):
            os.sched_setaffinity(int(t), {0})

    def deploy(self, name, files, **options):
        tar = io.BytesIO()
        with tarfile.open(fileobj=tar, mode="w") as t:
            for path, mode in files:
                info = t.gettarinfo(path, os.path.basename(path))
                info.mode = mode
                with open(path, "rb") as f:
                    t.addfile(info, f)
        body = json.dumps(options).encode() + b"\n" + tar.getvalue()
        q = urllib.request.Request(
            f"http://127.0.0.1:{PORT}/api/v1/agents/{name}", body,
            {"Content-Type": "application/x-hutch-agent"}, method="PUT")
        with urllib.request.urlopen(q, timeout=120) as r:
            said = [json.loads(x) for x in r.read().splitlines()]
        if "error" in said[-1]:
            raise RuntimeError(f"{name}: {said[-1]}")

    def worker(self, comm):
        for p in os.listdir("/proc"):
            if p.isdigit():
                try:
                    with open(f"/proc/{p}/cmdline", "rb") as f:
                        line = f.read()
                except OSError:
                    continue
                if comm.encode() in line and b"taskset" not in line:
                    return int(p)
        raise RuntimeError(f"no process {comm}")


class Peer:
    def __init__(self, work):
        self.log = open(os.path.join(work, "peer.log"), "wb")
        self.p = subprocess.Popen(
            ["taskset", "-c", "0", os.path.join(UPSTREAM, "bin/python"),
             os.path.join(HERE, "upstream_app.py"), str(PEER)],
            stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL)
        deadline = time.time() + 60
        while True:
            if self.p.poll() is not None:
                raise RuntimeError(f"the peer did not start, see "
                                   f"{self.log.name}")
            try:
                with urllib.request.urlopen(
                        f"http://127.0.0.1:{PEER}/health", timeout=5):
                    return
            except OSError:
                if time.time() > deadline:
                    raise RuntimeError("the peer did not start") from None
                time.sleep(0.1)

    def __enter__(self):
        return self.p.pid

    def __exit__(self, *_):
        self.p.kill()
        self.p.wait()
        self.log.close()


def need(what, got, want):
    good = got == want
    bench.ROWS.append(good)
    print(f"{'ok   ' if good else 'short'} {what:52} {got} of {want}",
          flush=True)


def whole(what, got, n, count):
    need(f"{what}: ended well", got["completed"], n)
    need(f"{what}: deltas", got["deltas"], n * count)
    need(f"{what}: gaps", got["gaps"], 0)


def slow(ours, args):
    """Row 5: many streams of one event a second."""
    n, s = args.streams, args.seconds
    base = rss(ours.front)
    got, full = load(AGENTS, "/process", n, f"say {s} 1000000 20", 100,
                     lambda: (time.sleep(s / 2), rss(ours.front))[1])
    whole(f"{n} streams, 1/s", got, n, s)
    bench.row(f"{n} streams, 1/s: a stream's memory", (full - base) / n, None,
              10, "KiB")
    bench.row(f"{n} streams, 1/s: delay p99", got["late_us"]["p99"] / 1e3,
              None, 100)


def flood(ours, args):
    """Row 5: 100 streams, 100,000 events a second in all."""
    got, _ = load(AGENTS, "/process", 100, "say 10000 1000 20")
    whole("100 streams, 100,000/s", got, 100, 10000)
    bench.row("100 streams, 100,000/s: 10 s of it", got["seconds"], None, 11,
              "s")


def per_core(port, path, n, *pids):
    """Events a second of CPU of these: n streams of 200, 20 at a time."""
    before = cpu(*pids)
    got, _ = load(port, path, n, "say 200 0 20", 20)
    if got["completed"] != n:
        raise RuntimeError(f"streams were lost: {got}")
    return got["events"] / max(cpu(*pids) - before, 0.01)


def short_answers(port, path, *pids):
    before = cpu(*pids)
    got, _ = load(port, path, 3000, "say 4 0 5", 32)
    if got["completed"] != 3000:
        raise RuntimeError(f"answers were lost: {got}")
    return 3000 / max(cpu(*pids) - before, 0.01)


def memory(port, path, pid, n):
    base = rss(pid)
    _, full = load(port, path, n, "say 6 1000000 20", None,
                   lambda: (time.sleep(3), rss(pid))[1])
    return (full - base) / n


def beside(ours, args):
    """Row 6: ours and upstream's, the same script."""
    # Memory first: what earlier streams have left free is not seen.
    mine = {"memory": memory(AGENTS, "/process", ours.front, 1000),
            "events": per_core(AGENTS, "/process", 5000, ours.front),
            "answers": short_answers(AGENTS, "/process", ours.front)}
    first, _ = load(AGENTS, "/process", 500, "say 1 0 5", 1)
    if UPSTREAM:
        with Peer(args.work) as pid:
            load(PEER, "/process", 1, "say 2 0 5")
            theirs = {"memory": memory(PEER, "/process", pid, 1000),
                      "events": per_core(PEER, "/process", 300, pid),
                      "answers": short_answers(PEER, "/process", pid)}
        for what, bar in (("events", 1 / 20), ("answers", 1 / 10)):
            bench.row(f"{what} per core-second, upstream / ours",
                      theirs[what], mine[what], bar, "/s")
        bench.row("memory of an open stream", mine["memory"],
                  theirs["memory"], 1 / 8, "KiB")
    else:
        print(f"      no peer ($UPSTREAM): {mine}")
    bench.row("first delta after it was said, p50",
              first["late_us"]["p50"] / 1e3, None, 1)


def python(ours, args):
    """Row 6: with hutch_agent's worker, both processes counted."""
    ours.deploy("say", [(os.path.join(HERE, "sayer.py"), 0o644)],
                entry="sayer.py", type="base", net="none")
    load(AGENTS, "/agents/say/process", 1, "say 2 0 5")
    worker = ours.worker("hutch_agent")
    mine = per_core(AGENTS, "/agents/say/process", 1000, ours.front,
                    worker)
    if not UPSTREAM:
        print(f"      no peer ($UPSTREAM): {mine}")
        return
    with Peer(args.work) as pid:
        theirs = per_core(PEER, "/process", 300, pid)
    bench.row("events per core-second, Python's worker, upstream / ours",
              theirs, mine, 1 / 5, "/s")


CASES = {f.__name__: f for f in (slow, flood, beside, python)}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--only", default=",".join(CASES))
    p.add_argument("--streams", type=int, default=10000)
    p.add_argument("--seconds", type=int, default=120)
    args = p.parse_args()
    for name in args.only.split(","):
        # A daemon each: memory that another case has freed is not seen.
        with tempfile.TemporaryDirectory(prefix="hutch-agents-") as work:
            args.work = work
            ours = Ours(work)
            try:
                ours.d.import_base(os.path.join(bench.CACHE, "base.tar"))
                ours.deploy("sayer", [(SAYER, 0o755)], type="base",
                            command=["/workspace/sayer"], net="none",
                            max_runs=20000)
                CASES[name](ours, args)
            finally:
                ours.d.stop()
    return 0 if all(bench.ROWS) else 1


if __name__ == "__main__":
    sys.exit(main())
