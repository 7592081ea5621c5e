#!/usr/bin/env python3
"""Attacks 45 and 46 through the daemon, with captures outside.

The daemon has a "host" of its own, a network namespace whose uplink leads to
an "internet" that owns public, private and metadata addresses.
"""
import os
import re
import shutil
import socket
import subprocess
import sys
import textwrap

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
from attacked import Box, house  # noqa: E402
from daemon import need_root  # noqa: E402
from tap import equal, run, skip_all, test, true  # noqa: E402

need_root()
for tool in ("nft", "ip", "tcpdump", "unshare", "nsenter"):
    if not shutil.which(tool):
        skip_all(f"needs {tool}")

children = []
PUBLIC = ["203.0.113.1", "2001:db8::1"]
# What is answered for outside, so only the rules can be what stops it.
HIDDEN = ["10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1",
          "169.254.169.254", "fd00:ec2::254", "fd00::1", "64:ff9b::a00:1",
          "fec0::1"]
SERVER = textwrap.dedent("""
    import selectors, socket
    sel = selectors.DefaultSelector()
    for fam in (socket.AF_INET, socket.AF_INET6):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            for port in (80, 53):
                s = socket.socket(fam, kind)
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if fam == socket.AF_INET6:
                    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                s.bind(('', port))
                if kind == socket.SOCK_STREAM:
                    s.listen(64)
                sel.register(s, 1, kind)
    print('up', flush=True)
    while True:
        for key, _ in sel.select():
            if key.data == socket.SOCK_STREAM:
                key.fileobj.accept()[0].close()
            else:
                d, a = key.fileobj.recvfrom(512)
                key.fileobj.sendto(d, a)
""")


def spawn(*argv, **kw):
    p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, text=True, **kw)
    children.append(p)
    return p


def namespace():
    p = spawn("unshare", "-n", "sh", "-c", "echo in; exec sleep 300",
              stdout=subprocess.PIPE)
    equal(p.stdout.readline(), "in\n")
    return p.pid


def inside(pid, *argv):
    return subprocess.run(["nsenter", "-t", str(pid), "-n", *argv],
                          capture_output=True, text=True, timeout=30,
                          check=False)


def must(pid, line):
    r = inside(pid, *line.split())
    equal(r.returncode, 0, f"{line}: {r.stderr}")


def serve(pid):
    p = spawn("nsenter", "-t", str(pid), "-n", sys.executable, "-c", SERVER,
              stdout=subprocess.PIPE)
    equal(p.stdout.readline(), "up\n")


QUIET = "not arp and not (icmp6 and ip6[40] >= 130) and not ip6[6] == 0"


class Capture:
    """Frames that match on a link, from now until .frames()."""

    def __init__(self, pid, link, *words):
        self.p = spawn("nsenter", "-t", str(pid), "-n", "tcpdump", "-lni",
                       link, "--immediate-mode", *words,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while "listening on" not in (line := self.p.stderr.readline()):
            true(line, "tcpdump ended")

    def frames(self, mark):
        """All that came before the frame that says so."""
        got = []
        while mark not in (line := self.p.stdout.readline()):
            true(line, "tcpdump ended")
            got.append(line)
        self.p.terminate()
        self.p.communicate(timeout=10)
        return got


def mark(pid, address, port):
    """A frame of the host's own, so a capture shows that it works."""
    inside(pid, sys.executable, "-c", "import socket; socket.socket("
           "socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', "
           f"('{address}', {port}))")
    return f"{address}.{port}: UDP"


class Place:
    def __init__(self):
        self.host, self.world = namespace(), namespace()
        must(self.host,
             f"ip link add up0 type veth peer name w0 netns {self.world}")
        for line in ("ip addr add 203.0.113.2/24 dev up0",
                     "ip addr add 2001:db8::2/64 dev up0 nodad",
                     "ip link set up0 up", "ip link set lo up",
                     "ip route add default via 203.0.113.1",
                     "ip -6 route add default via 2001:db8::1"):
            must(self.host, line)
        must(self.world, "ip link set lo up")
        must(self.world, "ip link set w0 up")
        must(self.world, "ip addr add 203.0.113.1/24 dev w0")
        must(self.world, "ip -6 addr add 2001:db8::1/64 dev w0 nodad")
        for a in HIDDEN:
            six = ":" in a
            must(self.world, f"ip {'-6' if six else ''} addr add {a}"
                 f"{'/128 nodad' if six else '/32'} dev w0")
        serve(self.host)
        serve(self.world)
        self.d = house(
            "host = ::\n[tenant one]\nadmin = yes\ntoken_sha256 = "
            "8ed3f6ad685b959ead7022518e1af76cd816f8e8ec7ccdda1ed4018e8f2223f8"
            "\n[type base]\nnet = nat\nimage = try:1\n",
            wrap=["nsenter", "-t", str(self.host), "-n", "--"])
        self.port = int(re.findall(r" port=(\d+)", self.d.log())[-1])


def reach(box, targets):
    got = box.probe("reach", ",".join(targets))
    equal(sorted(got), sorted(targets), "probed")
    return got


def addresses(box):
    """(IPv4, IPv6 global, IPv6 link-local) of eth0, by the kernel's lists"""
    r = box.run("cat", "/proc/net/fib_trie", "/proc/net/if_inet6")
    four = [a for a in re.findall(r"-- (\d+\.\d+\.\d+\.\d+)\n\s+/32 host LOCAL",
                                  r.stdout) if not a.startswith("127.")]
    six = [":".join(re.findall("....", x)) for x in
           re.findall(r"^([0-9a-f]{32}) .* eth0$", r.stdout, re.M)]
    return (four[0], next((a for a in six if a[:4] != "fe80"), None),
            next((a for a in six if a[:4] == "fe80"), None))


@test
def nat_reaches_the_world(p):
    """45: nat: public addresses answer, over IPv6 too"""
    box = Box(p.d)
    got = reach(box, [f"{k}/{a}/{n}" for a in PUBLIC
                      for k, n in (("tcp", 80), ("udp", 53))])
    if "force_forwarding" in p.d.log() or "nat6" in p.d.log():
        got = {k: v for k, v in got.items() if ":" not in k}
    equal({k: v for k, v in got.items() if v != "0"}, {})
    box.end()


@test
def nat_reaches_nothing_else(p):
    """45: nat: private, metadata, host, its API, others: no frame leaves"""
    box, other = Box(p.d), Box(p.d)
    spy = Capture(p.world, "w0", " or ".join(f"host {a}" for a in HIDDEN))
    four, six, ll = addresses(other)
    mine = addresses(box)
    true(mine[0] != four, "two sandboxes have one address")
    hosts = HIDDEN + ["203.0.113.2", "2001:db8::2", "169.254.53.1", four,
                      "127.0.0.1", "::1", "::ffff:10.0.0.1", "0.0.0.0",
                      "fe80::5301%eth0", "ff02::1%eth0"]
    hosts += [six] if six else []
    hosts += [f"{ll}%eth0"] if ll else []
    got = reach(box, [f"{k}/{a}/{n}" for a in hosts for k, n in
                      (("tcp", 80), ("udp", 53), ("icmp", 0))
                      if k != "icmp" or a not in
                      ("127.0.0.1", "::1", "0.0.0.0", "ff02::1%eth0")])
    equal({k: v for k, v in got.items() if v == "0"}, {}, "reached")
    # The daemon's own port, by each address that the host has.
    got = reach(box, [f"tcp/{a}/{p.port}" for a in
                      ("203.0.113.2", "2001:db8::2", "169.254.53.1",
                       "fe80::5301%eth0", "127.0.0.1", "::1")])
    equal({k: v for k, v in got.items() if v == "0"}, {}, "the API reached")
    # ... which does answer where it should.
    r = inside(p.host, sys.executable, "-c", "import socket; "
               f"socket.create_connection(('203.0.113.2', {p.port}), 5)")
    equal(r.returncode, 0, r.stderr)
    equal(spy.frames(mark(p.host, "10.0.0.1", 4711)), [], "captured outside")
    box.end()
    other.end()


@test
def flows_are_bounded(p):
    """55: nat: who opens flow after flow leaves the host's table room"""
    greedy, other = Box(p.d), Box(p.d)
    for address in PUBLIC:
        got = greedy.probe("flows", f"6000/{address}")
        equal(got, {"sent": "6000"})
    r = inside(p.host, "cat", "/proc/sys/net/netfilter/nf_conntrack_count")
    true(1000 < int(r.stdout) < 5000, f"entries: {r.stdout}")
    equal(reach(other, ["tcp/203.0.113.1/80"]), {"tcp/203.0.113.1/80": "0"})
    greedy.end()
    other.end()


@test
def none_sends_nothing(p):
    """46: none: DNS, ICMP, UDP, TCP, multicast: no frame on any link"""
    box = Box(p.d, "--net", "none")
    seen = [Capture(p.host, "any", QUIET), Capture(p.world, "w0", QUIET)]
    targets = [f"{k}/{a}/{n}" for a in PUBLIC + HIDDEN + ["203.0.113.2"]
               for k, n in (("tcp", 80), ("udp", 53), ("icmp", 0))]
    got = reach(box, targets + ["udp/224.0.0.251/5353",
                                "udp/255.255.255.255/67"])
    equal({k: v for k, v in got.items() if v == "0"}, {}, "reached")
    sign = mark(p.host, "203.0.113.1", 4712)
    for spy in seen:
        equal(spy.frames(sign), [], "captured")
    r = box.run("cat", "/proc/net/dev")
    equal([line.split(":")[0].strip() for line in
           r.stdout.splitlines()[2:]], ["lo"], "links")
    box.end()


@test
def abstract_sockets(p):
    """46: a unix socket of the host without a path is not there"""
    name = f"hutch-try-{os.getpid()}"
    def put_in(pid):
        return spawn("nsenter", "-t", str(pid), "-n", sys.executable, "-c",
                     textwrap.dedent(f"""
            import socket
            s = socket.socket(socket.AF_UNIX)
            s.bind('\\0{name}'); s.listen()
            print('up', flush=True)
            print('came' if s.accept() else '', flush=True)"""),
                     stdout=subprocess.PIPE)
    there = put_in(p.host)
    equal(there.stdout.readline(), "up\n")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(f"\0{name}")
        s.listen()
        for net in ("none", "nat"):
            box = Box(p.d, "--net", net)
            equal(box.probe("abstract", name),
                  {"stream": "ECONNREFUSED", "dgram": "ECONNREFUSED"}, net)
            box.end()
        s.setblocking(False)
        try:
            s.accept()
            raise AssertionError("somebody came")
        except BlockingIOError:
            pass
    equal(there.poll(), None, "the one in the daemon's namespace")


def main():
    place = Place()
    try:
        return run(place)
    finally:
        if os.environ.get("TEST_LOG"):
            sys.stderr.write(place.d.log())
        place.d.clean()


try:
    code = main()
finally:
    for c in reversed(children):
        if c.poll() is None:
            c.kill()
        c.wait()
sys.exit(code)
