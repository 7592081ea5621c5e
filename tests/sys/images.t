#!/usr/bin/env python3
"""images: what the importer takes, and what it doesn't let happen.

Attacks are numbered as in the catalogue (group C).
"""
import gzip
import json
import os
import random
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(TOP, "lib"))
import ocitar as o  # noqa: E402
import tap  # noqa: E402
from tap import equal, test, true  # noqa: E402

BUILD = os.path.abspath(tap.BUILD)
FETCHTRY = os.path.join(BUILD, "tests", "sys", "fetchtry")
FETCHER = os.path.join(BUILD, "hutch-fetch")


class Place:
    """A directory of the test's own; outside() is what must not change."""

    def __init__(self):
        self.root = tempfile.mkdtemp(prefix="images-")
        self.n = 0

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    def import_(self, data, ref="box", store=None, dest=True):
        """(exit code, last line, where the tree is)"""
        self.n += 1
        os.makedirs(self.path(str(self.n), "up"))
        archive = self.path(str(self.n), "archive")
        with open(archive, "wb") as f:
            f.write(o.archive(data) if isinstance(data, dict) else data)
        tree = self.path(str(self.n), "up", "tree")
        outside = self.outside()
        p = subprocess.run(
            [FETCHTRY, *(["-s", store] if store else []), FETCHER, archive,
             ref, *([tree] if dest else [])],
            stderr=subprocess.PIPE, text=True, timeout=120, errors="replace")
        lines = p.stderr.strip().splitlines()
        equal(self.outside(), outside, "outside of the tree")
        return p.returncode, lines[-1] if lines else "", tree

    def outside(self):
        seen = {}
        for top in (self.root, "/tmp/images-canary"):
            for at, dirs, names in os.walk(top):
                if os.path.basename(at) == "tree":
                    dirs.clear()
                    continue
                for n in names:
                    st = os.lstat(os.path.join(at, n))
                    seen[os.path.join(at, n)] = (
                        st.st_mode, st.st_uid, st.st_size, st.st_mtime_ns,
                        st.st_nlink)
        return {k: v for k, v in seen.items() if "/store" not in k}

    def good(self, data, **kw):
        code, line, tree = self.import_(data, **kw)
        equal((code, line.split(" ")[0]), (0, "done"), line)
        return tree

    def bad(self, data, *words, **kw):
        code, line, tree = self.import_(data, **kw)
        equal(code, 1, line)
        true(line.startswith("error "), line)
        for w in words:
            true(w in line, f"{w!r} in {line!r}")
        true(not os.path.lexists(tree), "nothing is left of it")


def read(*path):
    with open(os.path.join(*path), "rb") as f:
        return f.read()


def mode(*path):
    return stat.S_IMODE(os.lstat(os.path.join(*path)).st_mode)


# ---- attacks ----

@test
def attack35(p):
    "35: .., absolute and winding paths are refused"
    for name in ("../../etc/cron.d/x", "/etc/cron.d/x", "a/./../..",
                 "a/../../x", "./../x"):
        p.bad(o.image(o.tar(o.file(name))), "denied")
        p.bad(o.image(o.tar(o.pax([(b"path", name.encode())], o.file("n")))),
              "denied")
        p.bad(o.image(o.tar(o.longname(name, o.file("n")))), "denied")


@test
def attack36(p):
    "36: writing through links stays inside, also when they are swapped"
    canary = "/tmp/images-canary"
    os.makedirs(canary, exist_ok=True)
    with open(canary + "/f", "w") as f:
        f.write("intact")
    tree = p.good(o.image(o.tar(o.symlink("l", canary), o.file("l/f", b"in"))))
    equal(read(tree, canary[1:], "f"), b"in")
    tree = p.good(o.image(o.tar(
        o.folder("d"), o.file("d/one"), o.symlink("d", "../../../.."),
        o.file("d/two", b"2"), o.symlink("m", canary))))
    equal(read(tree, "two"), b"2")
    tree = p.good(o.image(o.tar(o.symlink("x", canary + "/f")),
                          o.tar(o.file("x", b"mine"))))
    equal(read(tree, "x"), b"mine")
    equal(read(canary, "f"), b"intact")
    # a/b leads to c; then a is another link: the next entry must see that.
    tree = p.good(o.image(o.tar(
        o.symlink("a", "c"), o.file("a/1"), o.symlink("a", "e"),
        o.file("a/2"))))
    equal(sorted(os.listdir(tree)), ["a", "c", "e"])
    equal(os.listdir(os.path.join(tree, "e")), ["2"])
    shutil.rmtree(canary)


@test
def attack37(p):
    "37: hard links to the outside are refused, and cannot be used"
    for target in ("../../canary", "/etc/passwd", "none", "d"):
        p.bad(o.image(o.tar(o.folder("d"), o.hardlink("h", target),
                            o.file("h", b"over", mode=0o6777))), "h: ")
    os.makedirs("/tmp/images-canary", exist_ok=True)
    with open("/tmp/images-canary/f", "w") as f:
        f.write("x")
    p.bad(o.image(o.tar(o.symlink("l", "/tmp/images-canary"),
                        o.hardlink("h", "l/f"))))
    # Through a link of the layer to a file of the layer: inside, so fine.
    tree = p.good(o.image(o.tar(o.folder("d"), o.file("d/f", b"1"),
                                o.symlink("l", "d"), o.hardlink("h", "l/f"))))
    equal(os.stat(tree + "/h").st_ino, os.stat(tree + "/d/f").st_ino)
    shutil.rmtree("/tmp/images-canary")


@test
def attack38(p):
    "38: whiteouts hide names of the image only"
    base = o.tar(o.folder("d"), o.file("d/f"), o.file("k"))
    for name in (".wh...", ".wh..", ".wh.", "d/.wh...", "d/.wh."):
        p.bad(o.image(base, o.tar(o.file(name, b""))), "whiteout")
    for name in ("../.wh.x", "d/../../.wh.canary"):
        p.bad(o.image(base, o.tar(o.file(name, b""))), "denied")
    tree = p.good(o.image(base, o.tar(o.symlink("l", "/tmp"),
                                      o.file("l/.wh..wh..opq", b""))))
    equal(sorted(os.listdir(tree)), ["d", "k", "l"])
    tree = p.good(o.image(base, o.tar(o.file(".wh..wh..opq", b""))))
    equal(os.listdir(tree), [])


@test
def attack39(p):
    "39: devices and steering attributes are dropped, set-id and fifos kept"
    tree = p.good(o.image(o.tar(
        o.header("null", 0, b"3", major=1, minor=3, mode=0o666),
        o.header("sda", 0, b"4", major=8, minor=0),
        o.header("white", 0, b"3", major=0, minor=0),
        o.header("pipe", 0, b"6", mode=0o600),
        o.file("su", b"s", mode=0o6755, uid=5, gid=6),
        o.pax([(b"SCHILY.xattr.security.capability", b"\1\0\0\2" + b"\0" * 16),
               (b"SCHILY.xattr.trusted.overlay.redirect", b"/etc"),
               (b"SCHILY.xattr.user.overlay.opaque", b"y"),
               (b"SCHILY.xattr.user.mine", b"kept")], o.file("x")),
        o.pax([(b"path", b"over")], o.file("orig")),
        o.pax([(b"path", b"cut\0off")], o.file("orig2")),
        o.longname("g" * 200, o.file("short")))))
    equal(sorted(os.listdir(tree)),
          ["cut", "g" * 200, "over", "pipe", "su", "x"])
    equal(os.listxattr(tree + "/x"), ["user.mine"])
    equal(os.getxattr(tree + "/x", "user.mine"), b"kept")
    equal((mode(tree, "su"), os.lstat(tree + "/su").st_uid), (0o6755, 5))
    true(stat.S_ISFIFO(os.lstat(tree + "/pipe").st_mode), "a fifo")
    for name in ("n" * 256, "/".join(["p" * 200] * 21), "/".join("d" * 300)):
        p.bad(o.image(o.tar(o.longname(name, o.file("n")))), "limit")


@test
def attack40(p):
    "40: bombs end at a bound, in little memory, and leave nothing"
    zeros = gzip.compress(b"\0" * (64 << 20), 9)
    bomb = o.Blobs()
    data = o.header("z", 16 << 30)
    packed = gzip.compress(data, 9) + zeros * 32
    layer = bomb.put(packed, o.OCI + "layer.v1.tar+gzip")
    m = bomb.put(o.dumps({
        "schemaVersion": 2, "layers": [layer],
        "config": bomb.put(o.dumps(o.config([b"?"])),
                           o.OCI + "config.v1+json")}))
    p.bad(o.layout(bomb, [m]), "limit")
    # Zeros after the end of the tar; the same file again and again.
    tail = o.tar(o.file("f"))
    p.bad(o.image(tail, pack=lambda t: gzip.compress(t) + zeros * 24), "limit")
    p.bad(o.image(o.file("f") * 60000), "limit", "entries")
    sparse = bytearray(o.header("s", 512, b"S", magic=b"ustar  \0"))
    sparse[386:410] = b"00000000000\0" + b"00000001000\0"
    sparse[483:495] = b"\x80" + (1 << 62).to_bytes(11, "big")
    sparse[148:156] = b" " * 8
    sparse[148:156] = b"%06o\0 " % sum(sparse)
    p.bad(o.image(o.tar(bytes(sparse), b"x" * 512)))
    rss = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    true(rss < 200 << 10, f"{rss} KiB of memory")


@test
def attack41(p):
    "41: documents that lie, nest or repeat without end are refused"
    t = o.tar(o.file("f"))

    def spoil(change, *words):
        p.bad(o.image(t, change=change), *words)

    def layer(**kw):
        return lambda doc: doc["layers"][0].update(kw)

    spoil(layer(size=5), "bytes")
    spoil(layer(size=-1), "size")
    spoil(layer(size=1 << 70))
    spoil(layer(digest=o.digest(b"else")), "missing")
    spoil(layer(digest="sha512:" + "0" * 128))
    spoil(layer(digest="sha256:../../../../etc/passwd"))
    spoil(layer(mediaType=o.OCI + "layer.v1.tar+encrypted"), "unknown")
    spoil(layer(mediaType="application/octet-stream"), "unknown")
    spoil(lambda d: d.update(mediaType=o.OCI + "index.v1+json"), "called")
    spoil(lambda d: d.update(manifests=d["layers"]), "in one document")
    spoil(lambda d: d["config"].update(mediaType="text/plain"), "not an image")
    spoil(lambda d: d.update(layers=d["layers"] * 129), "layers")
    spoil(lambda d: d.update(layers=d["layers"] * 10000), "layers")
    spoil(lambda d: d.update(layers=d["layers"] * 2), "diff_ids")
    blobs = o.Blobs()
    at = o.manifest(blobs, [t])
    for _ in range(5):
        at = blobs.put(o.index([at]), o.OCI + "index.v1+json")
    p.bad(o.layout(blobs, [at]), "nested")
    p.bad(o.layout(o.Blobs(), []), "no image")
    p.bad({"oci-layout": b'{"imageLayoutVersion":"1.0.0"}',
           "index.json": b"[" * 100000}, "invalid")
    # A truthful digest of a layer that is another than the config names.
    blobs = o.Blobs()
    other = o.manifest(blobs, [t], change=lambda d: d.update(
        config=blobs.put(o.dumps(o.config([b"other"])),
                         o.OCI + "config.v1+json")))
    p.bad(o.layout(blobs, [other]), "diff_id")


@test
def attack43(p):
    "43: what a config says stays data"
    store = p.path("store43")
    p.good(o.image(o.tar(o.file("f")), more={
        "Env": ["LD_PRELOAD=/f", "PATH=/x"], "User": "0:0", "Cmd": ["/f"],
        "Labels": {"io.x/hook": "/bin/sh -c id", "a": "b"},
        "Volumes": {"/host": {}}, "Devices": ["/dev/sda"]}),
        store=store, dest=False)
    doc = json.loads(read(store, "record.json"))
    equal(sorted(doc), ["architecture", "config", "created", "digest", "id",
                        "imported", "layers", "name", "os", "size", "version"])
    equal(doc["config"], {
        "env": ["LD_PRELOAD=/f", "PATH=/x"], "entrypoint": [], "cmd": ["/f"],
        "workdir": "", "user": "0:0", "stop_signal": "",
        "labels": {"io.x/hook": "/bin/sh -c id", "a": "b"}})
    for wrong in ({"Env": "A=B"}, {"Cmd": [1]}, {"Labels": {"a": {}}},
                  {"WorkingDir": ["/"]}):
        p.bad(o.image(o.tar(o.file("f")), more=wrong), "wrong kind")


@test
def attack44(p):
    "44: names and files of an archive lead nowhere"
    t = o.tar(o.file("f"))
    for name in ("../../x", "a/../b", "/abs", "a:../b", "a b", "", "a:",
                 "a@sha256:" + "0" * 64, "n" * 129 + ":" + "t" * 129, "a\nb"):
        code, line, _ = p.import_(o.image(t), ref=name)
        equal(code != 0 and "no image name" in line, True, f"{name!r}: {line}")
    saved = o.dumps([{"Config": "c.json", "Layers": ["l.tar"],
                      "RepoTags": ["box:latest"]}])
    files = {"manifest.json": saved, "c.json": o.dumps(o.config([t]))}
    for target in ("/etc/passwd", "../../../../etc/passwd", "l.tar",
                   "/proc/self/fd/3"):
        p.bad(o.archive(files, links={"l.tar": target}))
    for name in ("../up", "/abs"):
        p.bad(o.archive({**files, name: b"x", "l.tar": t}), "denied")


# ---- what an image may be ----

@test
def docker_save(p):
    "docker save: by name, layers as links, config last"
    one, two = o.tar(o.file("one")), o.tar(o.file("two"))
    files = {
        "aa/layer.tar": one, "bb/layer.tar": two,
        "x.json": o.dumps(o.config([one, two, one])),
        "y.json": o.dumps(o.config([two])),
        "manifest.json": o.dumps([
            {"Config": "x.json", "RepoTags": ["a/x:1", "box:latest"],
             "Layers": ["aa/layer.tar", "bb/layer.tar", "cc/layer.tar"]},
            {"Config": "y.json", "RepoTags": ["docker.io/library/y:2"],
             "Layers": ["bb/layer.tar"]}])}
    links = {"cc/layer.tar": "../aa/layer.tar"}
    data = o.archive(files, links=links)
    equal(sorted(os.listdir(p.good(data))), ["one", "two"])
    equal(os.listdir(p.good(data, ref="y:2")), ["two"])
    p.bad(data, "none of them", ref="z:1")


@test
def names(p):
    "several images in one layout are told apart by their annotations"
    blobs = o.Blobs()
    entries = []
    for name, called in (("a", {"org.opencontainers.image.ref.name": "v1"}),
                         ("b", {"io.containerd.image.name":
                                "docker.io/library/b:v2",
                                "org.opencontainers.image.ref.name": "v2"})):
        entries.append({**o.manifest(blobs, [o.tar(o.file(name))]),
                        "annotations": called})
    data = o.layout(blobs, entries)
    equal(os.listdir(p.good(data, ref="anything:v1")), ["a"])
    equal(os.listdir(p.good(data, ref="b:v2")), ["b"])
    p.bad(data, "which has v1", ref="c:v3")
    equal(os.listdir(p.good(o.image(o.tar(o.file("f"))), ref="any/name:x")),
          ["f"])


@test
def outer(p):
    "the archive itself may be packed, or hold a folder"
    files = o.image(o.tar(o.file("f")))
    data = o.archive(files)
    packs = [gzip.compress(data), o.archive(files, prefix="dir/"),
             o.archive(files, prefix="./")]
    if shutil.which("zstd"):
        packs.append(o.zstd(data))
    for d in packs:
        equal(os.listdir(p.good(d)), ["f"])
    p.bad(b"not a tar at all" * 100, "archive")
    p.bad(b"", "archive")
    p.bad(o.archive({"readme": b"x"}), "neither")
    p.bad(data[:len(data) // 2 - 100])


@test
def on_lower_layers(p):
    "what a layer says of things below it"
    base = o.tar(o.folder("tmp", 0o1777, uid=7), o.folder("usr"),
                 o.file("usr/big", b"b" * 5000, mode=0o751, uid=3),
                 o.symlink("sl", "usr"))
    tree = p.good(o.image(base, o.tar(
        o.file("tmp/new"), o.hardlink("also", "usr/big"),
        o.hardlink("sl2", "sl"), o.file("sl/here"), o.hardlink("s/t", "sl/big"),
    )))
    equal((mode(tree, "tmp"), os.stat(tree + "/tmp").st_uid), (0o1777, 7))
    equal(len({os.stat(tree + "/" + n).st_ino
               for n in ("usr/big", "also", "s/t")}), 1)
    equal((mode(tree, "also"), os.stat(tree + "/also").st_uid), (0o751, 3))
    equal(os.readlink(tree + "/sl2"), "usr")
    equal(sorted(os.listdir(tree + "/usr")), ["big", "here"])
    equal(int(os.stat(tree + "/usr").st_mtime), o.T0)


@test
def replaced_by_hard_links(p):
    "a hard link replaces what a lower layer has of its name"
    base = o.tar(o.folder("bin"), o.file("bin/p", b"new"), o.file("bin/f"),
                 o.symlink("bin/l", "f"), o.folder("bin/d"), o.folder("bin/e"),
                 o.file("bin/e/in"))
    tree = p.good(o.image(base, o.tar(
        *(o.hardlink("bin/" + n, "bin/p") for n in "flde"))))
    equal({n: read(tree, "bin", n) for n in os.listdir(tree + "/bin")},
          dict.fromkeys("pflde", b"new"))
    equal(os.stat(tree + "/bin/p").st_nlink, 5)
    # One of two names goes; the other keeps the file.
    tree = p.good(o.image(o.tar(o.file("a", b"12"), o.hardlink("b", "a")),
                          o.tar(o.file(".wh.a", b""))))
    equal((os.listdir(tree), read(tree, "b")), (["b"], b"12"))


@test
def opaque_over_a_link(p):
    "an opaque directory over a lower link leaves what it led to"
    base = o.tar(o.folder("target"), o.file("target/keep"),
                 o.symlink("link", "/target"))
    for order in ((0, 1, 2), (1, 0, 2), (1, 2, 0)):
        parts = [o.folder("link"), o.file("link/.wh..wh..opq", b""),
                 o.file("link/new")]
        # A file that comes before its directory goes where the link leads.
        tree = p.good(o.image(base, o.tar(*(parts[i] for i in order))))
        true(stat.S_ISDIR(os.lstat(tree + "/link").st_mode), "a directory")
        true(os.path.exists(tree + "/target/keep"), "kept")
        there = "link" if order != (1, 2, 0) else "target"
        true(os.path.exists(f"{tree}/{there}/new"), f"{order}: new")


@test
def empty_and_repeated(p):
    "layers may be empty, and the same one may come again"
    empty, a = o.tar(), o.tar(o.file("a"), o.folder("d"), o.file("d/x"))
    gone = o.tar(o.file(".wh.a", b""), o.file("d/.wh.x", b""))
    tree = p.good(o.image(empty, a, empty, gone, a, gone, empty))
    equal(os.listdir(tree), ["d"])
    equal(os.listdir(tree + "/d"), [])
    tree = p.good(o.image(a, gone, a, empty + b"\0" * 9216))
    equal(sorted(os.listdir(tree)), ["a", "d"])
    equal(os.listdir(p.good(o.image(empty))), [])
    p.bad(o.image(b""))
    p.bad(o.image(b"\0" * 100))


@test
def opaque_over_three(p):
    "an opaque directory hides each layer below it, and nothing beside it"
    l1 = o.tar(o.folder("d"), o.file("d/1"), o.folder("d/s"), o.file("d/s/1"),
               o.folder("keep"), o.file("keep/k"))
    l2 = o.tar(o.folder("d"), o.file("d/2"), o.file("d/s/2"))
    l3 = o.tar(o.file("d/s/3"), o.folder("d"), o.file("d/.wh..wh..opq", b""),
               o.folder("d/s"))
    l4 = o.tar(o.file("d/1", b"again"), o.file("d/.wh.2", b""),
               o.file(".wh.none", b""))
    tree = p.good(o.image(l1, l2, l3, l4))
    equal(sorted(os.listdir(tree)), ["d", "keep"])
    equal(sorted(os.listdir(tree + "/d")), ["1", "s"])
    equal(os.listdir(tree + "/d/s"), ["3"])
    equal(read(tree, "d/1"), b"again")
    equal(read(tree, "keep/k"), b"x")


@test
def names_are_bytes(p):
    "names come out as they went in: composed or not, UTF-8 or not"
    wanted = ["caf\u00e9".encode(), "cafe\u0301".encode(), b"\xff\xfe",
              "\u212b".encode(), b"tab\there", b"new\nline", b"s\xed\xa0\x80"]
    entries = [o.file(n) for n in wanted[:3]]
    entries += [o.pax([(b"path", n)], o.file("n")) for n in wanted[3:]]
    entries.append(o.pax([(b"path", "ne\u0301".encode() * 60)], o.file("n")))
    tree = p.good(o.image(o.tar(*entries)))
    equal(sorted(os.listdir(tree.encode())),
          sorted(wanted + ["ne\u0301".encode() * 60]))


@test
def owners(p):
    "an owner beyond a slot is an error that names path, ids and range"
    p.bad(o.image(o.tar(o.file("a/far", uid=718322462, gid=5))), "a/far",
          "718322462:5", "0..65535")
    tree = p.good(o.image(o.tar(o.file("last", uid=65535, gid=65534))))
    equal(os.stat(tree + "/last").st_uid, 65535)


@test
def times(p):
    "times of files, links and directories are kept; in a layer to the nano"
    store = p.path("store-times")
    layer = o.tar(o.folder("d"), o.symlink("l", "d"),
                  o.pax([(b"mtime", b"1600000000.123456789")], o.file("d/f")),
                  o.file("d/g", mtime=1))
    tree = p.good(o.image(layer), store=store)
    kept = f"{store}/layers/{o.digest(layer)[7:]}"
    equal(os.stat(kept + "/d/f").st_mtime_ns, 1600000000123456789)
    equal(int(os.stat(tree + "/d/f").st_mtime), 1600000000)
    equal([int(os.lstat(tree + n).st_mtime) for n in ("/d", "/l", "/d/g")],
          [o.T0, o.T0, 1])


@test
def readonly_parents(p):
    "folders without write permission are filled all the same"
    tree = p.good(o.image(
        o.tar(o.folder("ro", 0o555, uid=9), o.file("ro/a", mode=0o444)),
        o.tar(o.file("ro/b"), o.folder("none", 0), o.file("none/c"))))
    equal((mode(tree, "ro"), mode(tree, "none")), (0o555, 0))
    equal(sorted(os.listdir(tree + "/ro")), ["a", "b"])


# ---- the store ----

@test
def twice_at_once(p):
    "two imports at once do the work once; the store has each layer once"
    store = p.path("store-two")
    layers = [o.tar(*(o.file(f"f{i}-{j}", b"x" * 3000) for j in range(1500)))
              for i in range(3)]
    archive = p.path("two.tar")
    with open(archive, "wb") as f:
        f.write(o.archive(o.image(*layers)))
    procs = [subprocess.Popen([FETCHTRY, "-s", store, FETCHER, archive, "two"],
                              stderr=subprocess.PIPE) for _ in range(3)]
    for q in procs:
        equal(q.wait(60), 0, q.stderr.read().decode())
        q.stderr.close()
    equal(len(os.listdir(store + "/layers")), 3)
    equal(sorted(os.listdir(store)), ["layers", "record.json"])
    before = {n: os.stat(f"{store}/layers/{n}").st_ino
              for n in os.listdir(store + "/layers")}
    p.good(o.image(*layers[:2], o.tar(o.file("new"))), store=store, dest=False)
    now = os.listdir(store + "/layers")
    equal(len(now), 4)
    for n, ino in before.items():
        equal(os.stat(f"{store}/layers/{n}").st_ino, ino, "a layer made anew")
    doc = json.loads(read(store, "record.json"))
    equal([x["diff_id"] for x in doc["layers"][:2]],
          [o.digest(t) for t in layers[:2]])
    equal(doc["layers"][0]["id"], o.digest(layers[0])[7:])


@test
def same_layer_other_base(p):
    "one tar on two bases is two layers"
    store = p.path("store-base")
    top = o.tar(o.file("bin/x", b"x"))
    one = p.good(o.image(o.tar(o.folder("bin")), top), store=store)
    two = p.good(o.image(o.tar(o.folder("usr"), o.folder("usr/bin"),
                               o.symlink("bin", "usr/bin")), top), store=store)
    true(stat.S_ISDIR(os.lstat(one + "/bin").st_mode), "a directory")
    equal(os.readlink(two + "/bin"), "usr/bin")
    equal(read(two, "usr/bin/x"), b"x")


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return [int(c) for c in f.read().split()]


def fetcher_of(pid):
    for c in children(pid):
        try:
            if os.readlink(f"/proc/{c}/exe") == FETCHER:
                return c
        except OSError:
            pass
    return None


@test
def killed(p):
    "kill -9 of the fetcher, 20 times: what the store has is whole"
    store = p.path("store-kill")
    layers = [o.tar(*(o.file(f"d{i}/f{j}", b"y" * 2000) for j in range(800)))
              for i in range(4)]
    archive = p.path("kill.tar")
    with open(archive, "wb") as f:
        f.write(o.archive(o.image(*layers)))
    rnd = random.Random(3)
    died = 0
    for _ in range(20):
        q = subprocess.Popen([FETCHTRY, "-s", store, FETCHER, archive, "k"],
                             stderr=subprocess.PIPE)
        end = time.monotonic() + 10
        pid = None
        while pid is None and q.poll() is None and time.monotonic() < end:
            pid = fetcher_of(q.pid)
        time.sleep(rnd.random() * 0.15)  # somewhere in its work
        try:
            os.kill(pid, signal.SIGKILL)
        except (TypeError, ProcessLookupError):
            pass
        died += q.wait(60) != 0
        q.stderr.close()
        for n in os.listdir(store + "/layers"):
            tops = os.listdir(f"{store}/layers/{n}")
            equal(len(tops), 1, n)
            equal(len(os.listdir(f"{store}/layers/{n}/{tops[0]}")), 800, n)
        if os.path.exists(store + "/record.json"):
            equal(len(os.listdir(store + "/layers")), 4)
            shutil.rmtree(store)
    true(died >= 10, f"only {died} of 20 died in their work")
    tree = p.good(o.image(*layers), store=store)
    equal(sorted(os.listdir(tree)), ["d0", "d1", "d2", "d3"])


def main():
    if os.geteuid() != 0:
        tap.skip_all("owners are set by root only")
    if not os.path.exists(FETCHTRY):
        tap.skip_all("tests/sys/fetchtry is not built")
    place = Place()
    try:
        return tap.run(place)
    finally:
        shutil.rmtree(place.root, ignore_errors=True)
        shutil.rmtree("/tmp/images-canary", ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
