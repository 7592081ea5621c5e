#!/usr/bin/env python3
"""hutchd, a sandbox, its agent: from a request to the first output."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
from daemon import Daemon, make_root, need_root, new_id  # noqa: E402
from tap import equal, run, test, true  # noqa: E402

need_root()


@test
def says_hi(d, root):
    """echo hi, in a sandbox over a directory"""
    box = new_id()
    s = d.stream(f"build {box} dir={root}")
    call = s.shell("echo hi")
    equal((call.stdout, call.done["exit"]), (b"hi\n", 0))
    s.close()
    d.ask(f"stop {box}")
    equal(d.wait_exit(box)[0], 1, "reason: stop")


@test
def is_root_of_nothing(d, root):
    """root inside is an id of the sandbox's own slot outside"""
    box = new_id()
    s = d.stream(f"build {box} dir={root}")
    slot = int(s.words["slot"])
    equal(s.shell("id -u").stdout, b"0\n")
    first = int(s.shell("cat /proc/self/uid_map").stdout.split()[1])
    equal(first, 1879048192 + slot * 65536)
    equal(s.shell("ls /proc | head -1").stdout, b"1\n")
    s.close()
    d.ask(f"stop {box}")


@test
def leaves_the_directory_alone(d, root):
    """what is written stays in the sandbox"""
    box = new_id()
    s = d.stream(f"build {box} dir={root}")
    equal(s.shell("echo x > /etc/new && cat /etc/new").stdout, b"x\n")
    true(not os.path.exists(f"{root}/etc/new"), "the host's copy changed")
    s.close()
    d.ask(f"stop {box}")


def main():
    top = None
    d = Daemon()
    try:
        top = make_root(f"{d.top}/image")
        d.write_config(f"mount_allow = {d.top}\n")
        d.start()
        failed = run(d, top)
        equal(d.stop(), 0, "exit status of hutchd")
    finally:
        if os.environ.get("TEST_LOG"):
            sys.stderr.write(d.log())
        d.clean()
    return failed


sys.exit(main())
