#!/usr/bin/env python3
"""kill -9 of the fetcher, twenty times in imports at random moments.

The one who asked hears of it, the image that was is the image that is, and
the store is whole: nothing staged, no layer of nobody, the next import works.
"""
import json
import os
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
from chaos import House, Leaks, a_moment, alone, need, strangers, until  # noqa: E402
from daemon import make_root  # noqa: E402
from layout import of_folder  # noqa: E402
from tap import BUILD, equal, run, test, true  # noqa: E402

need(f"{BUILD}/hutch-front")
KILLS = 20
FILES = 400
TOOK = 0  # seconds for an import that nobody disturbs


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


def image(d, top, version):
    """A tar with an image of many files that all say the same version."""
    os.makedirs(f"{top}/data", exist_ok=True)
    for i in range(FILES):
        write(f"{top}/data/{i}", f"{version}.{i}\n".encode() * 400)
    write(f"{d.top}/{version}.tar", of_folder(top))
    return f"{d.top}/{version}.tar"


def version(d):
    """What a sandbox of the image finds, which is one version throughout."""
    c = d.client
    box = c.create()
    out = c.shell(box, "cd /data; ls | while read f; do"
                  " read v < $f; echo ${v%.*}; done")[0].split()
    true(c.rpc("release", identity=box), "released")
    equal(len(out), FILES)
    equal(len(set(out)), 1, "a mixture")
    return out[0]


def layers(d):
    return sorted(os.listdir(f"{d.root}/store/layers"))


def whole(d, names, most):
    """The store as it has to be between imports."""
    store = f"{d.root}/store"
    until(lambda: not os.listdir(f"{store}/staging"), "nothing is staged")
    until(lambda: not os.listdir(f"{store}/trash"), "empty trash", 10)
    equal(d.images(), names)
    records = os.listdir(f"{store}/images")
    equal(len(records), 2 * len(names), records)
    for name in records:
        if name.endswith(".json"):
            with open(f"{store}/images/{name}", encoding="utf-8") as f:
                json.load(f)
    true(len(layers(d)) <= most, layers(d))


@test
def twenty_times(d, tars):
    """each death is told, and costs no image that was there"""
    died, now = 0, "one"
    for i in range(10 * KILLS):
        if died == KILLS:
            break
        other = "two" if now == "one" else "one"
        said = []
        # Mostly in place of what is there, now and then something new.
        name = "base" if i % 3 else "new"
        t = threading.Thread(target=lambda: said.append(
            d.hutch("image", "import", tars[other], name)))
        t.start()
        pid = until(lambda: d.child("hutch-fetch") or not t.is_alive(),
                    "a fetcher")
        a_moment(TOOK * 1.2)
        if pid is True or d.child("hutch-fetch") != pid:
            t.join(60)
        else:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        t.join(60)
        true(not t.is_alive(), "an import without an end")
        if said[0].returncode != 0:
            died += 1
            true(said[0].stderr.strip(), "it was told why")
            # It may have died with all done but the last word.
            now = version(d)
        elif name == "base":
            now = other
        done = name == "new" and name in d.images()
        true(done or name == "base" or said[0].returncode != 0, said)
        whole(d, ["base", "new"] if done else ["base"], 2)
        equal(version(d), now, "the image")
        if done:
            equal(d.hutch("image", "rm", "new").returncode, 0)
    equal(died, KILLS)
    equal(strangers(d), {})


@test
def two_at_once(d, tars):
    """one of two imports of one image dies: the other does the work"""
    said = []
    for _ in range(4):
        del said[:]
        threads = [threading.Thread(target=lambda: said.append(
            d.hutch("image", "import", tars["one"], "twice").returncode))
            for _ in range(2)]
        for t in threads:
            t.start()
        pid = until(lambda: d.child("hutch-fetch"), "a fetcher")
        a_moment(TOOK / 3)
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        for t in threads:
            t.join(60)
        true(0 in said, said)
        whole(d, ["base", "twice"], 2)
        equal(d.hutch("image", "rm", "twice").returncode, 0)


@test
def after_all(d, tars):
    """a following import succeeds, and only its layer is left"""
    for which in ("one", "two"):
        d.put_image(tars[which])
        equal(version(d), which)
    whole(d, ["base"], 1)


def main():
    global TOOK
    alone()
    with Leaks() as leaks:
        d = House("pool_size = 0\nblanks = 0\n")
        try:
            d.start()
            leaks.of(d)
            top = make_root(f"{d.top}/image")
            tars = {v: image(d, top, v) for v in ("two", "one")}
            begun = time.monotonic()
            d.put_image(tars["one"])
            TOOK = time.monotonic() - begun
            failed = run(d, tars)
            equal(d.stop(), 0)
        finally:
            if os.environ.get("TEST_LOG"):
                sys.stderr.write(d.log())
            d.clean()
    return failed


sys.exit(main())
