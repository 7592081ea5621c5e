#!/usr/bin/env python3
"""The isolator by itself: what a sandbox is, and that nothing of it stays."""
import os
import resource
import time

import boxes

boxes.need_root()
t = boxes.Tap()
before = boxes.mounts()
b = boxes.Boxes()
top = boxes.layer(("file", "/etc/marker", "from the image\n"),
                  ("file", "/opt/lay/deep", "x\n"))
IMAGE = f"plain=/ plain={top}"
NS = ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")


def namespaces(pid):
    return {n: os.readlink(f"/proc/{pid}/ns/{n}") for n in NS}


def idmap(pid):
    with open(f"/proc/{pid}/uid_map", encoding="ascii") as f:
        return tuple(int(x) for x in f.read().split())


# ---- it is apart ----
one = b.start("one", IMAGE, "slot=1 hostname=first")
two = b.start("two", IMAGE, "slot=2 hostname=second")
t.same(b.out("one", "echo hi"), "hi\n", "a shell answers")
b.out("two", "true")
mine, his, her = namespaces("self"), namespaces(one), namespaces(two)
for n in NS:
    t.ok(len({mine[n], his[n], her[n]}) == 3, f"{n} namespaces differ",
         mine[n], his[n], her[n])
t.same(idmap(one), (0, boxes.REST + 65536, 65536), "ids of the first")
t.same(idmap(two), (0, boxes.REST + 2 * 65536, 65536), "ids of the second")
with open(f"/proc/{one}/status", encoding="ascii") as f:
    status = dict(line.rstrip("\n").split(":\t", 1) for line in f
                  if ":\t" in line)
t.same(status["Uid"].split()[0], str(boxes.REST + 65536),
       "its root is an id of its slot outside")
t.same(status["Groups"].strip(), "", "no supplementary groups")
t.same(status["CapBnd"], "00000000000004fb", "bounding set")
t.same(status["CapEff"], "00000000000004fb", "effective set")
t.same(status["CapAmb"] + status["CapInh"], "0" * 32, "nothing to inherit")
t.same(status["NoNewPrivs"] + status["Seccomp"], "12", "no_new_privs, filter")
t.same(b.out("one", "hostname"), "first\n", "a host name of its own")
t.same(b.out("one", "cat /etc/hostname; grep -c first /etc/hosts; "
             "stat -c %u:%a /etc /etc/hosts; getent hosts localhost first "
             "| wc -l"), "first\n1\n0:755\n0:644\n2\n",
       "... in /etc, too")
t.same(b.out("one", "id -u; id -G"), "0\n0\n", "root inside")
t.same(b.out("one", "cat /proc/self/cgroup | cut -d: -f3 | sort -u"), "/\n",
       "cgroup paths begin at itself")
t.same(b.out("one", "ls /proc | grep -c '^[0-9]'; pwd").split()[-1], "/",
       "working directory")
t.ok(int(b.out("one", "ls -d /proc/[0-9]* | wc -l")) <= 4,
     "only its own processes are seen")
t.same(b.out("one", "cut -d: -f1 /proc/net/dev | tail -n +3 | tr -d ' '"),
       "lo\n", "loopback only")
t.same(b.run("one", "python3 -c 'import socket as s; a=s.socket(); "
             "a.bind((\"127.0.0.1\",80)); a.listen(); "
             "s.create_connection(a.getsockname())'")[0], 0,
       "loopback is up, low ports too")

# ---- its file system ----
t.same(b.out("one", "cat /etc/marker"), "from the image\n",
       "the topmost layer wins")
t.same(b.out("one", "echo new > /etc/marker; mkdir -p /usr/own/dir; "
             "mv /usr/own /usr/other; rm -r /usr/other; cat /etc/marker; "
             "chown 5:6 /etc/marker; stat -c %u:%g /etc/marker"),
       "new\n5:6\n", "copy-up, rename, rmdir, chown")
t.same(b.out("one", "cd /opt; mv lay lay2 && ls lay2 && "
             "rm -rf lay2 && mkdir lay && ls lay | wc -l"),
       "deep\n0\n", "an image's directory renamed, removed, made anew")
t.same(b.out("two", "cat /etc/marker; ls /opt/lay"),
       "from the image\ndeep\n", "the other sandbox sees none of it")
with open(os.path.join(top, "etc/marker"), encoding="utf-8") as f:
    t.same(f.read(), "from the image\n", "nor does the image")
t.same(b.out("one", "echo x > /workspace/f; stat -c %u:%a /workspace; "
             "stat -c %u /workspace/f"), "0:755\n0\n", "workspace is root's")
t.same(b.out("one", "touch /dev/shm/x /tmp/y && echo ok"), "ok\n",
       "/dev/shm and /tmp take files")
t.same(b.out("one", "ls /dev; ls /sys /sys/devices/system").split(),
       ["fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr",
        "stdin", "stdout", "tty", "urandom", "zero",
        "/sys:", "block", "bus", "class", "dev", "devices", "firmware", "fs",
        "kernel", "module", "power",
        "/sys/devices/system:", "cpu", "node"], "/dev and /sys hold this")
t.same(b.out("one", "nproc"), f"{len(os.sched_getaffinity(0))}\n",
       "processors are counted")
t.ok("/proc/self/fd/" not in b.out("one", "cat /proc/self/mountinfo"),
     "no descriptors in mountinfo")
t.same(b.out("one", "readlink /proc/self/fd/0; ls /proc/self/fd"),
       "/dev/null\n0\n1\n2\n3\n", "descriptors: three, and ls's own")
b.ask("attach one")
t.same(b.out("one", "echo again"), "again\n", "a new stream takes over")

# ---- limits ----
MIB = 1 << 20
b.start("lim", IMAGE, f"slot=3 memory={64 * MIB} pids=20 cpu=200",
        f"root={16 * MIB} work={8 * MIB} shm={4 * MIB} nofile=100")
out = boxes.pairs(b.out("lim", "/probe forks 100"))
t.ok(10 <= int(out["forked"]) < 20 and out["fork"] == "EAGAIN", "pids",
     out)
for path, most in (("/fill", 16), ("/workspace/fill", 8), ("/dev/shm/f", 4)):
    out = boxes.pairs(b.out("lim", f"/probe fill {path}"))
    t.ok(most - 2 <= int(out["mib"]) <= most and out["write"] == "ENOSPC",
         f"bytes of {path}", out)
out = b.out(
    "lim", "cd /workspace; python3 -c 'for i in range(9999): "
    "open(str(i),\"w\")' 2>/dev/null; ls | wc -l; rm -rf /workspace/*",
    60000)
t.ok(0 < int(out) <= 2048, "inodes of /workspace", out)
out = boxes.pairs(b.out("lim", "/probe spin 1000"))
t.ok(100 <= float(out["cpu_ms"]) <= 420, "a fifth of a processor", out)
t.same(b.out("lim", "ulimit -n -H; ulimit -c -H"), "100\n0\n",
       "open files, core dumps")
t.ok(b.run("lim", "/probe eat 200")[0] != 0, "memory ends at its limit")
usage = b.usage("lim")
t.ok(usage["limit"] == 64 * MIB and usage["pids_limit"] == 20 and
     usage["cpu"] > 0 and usage["oom"] >= 1 and usage["pids"] >= 1 and
     0 < usage["memory"] <= usage["peak"] <= 64 * MIB, "usage", usage)
b.end("lim")
if "hybrid" in b.ask("probe x"):
    b.start("oom", IMAGE, f"slot=3 memory={48 * MIB}")
    b.out("oom", "(sleep 0.3; /probe eat 200) >/dev/null 2>&1 & sleep 300 "
          ">/dev/null 2>&1 & true")
    t.same(b.ask("oom oom 10000"), "done", "the group is told of its end")
    t.same(b.wait("oom"), (2, 9), "... and goes as a whole")
else:
    t.skip("group oom is emulated", "v2 does it")

# ---- freeze, kill ----
b.out("one", "(while :; do date +%s%N > /tmp/tick; done) >/dev/null 2>&1 &")
b.ask("freeze one 1")
state = ""
deadline = time.monotonic() + 5
while "frozen 1" not in state and time.monotonic() < deadline:
    cg = [c for c in boxes.cgroups(b.name) if c.endswith("/one")
          and "unified" in c or c.endswith("/one") and os.path.exists(
              os.path.join(c, "cgroup.events"))][0]
    with open(os.path.join(cg, "cgroup.events"), encoding="ascii") as f:
        state = f.read()
t.ok("frozen 1" in state, "frozen", state)
cpu = b.usage("one")["cpu"]
time.sleep(0.1)
t.same(b.usage("one")["cpu"], cpu, "nothing runs while frozen")
b.ask("freeze one 0")
t.same(b.out("one", "echo thawed"), "thawed\n", "thawed")
b.ask("freeze one 1")
started = time.monotonic()
t.same(b.end("one"), (2, 9), "a frozen one is killed as well")
t.ok(time.monotonic() - started < 2, "... at once")
b.out("two", "/probe survive")
t.same(b.end("two"), (2, 9), "stopped, survivors included")

# ---- read-only, hardened, volumes ----
vol = boxes.scratch()
os.chown(vol, 1234, 1234)
with open(os.path.join(vol, "f"), "w", encoding="utf-8") as f:
    f.write("volume\n")
os.chown(os.path.join(vol, "f"), 1234, 1234)
b.start("vol", IMAGE, f"slot=4 mount=/data/deep:{vol}",
        f"mount=/etc/one:{vol}/f:ro")
t.same(b.out("vol", "cat /data/deep/f /etc/one; stat -c %u:%g /data/deep/f; "
             "echo mine > /data/deep/g; echo x > /etc/one"),
       "volume\nvolume\n0:0\n" +
       "sh: 1: cannot create /etc/one: Read-only file system\n",
       "volumes: a directory, a file, read-only")
st = os.stat(os.path.join(vol, "g"))
t.same((st.st_uid, st.st_gid), (1234, 1234), "written as their owner")
b.end("vol")
b.start("ro", IMAGE, "slot=4 readonly")
t.same(b.out("ro", "touch /x; touch /tmp/y /root/z /workspace/w && echo ok"),
       "touch: cannot touch '/x': Read-only file system\nok\n",
       "read-only root")
b.end("ro")
b.start("hard", IMAGE, "slot=4 hardened")
t.same(b.out("hard", "touch /x /proc/self/mem 2>&1 | wc -l; "
             "ls /proc | tr '0-9' ' ' | xargs; "
             "python3 -c 'print(sum(range(10)))'"),
       "2\nself thread-self\n45\n", "hardened runs programs")
t.same(b.run("hard", "python3 -c 'open(\"/proc/self/comm\",\"w\")' "
             "2>/dev/null")[0] >> 8, 1, "hardened writes no /proc")
b.end("hard")

# ---- bad requests ----
for name, options, word in (
        ("a/b", IMAGE, "cgroup name"), ("x", "slot=1", "layers"),
        ("x", IMAGE + " slot=9999", "slot"),
        ("x", IMAGE + f" mount=/proc/x:{vol}", "/proc"),
        ("x", IMAGE + f" mount=/a/../b:{vol}", "plain path"),
        ("x", IMAGE + " hostname=" + "h" * 80, "host name"),
        ("x", IMAGE + " hostname=a/b", "host name")):
    try:
        b.start(name, options)
        t.ok(False, f"refused: {word}")
    except boxes.Failed as e:
        t.ok(word in str(e), f"refused: {word}", e)

# ---- many at once ----
names = [f"many{i}" for i in range(24)]
for i, name in enumerate(names):  # none has run yet when the next is begun
    b.start(name, IMAGE, f"slot={100 + i} hostname={name}")
t.same([b.out(name, "hostname").strip() for name in names], names,
       "24 begun back to back are 24")
for name in names:
    b.end(name)

# ---- many layers ----
tops = [boxes.layer(("file", f"/layer/{i}", f"{i}\n"),
                    ("file", "/layer/same", f"{i}\n")) for i in range(127)]
b.start("deep", "plain=/ " + " ".join(f"plain={p}" for p in tops), "slot=6")
t.same(b.out("deep", "ls /layer | wc -l; cat /layer/same /layer/0"),
       "128\n126\n0\n", "128 layers")
b.end("deep")

# ---- failures half-way ----
def left_over(of):
    return [c for c in boxes.cgroups(of.name)
            if os.path.basename(c) != f"hutch-{of.name}"]


few = boxes.Boxes(f"few-{os.getpid()}")
for _ in range(2):
    few.start("fds", IMAGE, f"slot=5 mount=/data:{vol}")
    few.out("fds", "true")
    few.end("fds")
fds = int(few.ask("fds x"))
whole = resource.prlimit(few.pid, resource.RLIMIT_NOFILE)
failed = made = 0
for n in range(fds, fds + 40):
    resource.prlimit(few.pid, resource.RLIMIT_NOFILE, (n, whole[1]))
    try:
        few.start("few", IMAGE, f"slot=5 mount=/data:{vol}")
        made += 1
        resource.prlimit(few.pid, resource.RLIMIT_NOFILE, whole)
        few.end("few")
    except boxes.Failed:
        failed += 1
        resource.prlimit(few.pid, resource.RLIMIT_NOFILE, whole)
t.ok(failed > 5 and made > 5, "starts that run out of descriptors",
     failed, made)
few.start("fds", IMAGE, "slot=5")
few.end("fds")
t.same((int(few.ask("fds x")), left_over(few), boxes.mounts()), (fds, [], before),
       "... leave nothing")
few.start("fds", IMAGE, "slot=5")
t.same(few.out("fds", "echo well"), "well\n", "... and break nothing")
few.end("fds")
few.close()

# ---- nothing stays ----
b.start("fds", IMAGE, "slot=5")
b.out("fds", "true")
b.end("fds")
fds = b.ask("fds x")
for i in range(20):
    b.start("fds", IMAGE, "slot=5")
    if i % 2:
        b.out("fds", "/probe survive")
    b.end("fds")
t.same(b.ask("fds x"), fds, "no descriptor stays")
t.same(boxes.mounts(), before, "no mount stays")
t.same(left_over(b), [], "no cgroup stays")
b.close()
t.same(boxes.cgroups(b.name), [], "nor the daemon's own")
ids = range(boxes.REST, boxes.REST + boxes.SLOTS * 65536)


def owner(pid):
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return 0


t.same([p for p in os.listdir("/proc") if p.isdigit() and owner(p) in ids],
       [], "no process stays")

# ---- the broker dies ----
b = boxes.Boxes(f"test-{os.getpid()}")
pid = b.start("orphan", IMAGE, "slot=1")
b.out("orphan", "/probe survive")
b.p.kill()
b.p.wait()
deadline = time.monotonic() + 5
while os.path.exists(f"/proc/{pid}") and time.monotonic() < deadline:
    time.sleep(0.01)
t.ok(not os.path.exists(f"/proc/{pid}"), "a sandbox dies with its broker")
t.ok(boxes.cgroups(b.name) != [], "its cgroups are still there")
b = boxes.Boxes(b.name)
t.same([c for c in boxes.cgroups(b.name) if c.endswith("orphan")], [],
       "the next life removes them")
b.close()
t.same(boxes.cgroups(b.name), [], "all of them")

# ---- a broker whose own group was killed once ----
UNIFIED = "/sys/fs/cgroup/unified"
if os.path.exists(f"{UNIFIED}/cgroup.procs"):
    own = f"{UNIFIED}/hutch-own-{os.getpid()}"
    os.mkdir(own)
    with open(f"{own}/cgroup.kill", "w", encoding="ascii") as f:
        f.write("1")
    b = boxes.Boxes(None, cgroup=own)
    b.start("born", IMAGE, "slot=1")
    t.same(b.out("born", "echo alive"), "alive\n",
           "born though its parent's group was killed once")
    b.end("born")
    b.close()
    t.same([d for d in os.listdir(own) if "hutch" in d], [],
           "... and nothing of that stays")
    os.rmdir(own)
else:
    t.skip("born though its parent's group was killed once", "no hybrid host")

# ---- an agent that is none ----
fake = os.path.join(boxes.scratch(), "agent")
with open(fake, "w", encoding="ascii") as f:
    f.write("not a program\n")
b = boxes.Boxes(None, image=fake)
fds = None
for i in range(3):
    try:
        b.start("fake", IMAGE, "slot=1")
        t.same(b.wait("fake"), (1, 71), "an agent that can't be executed")
    except boxes.Failed as e:
        t.ok("control" in str(e), "an agent that can't be executed", e)
    fds = fds or b.ask("fds x")
    t.same((b.ask("fds x"), left_over(b)), (fds, []), "... leaves nothing")
b.close()

# ---- the other way of mounting ----
b = boxes.Boxes(None, "avoid=1")
b.start("path", IMAGE, "slot=1")
t.same(b.out("path", "cat /etc/marker; echo x > /etc/marker; rm -r /opt/lay; "
             "mkdir /opt/lay; ls /opt/lay | wc -l; grep -c . /etc/marker"),
       "from the image\n0\n1\n", "layers by path, where none go by descriptor")
b.end("path")
b.close()
t.same(boxes.mounts(), before, "... and no mount stays")
t.end()
