#!/usr/bin/env python3
"""hutch-agent --bare: the workspace's files, by hostile names too."""
import hashlib
import io
import os
import random
import socket
import stat
import subprocess
import sys
import tarfile
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
import guestwire as wire  # noqa: E402
from tap import BUILD, Skip, equal, run, test, true  # noqa: E402

PROGRAM = os.path.join(BUILD, "hutch-agent")
FILE, DIR, LINK, OTHER = range(4)


def put(a, path, data=b"", **args):
    c = a.start("fs_write", {"path": path, **args})
    c.input(data, eof=True)
    return c.wait()


def get(a, path, **kw):
    return a.run("fs_read", {"path": path}, **kw)


def ok(c):
    equal((c.done["code"], c.done["text"]), (0, ""))
    return c


def fails(c, code, text=None):
    equal(c.done["code"], code, c.done["text"])
    if text is not None:
        equal(c.done["text"], text)
    return c


def denied(c, ws):
    return fails(c, wire.DENIED, "Permission error. Access restricted to "
                 f"{ws} directory.")


def listing(a, path="", depth=0):
    c = ok(a.run("fs_list", {"path": path, "depth": depth}))
    return {e["path"]: e for e in c.entries}


@test
def there_and_back(a, ws):
    """bytes of every kind, an empty file, CRLF: as they were"""
    for i, data in enumerate((b"", b"a\r\nb\n", bytes(range(256)) * 1000,
                              b"\xef\xbb\xbfx", os.urandom(5 << 20))):
        c = ok(put(a, f"r/deep/er/{i}", data))
        e, = c.entries
        equal((e["path"], e["name"], e["type"], e["size"]),
              (f"{ws}/r/deep/er/{i}".encode(), str(i).encode(), FILE,
               len(data)))
        true(abs(e["mtime_ms"] - time.time() * 1000) < 60000, e)
        c = ok(get(a, f"{ws}/r/deep/er/{i}"))
        true(c.file == data, f"{i} differs")
        equal(c.entries, [e])
        with open(f"{ws}/r/deep/er/{i}", "rb") as f:
            true(f.read() == data, f"{i} on disk")
    equal(os.stat(f"{ws}/r/deep/er/0").st_mode & 0o7777, 0o644)
    equal([n for n in os.listdir(f"{ws}/r/deep/er") if ".hutch" in n], [])


@test
def names(a, ws):
    """names of any bytes go round"""
    for name in ("raport ń.txt".encode(), "你好".encode(), b"\xff\xfe",
                 b"a\nb", b"--help", b"'\"\\", b"x" * 255, b"...", b" "):
        ok(put(a, b"n/" + name, name))
        equal(get(a, b"n/" + name).file, name)
        e = listing(a, "n")[f"{ws}/n/".encode() + name]
        equal((e["name"], e["size"]), (name, len(name)))
        equal(a.run("fs_exists", {"path": b"n/" + name}).done["flag"], True)
        ok(a.run("fs_remove", {"path": b"n/" + name}))
    equal(listing(a, "n"), {})


@test
def bad_names(a, ws):
    """NUL, too long, below a file: an error of its own, never a bare one"""
    ok(put(a, "f", b"x"))
    for tool in ("fs_read", "fs_stat", "fs_remove", "fs_mkdir", "fs_write",
                 "fs_exists", "fs_list"):
        fails(a.run(tool, {"path": "a\0b"}), wire.INVALID)
        fails(a.run(tool, {"path": "x" * 256}), wire.INVALID)
        true(a.run(tool, {"path": "x/" * 3000}).done["code"] in
             (wire.INVALID, wire.LIMIT), tool)
    fails(get(a, "f/x"), wire.MISSING, "not found")
    fails(a.run("fs_list", {"path": "f/x"}), wire.MISSING, "not found")
    fails(a.run("fs_mkdir", {"path": "f/x"}), wire.BUSY,
          "path exists and is not a directory")
    fails(a.run("fs_write", {"path": "f/x"}), wire.BUSY,
          "path exists and is not a directory")
    equal(ok(a.run("fs_exists", {"path": "f/x"})).done["flag"], False)


@test
def outside(a, ws):
    """absolute and upward names that leave the workspace are refused"""
    os.makedirs(ws + "2", exist_ok=True)
    with open(ws + "2/f", "w") as f:
        f.write("secret")
    for path in ("/etc/passwd", "..", "../x", "a/../../x", ws + "2/f",
                 ws + "/../" + os.path.basename(ws) + "2/f", "/",
                 "/proc/self/environ"):
        for tool in ("fs_read", "fs_stat", "fs_exists", "fs_list",
                     "fs_remove", "fs_mkdir", "fs_write"):
            denied(a.run(tool, {"path": path}), ws)
        denied(a.run("fs_move", {"source": path, "destination": "z"}), ws)
        ok(put(a, "s", b""))
        denied(a.run("fs_move", {"source": "s", "destination": path}), ws)
    ok(put(a, "in/f", b"1"))
    for path in ("in/../in/f", f"{ws}/in/f", f"/{ws}//in//f", "./in/./f",
                 "in/../f2/../in/f"):
        if "f2" in path:
            ok(a.run("fs_mkdir", {"path": "f2"}))
        equal(ok(get(a, path)).file, b"1", path)


@test
def links(a, ws):
    """links are followed inside, absolute ones too, and never out"""
    os.mkdir(ws + "/l")
    ok(put(a, "l/real/f", b"1"))
    os.symlink("real", ws + "/l/rel")
    os.symlink(ws + "/l/real", ws + "/l/abs")
    os.symlink("rel/f", ws + "/l/chain")
    os.symlink("nowhere", ws + "/l/dangling")
    os.symlink("/etc", ws + "/l/out")
    os.symlink("/etc/passwd", ws + "/l/outfile")
    os.symlink("../../../../../../etc", ws + "/l/up")
    os.symlink("loop", ws + "/l/loop")
    os.symlink("/proc/self/fd", ws + "/l/fds")
    os.symlink("/proc/1/environ", ws + "/l/magic")
    for path in ("l/rel/f", "l/abs/f", "l/chain"):
        equal(ok(get(a, path)).file, b"1", path)
    for path in ("l/out/passwd", "l/outfile", "l/up/passwd", "l/fds/3",
                 "l/magic", "l/out", "l/up"):
        denied(get(a, path), ws)
        denied(a.run("fs_exists", {"path": path}), ws)
        denied(a.run("fs_list", {"path": path}), ws)
        denied(a.run("fs_write", {"path": path}), ws)
        denied(a.run("fs_mkdir", {"path": path + "/x"}), ws)
    fails(get(a, "l/loop"), wire.INVALID)
    fails(get(a, "l/dangling"), wire.MISSING, "not found")
    equal(ok(a.run("fs_exists", {"path": "l/dangling"})).done["flag"], False)
    got = {p.decode()[len(ws) + 3:]: (e["type"], e["size"])
           for p, e in listing(a, "l").items()}
    equal(got.pop("real/f"), (FILE, 1))
    equal(got, {"real": (DIR, -1), "rel": (DIR, -1), "abs": (DIR, -1),
                "chain": (FILE, 5), "out": (LINK, -1), "up": (LINK, -1),
                "outfile": (LINK, -1), "fds": (LINK, -1),
                "magic": (LINK, -1)})
    # Written through, not replaced; made through, if it leads to nothing.
    ok(put(a, "l/chain", b"22"))
    equal(get(a, "l/real/f").file, b"22")
    true(os.path.islink(ws + "/l/chain"), "the link is still one")
    ok(put(a, "l/dangling", b"3"))
    equal(get(a, "l/nowhere").file, b"3")
    # Removed and moved themselves.
    for name in ("out", "loop", "magic", "rel"):
        ok(a.run("fs_remove", {"path": "l/" + name}))
        true(not os.path.lexists(f"{ws}/l/{name}"), name)
    equal(get(a, "l/real/f").file, b"22")
    ok(a.run("fs_move", {"source": "l/outfile", "destination": "l/moved"}))
    equal(os.readlink(ws + "/l/moved"), "/etc/passwd")


@test
def not_regular(a, ws):
    """a FIFO, a socket, a directory is refused, at once"""
    os.mkdir(ws + "/k")
    os.mkfifo(ws + "/k/fifo")
    s = socket.socket(socket.AF_UNIX)
    s.bind(ws + "/k/socket")
    fails(get(a, "k/fifo", seconds=5), wire.INVALID, "not a regular file")
    fails(get(a, "k/socket", seconds=5), wire.INVALID, "not a regular file")
    fails(get(a, "k"), wire.MISSING, "not found")
    fails(get(a, ""), wire.MISSING, "not found")
    got = listing(a, "k")
    equal({e["name"]: (e["type"], e["size"]) for e in got.values()},
          {b"fifo": (OTHER, -1), b"socket": (OTHER, -1)})
    s.close()
    fails(a.run("fs_write", {"path": "k"}), wire.BUSY,
          "path exists and is a directory")
    fails(a.run("fs_write", {"path": ""}), wire.BUSY,
          "path exists and is a directory")
    ok(put(a, "k/fifo", b"now a file"))
    equal(get(a, "k/fifo").file, b"now a file")


@test
def kept(a, ws):
    """mode and owner of a replaced file are kept; mode can be asked for"""
    ok(put(a, "m", b"1"))
    os.chmod(ws + "/m", 0o751)
    if os.geteuid() == 0:
        os.chown(ws + "/m", 12, 34)
    ok(put(a, "m", b"2"))
    st = os.stat(ws + "/m")
    equal(st.st_mode & 0o7777, 0o751)
    if os.geteuid() == 0:
        equal((st.st_uid, st.st_gid), (12, 34))
    ok(put(a, "m", b"3", mode=0o600))
    equal(os.stat(ws + "/m").st_mode & 0o7777, 0o600)
    ok(put(a, "m2", b"3", mode=0o755))
    equal(os.stat(ws + "/m2").st_mode & 0o7777, 0o755)


@test
def half_files(a, ws):
    """nobody sees half a file; an upload given up leaves nothing"""
    ok(put(a, "h", b"old"))
    c = a.start("fs_write", {"path": "h"})
    c.input(b"x" * (3 << 20))
    equal(get(a, "h").file, b"old")
    c.cancel()
    fails(c.wait(), wire.BUSY)
    equal(get(a, "h").file, b"old")
    b = wire.Agent(PROGRAM, ws, control=True, cwd=ws).setup()
    c = b.start("fs_write", {"path": "h"})
    c.input(b"x" * (3 << 20))
    wire.Stream(b.new_stream(), cwd=ws).setup()
    true(not [n for n in os.listdir(ws) if n.startswith(".hutch")],
         os.listdir(ws))
    b.stop()
    one, two = b"1" * 3000000, b"2" * 3000000
    ok(put(a, "h", one))
    writers = [a.start("fs_write", {"path": "h"}) for _ in range(4)]
    readers = [a.start("fs_read", {"path": "h"}) for _ in range(8)]
    for w in writers:
        w.input(two, eof=True)
    for r in readers:
        true(ok(r.wait()).file in (one, two), "a mixture")


@test
def existence(a, ws):
    """exists, stat, mkdir"""
    equal(ok(a.run("fs_mkdir", {"path": "e/f/g"})).done["flag"], True)
    equal(ok(a.run("fs_mkdir", {"path": "e/f/g"})).done["flag"], False)
    equal(ok(a.run("fs_mkdir", {"path": ""})).done["flag"], False)
    ok(put(a, "e/x", b"12"))
    fails(a.run("fs_mkdir", {"path": "e/x"}), wire.BUSY,
          "path exists and is not a directory")
    for path, there in (("e", True), ("e/x", True), ("e/y", False),
                        ("", True), (".", True), (ws, True)):
        equal(ok(a.run("fs_exists", {"path": path})).done["flag"], there,
              path)
    e, = ok(a.run("fs_stat", {"path": "e/x"})).entries
    equal((e["path"], e["type"], e["size"]),
          (f"{ws}/e/x".encode(), FILE, 2))
    e, = ok(a.run("fs_stat", {"path": ""})).entries
    equal((e["path"], e["type"]), (ws.encode(), DIR))
    fails(a.run("fs_stat", {"path": "e/y"}), wire.MISSING)


@test
def lists(a, ws):
    """depth, order and the errors of a list"""
    for path in ("t/a/b/c/f", "t/a/f", "t/f"):
        ok(put(a, path, b""))

    def names(depth):
        return sorted(p.decode()[len(ws) + 3:] for p in listing(a, "t", depth))
    equal(names(1), ["a", "f"])
    equal(names(2), ["a", "a/b", "a/f", "f"])
    equal(names(0), ["a", "a/b", "a/b/c", "a/b/c/f", "a/f", "f"])
    paths = [e["path"] for e in
             a.run("fs_list", {"path": "t"}).entries]  # parents first
    for i, p in enumerate(paths):
        parent = os.path.dirname(p)
        true(parent == f"{ws}/t".encode() or parent in paths[:i], paths)
    fails(a.run("fs_list", {"path": "t/f"}), wire.MISSING, "not found")
    fails(a.run("fs_list", {"path": "nosuch"}), wire.MISSING, "not found")
    equal(listing(a, ".", 1).keys() == listing(a, ws, 1).keys(), True)


@test
def moves(a, ws):
    """moves: what is replaced, and what is in the way"""
    def move(source, destination):
        return a.run("fs_move", {"source": source,
                                 "destination": destination})
    ok(put(a, "v/a", b"a"))
    ok(put(a, "v/b", b"b"))
    e, = ok(move("v/a", "v/new/deep/c")).entries
    equal((e["path"], e["size"]), (f"{ws}/v/new/deep/c".encode(), 1))
    ok(move("v/b", "v/new/deep/c"))
    equal(get(a, "v/new/deep/c").file, b"b")
    ok(move("v/new/deep/c", "v/new/deep/c"))
    fails(move("v/nosuch", "v/x"), wire.MISSING, "source not found")
    fails(move("v/no/such", "v/x"), wire.MISSING, "source not found")
    fails(move("v/new/deep/c", "v/new"), wire.BUSY)
    fails(move("v/new", "v/new/deep/x"), wire.INVALID)
    ok(put(a, "v/file", b""))
    fails(move("v/new", "v/file"), wire.BUSY)
    fails(move("", "v/x"), wire.INVALID, "source is required")
    fails(move(".", "v/x"), wire.BUSY)
    fails(move("v/new", "."), wire.BUSY)
    os.mkdir(ws + "/v/empty")
    ok(move("v/new", "v/empty"))
    equal(get(a, "v/empty/deep/c").file, b"b")
    ok(a.run("fs_mkdir", {"path": "v/full/x"}))
    fails(move("v/full", "v/empty"), wire.BUSY)
    true(not os.path.exists(ws + "/v/zz"), "")
    fails(move("v/nosuch", "v/zz/x"), wire.MISSING)
    true(not os.path.exists(ws + "/v/zz"), "no parents for nothing")


@test
def removes(a, ws):
    """remove: files, trees, links in them left alone where they lead"""
    fails(a.run("fs_remove", {"path": "nosuch"}), wire.MISSING)
    fails(a.run("fs_remove", {"path": ""}), wire.BUSY)
    fails(a.run("fs_remove", {"path": "."}), wire.BUSY)
    fails(a.run("fs_remove", {"path": ws}), wire.BUSY)
    outer = tempfile.mkdtemp()
    with open(outer + "/keep", "w"):
        pass
    os.makedirs(ws + "/x/y/z")
    os.symlink(outer, ws + "/x/y/out")
    for i in range(3000):
        with open(f"{ws}/x/y/f{i}", "w"):
            pass
    os.chmod(ws + "/x/y/z", 0)
    ok(a.run("fs_remove", {"path": "x"}))
    true(not os.path.exists(ws + "/x"), "gone")
    equal(os.listdir(outer), ["keep"])
    os.unlink(outer + "/keep")
    os.rmdir(outer)


@test
def deep_trees(a, ws):
    """a tree too deep to hold open is listed with an error, and removed"""
    code = (f"import os; os.chdir({ws!r})\n"
            "for i in range(1200):\n"
            "    os.mkdir('d'); open('f', 'w').close(); os.chdir('d')\n")
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    before = len(os.listdir(f"/proc/{a.proc.pid}/fd"))
    c = a.run("fs_list", {"path": "d"})
    fails(c, wire.LIMIT)
    ok(a.run("fs_remove", {"path": "d"}, 60))
    true(not os.path.exists(ws + "/d"), "gone")
    equal(len(os.listdir(f"/proc/{a.proc.pid}/fd")), before)
    os.unlink(ws + "/f")


@test
def big_lists(a, ws):
    """20,000 entries come while other calls are answered"""
    os.mkdir(ws + "/big")
    for i in range(20000):
        with open(f"{ws}/big/{i}", "w"):
            pass
    c = a.start("fs_list", {"path": "big"})
    equal(a.shell("echo hi").stdout, b"hi\n")
    equal(len(ok(c.wait(60)).entries), 20000)
    c = a.start("fs_list", {"path": "big"})
    c.cancel()
    fails(c.wait(), wire.BUSY)
    ok(a.run("fs_remove", {"path": "big"}, 60))


@test
def credit(a, ws):
    """a file is read no faster than it is taken"""
    ok(put(a, "c", b"x" * 1000000))
    a.credit_back = False
    c = a.start("fs_read", {"path": "c"}, credit=300000)
    a.until(lambda: c.taken == 300000, 10)
    equal(a.shell("echo hi").stdout, b"hi\n")
    equal((c.taken, c.done), (300000, None))
    a.credit_back = True
    c.credit(1 << 20)
    equal(len(ok(c.wait()).file), 1000000)


def snapshot(top, tick=1):
    """What a tree is, without what may differ: inode numbers, atimes."""
    out, inodes = {}, {}
    for at, dirs, files in os.walk(os.fsencode(top)):
        for name in [b"."] + dirs + files:
            path = os.path.join(at, name)
            st = os.lstat(path)
            rel = os.path.relpath(path, os.fsencode(top))
            what = [st.st_mode, st.st_uid, st.st_gid, st.st_mtime_ns // tick]
            if stat.S_ISREG(st.st_mode):
                with open(path, "rb") as f:
                    what += [st.st_size, hashlib.sha256(f.read()).digest()]
                if st.st_nlink > 1:
                    what.append(inodes.setdefault(st.st_ino, rel))
            elif stat.S_ISLNK(st.st_mode):
                what.append(os.readlink(path))
            out[rel] = tuple(what)
    return out


def plant(top):
    os.makedirs(top + "/a/b")
    for name, data in ((b"plain", b"x" * 1000), (b"empty", b""),
                       (b"\xff\xfe", b"bytes"), ("ü".encode(), b"u"),
                       (b"n" * 200, b"long"), (b"a/new\nline", b"nl"),
                       (b"a/512", b"5" * 512), (b"a/1M", os.urandom(1 << 20))):
        with open(os.path.join(os.fsencode(top), name), "wb") as f:
            f.write(data)
    deep = top + "/" + "/".join(["deep" * 10] * 12)
    os.makedirs(deep)
    with open(deep + "/file", "w") as f:
        f.write("deep")
    os.symlink("plain", top + "/link")
    os.symlink("/" + "t" * 150, top + "/longlink")
    os.link(top + "/plain", top + "/a/second")
    os.link(deep + "/file", top + "/a/third")
    os.mkfifo(top + "/fifo")
    with open(top + "/holes", "wb") as f:
        f.seek(100 << 20)
        f.write(b"middle")
        f.truncate(20 << 30)
    with open(top + "/onlyhole", "wb") as f:
        f.truncate(1 << 30)
    os.chmod(top + "/a/b", 0o711)
    os.chmod(top + "/plain", 0o4755)
    if os.geteuid() == 0:
        os.chown(top + "/empty", 1000, 65534)
    os.utime(top + "/a/b", ns=(1, 1234567890123456789))
    os.utime(top + "/empty", ns=(1, 1))
    os.utime(top + "/a", ns=(1, 987654321000000000))


def same(one, two, but=(), tick=1):
    one, two = snapshot(one, tick), snapshot(two, tick)
    for skip in but:
        one.pop(skip, None)
        two.pop(skip, None)
    for k in sorted(set(one) | set(two)):
        equal(two.get(k), one.get(k), repr(k))


def pack(a, path):
    return ok(a.run("fs_tar", {"path": path}, 60)).file


def unpack(a, path, tar, **kw):
    c = a.start("fs_untar", {"path": path})
    c.input(tar, eof=True, **kw)
    return c.wait(60)


@test
def tar(a, ws):
    """fs_tar and fs_untar: all of a tree, and holes stay holes"""
    plant(ws + "/tar")
    # 20 GB of hole: not read for their digest.
    os.rename(ws + "/tar/holes", ws + "/holes")
    bytes_ = pack(a, "tar")
    os.mkdir(ws + "/untar")
    ok(unpack(a, "untar", bytes_))
    same(ws + "/tar", ws + "/untar", but=(b".",))
    os.mkdir(ws + "/holetar")
    os.rename(ws + "/holes", ws + "/holetar/holes")
    bytes_ = pack(a, "holetar")
    true(len(bytes_) < 100000, len(bytes_))
    ok(unpack(a, "untar2", bytes_))
    st = os.stat(ws + "/untar2/holes")
    equal(st.st_size, 20 << 30)
    true(st.st_blocks < 1000, st.st_blocks)
    with open(ws + "/untar2/holes", "rb") as f:
        f.seek(100 << 20)
        equal(f.read(10), b"middle\0\0\0\0")
    os.unlink(ws + "/untar2/holes")
    os.unlink(ws + "/holetar/holes")


@test
def tar_and_others(a, ws):
    """other tars read ours, and we read theirs"""
    plant(ws + "/o")
    os.unlink(ws + "/o/holes")
    os.unlink(ws + "/o/onlyhole")
    with open(ws + "/o/small-hole", "wb") as f:
        f.seek(1 << 20)
        f.write(b"x")
    with tempfile.TemporaryDirectory() as d:
        t = tarfile.open(fileobj=io.BytesIO(pack(a, "o")), mode="r:",
                         errors="surrogateescape")
        t.extractall(d, numeric_owner=True)
        # Python's times are floats.
        same(ws + "/o", d, but=(b".", b"a", b"empty"), tick=1000000000)
        for fmt in (tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT):
            f = io.BytesIO()
            with tarfile.open(fileobj=f, mode="w", format=fmt,
                              errors="surrogateescape") as t:
                for name in ("plain", "empty", "a/second", "a/512", "link",
                             "fifo", "small-hole"):
                    t.add(ws + "/o/" + name, "sub/" + name)
            ok(unpack(a, f"theirs{fmt}", f.getvalue()))
            for name in ("plain", "a/second", "small-hole", "fifo"):
                one = os.lstat(f"{ws}/o/{name}")
                two = os.lstat(f"{ws}/theirs{fmt}/sub/{name}")
                equal((one.st_mode, one.st_size, int(one.st_mtime)),
                      (two.st_mode, two.st_size, int(two.st_mtime)), name)


@test
def hostile_tars(a, ws):
    """a tar that leads out, or is none, is refused and nothing is outside"""
    def made(*members):
        f = io.BytesIO()
        with tarfile.open(fileobj=f, mode="w") as t:
            for name, kind, link in members:
                m = tarfile.TarInfo(name)
                m.type, m.linkname = kind, link
                m.size = 3 if kind == tarfile.REGTYPE else 0
                t.addfile(m, io.BytesIO(b"bad"))
        return f.getvalue()
    outer = tempfile.mkdtemp()
    with open(outer + "/f", "w") as f:
        f.write("OUTSIDE")
    for bad in (made(("../x", tarfile.REGTYPE, "")),
                made(("a/../../x", tarfile.REGTYPE, "")),
                made(("l", tarfile.SYMTYPE, outer),
                     ("l/f", tarfile.REGTYPE, "")),
                made(("h", tarfile.LNKTYPE, "../x")),
                made(("l", tarfile.SYMTYPE, outer),
                     ("h", tarfile.LNKTYPE, "l/f"))):
        true(unpack(a, "hostile", bad).done["code"] != 0, bad[:100])
    with open(outer + "/f") as f:
        equal(f.read(), "OUTSIDE")
    equal(os.listdir(outer), ["f"])
    true(not os.path.exists(ws + "/x"), "outside of its directory")
    good = pack(a, "hostile")
    fails(unpack(a, "h2", b"x" * 1024), wire.PROTO)
    fails(unpack(a, "h2", good[:700]), wire.PROTO)
    fails(unpack(a, "h2", b""), wire.PROTO)
    rnd = random.Random(7)
    for _i in range(300):
        b = bytearray(good)
        for _j in range(rnd.randint(1, 8)):
            b[rnd.randrange(len(b))] = rnd.randrange(256)
        unpack(a, "h3", bytes(b))  # whatever it says, it goes on
    equal(a.shell("echo hi").stdout, b"hi\n")
    os.unlink(outer + "/f")
    os.rmdir(outer)


@test
def tar_by_credit(a, ws):
    """a tar is made no faster than it is taken, and can be cancelled"""
    ok(put(a, "tc/f", b"x" * 3000000))
    a.credit_back = False
    c = a.start("fs_tar", {"path": "tc"}, credit=100000)
    a.until(lambda: c.taken == 100000, 10)
    equal(a.shell("echo hi").stdout, b"hi\n")
    equal((c.taken, c.done), (100000, None))
    a.credit_back = True
    c.cancel()
    c.credit(1)
    fails(c.wait(), wire.BUSY)


@test
def anywhere(a, ws):
    """anywhere: the whole file system, but none of the agent's own /proc"""
    with tempfile.TemporaryDirectory() as d:
        d = os.path.realpath(d)
        ok(put(a, d + "/x/y", b"1", anywhere=True))
        equal(ok(get_any(a, d + "/x/y")).file, b"1")
        e, = ok(a.run("fs_stat", {"path": d + "/x/y",
                                  "anywhere": True})).entries
        equal(e["path"].decode(), d + "/x/y")
        c = ok(a.run("fs_list", {"path": d, "anywhere": True}))
        equal([e["path"].decode() for e in c.entries],
              [d + "/x", d + "/x/y"])
        fails(get_any(a, "/proc/self/environ"), wire.INVALID)
        true(get_any(a, "/proc/self/fd/3").done["code"] != 0, "a socket")
        true(get_any(a, "/etc/../etc/hostname").done["code"] in
             (0, wire.MISSING), "upward in it")
        ok(a.run("fs_remove", {"path": d + "/x", "anywhere": True}))
        equal(os.listdir(d), [])


def get_any(a, path):
    return a.run("fs_read", {"path": path, "anywhere": True})


@test
def full(_a, ws):
    """a full disk is ERR_LIMIT, and nothing is left behind"""
    if os.geteuid() != 0:
        raise Skip("has to be root")
    os.mkdir(ws + "/full")
    a = wire.Agent(PROGRAM, ws + "/full", cwd="/", wrap=(
        "unshare", "-m", "sh", "-c", "mount -t tmpfs -o size=2m none $0 && "
        "exec \"$@\"", ws + "/full")).setup()
    c = a.start("fs_write", {"path": "big"})
    c.input(b"x" * (8 << 20), eof=True)
    fails(c.wait(), wire.LIMIT)
    equal(listing(a), {})
    ok(put(a, "small", b"x" * (1 << 20)))
    f = io.BytesIO()
    with tarfile.open(fileobj=f, mode="w") as t:
        m = tarfile.TarInfo("big")
        m.size = 4 << 20
        t.addfile(m, io.BytesIO(b"x" * m.size))
    fails(unpack(a, "", f.getvalue()), wire.LIMIT)
    ok(a.run("fs_remove", {"path": "small"}))
    a.stop()


@test
def races(a, ws):
    """a directory exchanged for a link, 10,000 times: never a byte outside"""
    outer = tempfile.mkdtemp()
    with open(outer + "/f", "w") as f:
        f.write("OUTSIDE")
    os.makedirs(ws + "/race/d")
    with open(ws + "/race/d/f", "w") as f:
        f.write("inside")
    os.symlink(outer, ws + "/race/l")
    code = f"""
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
os.chdir({ws + "/race"!r})
while True:
    libc.renameat2(-100, b"d", -100, b"l", 2)  # RENAME_EXCHANGE
"""
    p = subprocess.Popen([sys.executable, "-c", code])
    seen = {}
    try:
        for i in range(2500):
            calls = [get_start(a, "race/d/f"),
                     a.start("fs_write", {"path": "race/d/w"}),
                     a.start("fs_list", {"path": "race/d"}),
                     a.start("fs_mkdir", {"path": "race/d/m"})]
            calls[1].input(b"w", eof=True)
            for c in calls:
                c.wait()
                seen[c.done["code"]] = seen.get(c.done["code"], 0) + 1
            true(b"OUTSIDE" not in calls[0].file, "read outside")
    finally:
        p.kill()
        p.wait()
    equal(os.listdir(outer), ["f"])
    true(seen.get(0, 0) > 100, seen)
    os.unlink(outer + "/f")
    os.rmdir(outer)


def get_start(a, path):
    return a.start("fs_read", {"path": path})


@test
def nothing_stays_open(a, ws):
    """no descriptor in the workspace is kept between calls"""
    a.shell("true")
    kept = [os.readlink(f"/proc/{a.proc.pid}/fd/{n}") for n in
            os.listdir(f"/proc/{a.proc.pid}/fd")]
    equal([k for k in kept if k.startswith(ws)], [])


def main():
    with tempfile.TemporaryDirectory() as ws:
        ws = os.path.realpath(ws) + "/ws"
        os.mkdir(ws)
        a = wire.Agent(PROGRAM, ws, cwd="/").setup()
        status = run(a, ws)
        a.stop()
    return status


if __name__ == "__main__":
    sys.exit(main())
