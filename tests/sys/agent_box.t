#!/usr/bin/env python3
"""The agent as process 1 of a real sandbox over the base image.

Attacks are numbered as in the catalogue.
"""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
import basetree  # noqa: E402
import guestwire as wire  # noqa: E402
from daemon import Daemon, need_root, new_id  # noqa: E402
from tap import equal, run, skip_all, test, true  # noqa: E402

ENV = {"PATH": "/opt/venv/bin:/usr/local/bin:/usr/bin:/bin", "HOME": "/root",
       "LANG": "C.UTF-8"}


def python(box, code, **kw):
    """In a process of its own, not as a cell."""
    c = box.run("exec", {"argv": ["python3", "-c", code]}, **kw)
    return c.stdout.decode(), c.stderr.decode(), c.done["exit"]


@test
def attack_3(box):
    """3: no descriptor of ours is inherited, nor a directory to be"""
    equal(box.shell("for f in /proc/self/fd/*; do echo ${f##*/}; done; "
                    "ls /proc/self/fd").stdout.split()[-4:],
          [b"0", b"1", b"2", b"3"])
    for n in list(range(3, 20)) + [100, 255]:
        for base in ("/proc/self/fd", "/proc/1/fd"):
            c = box.run("exec", {"argv": ["pwd"], "cwd": f"{base}/{n}"})
            true(c.done["code"] != 0, f"{base}/{n}: {c.stdout}")
    for cwd in ("/proc/1/cwd", "/proc/1/root", "/proc/self/root"):
        c = box.run("exec", {"argv": ["pwd"], "cwd": cwd})
        true(c.done["code"] != 0, f"{cwd}: {c.stdout}")
    c = box.cell("import os; sorted(int(n) for n in "
                 "os.listdir('/proc/self/fd'))[:3]")
    equal(c.stdout, b"Out[1]: [0, 1, 2]\n")
    links = box.cell("[os.readlink('/proc/self/fd/' + n) for n in "
                     "os.listdir('/proc/self/fd') "
                     "if os.path.exists('/proc/self/fd/' + n)]").stdout
    true(b"workspace" not in links, links)


@test
def attack_21(box):
    """21: the agent can't be traced, read, or robbed of a descriptor"""
    out, err, status = python(box, """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def call(nr, *args):
    ctypes.set_errno(0)
    r = libc.syscall(nr, *args)
    return r, os.strerror(ctypes.get_errno())
libc.ptrace.restype = ctypes.c_long
print("attach", libc.ptrace(16, 1, 0, 0))
print("seize", libc.ptrace(0x4206, 1, 0, 0))
buf = ctypes.create_string_buffer(8)
class iov(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]
l = iov(ctypes.addressof(buf), 8)
r = iov(0x400000, 8)
print("readv", libc.process_vm_readv(1, ctypes.byref(l), 1, ctypes.byref(r), 1, 0))
print("writev", libc.process_vm_writev(1, ctypes.byref(l), 1, ctypes.byref(r), 1, 0))
fd = call(434, 1, 0)[0]
for n in range(8):
    print("getfd", call(438, fd, n, 0)[0])
for name in ("mem", "environ", "maps", "auxv", "stack", "syscall"):
    try:
        with open("/proc/1/" + name, "rb") as f:
            f.read(1)
        print(name, "READ")
    except OSError:
        print(name, -1)
""")
    equal((err, status), ("", 0))
    for line in out.splitlines():
        equal(line.split()[-1], "-1", line)


@test
def attack_32(box):
    """32: /proc/1 of the agent may be listed, not followed"""
    out, err, status = python(box, """
import errno, os
names = os.listdir("/proc/1/fd")
for path in ["/proc/1/root", "/proc/1/cwd", "/proc/1/exe"] + [
        "/proc/1/fd/" + n for n in names]:
    for what in (os.readlink, lambda p: os.open(p, os.O_RDONLY),
                 lambda p: os.open(p, os.O_PATH), os.stat):
        try:
            what(path)
            print(path, "REACHED")
        except OSError as e:
            if e.errno not in (errno.EACCES, errno.ENOENT, errno.EPERM):
                print(path, e)
""")
    equal((out, err, status), ("", "", 0))


@test
def attack_2(box):
    """2: an interpreter line of /proc/self/exe runs nothing of ours"""
    box.shell("printf '#!/proc/self/exe\\n' >x; printf '#!/proc/1/exe\\n' >y; "
              "chmod +x x y")
    for name in ("x", "y"):
        c = box.run("exec", {"argv": [f"/workspace/{name}"]})
        true(c.done["exit"] != 0, c.done)
        equal(c.stdout, b"")
    c = box.shell("for p in /proc/[0-9]*; do : 2>/dev/null >$p/exe && "
                  "echo WROTE $p; done; true")
    true(b"WROTE" not in c.stdout, c.stdout)
    equal(box.shell("echo hi").stdout, b"hi\n")


@test
def attack_29(box):
    """29: nothing can be typed into a terminal from inside"""
    c = box.run("exec", {"argv": ["python3", "-c", """
import fcntl, termios
try:
    for c in b"echo hi\\n":
        fcntl.ioctl(0, termios.TIOCSTI, bytes([c]))
    print("TYPED")
except OSError as e:
    print("refused", e.errno)
"""], "tty": True})
    true(b"refused" in c.stdout, c.stdout)


@test
def signals(box):
    """no signal from inside ends or stops process 1"""
    box.shell("for s in $(seq 1 64); do kill -$s 1 2>/dev/null; done")
    equal(box.shell("echo hi").stdout, b"hi\n")
    box.cell("1")
    equal(box.shell("kill -9 -1; echo hi").done["exit"], 0)
    equal(box.shell("echo hi").stdout, b"hi\n")
    c = box.cell("1")  # the interpreter was one of them
    true("signal 9" in c.done["text"] and "lost" in c.done["text"],
         c.done["text"])


@test
def terminal(box):
    """a terminal in the sandbox is one"""
    c = box.run("exec", {"argv": ["sh", "-c", "tty; stty size; echo $TERM; "
                                  "exec 2>&1; tty </dev/tty"], "tty": True,
                         "rows": 30, "cols": 90,
                         "env": ["TERM=xterm"]})
    out = c.stdout.decode().split()
    true(out[0].startswith("/dev/pts/"), out)
    equal(out[4], "/dev/tty")
    equal(out[1:4], ["30", "90", "xterm"])


@test
def cells(box):
    """cells, with what the base image has"""
    equal(box.cell("x = 5\nx + 1").stdout, b"Out[1]: 6\n")
    equal(box.cell("!echo hi").stdout, b"hi\r\n")
    equal(box.cell("import os; os.getcwd(), os.getuid()").stdout,
          b"Out[1]: ('/workspace', 0)\n")
    equal(box.cell("%%bash\necho hi").stdout, b"hi\n")
    c = box.cell("import ctypes; ctypes.string_at(0)")
    true("signal 11" in c.done["text"], c.done["text"])
    equal(box.cell("import sys; sys.version_info[0]").stdout,
          b"Out[1]: 3\n")


@test
def files(box):
    """files: the workspace, and all of the sandbox"""
    c = box.start("fs_write", {"path": "d/f"})
    c.input(b"hello", eof=True)
    equal(c.wait().entries[0]["path"], b"/workspace/d/f")
    equal(box.shell("cat d/f; stat -c %U d/f").stdout, b"helloroot\n")
    equal(box.run("fs_read", {"path": "/etc/passwd"}).done["code"],
          wire.DENIED)
    c = box.run("fs_read", {"path": "/etc/passwd", "anywhere": True})
    true(c.file.startswith(b"root:"), c.file[:20])
    box.shell("ln -s /etc/passwd out; ln -s /workspace/d/f in")
    equal(box.run("fs_read", {"path": "out"}).done["code"], wire.DENIED)
    equal(box.run("fs_read", {"path": "in"}).file, b"hello")
    tar = box.run("fs_tar", {"path": "/workspace"}).file
    box.shell("rm -r d in out x y")
    c = box.start("fs_untar", {"path": "/workspace"})
    c.input(tar, eof=True)
    equal(c.wait().done["code"], 0)
    equal(box.shell("cat d/f in; readlink out").stdout,
          b"hellohello/etc/passwd\n")


def still_quick(box, what):
    """A ping is answered while something goes on."""
    for _i in range(5):
        start, pongs = time.monotonic(), box.pongs
        box.ping()
        box.until(lambda p=pongs: box.pongs > p, 5)
        true(time.monotonic() - start < 2, what)


@test
def attack_55_output(box):
    """55: a flood of output, into pipes, a terminal and a cell, is bounded"""
    c = box.start("run_shell_command", {"command": "yes | head -c 1000000000"},
                  cap=1 << 20)
    t = box.start("exec", {"argv": ["yes"], "tty": True}, cap=1 << 20)
    still_quick(box, "under a flood")
    t.cancel()
    c.wait(60)
    equal(c.done["cut_out"], 1000000000 - (1 << 20))
    true(len(c.stdout) < (1 << 20) + 100, len(c.stdout))
    t.wait(10)
    true(len(t.stdout) < (1 << 20) + 100, len(t.stdout))
    rss = int(box.run("exec", {"argv": ["sh", "-c", "grep VmRSS "
                                        "/proc/1/status"]}).stdout.split()[1])
    true(rss < 65536, f"the agent has {rss} kB")


@test
def attack_55_processes(box):
    """55: a fork bomb leaves the agent able to answer and to end it"""
    c = box.start("run_shell_command",
                  {"command": "bomb() { bomb | bomb & }; bomb; sleep 30"},
                  cap=65536, work_ms=2000)
    still_quick(box, "under a fork bomb")
    c.wait(60)
    end = time.monotonic() + 60
    while True:  # what escaped its group is the guest's to end
        d = box.shell("kill -9 -1; echo over", seconds=60)
        if d.stdout == b"over\n":
            break
        true(time.monotonic() < end, d.done)
    equal(box.shell("echo hi").stdout, b"hi\n")


@test
def attack_55_descriptors(box):
    """55: a descriptor bomb is the guest's own trouble"""
    python(box, """
import os
kept = []
try:
    while True:
        kept.append(os.pipe())
except OSError:
    pass
""")
    equal(box.shell("echo hi").stdout, b"hi\n")
    for _i in range(300):
        box.start("run_shell_command", {"command": "sleep 0.2 & exit"})
    for c in list(box.calls.values()):
        c.wait(60)
    equal(box.shell("echo hi").stdout, b"hi\n")


def main():
    need_root()
    tree, why = basetree.where()
    if tree is None:
        skip_all(why)
    d = Daemon()
    try:
        d.write_config(f"mount_allow = {os.path.dirname(tree)}\n")
        d.start()
        name = new_id()
        s = d.stream(f"build {name} dir={tree} memory={1 << 30} pids=256")
        s.env = ENV
        s.hello = None
        s.setup()
        failed = run(s)
        s.close()
        d.ask(f"stop {name}")
        equal(d.stop(), 0, "exit status of hutchd")
    finally:
        if os.environ.get("TEST_LOG"):
            sys.stderr.write(d.log())
        d.clean()
    return failed


sys.exit(main())
