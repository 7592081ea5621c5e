#!/usr/bin/env python3
"""The daemon: instances, crashes, limits, reload, reset."""
import os
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
from daemon import Daemon, make_root, need_root, new_id  # noqa: E402
from tap import Skip, equal, run, test, true  # noqa: E402

need_root()
HEADER = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "../../src/wire/broker.h")


def type_of(name):
    """The number of a message, as the header counts it."""
    with open(HEADER) as f:
        body = f.read().split("enum broker_type {")[1].split("};")[0]
    names = re.findall(r"^\tBROKER_(\w+)", body, re.M)
    return names.index(name) + 1


BUILD_TYPE, STORE_TYPE, LEND_TYPE = map(type_of, ("BUILD", "STORE", "LEND"))

EXIT, STOP, MEMORY = range(3)
OK, ERR = 100, 101


def gone(pid, seconds=10):
    """Whether the process has ended, by its pidfd."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([fd], [], [], seconds)[0])
    finally:
        os.close(fd)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return [int(p) for p in f.read().split()]


def cgroups(number):
    """Of the instance of this number, if no other daemon has it now."""
    if number is None or os.path.exists(f"/run/hutch-instances/{number}"):
        return []
    out = []
    for at, dirs, _ in os.walk("/sys/fs/cgroup"):
        out += [f"{at}/{d}" for d in dirs if d == f"hutch-{number}"]
    return out


def mounts():
    with open("/proc/self/mountinfo") as f:
        return sorted(line.split(" ", 2)[2] for line in f)


def admin(d, kind, fds):
    """One request on the admin socket: (type, body)."""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(10)
    s.connect(f"{d.root}/run/admin.sock")
    socket.send_fds(s, [struct.pack("=HHI", kind, len(fds), 1)], fds)
    answer = s.recv(20000)
    s.close()
    if not answer:
        return None, b""
    return struct.unpack("=HHI", answer[:8])[0], answer[8:]


@test
def refuses_a_wrong_configuration(d, root):
    """--check-config names file, line and option"""
    def check():
        return subprocess.run(d.command("--check-config"),
                              capture_output=True, text=True, timeout=20)
    r = check()
    equal(r.returncode, 0, r.stderr)
    with open(d.config, "w") as f:
        f.write("port = 0\n\n# a comment\ncolour = blue\n")
    r = check()
    equal(r.returncode, 2)
    true("hutch.conf:4: colour: no such option" in r.stderr, r.stderr)
    d.write_config(f"mount_allow = {d.top}\n")


@test
def one_daemon_a_root(d, root):
    """a second daemon on the same root is refused"""
    r = subprocess.run(d.command(), capture_output=True, text=True,
                       timeout=20)
    equal(r.returncode, 1)
    true("runs on" in r.stderr, r.stderr)


@test
def roots_do_not_meet(d, root):
    """daemons with different roots share no id and no cgroup"""
    other = Daemon(f"mount_allow = {d.top}\n")
    try:
        other.start()
        a, b = new_id(), new_id()
        s1 = d.stream(f"build {a} dir={root}")
        s2 = other.stream(f"build {b} dir={root}")
        maps = [s.shell("cat /proc/self/uid_map").stdout.split()[1]
                for s in (s1, s2)]
        true(maps[0] != maps[1], maps)
        equal(other.ask("live"), [b])
        true(a in d.ask("live"), "its own")
        s1.close()
        s2.close()
        d.ask(f"stop {a}")
        equal(other.stop(), 0)
    finally:
        other.clean()


@test
def front_dies(d, root):
    """the front dies: the sandbox lives, the next front reaches it"""
    box = new_id()
    s = d.stream(f"build {box} dir={root}")
    s.shell("echo kept > /workspace/f")
    before = d.hello()
    started = d.log().count("front started")
    os.kill(int(front_pid(d)), signal.SIGKILL)
    d.wait_log("front started", count=started + 1)
    after = d.hello()
    equal(int(after["generation"]), int(before["generation"]) + 1)
    true(box in d.ask("live"), "still there")
    s = d.stream(f"attach {box}", generation=int(after["generation"]))
    equal(s.hello.generation, int(after["generation"]))
    equal(s.shell("cat /workspace/f").stdout, b"kept\n")
    s.close()
    d.ask(f"stop {box}")


def front_pid(d):
    for pid in children(d.proc.pid):
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            if b"hutch-front" in f.read():
                return pid
    raise AssertionError("no front")


@test
def front_breaks_the_rules(d, root):
    """a front that asks for what is not its to ask is ended and replaced"""
    for kind in (STORE_TYPE, LEND_TYPE, 99):
        started = d.log().count("front started")
        d.fails(f"bad {kind}")
        d.wait_log("front started", count=started + 1)
    true("broke the rules" in d.log(), "said so")


@test
def windows(d, root):
    """directories that the broker hands out lead nowhere but down"""
    got = dict(w.split("=") for w in d.ask("windows"))
    equal(got, {"own": "1", "own_write": "1", "images": "1",
                "images_write": "0", "state": "1"})


@test
def lends(d, root):
    """root lends a directory; nobody else's names work"""
    fd = os.open(root, os.O_PATH)
    kind, body = admin(d, LEND_TYPE, [fd])
    equal(kind, OK)
    box = new_id()
    true("no such lent" in d.fails(f"build {box} dir=#{new_id()}"), "unknown")
    s = d.stream(f"build {box} dir=#{body.hex()}")
    equal(s.shell("echo hi").stdout, b"hi\n")
    s.close()
    d.ask(f"stop {box}")
    equal(admin(d, BUILD_TYPE, [])[0], None, "other requests end it")
    file = os.open(f"{root}/etc/passwd", os.O_RDONLY)
    equal(admin(d, LEND_TYPE, [file])[0], ERR)
    os.close(fd)
    os.close(file)
    mode = os.stat(f"{d.root}/run/admin.sock").st_mode & 0o777
    equal(oct(mode), oct(0o600))


@test
def mounts_what_is_allowed(d, root):
    """a host directory below mount_allow, and no other"""
    share = f"{d.top}/share"
    os.makedirs(share, exist_ok=True)
    os.chown(share, 4242, 4242)
    box = new_id()
    s = d.stream(f"build {box} dir={root} mount={share}:/mnt/share")
    equal(s.shell("echo x > /mnt/share/f; echo $?").stdout, b"0\n")
    with open(f"{share}/f") as f:
        equal(f.read(), "x\n")
    equal(os.stat(f"{share}/f").st_uid, 4242)
    s.close()
    d.ask(f"stop {box}")
    true("mount_allow" in d.fails(
        f"build {new_id()} dir={root} mount=/etc:/mnt"), "refused")


@test
def memory(d, root):
    """out of memory ends the whole sandbox, and says so"""
    box = new_id()
    s = d.stream(f"build {box} dir={root} memory={64 << 20}")
    s.start("run_shell_command", {"command":
            "head -c 200000000 /dev/zero > /workspace/big; echo no"})
    end, _ = d.wait_exit(box, 30)
    equal(end, MEMORY)
    s.close()


@test
def pids(d, root):
    """processes are bounded"""
    box = new_id()
    s = d.stream(f"build {box} dir={root} pids=16")
    c = s.shell("for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20;"
                " do sleep 20 & done; echo made", seconds=30)
    true(b"made" not in c.stdout or b"fork" in c.stderr.lower(), c.stderr)
    s.close()
    d.ask(f"stop {box}")


@test
def freezes(d, root):
    """frozen it says nothing, thawed it goes on; usage is told"""
    box = new_id()
    s = d.stream(f"build {box} dir={root}")
    d.ask(f"freeze {box} 1")
    call = s.start("run_shell_command", {"command": "echo on"})
    s.step(0.3)
    true(not call.done, "frozen")
    d.ask(f"freeze {box} 0")
    equal(call.wait().stdout, b"on\n")
    usage = dict(w.split("=") for w in d.ask(f"usage {box}"))
    true(int(usage["memory"]) > 0 and int(usage["cpu_us"]) > 0, usage)
    d.ask(f"freeze {box} 1")
    d.ask(f"stop {box}")  # a frozen one ends as well
    equal(d.wait_exit(box)[0], STOP)
    s.close()


@test
def ends_by_itself(d, root):
    """process 1's end is told as one"""
    box = new_id()
    s = d.stream(f"build {box} dir={root}")
    s.start("run_shell_command", {"command": "kill -9 -1"})
    d.ask(f"stop {box}")
    d.wait_exit(box)
    true("no such sandbox" in d.fails(f"stop {box}"), "gone")
    s.close()


@test
def reloads(d, root):
    """SIGHUP: what can change changes, the rest is named"""
    d.write_config("host = 127.0.0.2\n")
    d.proc.send_signal(signal.SIGHUP)
    d.wait_log("configuration read again")
    true("option=host" in d.log(), "what needs a start is named")
    true("mount_allow" in d.fails(f"build {new_id()} dir={root}"), "new rule")
    with open(d.config, "a") as f:
        f.write("nonsense\n")
    d.proc.send_signal(signal.SIGHUP)
    d.wait_log("configuration stays as it was")
    d.write_config(f"mount_allow = {d.top}\n")
    d.proc.send_signal(signal.SIGHUP)
    d.wait_log("configuration read again", count=2)
    box = new_id()
    d.stream(f"build {box} dir={root}").close()
    d.ask(f"stop {box}")


@test
def broker_dies(d, root):
    """kill -9 of the broker: nothing lives on, the next start has a clean slate
    """
    boxes = [new_id() for _ in range(3)]
    streams = [d.stream(f"build {b} dir={root}") for b in boxes]
    for s in streams:
        s.start("run_shell_command", {"command": "sleep 1000"})
    d.ask(f"freeze {boxes[0]} 1")
    pids = children(d.proc.pid)
    true(len(pids) >= 4, pids)
    d.proc.kill()
    d.proc.wait()
    for p in pids:
        if p in frozen(pids):
            continue  # ends when the next life sweeps
        true(gone(p), f"{p} lives")
    d.start()
    for p in pids:
        true(gone(p), f"{p} lives after the sweep")
    equal(d.ask("live"), [])
    for s in streams:
        s.close()
    box = new_id()
    s = d.stream(f"build {box} dir={root}")
    equal(s.shell("echo again").stdout, b"again\n")
    s.close()


@test
def network_is_swept(d, root):
    """kill -9 with a way out in use: tables and sysctls go at the next start
    """
    if not shutil.which("nft"):
        raise Skip("no nft here")
    # In a network of its own, with something like a way out of it.
    own = Daemon(f"mount_allow = {d.top}\n", wrap=[
        "unshare", "-n", "sh", "-c",
        "ip link set lo up; ip link add way0 type veth peer name other;"
        "ip addr add 203.0.113.1/24 dev way0; ip link set way0 up;"
        "ip link set other up; ip route add default via 203.0.113.2;"
        "exec \"$@\"", "sh"])
    try:
        own.start()

        def see(*command):
            return subprocess.run(
                ["nsenter", f"--net=/proc/{keeper.pid}/ns/net", *command],
                capture_output=True, text=True, timeout=20).stdout.strip()
        keeper = subprocess.Popen(
            ["nsenter", f"--net=/proc/{own.proc.pid}/ns/net", "sleep",
             "1000"])
        forwarding = "/proc/sys/net/ipv4/conf/way0/forwarding"
        equal(see("nft", "list", "tables"), "")
        equal(see("cat", forwarding), "0")
        own.stream(f"build {new_id()} dir={root} net=nat").close()
        true("inet hutch" in see("nft", "list", "tables"), "table is there")
        equal(see("cat", forwarding), "1")
        own.proc.kill()
        own.proc.wait()
        own.wrap = ["nsenter", f"--net=/proc/{keeper.pid}/ns/net"]
        own.start()
        equal(see("nft", "list", "tables"), "")
        equal(see("cat", forwarding), "0")
        own.stream(f"build {new_id()} dir={root} net=nat").close()
        true("inet hutch" in see("nft", "list", "tables"), "table is there")
        own.proc.kill()
        own.proc.wait()
        r = subprocess.run(own.command("--reset"), timeout=60)
        equal(r.returncode, 0)
        equal(see("nft", "list", "tables"), "")
    finally:
        keeper.kill()
        keeper.wait()
        own.clean()


def frozen(pids):
    out = set()
    for p in pids:
        try:
            with open(f"/proc/{p}/cgroup") as f:
                path = [line.split(":", 2)[2].strip() for line in f
                        if line.startswith("0:")][0]
            for top in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup"):
                at = f"{top}{path}/cgroup.freeze"
                if os.path.exists(at):
                    with open(at) as f:
                        if f.read().strip() == "1":
                            out.add(p)
                    break
        except OSError:
            pass
    return out


@test
def stops_clean(d, root):
    """SIGTERM: all goes, the sockets too"""
    pids = children(d.proc.pid)
    equal(d.stop(), 0)
    for p in pids:
        true(gone(p), f"{p} lives")
    for name in ("api.sock", "admin.sock"):
        true(not os.path.exists(f"{d.root}/run/{name}"), name)


@test
def resets(d, root):
    """--reset leaves nothing of a root"""
    r = subprocess.run(d.command("--reset"), capture_output=True, text=True,
                       timeout=60)
    equal(r.returncode, 0, r.stderr)
    true(not os.path.exists(d.root), "the root is there")


def main():
    before, number = mounts(), None
    d = Daemon()
    try:
        top = make_root(f"{d.top}/image")
        d.write_config(f"mount_allow = {d.top}\n")
        d.start()
        with open(f"{d.root}/instance") as f:
            number = f.read().strip()
        failed = run(d, top)
    finally:
        if os.environ.get("TEST_LOG"):
            sys.stderr.write(d.log())
        d.clean()
    left = cgroups(number), set(mounts()) - set(before)
    if left != ([], set()):
        print(f"# left over: {left}")
        return 1
    return failed


sys.exit(main())
