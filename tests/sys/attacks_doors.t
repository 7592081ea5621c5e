#!/usr/bin/env python3
"""Attacks by side doors: namespaces, mounts and capabilities by handle,
limits, teardown, and what the kernel tells of the host."""
import os
import time

import boxes

boxes.need_root()
t = boxes.Tap()
CYCLES = int(os.environ.get("HUTCH_CYCLES", "60"))
before = boxes.mounts()
b = boxes.Boxes()
top = boxes.layer(("file", "/etc/machine-id", "of the image\n"))
IMAGE = f"plain=/ plain={top}"


def probe(box, *words):
    return boxes.pairs(b.out(box, "/probe " + " ".join(words)))


def refused(got, names, verdicts, title):
    bad = {n: got.get(n) for n in names if got.get(n) not in verdicts}
    t.ok(not bad, title, bad)


for box, more in (("box", "slot=1"), ("hard", "slot=2 hardened")):
    b.start(box, IMAGE, more)
    got = probe(box, "notify")
    refused(got, ("mount",), ("EPERM",),
            f"61 {box}: a notifier of the guest's own decides nothing")
    got = probe(box, "handles")
    refused(got, [n for n in got if n not in ("own_ns", "clone_cgroup")],
            ("EPERM", "ENOTTY"), f"62 {box}: no namespace by handle")
    refused(got, ("clone_cgroup",), ("ENOSYS",),
            f"62 {box}: nor a cgroup by descriptor")
    got = probe(box, "mounts")
    refused(got, got, ("EPERM",), f"63 {box}: no mount by handle")

    got = probe(box, "caps")
    most = 0x4fb
    over = {k: v for k, v in got.items()
            if "_Cap" in k and int(v, 16) & ~most}
    t.ok(not over, f"64 {box}: never more than the profile's", over)
    refused(got, ("capset_all", "securebits", "ambient", "ambient_chown",
                  "bound_drop"), ("EPERM", "EINVAL"),
            f"64 {box}: no side door to a capability")
    t.same(got["nnp"], "0", f"64 {box}: no_new_privs")
    t.same(b.run(box, "cp /probe /tmp/p && setcap cap_sys_admin+ep /tmp/p "
                 "2>/dev/null")[0] != 0, True,
           f"64 {box}: no file gets capabilities")

    got = probe(box, "doors")
    refused(got, ("immutable", "append", "trusted", "fifo", "deadline",
                  "prlimit_1", "raise_nofile"),
            ("EPERM", "EOPNOTSUPP", "ENOTTY"),
            f"65 {box}: attributes, schedulers, limits")
    refused(got, ("project", "security", "nice_down"),
            ("EPERM", "EINVAL", "EACCES", "ENOTTY", "EOPNOTSUPP"),
            f"65 {box}: project ids, niceness")
    t.same(got["core"], "1", f"65 {box}: no core dumps, to a program or file")
    t.same(b.out(box, "ulimit -c unlimited; ulimit -c 0; "
                 "grep core /proc/self/limits | tr -s ' ' | cut -d' ' -f5,6"),
           "1 1\n", f"65 {box}: ... whatever a program sets")

# 65: what is stopped or frozen ends in time, too
b.out("box", "(for i in 1 2 3 4 5; do (while :; do :; done) & "
      "kill -STOP $!; done) >/dev/null 2>&1")
b.out("box", "/probe survive; mkfifo /tmp/f; (cat /tmp/f >/dev/null 2>&1 &)")
started = time.monotonic()
t.same(b.end("box"), (2, 9), "56, 65: stopped ones and survivors end")
t.ok(time.monotonic() - started < 1, "... within their deadline",
     time.monotonic() - started)
b.ask("freeze hard 1")
started = time.monotonic()
b.end("hard")
t.ok(time.monotonic() - started < 1, "65: a frozen one as well")

# 66: what is told of the host
b.start("leak", IMAGE, "slot=3 hostname=mybox")
told = b.out("leak", "/probe leaks")
host = os.uname().nodename
with open("/proc/self/cgroup", encoding="ascii") as f:
    own = {line.rstrip().split(":")[2] for line in f} - {"/"}
names = [top, os.path.basename(top), f"hutch-{b.name}", "/l/0", "/dev/shm/h",
         *own]
t.same([n for n in names if n in told], [],
       "66: no path of the host in mountinfo or cgroup")
t.ok("mybox" in told and f"{host} " not in told, "66: nor its name", told[-80:])
t.ok("groups=0" in told, "66: no supplementary groups")
t.same(b.out("leak", "cat /etc/machine-id"), "of the image\n",
       "66: machine-id is the image's")
t.same(b.out("leak", "ls /sys/class/net /sys/fs/cgroup /sys/block | grep -v "
             "'^/\\|^$'"), "", "66: no link, disk or cgroup of the host")
t.same(b.out("leak", "ls /dev/pts"), "ptmx\n", "66: no terminal of the host")
t.same(b.out("leak", "for i in 0 1 2; do stat -L -c %t:%T "
             "/proc/1/fd/$i 2>/dev/null; done; stat -L -c %t:%T "
             "/proc/self/fd/0; echo x > /proc/self/fd/0 && echo written"),
       "1:3\nwritten\n", "66: standard input reopens to the sandbox's null")
t.same(b.out("leak", "readlink /proc/self/fd/1 | cut -d: -f1"), "pipe\n",
       "66: standard output is a pipe of its own")
b.start("other", IMAGE, "slot=4")
b.out("other", "touch /dev/shm/theirs /tmp/theirs; "
      "python3 -c 'import os,time; os.openpty()'")
t.same(b.out("leak", "ls /dev/shm; ls /tmp | grep theirs; "
             "cat /proc/net/unix | wc -l; ls /proc/sysvipc | wc -l"),
       "1\n3\n", "66: nothing of another sandbox")
b.end("leak")
b.end("other")


# 56: cycles
def netns():
    with open("/proc/slabinfo", encoding="ascii") as f:
        for line in f:
            if line.startswith("net_namespace "):
                return int(line.split()[1])
    return 0


b.start("cycle", IMAGE, "slot=5")
b.out("cycle", "true")
b.end("cycle")
fds, nets, slow = b.ask("fds x"), netns(), 0
for i in range(CYCLES):
    b.start("cycle", IMAGE, "slot=5")
    b.out("cycle", "/probe survive")
    started = time.monotonic()
    b.end("cycle")
    slow = max(slow, time.monotonic() - started)
t.same(b.ask("fds x"), fds, f"56: no descriptor is left of {CYCLES}")
t.same(boxes.mounts(), before, "56: no mount")
t.same([c for c in boxes.cgroups(b.name)
        if os.path.basename(c) != f"hutch-{b.name}"], [], "56: no cgroup")
deadline = time.monotonic() + 20
while netns() > nets + 20 and time.monotonic() < deadline:
    time.sleep(0.1)
t.ok(netns() <= nets + 20, "56: no network namespace", netns(), nets)
t.ok(slow < 1, "56: each was empty in time", slow)
t.end()
