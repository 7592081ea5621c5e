#!/usr/bin/env python3
"""A hundred sandboxes at once, and a limit under a rush."""
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
from chaos import (House, Leaks, alone, empty_groups, groups,  # noqa: E402
                   need, strangers, until)
from daemon import make_root  # noqa: E402
from layout import of_folder  # noqa: E402
from tap import BUILD, equal, run, test, true  # noqa: E402
from webclient import Client  # noqa: E402

need(f"{BUILD}/hutch-front", "/usr/sbin/nft")
MOST = 120


def together(n, fn):
    """fn(0) ... fn(n - 1), each in a thread; its results, in that order."""
    out, wrong = [None] * n, []
    gate = threading.Barrier(n)

    def go(i):
        gate.wait(30)
        try:
            out[i] = fn(i)
        except Exception as e:  # of any kind: it goes into the report
            wrong.append(f"{i}: {e!r}")
    threads = [threading.Thread(target=go, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
        true(not t.is_alive(), "a caller without an end")
    equal(wrong[:3], [], f"{len(wrong)} went wrong")
    return out


def as_before(d, usual):
    """Nothing of any sandbox, a moment after the last was released."""
    equal(d.sandboxes(), {})
    until(lambda: d.log().count('prog=hutchd msg="sandbox started"') ==
          d.log().count('prog=hutchd msg="sandbox ended"'), "all ended")
    until(lambda: not empty_groups(d.number, usual), "their groups are gone")
    equal(strangers(d), {})


@test
def a_hundred(d, usual):
    """50 threads make 100, call each and give it back; each is itself"""
    def two(i):
        c = Client(d.port())
        boxes = [c.create(session=f"s{i}.{k}") for k in range(2)]
        for k, box in enumerate(boxes):
            c.shell(box, f"echo {i}.{k} > /workspace/me")
        for k, box in enumerate(boxes):
            equal(c.shell(box, "cat /workspace/me")[0], f"{i}.{k}\n")
        return boxes
    boxes = sum(together(50, two), [])
    equal(len(set(boxes)), 100)
    equal(sorted(d.sandboxes()), sorted(boxes))
    maps = together(50, lambda i: [
        Client(d.port()).shell(b, "cat /proc/self/uid_map")[0].split()[1]
        for b in boxes[2 * i:2 * i + 2]])
    equal(len(set(sum(maps, []))), 100, "ids of their own")
    together(50, lambda i: [
        true(Client(d.port()).rpc("release", identity=b), b)
        for b in boxes[2 * i:2 * i + 2]])
    as_before(d, usual)


@test
def churn(d, usual):
    """50 threads create, call and release at once, whoever is first"""
    def one(i):
        c = Client(d.port())
        box = c.create()
        equal(c.shell(box, f"echo {i}; exit 3"), (f"{i}\n", "", 3))
        return c.rpc("release", identity=box)
    equal(together(50, one), [True] * 50)
    as_before(d, usual)


@test
def the_limit(d, usual):
    """10 creates at once against a limit of 4 more: exactly 4 are made"""
    d.stop()
    limited = d.text.replace(f"max_sandbox_instances = {MOST}",
                             "max_sandbox_instances = 7")
    true(limited != d.text, "the limit is in the configuration")
    d.write_config(limited)
    d.start()
    c = d.client
    first = [c.create() for _ in range(3)]
    for _ in range(3):
        got = together(10, lambda i: Client(d.port()).rpc(
            "create_from_pool", sandbox_type="base"))
        made = [b for b in got if b]
        equal(len(made), 4, got)
        equal(len(d.sandboxes()), 7)
        for box in made:
            true(c.rpc("release", identity=box), "released")
    for box in first:
        true(c.rpc("release", identity=box), "released")
    as_before(d, usual)


def main():
    alone()
    with Leaks() as leaks:
        d = House(f"blanks = 2\nmax_sandbox_instances = {MOST}\n",
                  image="small", net="nat")
        try:
            d.start()
            leaks.of(d)
            with open(f"{d.top}/small.tar", "wb") as f:
                f.write(of_folder(make_root(f"{d.top}/small")))
            d.put_image(f"{d.top}/small.tar", "small")
            failed = run(d, groups(d.number))
            equal(d.stop(), 0)
        finally:
            if os.environ.get("TEST_LOG"):
                sys.stderr.write(d.log())
            d.clean()
    return failed


sys.exit(main())
