#!/usr/bin/env python3
"""512 MiB up and down, 1 GiB of output: front and agent stay small.

The reader stops in the middle for a while, and so does the one who takes an
upload: nobody keeps for them what they do not take.
"""
import hashlib
import http.client
import os
import re
import select
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
from chaos import (IMAGE, House, Leaks, alone, children, need,  # noqa: E402
                   read)
from tap import BUILD, SANITISED, equal, run, skip_all, test, true  # noqa: E402

need(IMAGE, f"{BUILD}/hutch-front")
SIZE = 1 << 29  # 2 GiB, through the SDK: tests/sdk/test_files.py
MOST = (1024 if SANITISED else 64) << 10  # KiB
PIECE = 1 << 20


def available():
    text = read("/proc/meminfo").decode()
    return int(re.search(r"MemAvailable:\s+(\d+)", text).group(1)) << 10


def small(d):
    """Neither has ever had more than 64 MiB."""
    seen = set()
    for pid in children(d.proc.pid):
        text = (read(f"/proc/{pid}/status") or b"").decode()
        most = re.search(r"VmHWM:\s+(\d+) kB", text)
        exe = os.readlink(f"/proc/{pid}/exe") if most else ""
        for name in ("hutch-front", "hutch-agent"):
            if name in exe:
                seen.add(name)
                true(int(most.group(1)) <= MOST,
                     f"{name}: {most.group(1)} KiB")
    equal(seen, {"hutch-front", "hutch-agent"})


def pieces(digest, size=SIZE):
    """Ever different, without a store of it anywhere."""
    seed = os.urandom(PIECE)
    for i in range(size // PIECE):
        piece = i.to_bytes(8, "big") + seed[8:]
        digest.update(piece)
        yield piece


def stall(seconds=1):
    select.select([], [], [], seconds)


@test
def a_file(d, box):
    """a file of 512 MiB, up and down, and the reader pauses"""
    up, down = hashlib.sha256(), hashlib.sha256()
    c = http.client.HTTPConnection("127.0.0.1", d.port(), timeout=60)
    path = f"/proxy/{box}/workspace/file?path=large&format=bytes"
    c.request("PUT", path, pieces(up), {"Content-Length": str(SIZE)})
    r = c.getresponse()
    equal(r.status, 200, r.read())
    r.read()
    small(d)
    c.request("GET", path)
    r = c.getresponse()
    equal((r.status, r.getheader("content-length", str(SIZE))),
          (200, str(SIZE)))
    got, paused = 0, False
    while piece := r.read(PIECE):  # may be less than was asked for
        down.update(piece)
        got += len(piece)
        if got > SIZE // 4 and not paused:
            paused = True
            stall()
            small(d)
    equal(got, SIZE)
    c.close()
    equal(down.hexdigest(), up.hexdigest())
    small(d)


@test
def a_taker_that_waits(d, box):
    """an upload into a sandbox that is paused waits outside"""
    c = http.client.HTTPConnection("127.0.0.1", d.port(), timeout=60)
    digest = hashlib.sha256()
    c.putrequest("PUT", f"/proxy/{box}/workspace/file?path=large")
    c.putheader("Content-Length", str(SIZE // 4))
    c.endheaders()
    source = pieces(digest, SIZE // 4)
    for _ in range(8):
        c.send(next(source))
    equal(d.native("POST", f"sandboxes/{box}/pause", {}).status, 204)
    c.sock.setblocking(False)
    sent, rest = 0, memoryview(b"")
    while select.select([], [c.sock], [], 1)[1]:  # until nobody takes more
        rest = rest or memoryview(next(source))
        n = c.sock.send(rest)
        rest, sent = rest[n:], sent + n
    true(sent < 64 << 20, f"{sent} bytes went somewhere")
    small(d)
    equal(d.native("POST", f"sandboxes/{box}/resume", {}).status, 204)
    c.sock.settimeout(60)
    c.sock.sendall(rest)
    for piece in source:
        c.sock.sendall(piece)
    equal(c.getresponse().status, 200)
    c.close()
    out = d.client.shell(box, "sha256sum /workspace/large; rm large")[0]
    equal(out.split()[0], digest.hexdigest())
    small(d)


def cut(text):
    """What was kept, and how much was not: the marker tells."""
    marker = re.search(r"\n\[[^\n]*?(\d+) bytes left out[^\n]*\]\n", text)
    true(marker, "no marker")
    return (text[:marker.start()] + text[marker.end():],
            int(marker.group(1)))


def bounded(text, first, last, whole):
    """Head and tail are there, and what is missing is told to the byte."""
    true(text.startswith(first), text[:60])
    true(text.endswith(last), text[-60:])
    kept, left_out = cut(text)
    equal(len(kept) + left_out, whole)
    true(len(text) < 2 << 20, f"{len(text)} bytes are too many")


@test
def shell_output(d, box):
    """1 GiB from a command: head, tail and the marker"""
    out = d.client.shell(box, "echo first; yes | head -c 1G; echo last")[0]
    bounded(out, "first\ny\n", "y\nlast\n", (1 << 30) + 11)
    small(d)


# What may write into a cell, and what the cell then says itself.
CHILDREN = (
    ("x = os.system(\"head -c 1G /dev/zero | tr '\\\\0' a\")", 1 << 30, ""),
    ("subprocess.run(['head', '-c', '1G', '/dev/zero']).returncode", 1 << 30,
     "Out[1]: 0\n"),
    # A terminal takes 4 KiB at a time.
    ("!head -c 256M /dev/zero | tr '\\0' a", 1 << 28, ""),
    ("%%bash\nhead -c 256M /dev/zero | tr '\\0' a", 1 << 28, ""),
)


@test
def cell_output(d, box):
    """1 GiB from a cell's child, of each kind: head, tail and the marker"""
    d.client.cell(box, "import os, subprocess")
    for code, size, says in CHILDREN:
        texts, bad = d.client.cell(box, code)
        equal((bad, len(texts)), (False, 1), code)
        text, marker = cut(texts[0])
        equal(len(text.encode()) + marker, size + len(says), code)
        true(text.endswith(says), text[-60:])
        true(len(text) < 2 << 20, f"{len(text)} bytes are too many")
        small(d)
    texts, bad = d.client.cell(
        box, "print('first', flush=True)\nfor _ in range(1 << 10):\n"
        "    print('b' * (1 << 20), end='')\nprint('last')")
    equal(bad, False)
    bounded(texts[0], "first\nbb", "bblast\n", (1 << 30) + 11)
    small(d)


def main():
    if available() < 8 << 30:
        skip_all(f"{available() >> 20} MiB of memory are free, not 8 GiB")
    alone()
    with Leaks() as leaks:
        d = House("pool_size = 0\nblanks = 0\n", kind="memory = 4GiB\n"
                  "workspace_size = 3GiB\ncpus = 2")
        try:
            d.start()
            leaks.of(d)
            d.put_image()
            failed = run(d, d.client.create())
            equal(d.stop(), 0)
        finally:
            if os.environ.get("TEST_LOG"):
                sys.stderr.write(d.log())
            d.clean()
    return failed


sys.exit(main())
