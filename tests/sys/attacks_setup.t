#!/usr/bin/env python3
"""Attacks on the making of a sandbox: images and volumes that lie."""
import hashlib
import os

import boxes

boxes.need_root()
t = boxes.Tap()
TRIES = int(os.environ.get("HUTCH_TRIES", "200"))
before = boxes.mounts()
b = boxes.Boxes()
PATTERN = "/proc/sys/kernel/core_pattern"


def text(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def image(*parts):
    return f"plain=/ plain={boxes.layer(*parts)}"


pattern = text(PATTERN)
digest = hashlib.sha256(open(boxes.PAY, "rb").read()).hexdigest()

# 1, 2: the program of process 1
b.start("one", image(("file", "/entry", "#!/proc/self/exe\n", 0o755),
                     ("file", "/entry1", "#!/proc/1/exe\n", 0o755)), "slot=1")
for path in ("/proc/self/exe", "/proc/1/exe"):
    status, _ = b.run("one", f"sh -c 'echo x > {path}' 2>/dev/null")
    t.ok(status != 0, f"1: {path} is not overwritten")
for entry, most in (("/entry", 2), ("/entry1", 126)):
    status, out = b.run("one", f"timeout -s KILL 5 {entry} 2>&1; echo $?")
    t.ok(b"hutch" not in out and out.split()[-1] != b"0",
         f"2: {entry} runs nothing of ours", out)
t.same(hashlib.sha256(open(boxes.PAY, "rb").read()).hexdigest(), digest,
       "1: the file on the host is as it was")
b.end("one")
fds = os.listdir(f"/proc/{b.pid}/fd")
memfd = [f"/proc/{b.pid}/fd/{n}" for n in fds
         if "memfd:hutch-agent" in os.readlink(f"/proc/{b.pid}/fd/{n}")]
opened = 0
for path in memfd:
    try:
        with open(path, "r+b") as f:
            f.write(b"x")
            f.flush()
        opened += 1
    except OSError:
        pass
t.ok(memfd and not opened, "1: not even root writes to the agent's image")

# 3: descriptors
b.start("fds", image(), "slot=1")
t.same(b.out("fds", "ls /proc/self/fd; /probe escape | grep fd_"),
       "0\n1\n2\n3\n", "3: nothing is inherited but 0 to 2 (3 is ls's own)")
t.same(b.run("fds", "cd /proc/1/fd/3 2>/dev/null || cd /proc/1/cwd "
             "2>/dev/null || cd /proc/1/root 2>/dev/null")[0] >> 8, 2,
       "3: no working directory by a descriptor of the agent")
got = boxes.pairs(b.out("fds", "/probe escape"))
t.ok(got["same_root"] == "1" and got["cwd"] == "/", "4, 63: no way out", got)
b.end("fds")

# 5, 6: the image's /dev
b.start("dev", image(("link", "/dev/null", PATTERN),
                     ("link", "/dev/console", "/etc/passwd"),
                     ("link", "/dev/ptmx", "/etc/passwd"),
                     ("link", "/dev/pts/0", "/etc/passwd"),
                     ("link", "/dev/shm", "/etc")), "slot=1")
t.same(b.out("dev", "echo evil > /dev/null; stat -c %F /dev/null; "
             "readlink /dev/ptmx; ls /dev/pts; stat -f -c %T /dev/shm; "
             "test -e /dev/console; echo $?"),
       "character special file\npts/ptmx\nptmx\ntmpfs\n1\n",
       "5, 6: /dev is ours whatever the image brings")
t.same(text(PATTERN), pattern, "5: core_pattern unchanged")
b.end("dev")

# 7: /proc, /sys, /dev as links
for name in ("proc", "sys", "dev", "workspace"):
    for to in ("/etc", "etc", "../../../../etc", "/nowhere"):
        top = boxes.scratch()
        os.symlink(to, os.path.join(top, name))
        base = boxes.scratch()
        for d in ("usr", "bin", "lib", "lib64"):
            if os.path.islink(f"/{d}"):
                os.symlink(os.readlink(f"/{d}"), os.path.join(base, d))
        b.start("link", f"plain={base} plain={top}", "slot=1")
        code, status = b.wait("link")
        t.same((code, status), (1, 71), f"7: /{name} -> {to}: fails closed")

# 8: writes of ours that a fake /proc would get
b.start("fake", image(("file", "/proc/self/oom_score_adj", "0\n"),
                      ("file", "/proc/sys/kernel/core_pattern", "x\n"),
                      ("file", "/sys/kernel/x", "x\n")), "slot=1")
t.same(b.out("fake", "stat -f -c %T /proc /proc/sys; ls /sys/kernel; "
             "cat /proc/self/oom_score_adj"),
       "proc\nproc\nmm\n300\n", "8: the image's /proc is not the one")
b.end("fake")

# ... and files of ours in an /etc that leads elsewhere
top = boxes.layer(("link", "/etc", "/proc/sys/kernel"))
b.start("etc", f"plain=/ plain={top}", "slot=1 hostname=mine")
t.same(b.out("etc", "cat /etc/hostname; stat -c %F /etc"),
       "mine\ndirectory\n", "8: /etc is a directory of ours then")
b.end("etc")
top = boxes.layer(("link", "/etc/hostname", "/proc/sys/kernel/core_pattern"),
                  ("link", "/etc/hosts", "../../../../tmp/victim"))
b.start("etc", f"plain=/ plain={top}", "slot=1 hostname=mine")
t.same(b.out("etc", "cat /etc/hostname; stat -c %F /etc/hosts; "
             "test -e /tmp/victim; echo $?"), "mine\nregular file\n1\n", "8: links in the image's /etc lead nowhere")
t.same(text(PATTERN), pattern, "8: core_pattern unchanged")
b.end("etc")

# 9: the target of a volume swapped by a sibling
shared, secret = boxes.scratch(), boxes.scratch()
os.makedirs(os.path.join(shared, "in/target"))
os.symlink("/", os.path.join(shared, "swap"))
with open(os.path.join(secret, "token"), "w", encoding="utf-8") as f:
    f.write("secret\n")
b.start("sibling", image(), f"slot=2 mount=/data:{shared}")
b.out("sibling", "cd /data && (while :; do mv -T in tmp; mv -T swap in; "
      "mv -T tmp swap; mv -T in tmp; mv -T swap in; mv -T tmp swap; done) "
      ">/dev/null 2>&1 &")
made = failed = wrong = 0
victim = image()
for i in range(TRIES):
    b.start("victim", victim, f"slot=3 mount=/data:{shared}",
            f"mount=/data/in/target:{secret}")
    try:
        out = b.out("victim", "grep -c ' /data/in/target ' "
                    "/proc/self/mountinfo; grep -c ' /data/' "
                    "/proc/self/mountinfo; ls -a /data/in/target 2>/dev/null")
        made += 1
        if out.split()[1] != "1":  # it is where it belongs, or nowhere
            wrong += 1
        b.end("victim")
    except boxes.Failed:
        failed += 1
        b.wait("victim")
t.ok(wrong == 0 and made + failed == TRIES,
     f"9: {TRIES} volumes under a target that is swapped",
     f"made {made}, failed {failed}, wrong {wrong}")
t.same(boxes.mounts(), before, "9: the host has no mount of it")
b.end("sibling")

# 10: places for volumes
for at in ("/proc", "/proc/self", "/sys/x", "/dev", "/dev/shm", "/a/../b",
           "/..", "relative", "/a/./b", "/"):
    try:
        b.start("bad", image(), f"slot=1 mount={at}:{shared}")
        b.end("bad")
        t.ok(False, f"10: a volume at {at}")
    except boxes.Failed:
        t.ok(True, f"10: no volume at {at}")

# 11: teardown follows nothing
top = boxes.layer(("file", "/precious", "x"))
victim_dir = boxes.scratch()
with open(os.path.join(victim_dir, "keep"), "w", encoding="utf-8") as f:
    f.write("kept")
b.start("down", f"plain=/ plain={top}", "slot=1")
b.out("down", "rm -rf /precious /usr/share /workspace/* 2>/dev/null; true")
os.rename(top, top + ".moved")
os.symlink(victim_dir, top)
b.end("down")
t.same(text(os.path.join(victim_dir, "keep")), "kept",
       "11: the link in the image's place is not followed")
t.same(text(os.path.join(top + ".moved", "precious")), "x",
       "11: nor is the image touched")
os.unlink(top)
os.rename(top + ".moved", top)

t.same(boxes.mounts(), before, "no mount is left")
t.end()
