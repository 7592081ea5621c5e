#!/usr/bin/env python3
"""doctor: tells what a host has, without a daemon, and leaves nothing."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "lib"))
import tap
from tap import equal, test, true

HUTCH = os.path.join(os.path.abspath(tap.BUILD), "hutch")
NAMES = {"kernel", "namespaces", "overlay", "cgroups", "seccomp", "landlock",
         "ids", "memory", "disk", "nft", "forwarding", "resolver",
         "firewalls", "shared", "a sandbox", "daemon"}


def doctor(*before):
    r = subprocess.run([*before, HUTCH, "--socket", "/nonexistent/api.sock",
                        "--json", "doctor"], capture_output=True, text=True,
                       timeout=60, check=False)
    answer = json.loads(r.stdout)
    equal(r.returncode, 0 if answer["good"] else 1, r.stderr)
    return {c["name"]: c for c in answer["checks"]}


def cgroups():
    return {os.path.join(at, d) for at, below, _ in os.walk("/sys/fs/cgroup")
            for d in below if "doctor" in d}


@test
def whole():
    """every question is answered, and what is bad has a remedy"""
    checks = doctor()
    true(NAMES <= set(checks), f"missing: {NAMES - set(checks)}")
    for name, c in checks.items():
        true(c["detail"], f"{name} says nothing")
        true(c["verdict"] in ("good", "note", "bad", "unknown"), str(c))
        if c["verdict"] == "bad":
            true(c["remedy"], f"{name} is bad, and no remedy is told")
    equal(checks["daemon"]["verdict"], "unknown")


@test
def real():
    """a real sandbox is tried, and nothing is left of it"""
    if os.geteuid() != 0:
        raise tap.Skip("needs root")
    before = cgroups()
    box = doctor()["a sandbox"]
    equal(box["verdict"], "good", box["detail"])
    equal(cgroups(), before)


@test
def humble():
    """without root it says what it can't know"""
    if os.geteuid() != 0:
        raise tap.Skip("is run without root anyway")
    nobody = ("setpriv", "--reuid", "65534", "--regid", "65534",
              "--clear-groups")
    if subprocess.run([*nobody, "test", "-x", HUTCH], check=False).returncode:
        raise tap.Skip("the build directory is root's alone")
    checks = doctor(*nobody)
    equal(checks["a sandbox"]["verdict"], "unknown")
    equal(checks["root"]["verdict"], "note")


if __name__ == "__main__":
    sys.exit(tap.run())
