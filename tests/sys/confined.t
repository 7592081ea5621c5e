#!/usr/bin/env python3
"""The front and the fetcher, as the isolator confines them."""
import os

import boxes

boxes.need_root()
t = boxes.Tap()
before = boxes.mounts()
b = boxes.Boxes()


def folder(owner):
    path = boxes.scratch()
    os.chown(path, owner, owner)
    return path


def refused(got, names, verdicts, title):
    bad = {n: got.get(n) for n in names if got.get(n) not in verdicts}
    t.ok(not bad, title, bad)


SLOT = boxes.REST + 3 * 65536
state = folder(SLOT)
for title, profile, where, caps in (
        ("front", "front", state, "0000000000000000"),
        ("front, at rest", "front", folder(boxes.REST), "0000000000000000"),
        ("fetch", "fetch", folder(boxes.REST), "000000008000001b")):
    status, got = b.confined(profile, boxes.OWNPROBE, where)
    t.same(status, 0, f"{title}: runs")
    t.same((got["argv"], got["home"], got["pid"], got["uid"]),
           ("word", "/state", "1", "0"), f"{title}: words and ids")
    t.same([got[k] for k in ("CapEff", "CapPrm", "CapBnd")], [caps] * 3,
           f"{title}: capabilities")
    t.same((got["NoNewPrivs"], got["Seccomp"], got["Groups"].strip()),
           ("1", "2", ""), f"{title}: no_new_privs, filter, groups")
    refused(got, ("execve", "execveat", "fork", "clone", "socket",
                  "socket_unix", "unshare", "ptrace", "mount", "raise"),
            ("EPERM",), f"{title}: no program, process, socket")
    refused(got, ("dup_high", "execveat_high"), ("EBADF",),
            f"{title}: the descriptor that was executed can't be had again")
    refused(got, ("state", "tmp"), ("0",), f"{title}: writes to its state")
    refused(got, ("root", "usr"), ("EROFS",), f"{title}: and to nothing else")
    refused(got, ("shadow", "passwd"), ("ENOENT",),
            f"{title}: no accounts of the host")
    t.same(sorted(n for n in got["root_has"].split(",") if n and
                  not n.startswith("lib")),
           ["dev", "etc", "proc", "state", "tmp", "usr"],
           f"{title}: its root")
    t.same(sorted(n for n in got["proc_has"].split(",") if n),
           ["1", "self", "thread-self"], f"{title}: its /proc")
    t.same(got["device"], "EPERM", f"{title}: makes no device")
    t.same(got["whiteout"], "0" if profile == "fetch" else "EPERM",
           f"{title}: whiteouts")
    t.same(got["chown"], "0" if profile == "fetch" else "EPERM",
           f"{title}: owners")
st = os.stat(os.path.join(state, "made"))
t.same((st.st_uid, st.st_gid), (SLOT, SLOT), "files belong to the slot")

try:
    b.confined("front", boxes.OWNPROBE, folder(0))
    t.ok(False, "a directory of the host's root is refused")
except boxes.Failed as e:
    t.ok("belongs to" in str(e), "a directory of the host's root is refused",
         e)
b.confined("front", boxes.OWNPROBE, state)
fds = b.ask("fds x")
for _ in range(10):
    b.confined("front", boxes.OWNPROBE, state)
t.same(b.ask("fds x"), fds, "no descriptor is left")
t.same(boxes.mounts(), before, "no mount is left")
t.end()
