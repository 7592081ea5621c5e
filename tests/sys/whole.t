#!/usr/bin/env python3
"""All processes together: HTTP to a shell inside, through deaths and reloads.
"""
import os
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

@test
def from_http_to_a_shell(d, c, root):
    """a command's output comes back over HTTP"""
    box = c.create()
    equal(c.shell(box, "echo hi"), "hi\n")
    equal(c.post("/release", {"identity": box})[1], {"data": True})


@test
def a_lent_folder(d, c, root):
    """hutch run DIR: root's own folder, by descriptor"""
    r = hutch(d, "run", root, "--", "sh", "-c", "echo hi; exit 3")
    equal((r.stdout, r.returncode), ("hi\n", 3), r.stderr)


@test
def the_front_dies(d, c, root):
    """kill -9 of the front: the sandbox and its files are still there"""
    box = c.create()
    c.shell(box, "echo kept > /workspace/f; echo too > /tmp/g")
    for _ in range(3):
        started = d.log().count("msg=serving")
        os.kill(front_pid(d), signal.SIGKILL)
        d.wait_log("msg=serving", count=started + 1)
        equal(c.shell(box, "cat /workspace/f /tmp/g"), "kept\ntoo\n")
    equal(c.post("/release", {"identity": box})[1], {"data": True})


@test
def a_call_in_its_death_is_not_repeated(d, c, root):
    """a call that the front died in ran once, and its client knows nothing"""
    box = c.create()
    failed = []

    def call():
        try:
            c.shell(box, "echo x >> /workspace/n; sleep 3")
        except (OSError, AssertionError) as e:
            failed.append(e)
    t = threading.Thread(target=call)
    t.start()
    while c.shell(box, "cat /workspace/n 2>/dev/null || echo none") == "none\n":
        pass
    started = d.log().count("msg=serving")
    os.kill(front_pid(d), signal.SIGKILL)
    t.join(20)
    equal(len(failed), 1)
    d.wait_log("msg=serving", count=started + 1)
    equal(c.shell(box, "cat /workspace/n"), "x\n")
    c.post("/release", {"identity": box})


@test
def a_token_is_changed(d, c, root):
    """SIGHUP: the new token works, the old one does not, nothing else ends"""
    box = c.create()
    d.write_config(token("second") + TYPE)
    d.proc.send_signal(signal.SIGHUP)
    d.wait_log("configuration read again")
    equal(c.post("/call_tool", {"identity": box})[0], 401)
    c.token = "second"
    equal(c.shell(box, "echo on"), "on\n")
    c.post("/release", {"identity": box})


@test
def a_running_call_ends_with_the_daemon(d, c, root):
    """SIGTERM: what runs may end first"""
    box = c.create()
    got = []
    t = threading.Thread(target=lambda: got.append(
        c.shell(box, "echo began > /workspace/b; sleep 2; echo done")))
    t.start()
    while c.shell(box, "cat /workspace/b 2>/dev/null || echo no") == "no\n":
        pass
    equal(d.stop(), 0)
    t.join(10)
    equal(got, ["done\n"])


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
        failed = run(d, Client(d), root)
    finally:
        if os.environ.get("TEST_LOG"):
            sys.stderr.write(d.log())
        d.clean()
    return failed


sys.exit(main())
