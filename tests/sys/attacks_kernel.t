#!/usr/bin/env python3
"""Attacks on the kernel's surface: numbers are those of the catalogue.

The probe runs as root of a sandbox and says what each attempt met.
"""
import os
import shutil

import boxes

boxes.need_root()
t = boxes.Tap()
b = boxes.Boxes()
top = boxes.layer()
for name, mode in (("suid", 0o4755), ("sgid", 0o2755), ("capped", 0o755)):
    shutil.copy(boxes.PROBE, os.path.join(top, name))
    os.chmod(os.path.join(top, name), mode)
# cap_setuid,cap_sys_admin in version 3 form, for every id a root may have.
os.setxattr(os.path.join(top, "capped"), "security.capability",
            bytes.fromhex("01000002" "80002000" "00000000" "00000000"
                          "00000000"))
IMAGE = f"plain=/ plain={top}"
b.start("box", IMAGE, "slot=1")
b.start("hard", IMAGE, "slot=2 hardened")


def probe(box, *words):
    return boxes.pairs(b.out(box, "/probe " + " ".join(words)))


def refused(got, names, verdicts, title):
    bad = {n: got.get(n) for n in names if got.get(n) not in verdicts}
    t.ok(not bad, title, bad)


for box in ("box", "hard"):
    got = probe(box, "calls")
    refused(got, ("unshare_user", "unshare_net", "unshare_ns", "unshare_0",
                  "clone_user", "clone_user_high", "clone_net"), ("EPERM",),
            f"13 {box}: no new namespaces")
    refused(got, ("clone3",), ("ENOSYS",), f"13 {box}: clone3 is unknown")
    refused(got, ("mount", "umount", "pivot_root", "fsopen", "fspick",
                  "fsconfig", "fsmount", "open_tree", "move_mount",
                  "mount_setattr", "open_tree_attr"), ("EPERM",),
            f"14 {box}: no mounts, old or new")
    refused(got, ("mount_cgroup",), ("EPERM",), f"15 {box}: no cgroup v1")
    refused(got, ("open_by_handle_at", "name_to_handle_at"), ("EPERM",),
            f"19 {box}: no file handles")
    refused(got, ("bpf", "perf_event_open", "userfaultfd", "io_uring_setup",
                  "init_module", "finit_module", "kexec_load"),
            ("EPERM", "ENOSYS"), f"20 {box}: modules, bpf, perf, io_uring")
    refused(got, ("keyctl", "add_key", "request_key"), ("EPERM",),
            f"28 {box}: no keys")
    refused(got, ("swapon", "reboot", "acct", "syslog", "settimeofday",
                  "sethostname", "chroot", "setns", "pidfd_getfd",
                  "statmount", "listmount"), ("EPERM",),
            f"{box}: the machine's own affairs")
    t.same(got["unknown"], "ENOSYS", f"{box}: a number nobody knows")

    got = probe(box, "sockets")
    refused(got, ("unix", "tcp", "udp6", "route"), ("0",),
            f"{box}: sockets that work needs")
    refused(got, ("alg", "alg_high"), ("EAFNOSUPPORT",), f"22 {box}: AF_ALG")
    refused(got, ("rxrpc",), ("EAFNOSUPPORT",), f"23 {box}: AF_RXRPC")
    refused(got, ("xfrm",), ("EPROTONOSUPPORT",), f"23 {box}: NETLINK_XFRM")
    refused(got, ("udp_encap", "tcp_ulp"), ("ENOPROTOOPT",),
            f"23 {box}: UDP_ENCAP, TCP_ULP")
    refused(got, ("packet", "vsock", "tipc", "xdp", "can", "bluetooth"),
            ("EAFNOSUPPORT",), f"24 {box}: odd families")
    refused(got, ("raw_icmp", "sctp", "netfilter", "kobject"),
            ("EPROTONOSUPPORT",), f"24 {box}: odd protocols")

    got = probe(box, "writes")
    mine = {"/proc/1/oom_score_adj", "/proc/1/attr/current"}
    refused(got, [n for n in got if n.startswith("/sys")],
            ("ENOENT", "EROFS", "EACCES"), f"16 {box}: nothing of /sys")
    refused(got, [n for n in got if n.startswith("/proc") and n not in mine],
            ("EROFS", "EACCES", "ENOENT"), f"17 {box}: nothing of /proc")

    got = probe(box, "devices")
    refused(got, ("/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                  "/dev/urandom", "/dev/ptmx", "mkfifo"), ("0",),
            f"{box}: devices that work needs")
    refused(got, [n for n in got if n.startswith("/dev/") and n not in
                  ("/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                   "/dev/urandom", "/dev/ptmx")], ("EPERM", "ENOENT"),
            f"18 {box}: no other device")
    refused(got, ("mknod_chr", "mknod_blk", "mknod_mem", "mknod_dev"),
            ("EPERM", "EROFS"), f"18 {box}: none can be made")
    t.ok(got["open_whiteout"] != "0", f"18 {box}: a whiteout is no device")

    got = probe(box, "masked")
    refused(got, got, ("ENOENT", "EACCES", "EPERM", "empty"),
            f"31 {box}: kcore, kallsyms, keys, timers, firmware, dmesg")

    for way in ("interrupt", "far_jump", "x32", "elf32"):
        got = probe(box, "abi", way)
        t.ok(got.get(way) in ("SIGSYS", "SIGSEGV", "exit 101"),
             f"27, 61 {box}: {way}", got)

    got = probe(box, "terminal")
    refused(got, ("ptmx", "unlock", "slave", "winsize"), ("0",),
            f"{box}: terminals work")
    refused(got, ("sti", "sti_high", "linux", "setd", "cons"),
            ("EPERM", "ENOTTY"), f"29 {box}: no input is faked")

    for name in ("suid", "sgid", "capped"):
        got = boxes.pairs(b.out(
            box, "python3 -c 'import os; os.setgroups([]); "
            "os.setresgid(1000, 1000, 1000); os.setresuid(1000, 1000, 1000); "
            f"os.execv(\"/{name}\", [\"x\", \"whoami\"])'"))
        t.same(got, {"uid": "1000", "euid": "1000", "gid": "1000",
                     "egid": "1000", "CapEff": "0", "CapPrm": "0"},
               f"30 {box}: {name} gains nothing")

    got = b.out(box, "/probe agent")
    links = [line for line in got.splitlines() if line.startswith("readlink")]
    t.ok(len(links) == 7 and all(line.endswith("=EACCES") for line in links),
         f"32 {box}: no link of the agent is read", got)
    got = boxes.pairs("\n".join(line for line in got.splitlines()
                                if line not in links))
    refused(got, ("/proc/1/environ", "/proc/1/mem", "/proc/1/maps",
                  "/proc/1/fd/3", "/proc/1/root/etc", "/proc/1/exe",
                  "/proc/1/auxv", "/proc/1/pagemap"),
            ("EACCES", "ENOENT"), f"32 {box}: no file of it opens")
    refused(got, ("exe_write",), ("EACCES", "ETXTBSY", "EROFS"),
            f"1 {box}: nor its program, for writing")
    refused(got, ("ptrace", "seize", "vm_read", "getfd", "setns_pidfd",
                  "prlimit"), ("EPERM", "ESRCH"),
            f"21 {box}: nor is it traced")
    for path in ("stack", "syscall"):
        t.same(b.out(box, f"cat /proc/1/{path} 2>/dev/null"), "",
               f"32 {box}: /proc/1/{path} says nothing")
    t.same(b.out(box, "echo alive"), "alive\n",
           f"{box}: signals from inside don't end process 1")

t.ok(b.run("hard", "python3 -c 'import os; "
           "os.open(\"/proc/self/mem\", os.O_RDWR)' 2>/dev/null")[0] != 0,
     "26 hard: /proc/self/mem is not written")
b.end("box")
b.end("hard")
t.end()
