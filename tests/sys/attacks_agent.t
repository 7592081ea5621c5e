#!/usr/bin/env python3
"""Attacks of a process 1 that the guest has taken over: 52 and 53.

tests/sys/evilagent stands in for the agent; the rest of the daemon is real.
"""
import hashlib
import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
from attacked import TYPE, house  # noqa: E402
from daemon import BUILD, need_root  # noqa: E402
from live import Client, front_pid  # noqa: E402
from tap import SANITISED, equal, run, test, true  # noqa: E402

need_root()
MOST = (512 if SANITISED else 24) << 20  # bytes that the front may grow by


def rss(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * 4096


def fds(pid):
    found = []
    for n in os.listdir(f"/proc/{pid}/fd"):
        try:
            found.append(os.readlink(f"/proc/{pid}/fd/{n}"))
        except FileNotFoundError:  # closed meanwhile
            pass
    return found


class Calls(Client):
    def call(self, box, command, seconds=30):
        """(status, text of the answer)"""
        status, body = self.post("/call_tool", {
            "identity": box, "tool_name": "run_shell_command",
            "arguments": {"command": command}}, seconds)
        return status, str(body)

    def release(self, box):
        return self.post("/release", {"identity": box})


def offence(name, ends=True):
    @test
    def check(d, c, good):
        pid, before = front_pid(d), rss(front_pid(d))
        box, got = c.create(), []
        t = threading.Thread(
            target=lambda: got.append(c.call(box, f"evil {name}")))
        t.start()
        if ends:
            t.join(20)
            true(got, "the call was never answered")
        slow, tried = 0, 0
        end = time.monotonic() + (0 if ends else 2)
        while tried < 20 or time.monotonic() < end:
            tried += 1
            started = time.monotonic()
            equal(c.call(good, "x")[0], 200, "the other sandbox's call")
            slow = max(slow, time.monotonic() - started)
        true(slow < 2, f"the others wait for {slow} s")
        equal(c.release(box)[0], 200)
        t.join(20)
        true(got, "never answered, though its sandbox is gone")
        equal(front_pid(d), pid, "the front")
        print(f"# {name}: the front grew by {rss(pid) - before >> 10} KiB")
        true(rss(pid) - before < MOST, f"{rss(pid) - before} bytes more")
    check.__doc__ = f"52: {name}"


for offender in ("huge", "zero", "nested", "fields", "entries", "twice",
                 "again", "noise"):
    offence(offender)
for lasting in ("drip", "flood", "credit"):
    offence(lasting, ends=False)


@test
def descriptors(d, c, good):
    """53: descriptors on the stream are never received"""
    pid = front_pid(d)
    box = c.create()
    c.call(box, "x")
    before, broker = fds(pid), fds(d.proc.pid)
    status, text = c.call(box, "evil rights")
    equal(status, 200)
    true("'isError': False" in text, f"the honest bytes of it: {text}")
    # 2400 were sent; blanks and connections come and go.
    true(len(fds(pid)) < len(before) + 60, "the front's")
    for what in fds(pid):
        true("memfd:x" not in what and what != "/proc", what)
    true(len(fds(d.proc.pid)) < len(broker) + 60, "the broker's")
    equal(c.release(box)[0], 200)


def main():
    token = hashlib.sha256(b"first").hexdigest()
    # No blanks: what the broker holds is then this sandbox alone.
    d = house(f"blanks = 0\n[tenant one]\ntoken_sha256 = {token}\nadmin = yes\n" + TYPE,
              agent=f"{BUILD}/tests/sys/evilagent")
    try:
        c = Calls(d)
        return run(d, c, c.create())
    finally:
        if os.environ.get("TEST_LOG"):
            sys.stderr.write(d.log())
        d.clean()


sys.exit(main())
