#!/usr/bin/env python3
"""Images through the daemon: import, use, export, remove; deaths on the way."""
import os
import signal
import socket
import sys
import tarfile
import io

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../lib"))
from daemon import Daemon, make_root, need_root, new_id  # noqa: E402
from layout import of_folder, tar_of  # noqa: E402
from tap import equal, run, test, true  # noqa: E402

need_root()


def read_all(s):
    out = bytearray()
    while True:
        b = s.recv(1 << 16)
        if not b:
            return bytes(out)
        out += b


class Import:
    def __init__(self, d, name):
        self.s, _ = d.ask(f"import {name}", keep=True)

    def send(self, tar):
        self.s.sendall(tar)

    def finish(self):
        self.s.shutdown(socket.SHUT_WR)
        lines = read_all(self.s).decode(errors="replace").splitlines()
        self.s.close()
        return lines[-1] if lines else ""


def image(d, name, tar):
    i = Import(d, name)
    try:
        i.send(tar)
    except OSError:
        pass  # it has said why
    return i.finish()


def names(d):
    return {n for n in d.ask("images")}


def layers(d):
    return sorted(os.listdir(f"{d.root}/store/layers"))


def fetchers(d):
    out = []
    with open(f"/proc/{d.proc.pid}/task/{d.proc.pid}/children") as f:
        for pid in f.read().split():
            with open(f"/proc/{pid}/cmdline", "rb") as c:
                if b"hutch-fetch" in c.read():
                    out.append(int(pid))
    return out


@test
def runs_from_an_image(d, basic, boot):
    """an imported image becomes a sandbox"""
    equal(image(d, "boot:1", boot), "done boot:1")
    equal(len(names(d)), 2)
    box = new_id()
    s = d.stream(f"build {box} layers={layers(d)[0]}")
    equal(s.shell("stat -c %u:%g /bin/sh; echo x > /bin/sh; echo $?").stdout
          .split()[0], b"0:0")
    s.close()
    d.ask(f"stop {box}")
    d.wait_exit(box)
    s = d.stream(f"build {new_id()} layers={layers(d)[0]}")
    equal(s.shell("echo whole").stdout, b"whole\n")
    s.close()


@test
def exports_what_it_imported(d, basic, boot):
    """an export is the tree with its true owners"""
    equal(image(d, "basic:1", basic), "done basic:1")
    s, _ = d.ask("export basic:1", keep=True)
    tar = read_all(s)
    s.close()
    with tarfile.open(fileobj=io.BytesIO(tar)) as t:
        found = {m.name.removeprefix("./"): m for m in t.getmembers()}
    equal((found["etc/a"].uid, found["etc/a"].gid), (1000, 2000))
    true("no image" in d.fails("export nobody:1"), "unknown")


@test
def keeps_layers_that_are_used(d, basic, boot):
    """removing an image leaves the layers of a live sandbox"""
    before = layers(d)
    equal(len(before), 2)
    d.ask("rm boot:1")
    equal(layers(d), before)
    for box in d.ask("live"):
        d.ask(f"stop {box}")
        d.wait_exit(box)
    d.ask("rm basic:1")
    equal(layers(d), [])
    equal(names(d), set())


@test
def fetcher_dies(d, basic, boot):
    """kill -9 of a fetcher: nothing is left, the next import works"""
    for _ in range(5):
        count = d.log().count("import ended")
        i = Import(d, "dead:1")
        i.send(boot[:len(boot) // 2])
        for pid in fetchers(d):
            os.kill(pid, signal.SIGKILL)
        equal(i.finish().startswith("done"), False)
        d.wait_log("import ended", count=count + 1)
        equal(os.listdir(f"{d.root}/store/staging"), [])
        equal(layers(d), [])
    equal(image(d, "dead:1", boot), "done dead:1")
    d.ask("rm dead:1")


@test
def front_dies(d, basic, boot):
    """the front dies in an import: the fetcher goes with it"""
    started = d.log().count("front started")
    ended = d.log().count("import ended")
    i = Import(d, "half:1")
    i.send(boot[:1000])
    try:
        d.ask("crash")
    except (AssertionError, OSError):
        pass
    d.wait_log("import ended", count=ended + 1)
    d.wait_log("front started", count=started + 1)
    equal(fetchers(d), [])
    equal(os.listdir(f"{d.root}/store/staging"), [])
    i.s.close()


@test
def same_image_twice_at_once(d, basic, boot):
    """two imports of one name at once: both done, the work once"""
    a, b = Import(d, "twin:1"), Import(d, "twin:1")
    true("going on" not in d.log(), "both run")
    a.send(boot)
    equal(a.finish(), "done twin:1")
    b.send(boot)
    equal(b.finish(), "done twin:1")
    equal(len(layers(d)), 1)
    equal(len(names(d)), 2)
    d.ask("rm twin:1")


@test
def refuses_names(d, basic, boot):
    """names that are none"""
    for bad in ("../x", "-x", "a\tb", "x*"):
        true("image name" in d.fails(f"import {bad}"), bad)


@test
def refuses_rubbish(d, basic, boot):
    """bytes that are no image: an error, and nothing is left"""
    line = image(d, "rubbish:1", os.urandom(100000))
    true(line.startswith("error "), line)
    equal(names(d), set())


@test
def survives_the_broker(d, basic, boot):
    """images and layers outlive the daemon; half an import does not"""
    equal(image(d, "kept:1", basic), "done kept:1")
    i = Import(d, "half:1")
    i.send(boot[:1000])
    d.proc.kill()
    d.proc.wait()
    i.s.close()
    d.start()
    equal(len(names(d)), 2)
    equal(len(layers(d)), 1)
    equal(os.listdir(f"{d.root}/store/staging"), [])
    d.ask("rm kept:1")
    equal(layers(d), [])


def main():
    d = Daemon()
    try:
        basic = tar_of(os.path.join(HERE, "../corpus/a01-basic"))
        boot = of_folder(make_root(f"{d.top}/boot"))
        d.start()
        failed = run(d, basic, boot)
        equal(d.stop(), 0, "exit status of hutchd")
    finally:
        if os.environ.get("TEST_LOG"):
            sys.stderr.write(d.log())
        d.clean()
    return failed


sys.exit(main())
