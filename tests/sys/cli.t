#!/usr/bin/env python3
"""hutch against a real daemon: folders, images, terminals, ends."""
import fcntl
import hashlib
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import tarfile
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "lib"))
from daemon import BUILD, Daemon, make_root, need_root
from tap import equal, run, test, true

need_root()
HUTCH = f"{BUILD}/hutch"
WAIT = 60
CONFIG = """
[type base]
net = none

[type small]
image = none:1
net = none
memory = 77MiB
"""


class Ended:
    def __init__(self, result):
        self.out, self.err = result.stdout, result.stderr
        self.status = result.returncode


def hutch(d, *args, stdin=b"", status=0, before=()):
    r = Ended(subprocess.run([*before, HUTCH, "--root", d.root, *args],
                             input=stdin, capture_output=True, timeout=WAIT,
                             check=False))
    equal(r.status, status, f"hutch {' '.join(args)}: {r.err!r}; status")
    return r


def until(what, condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        true(time.monotonic() < end,
             f"not in time: {what() if callable(what) else what}")
        select.select([], [], [], 0.02)


def sandboxes(d):
    return hutch(d, "ps", "-q").out.split()


@test
def a_folder(d, root):
    """a folder is run, left as it was, and nothing of the sandbox stays"""
    r = hutch(d, "run", root, "--", "sh", "-c",
              "echo hi; id -u; echo x >/etc/new; echo bad >&2")
    equal((r.out, r.err), (b"hi\n0\n", b"bad\n"))
    true(not os.path.exists(f"{root}/etc/new"), "the folder was written to")
    until("the sandbox goes", lambda: sandboxes(d) == [])


@test
def ends(d, root):
    """status and signal of the command are ours"""
    hutch(d, "run", root, "sh", "-c", "exit 7", status=7)
    hutch(d, "run", root, "sh", "-c", "kill -9 $$", status=128 + 9)
    r = hutch(d, "run", root, "nosuch", status=127)
    true(b"nosuch" in r.err, r.err)
    r = hutch(d, "run", root + "/none", "sh", status=125)
    true(b"No such file" in r.err, r.err)
    r = hutch(d, "run", "no/such:image", "sh", status=125)
    true(b"no/such:image" in r.err, r.err)


@test
def joined(d, root):
    """input, environment and directory reach it; a megabyte comes back"""
    data = os.urandom(1 << 20)
    equal(hutch(d, "run", root, "cat", stdin=data).out, data)
    equal(hutch(d, "run", "-e", "A=b c", "-w", "/tmp", root, "sh", "-c",
                "pwd; echo $A").out, b"/tmp\nb c\n")
    equal(hutch(d, "run", "-n", root, "cat", stdin=b"not this").out, b"")


@test
def gone_with_us(d, root):
    """a sandbox that was run goes with the client, however that ends"""
    p = subprocess.Popen([HUTCH, "--root", d.root, "run", root, "sh", "-c",
                          "echo up; sleep 100"], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE)
    equal(p.stdout.readline(), b"up\n")
    equal(len(sandboxes(d)), 1)
    p.kill()
    p.wait()
    p.stdout.close()
    until("the sandbox goes", lambda: sandboxes(d) == [])


@test
def interrupted(d, root):
    """an interrupt ends the command"""
    p = subprocess.Popen([HUTCH, "--root", d.root, "run", root, "sh", "-c",
                          "echo up; sleep 100"], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE)
    equal(p.stdout.readline(), b"up\n")
    p.send_signal(signal.SIGINT)
    true(p.wait(WAIT) > 128, f"status {p.returncode}")
    p.stdout.close()


@test
def terminal(d, root):
    """with a terminal: what is typed, its size, its signals"""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "eyes"
        os.execv(HUTCH, [HUTCH, "--root", d.root, "run", "-it", root, "sh"])
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 99, 0, 0))
    seen = b""

    def shows(text):
        nonlocal seen
        if select.select([fd], [], [], 0.02)[0]:
            seen += os.read(fd, 4096)
        return text in seen
    until("a prompt", lambda: shows(b"# "), 10)
    os.write(fd, b"test -t 0 && test -t 1 && echo is-a-$((6*7))\n")
    until("a terminal", lambda: shows(b"is-a-42"))
    os.write(fd, b"sh -c 'echo it-is-$((1+1)); sleep 100'\n")
    until("the job", lambda: shows(b"it-is-2"))
    os.write(fd, b"\x03")
    os.write(fd, b"echo after-$((1+1))\n")
    until(lambda: f"the shell lives on: {seen!r}", lambda: shows(b"after-2"))
    os.write(fd, b"echo term-is-$TERM\n")
    until("our TERM", lambda: shows(b"term-is-eyes"))
    os.write(fd, b"exit 5\n")
    _, status = os.waitpid(pid, 0)
    equal(os.waitstatus_to_exitcode(status), 5, seen)
    os.close(fd)


@test
def life(d, root):
    """create, ps, exec, stats, pause, resume, logs, rm"""
    one = hutch(d, "create", root).out.decode().strip()
    listed = json.loads(hutch(d, "--json", "ps").out)["sandboxes"]
    equal([s["id"] for s in listed], [one])
    equal(hutch(d, "exec", one, "sh", "-c", "echo $$ >f; cat f").out[-1:],
          b"\n")
    equal(hutch(d, "exec", one[-25:], "ls").out, b"f\n")
    small = hutch(d, "create", "--type", "small", root).out.decode().strip()
    u = json.loads(hutch(d, "--json", "stats", small).out)[0]
    equal(u["memory_limit"], 77 << 20)
    hutch(d, "rm", small)
    r = Ended(subprocess.run([HUTCH, "--root", d.root, "run", "tmp", "ls"],
                             cwd="/", capture_output=True, timeout=WAIT,
                             check=False))
    true(b"./tmp" in r.err, r.err)
    r = hutch(d, "run", "--mount-dir", "/tmp", root, "ls", status=125)
    true(b"allow_mount_dir" in r.err, r.err)
    u = json.loads(hutch(d, "--json", "stats", one).out)[0]
    true(u["memory"] > 0 and u["pids"] >= 1, str(u))
    hutch(d, "pause", one)
    true(b"paused" in hutch(d, "ps").out, "ps")
    r = hutch(d, "exec", one, "ls", status=125)
    true(b"paused" in r.err, r.err)
    hutch(d, "resume", one)
    equal(hutch(d, "exec", one, "ls").out, b"f\n")
    hutch(d, "exec", one, "sh", "-c", "kill -15 $$", status=143)
    true(b"exec sh: signal 15" in hutch(d, "logs", one).out, "logs")
    hutch(d, "rm", one)
    equal(sandboxes(d), [])
    true(b"hutch ps" in hutch(d, "rm", one, status=1).err, "a hint")
    hutch(d, "rm", status=2)
    true(one.encode() in hutch(d, "ps", "-a").out, "ps --all")


@test
def copies(d, root):
    """cp there and back"""
    one = hutch(d, "create", root).out.decode().strip()
    src = f"{d.top}/src"
    os.makedirs(f"{src}/sub")
    data = os.urandom(3 << 20)
    with open(f"{src}/sub/big", "wb") as f:
        f.write(data)
    with open(f"{src}/run", "w") as f:
        f.write("#!/bin/sh\necho ran\n")
    os.chmod(f"{src}/run", 0o755)
    hutch(d, "cp", src, f"{one}:/workspace/in")
    equal(hutch(d, "exec", one, "/workspace/in/run").out, b"ran\n")
    hutch(d, "cp", f"{one}:/workspace/in", f"{d.top}/back")
    with open(f"{d.top}/back/sub/big", "rb") as f:
        equal(f.read() == data, True, "the same bytes")
    equal(hutch(d, "cp", f"{one}:/workspace/in/run", "-").out[:9],
          b"#!/bin/sh")
    hutch(d, "exec", one, "sh", "-c", "rm in/run; mkdir in/run")
    r = hutch(d, "cp", f"{one}:/nosuch", f"{d.top}/x", status=1)
    true(b"/nosuch" in r.err, r.err)
    hutch(d, "cp", f"{src}/run", f"{one}:")
    equal(hutch(d, "exec", one, "./run").out, b"ran\n")
    hutch(d, "cp", src, d.top, status=2)
    hutch(d, "rm", one)


def write_layout(layout, root):
    def blob(data):
        digest = hashlib.sha256(data).hexdigest()
        with open(f"{layout}/blobs/sha256/{digest}", "wb") as f:
            f.write(data)
        return {"digest": "sha256:" + digest, "size": len(data)}
    layer = subprocess.run(["tar", "-C", root, "--owner=0", "--group=0",
                            "--numeric-owner", "-c", "."],
                           stdout=subprocess.PIPE, check=True).stdout
    kind = "application/vnd.oci.image."
    arch = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
    config = blob(json.dumps({
        "architecture": arch, "os": "linux", "config": {},
        "rootfs": {"type": "layers", "diff_ids": [
            "sha256:" + hashlib.sha256(layer).hexdigest()]}}).encode())
    manifest = blob(json.dumps({
        "schemaVersion": 2, "mediaType": kind + "manifest.v1+json",
        "config": {"mediaType": kind + "config.v1+json", **config},
        "layers": [{"mediaType": kind + "layer.v1.tar", **blob(layer)}],
    }).encode())
    with open(f"{layout}/index.json", "w", encoding="ascii") as f:
        json.dump({"schemaVersion": 2, "manifests": [
            {"mediaType": kind + "manifest.v1+json", **manifest}]}, f)
    with open(f"{layout}/oci-layout", "w", encoding="ascii") as f:
        f.write('{"imageLayoutVersion": "1.0.0"}')


@test
def images(d, root):
    """an image comes in, runs, goes out, and goes"""
    layout = f"{d.top}/layout"
    os.makedirs(f"{layout}/blobs/sha256")
    write_layout(layout, root)
    equal(hutch(d, "image", "import", layout, "tools:1").out, b"tools:1\n")
    tar = f"{d.top}/layout.tar"
    with tarfile.open(tar, "w") as t:
        t.add(layout, ".")
    hutch(d, "image", "import", "-q", tar, "tools:2")
    with open(tar, "rb") as f:
        hutch(d, "image", "import", "-q", "-", "tools:3", stdin=f.read())
    equal(hutch(d, "image", "ls", "-q").out.split(),
          [b"tools:1", b"tools:2", b"tools:3"])
    true(b"LAYERS" in hutch(d, "image", "ls").out, "a table")
    equal(json.loads(hutch(d, "image", "inspect", "tools:1").out)["name"],
          "tools:1")
    equal(hutch(d, "run", "tools:1", "sh", "-c", "echo from $0", "tools").out,
          b"from tools\n")
    dest = f"{d.top}/out"
    hutch(d, "image", "export", "-q", "tools:1", dest)
    equal(sorted(os.listdir(dest)), sorted(os.listdir(root)))
    hutch(d, "image", "export", "-q", "tools:1", dest + ".tar")
    with tarfile.open(dest + ".tar") as t:
        true(any(n.endswith("bin/sh") for n in t.getnames()), "a tar")
    hutch(d, "image", "rm", "tools:1", "tools:2", "tools:3")
    equal(hutch(d, "image", "ls", "-q").out, b"")
    hutch(d, "image", "inspect", "tools:1", status=1)


@test
def broken(d, _):
    """an import that breaks leaves nothing, and says why"""
    bad = f"{d.top}/bad"
    os.makedirs(f"{bad}/blobs/sha256")
    for name in "oci-layout", "index.json":
        with open(f"{bad}/{name}", "w", encoding="ascii") as f:
            f.write("{}")
    r = hutch(d, "image", "import", bad, "bad", status=1)
    true(len(r.err.splitlines()[-1]) > 10, r.err)
    # Longer than what is read on after the answer: the reason comes all the
    # same.
    with open(f"{d.top}/noise.tar", "wb") as f:
        f.truncate(64 << 20)
        f.write(b"no tar at all, and longer than a header's block" * 30)
    r = hutch(d, "image", "import", f"{d.top}/noise.tar", "bad", status=1)
    true(b"noise.tar: archive" in r.err, r.err)
    equal(hutch(d, "image", "ls", "-q").out, b"")
    r = hutch(d, "image", "export", "nosuch", f"{d.top}/nothing", status=1)
    true(b"no image nosuch" in r.err, r.err)


@test
def the_daemon(d, _):
    """version, doctor, backup, completion"""
    true(b"no answer" not in hutch(d, "version").out, "version")
    r = Ended(subprocess.run([HUTCH, "--root", d.root, "--json", "doctor"],
                             capture_output=True, timeout=WAIT, check=False))
    equal([c["verdict"] for c in json.loads(r.out)["checks"]
           if c["name"] == "daemon"], ["good"])
    hutch(d, "backup", "-q", f"{d.top}/state")
    with open(f"{d.top}/state", "rb") as f:
        equal(f.read(15), b"SQLite format 3")


@test
def strangers(d, root):
    """who is neither root nor in the group is told so"""
    nobody = ("setpriv", "--reuid", "65534", "--regid", "65534",
              "--clear-groups")
    if subprocess.run([*nobody, "test", "-x", HUTCH], check=False).returncode:
        return
    r = hutch(d, "ps", status=1, before=nobody)
    true(b"group" in r.err and b"hutch" in r.err, r.err)


@test
def reset(d, _):
    """reset waits for the daemon to be gone, then takes all of it"""
    def attempt():
        return subprocess.run([HUTCH, "--root", d.root, "reset", "--force"],
                              capture_output=True, timeout=WAIT, check=False)
    r = attempt()
    true(r.returncode == 1 and b"stop it first" in r.stderr,
         "reset beside a daemon that runs")
    equal(d.stop(), 0, "the daemon's end")
    r = attempt()
    equal((r.returncode, r.stderr), (0, b""))
    true(not os.path.exists(d.root), "the root is still there")


def main():
    d = Daemon(CONFIG, front=f"{BUILD}/hutch-front")
    os.chmod(d.top, 0o755)
    try:
        root = make_root(f"{d.top}/image")
        d.start()
        status = run(d, root)
        if status:
            print("# " + "\n# ".join(d.log().splitlines()[-30:]))
    finally:
        d.clean()
    return status


if __name__ == "__main__":
    sys.exit(main())
