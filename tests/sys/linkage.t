#!/usr/bin/env python3
"""What each program loads: the boundary, as the linker sees it."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
from tap import BUILD, Skip, equal, run, test, true  # noqa: E402

BASE = {"libc", "libm", "libevent_core", "libasan", "libubsan", "libgcc_s",
        "libpthread", "libdl", "librt", "libgcov", "libstdc++", "ld-linux-x86-64",
        "ld-linux-aarch64"}
MAY = {
    # root: nothing that parses what network or guest wrote
    "hutchd": {"libinih", "libseccomp", "libcap-ng", "libnl-3",
               "libnl-route-3"},
    "hutch-front": {"libevent", "libevent_extra", "libjansson",
                    "libprotobuf-c", "libsqlite3", "libcrypto", "libinih"},
    "hutch-fetch": {"libarchive", "libcrypto", "libjansson"},
    "hutch-model": {"libcurl", "libjansson"},
}
# What libraries of that list bring themselves; not named by us.
BRINGS = {
    "hutch-front": {"libz", "libzstd"},
    "hutch-fetch": None,  # libarchive brings every compressor there is
    "hutch-model": None,  # libcurl, every protocol
}
NEVER = {
    "hutchd": {"libcurl", "libjansson", "libarchive", "libprotobuf-c",
               "libsqlite3", "libevent_extra", "libevent", "libcrypto",
               "libssl", "libxml2"},
    "hutch-front": {"libarchive", "libseccomp", "libcap-ng", "libnl-3",
                    "libnl-route-3", "libcurl"},
    "hutch-fetch": {"libevent_core", "libevent", "libsqlite3",
                    "libprotobuf-c", "libseccomp", "libcurl", "libinih"},
    "hutch-model": {"libevent", "libsqlite3", "libprotobuf-c", "libseccomp",
                    "libarchive", "libinih"},
}


def names(text):
    return {re.sub(r"(-2\.1)?\.so.*", "", w) for w in text}


def loaded(path):
    out = subprocess.run(["ldd", path], capture_output=True, text=True,
                         check=True).stdout
    return names(line.split()[0].rsplit("/", 1)[-1]
                 for line in out.splitlines() if "vdso" not in line)


def needed(path):
    out = subprocess.run(["readelf", "-d", path], capture_output=True,
                         text=True, check=True).stdout
    return names(re.findall(r"\(NEEDED\).*\[(.+?)\]", out))


def program(name):
    path = f"{BUILD}/{name}"
    if not os.path.exists(path):
        raise Skip(f"no {name} here")
    return path


def check(name):
    path = program(name)
    equal(needed(path) - BASE - MAY[name], set(), "asked for and not allowed")
    equal(loaded(path) & NEVER[name], set(), "loaded and forbidden")
    brings = BRINGS.get(name, set())
    if brings is not None:
        equal(loaded(path) - BASE - MAY[name] - brings, set(), "came along")


@test
def hutchd():
    """hutchd loads no parser, no TLS, no database"""
    check("hutchd")


@test
def front():
    """hutch-front loads no archive code and nothing that confines"""
    check("hutch-front")


@test
def fetch():
    """hutch-fetch loads no server and no database"""
    check("hutch-fetch")


@test
def model():
    """hutch-model loads no server, no database and no archive code"""
    check("hutch-model")


@test
def agent():
    """hutch-agent needs nothing of the image"""
    out = subprocess.run(["readelf", "-d", program("hutch-agent")],
                         capture_output=True, text=True, check=True).stdout
    true("NEEDED" not in out, out)


sys.exit(run())
