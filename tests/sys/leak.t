#!/usr/bin/env python3
"""Nothing is left: of sandboxes while the daemon runs, of a daemon that was
killed, of one that was reset.

In namespaces of its own (network, mounts, processes), so that whatever is left
was left by this daemon; cgroups are looked at by its instance's name.
"""
import contextlib
import fcntl
import os
import re
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from daemon import BUILD, Daemon, make_root, need_root  # noqa: E402
from tap import equal, run, test, true  # noqa: E402

LEAKCHECK = os.path.join(HERE, "..", "..", "scripts", "leakcheck")
HUTCH = f"{BUILD}/hutch"
WAIT = 60
# One moment's work of the kernel or of a test beside us is no leak.
PATIENCE = "20"

need_root()
if not os.environ.get("LEAK_TEST"):
    os.execvpe("unshare", ["unshare", "--net", "--mount", "--pid", "--fork",
                           "--mount-proc", "--kill-child", sys.executable,
                           os.path.abspath(__file__)],
               {**os.environ, "LEAK_TEST": "1"})
if os.getpid() == 1:  # somebody has to reap what loses its parent
    worker = os.fork()
    if worker:
        while True:
            pid, status = os.wait()
            if pid == worker:
                sys.exit(os.waitstatus_to_exitcode(status) != 0)
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
sys.path.insert(0, os.path.join(HERE, "..", "..", "scripts"))
check = {"__name__": "leakcheck", "__file__": LEAKCHECK}
with open(LEAKCHECK, encoding="utf-8") as source:
    exec(compile(source.read(), LEAKCHECK, "exec"), check)


def hutch(d, *args, ok=True):
    r = subprocess.run([HUTCH, "--root", d.root, *args], timeout=WAIT,
                       stdin=subprocess.DEVNULL, capture_output=True,
                       text=True, check=False)
    if ok:
        equal(r.returncode, 0, f"hutch {' '.join(args)}: {r.stderr}; status")
    return r


def descriptors(d):
    """Of the daemon and the processes it runs for itself."""
    out = {}
    for pid in os.listdir("/proc"):
        try:
            with open(f"/proc/{pid}/comm", encoding="ascii") as f:
                name = f.read().strip()
            if name in ("hutchd", "hutch-front"):
                for fd in os.listdir(f"/proc/{pid}/fd"):
                    at = os.readlink(f"/proc/{pid}/fd/{fd}")
                    kind = "file" if at[0] == "/" else at.split(":")[0]
                    # Kept, one or two for each slot of ids ever used.
                    if kind == "user":
                        continue
                    key = f"{name}: {kind}"
                    out[key] = out.get(key, 0) + 1
        except OSError:
            continue
    return out


def numbers(d):
    """How many of each kind there are, and open descriptors."""
    seen = check["snapshot"]([])
    count = {k: len(seen[k]) for k in ("processes", "namespaces", "mounts",
                                       "links", "addresses", "nft", "sockets")}
    count["cgroups"] = len([c for c in seen["cgroups"]
                            if re.search(d.mark + "(/|$)", c)])
    return {**count, **descriptors(d)}


def settle(d, want, seconds=30):
    """Until there is no more of anything than `want` says; the last look."""
    end = time.monotonic() + seconds
    while True:
        now = numbers(d)
        more = {k: (want.get(k, 0), n) for k, n in now.items() if n > want.get(k, 0)}
        if not more or time.monotonic() > end:
            return more
        time.sleep(0.1)


def rest(d):
    """The numbers once they have stood still for a second."""
    last, since = numbers(d), time.monotonic()
    while time.monotonic() < since + 1:
        time.sleep(0.1)
        now = numbers(d)
        if now != last:
            last, since = now, time.monotonic()
    return last


def wave(d, root, n):
    """n sandboxes at once, each used in several ways, and ended in several."""
    jobs = [subprocess.Popen(
        [HUTCH, "--root", d.root, "run", root, "sh", "-c",
         "echo x >/workspace/f; sleep 0.1 & cat /workspace/f"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) for _ in range(n)]
    for i, p in enumerate(jobs):
        if i % 3 == 0:
            p.kill()  # the client leaves; the sandbox is to follow
        out = p.communicate(timeout=WAIT)[0]
        true(i % 3 == 0 or out == b"x\n", f"said {out!r}")
    ids = [hutch(d, "create", root).stdout.strip() for _ in range(3)]
    hutch(d, "exec", ids[0], "sh", "-c", "setsid sleep 1000 & echo")
    hutch(d, "pause", ids[1])
    hutch(d, "rm", *ids)


@test
def sandboxes(d, root):
    """after a hundred sandboxes there is no more of anything than after ten"""
    # More at once than later: what is kept for each slot of ids is there then.
    wave(d, root, 14)
    before = rest(d)
    for _ in range(10):
        wave(d, root, 7)
    equal(settle(d, before), {})


@test
def fronts(d, root):
    """nor when the front is killed, again and again"""
    box = hutch(d, "create", root).stdout.strip()
    before = rest(d)
    for _ in range(3):
        said = d.log().count("front started")
        busy = subprocess.Popen([HUTCH, "--root", d.root, "exec", box, "sh",
                                 "-c", "echo up; sleep 50"],
                                stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL)
        equal(busy.stdout.readline(), b"up\n")
        (front,) = [p for p in os.listdir("/proc") if p.isdigit() and
                    name_of(p) == "hutch-front"]
        os.kill(int(front), signal.SIGKILL)
        d.wait_log("front started", count=said + 1)
        true(busy.wait(WAIT) != 0, "a call outlived its front")
        busy.stdout.close()
    until_answers(d)
    equal(settle(d, before), {})
    hutch(d, "rm", box)


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii") as f:
            return f.read().strip()
    except OSError:
        return ""


def until_answers(d):
    end = time.monotonic() + WAIT
    while hutch(d, "ps", ok=False).returncode:
        true(time.monotonic() < end, "no answer")
        time.sleep(0.1)


@test
def killed(d, root):
    """a daemon that is killed takes all with it; the next start sweeps"""
    for _ in range(3):
        for _ in range(4):
            hutch(d, "create", root)
        d.proc.kill()
        d.proc.wait()
        end = time.monotonic() + 20
        while [p for p in os.listdir("/proc") if p.isdigit() and
               name_of(p).startswith("hutch")]:
            true(time.monotonic() < end, "something runs on, unsupervised")
            time.sleep(0.05)
        d.start()
        until_answers(d)
        equal(hutch(d, "ps", "-q").stdout, "")


@test
def nothing(d, root):
    """after a stop and a reset this host is as it was before"""
    equal(d.stop(), 0, "the daemon's end")
    equal(subprocess.run(d.command("--reset"), check=False, timeout=WAIT,
                         capture_output=True).returncode, 0)
    # The number is free, and another daemon of this host may take it at once:
    # we take it, and then only look at cgroups of its name.
    only = "^[+-] (?!cgroups)"
    numbers = "/run/hutch-instances"  # gone with the last daemon of the host
    os.makedirs(numbers, mode=0o700, exist_ok=True)
    number = f"{numbers}/{d.number}"
    with open(number, "w", encoding="ascii") as lock:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            only += f"|{d.mark}(/|$)"
            os.unlink(number)
        r = subprocess.run([LEAKCHECK, "compare", d.before, "--wait", PATIENCE,
                            "--only", only],
                           stdout=subprocess.PIPE, text=True, check=False)
    with contextlib.suppress(OSError):
        os.rmdir(numbers)
    equal(r.stdout.strip(), "as it was before")
    true(not os.path.exists(d.root), "the root is still there")


def main():
    d = Daemon(front=f"{BUILD}/hutch-front")
    d.before = f"{d.top}/before.json"
    try:
        root = make_root(f"{d.top}/image")
        subprocess.run([LEAKCHECK, "snapshot", d.before], check=True)
        d.start()
        with open(f"{d.root}/instance", encoding="ascii") as f:
            d.number = int(f.read())
        d.mark = f"hutch-{d.number}"
        status = run(d, root)
        if status:
            print("# " + "\n# ".join(d.log().splitlines()[-20:]))
    finally:
        d.clean()
    return status


if __name__ == "__main__":
    sys.exit(main())
