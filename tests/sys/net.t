#!/usr/bin/env python3
"""isolator/net in a host and a fake internet of its own: who reaches whom.

Everything happens in network namespaces made here: a "host" with the uplink
up0, and an "internet" that owns the public, private and metadata addresses.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap

BUILD = os.environ.get("HUTCH_BUILD", ".")
TRY = os.path.join(BUILD, "tests/sys/net_try")


def skip(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


if os.geteuid() != 0:
    skip("needs root")
for tool in ("nft", "ip", "unshare", "nsenter"):
    if not shutil.which(tool):
        skip(f"needs {tool}")

children = []


def namespace():
    p = subprocess.Popen(["unshare", "-n", "sleep", "600"],
                         stdin=subprocess.DEVNULL)
    children.append(p)
    for _ in range(500):
        try:
            if os.readlink(f"/proc/{p.pid}/ns/net") != os.readlink(
                    "/proc/self/ns/net") and os.path.realpath(
                    f"/proc/{p.pid}/exe").endswith("sleep"):
                return p.pid
        except OSError:
            pass
        subprocess.run(["sleep", "0.01"], check=True)
    raise SystemExit("Bail out! no network namespace")


def inside(pid, *argv, **kw):
    return subprocess.run(["nsenter", "-t", str(pid), "-n", *argv],
                          capture_output=True, text=True, timeout=30, **kw)


def must(pid, line):
    r = inside(pid, *line.split())
    if r.returncode:
        raise SystemExit(f"Bail out! {line}: {r.stderr}")


SERVER = textwrap.dedent("""
    import selectors, socket, sys
    sel = selectors.DefaultSelector()
    for fam, any_ in ((socket.AF_INET, '0.0.0.0'), (socket.AF_INET6, '::')):
        for port in (80, 53):
            t = socket.socket(fam, socket.SOCK_STREAM)
            if fam == socket.AF_INET6:
                t.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            t.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            t.bind((any_, port)); t.listen(64)
            sel.register(t, 1, 'tcp')
        u = socket.socket(fam, socket.SOCK_DGRAM)
        if fam == socket.AF_INET6:
            u.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        # Answers come from the address that was asked.
        u.bind((sys.argv[1] if fam == socket.AF_INET else any_, 53)); sel.register(u, 1, 'udp')
    print('up', flush=True)
    while True:
        for key, _ in sel.select():
            if key.data == 'tcp':
                c, a = key.fileobj.accept(); c.sendall(a[0].encode()); c.close()
            else:
                d, a = key.fileobj.recvfrom(512); key.fileobj.sendto(d, a)
""")
PROBE = textwrap.dedent("""
    import socket, sys
    kind, host, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
    fam = socket.AF_INET6 if ':' in host else socket.AF_INET
    s = socket.socket(fam, socket.SOCK_STREAM if kind == 'tcp'
                      else socket.SOCK_DGRAM)
    s.settimeout(0.7)
    try:
        s.connect((host, port))
        if kind == 'udp':
            s.send(b'x' * 20)
        print('yes', s.recv(100).decode())
    except OSError as e:
        print('no', e)
""")


def serve(pid, resolver):
    p = subprocess.Popen(["nsenter", "-t", str(pid), "-n", sys.executable,
                          "-c", SERVER, resolver],
                         stdout=subprocess.PIPE, text=True,
                         stdin=subprocess.DEVNULL)
    children.append(p)
    if p.stdout.readline() != "up\n":
        raise SystemExit("Bail out! server")


def probe(pid, kind, host, port):
    return inside(pid, sys.executable, "-c", PROBE, kind, host,
                  str(port)).stdout.strip()


count = 0


def ok(good, name, extra=""):
    global count
    count += 1
    print(f"{'ok' if good else 'not ok'} {count} - {name}")
    if not good and extra:
        print("# " + str(extra).replace("\n", "\n# "))
    return good


def sysctls(pid):
    text = inside(pid, "sh", "-c",
                  "cat /proc/sys/net/ipv4/conf/*/forwarding "
                  "/proc/sys/net/ipv6/conf/*/forwarding "
                  "/proc/sys/net/ipv6/conf/*/force_forwarding 2>/dev/null; "
                  "nft list ruleset; ip -o link | grep -c .").stdout
    return text


def main():
    host, world = namespace(), namespace()
    state = tempfile.mkdtemp(prefix="hutch-net-")
    must(host, f"ip link add up0 type veth peer name w0 netns {world}")
    for line in ("ip addr add 203.0.113.2/24 dev up0",
                 "ip addr add 2001:db8::2/64 dev up0 nodad",
                 "ip link set up0 up", "ip link set lo up",
                 "ip route add default via 203.0.113.1",
                 "ip -6 route add default via 2001:db8::1"):
        must(host, line)
    must(world, "ip link set lo up")
    must(world, "ip link set w0 up")
    for a in ("203.0.113.1/24", "203.0.113.53/24", "10.0.0.1/8",
              "10.255.255.53/8", "172.16.0.1/12", "192.168.0.1/16",
              "169.254.169.254/16", "100.64.0.1/10", "198.51.100.7/24"):
        must(world, f"ip addr add {a} dev w0")
    for a in ("2001:db8::1/64", "fd00:ec2::254/64", "fd00::1/64",
              "64:ff9b::a00:1/96"):
        must(world, f"ip -6 addr add {a} dev w0 nodad")
    serve(host, '0.0.0.0')
    serve(world, '10.255.255.53')
    before = sysctls(host)
    t = subprocess.Popen(["nsenter", "-t", str(host), "-n", TRY, state, "2",
                          "10.255.255.53"], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, text=True)
    children.append(t)
    leases = [t.stdout.readline().split() for _ in range(2)]
    facts = t.stdout.readline().split()
    if not ok(all(len(x) == 5 for x in leases), "two leases", leases):
        return 1
    a, b = (int(x[1]) for x in leases)
    six = facts[1] == "1"

    r = probe(a, "tcp", "203.0.113.1", 80)
    ok(r == "yes 203.0.113.2", "a public address, masqueraded", r)
    r = probe(a, "udp", "169.254.53.53", 53)
    ok(r.startswith("yes"), "the resolver by UDP", r)
    r = probe(a, "tcp", "169.254.53.53", 53)
    ok(r.startswith("yes"), "the resolver by TCP", r)
    if six:
        r = probe(a, "tcp", "2001:db8::1", 80)
        ok(r == "yes 2001:db8::2", "a public IPv6 address, masqueraded", r)
    else:
        ok(True, "a public IPv6 address # SKIP kernel without "
           "force_forwarding")
    cap = subprocess.Popen(
        ["nsenter", "-t", str(world), "-n", "tcpdump", "-ni", "w0", "-c",
         "1", "--immediate-mode",
         "host 10.0.0.1 or host 172.16.0.1 or host 192.168.0.1 or "
         "host 169.254.169.254 or host 100.64.0.1 or host fd00:ec2::254 or "
         "host fd00::1 or host 64:ff9b::a00:1 or "
         "(host 10.255.255.53 and not port 53)"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) \
        if shutil.which("tcpdump") else None
    if cap:
        children.append(cap)
        cap.stderr.readline()
        cap.stderr.readline()
    for name, addr in (("private 10/8", "10.0.0.1"),
                       ("private 172.16/12", "172.16.0.1"),
                       ("private 192.168/16", "192.168.0.1"),
                       ("shared 100.64/10", "100.64.0.1"),
                       ("metadata", "169.254.169.254"),
                       ("the resolver's host beside DNS", "10.255.255.53"),
                       ("the host's uplink address", "203.0.113.2"),
                       ("the gateway", "169.254.53.1"),
                       ("the other sandbox", leases[1][2]),
                       ("metadata over IPv6", "fd00:ec2::254"),
                       ("unique local IPv6", "fd00::1"),
                       ("IPv4 embedded in IPv6", "64:ff9b::a00:1"),
                       ("the host over IPv6", "2001:db8::2"),
                       ("the gateway's link-local", "fe80::5301%eth0"),
                       ("the other sandbox over IPv6",
                        "fd68:7574:6368:7::2")):
        r = probe(a, "tcp", addr, 80)
        ok(r.startswith("no"), f"unreachable: {name}", r)
    r = probe(a, "udp", "10.255.255.53", 53)
    ok(r.startswith("no"), "the resolver only by its stand-in address", r)
    if cap:
        cap.terminate()
        out = cap.communicate(timeout=5)[0]
        ok(out.strip() == "", "captured outside: not one such frame", out)
    else:
        ok(True, "captured outside # SKIP needs tcpdump")
    r = probe(host, "tcp", leases[0][2], 80)
    ok(r.startswith("no"), "nothing reaches in, not even the host", r)
    must(b, "ip addr add 100.104.0.99/32 dev eth0")
    r = inside(b, sys.executable, "-c",
               "import socket;s=socket.socket();s.settimeout(.7);"
               "s.bind(('100.104.0.99',0));s.connect(('203.0.113.1',80))")
    ok(r.returncode != 0, "a source address of somebody else is dropped")
    r = inside(a, "cat", "/proc/sys/net/ipv4/ip_unprivileged_port_start")
    ok(r.stdout == "0\n", "low ports need no capability")
    own = os.readlink(f"/proc/{a}/ns/net") != os.readlink(
        f"/proc/{host}/ns/net")
    ok(own, "a namespace of its own")
    t.stdin.close()
    ok(t.wait(timeout=20) == 0, "stops by itself")
    for _ in range(200):
        after = sysctls(host)
        if after == before:
            break
        subprocess.run(["sleep", "0.02"], check=True)
    ok(after == before, "table, links and sysctls are as before", after)
    shutil.rmtree(state)
    return 0


try:
    code = main()
    print(f"1..{count}")
finally:
    for c in reversed(children):
        if c.poll() is None:
            c.kill()
        c.wait()
sys.exit(code)
