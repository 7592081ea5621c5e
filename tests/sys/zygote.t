#!/usr/bin/env python3
"""A copy of a warm interpreter joins a sandbox and serves its cells."""
import os
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import basetree  # noqa: E402
import guestwire  # noqa: E402
import tap  # noqa: E402

ENV = {"PATH": "/opt/venv/bin:/usr/bin:/bin", "HOME": "/root",
       "MARK": "from-setup"}
STATE = {}


def cell(code, **kw):
    done = STATE["stream"].cell(code, **kw)
    return done.stdout.decode(), done.stderr.decode(), done


@tap.test
def the_first_cell_is_ipythons_and_quick(agent):
    t = time.perf_counter()
    out, err, _ = cell("1+1")
    print(f"# first cell after {1e3 * (time.perf_counter() - t):.1f} ms")
    tap.equal((out, err), ("Out[1]: 2\n", ""))
    t = time.perf_counter()
    cell("x = 5")
    print(f"# next cell after {1e3 * (time.perf_counter() - t):.1f} ms")
    tap.equal(cell("print(x)")[0], "5\n")


@tap.test
def it_is_inside_in_every_way(agent):
    out, err, _ = cell(
        "import os, socket\n"
        "print(os.getuid(), os.getgid(), os.getgroups(), socket.gethostname(),"
        " os.getcwd(), os.environ.get('MARK'), os.environ.get('HOME'))")
    tap.equal((out, err),
              ("0 0 [] zygote /workspace from-setup /root\n", ""))
    shell = agent.shell("for n in user mnt pid net ipc uts cgroup; do "
                        "readlink /proc/self/ns/$n; done").stdout.decode()
    mine = cell("for n in 'user mnt pid net ipc uts cgroup'.split():\n"
                "    print(os.readlink(f'/proc/self/ns/{n}'))")[0]
    tap.equal(mine, shell, "namespaces")
    groups = agent.shell("cat /proc/self/cgroup").stdout.decode()
    tap.equal(cell("print(open('/proc/self/cgroup').read(), end='')")[0],
              groups, "control groups")
    keys = "'CapInh CapPrm CapEff CapBnd CapAmb NoNewPrivs Seccomp'"
    mine = cell(f"print([l.split() for l in open('/proc/self/status') if "
                f"l.split(':')[0] in {keys}])")[0]
    shell = agent.shell(
        "exec python3 -c \"print([l.split() for l in open("
        "'/proc/self/status') if l.split(':')[0] in "
        f"{keys}])\"").stdout.decode()
    tap.equal(mine, shell, "capabilities and filter")


@tap.test
def nothing_of_the_zygote_came_along(agent):
    out = cell("print(sorted(os.listdir('/proc/self/fd')))\n"
               "import glob\n"
               "print(glob.glob('/tmp/hutch*'), '__file__' in globals())")[0]
    fds, rest = out.splitlines()
    tap.true(len(eval(fds)) <= 8, f"descriptors {fds}")
    tap.equal(rest, "[] False")
    tap.equal(cell("import random, tempfile; print(len("
                   "tempfile.mkdtemp()) > 3)")[0], "True\n")


@tap.test
def children_and_packages_work(agent):
    tap.equal(cell("!echo hi; id -u")[0], "hi\r\n0\r\n")
    tap.equal(cell("import subprocess\nprint(subprocess.run(['sh', '-c', "
                   "'exit 3']).returncode)")[0], "3\n")


@tap.test
def it_can_be_interrupted_and_keeps_its_state(agent):
    call = STATE["stream"].start("run_ipython_cell",
                                 {"code": "import time\ny = 7\n"
                                          "print('on', flush=True)\n"
                                          "time.sleep(60)"})
    call.wait_out(b"on\n")
    call.cancel()
    call.wait()
    tap.equal(cell("print(y)")[0], "7\n")


@tap.test
def its_end_is_told_with_its_cause(agent):
    _, _, done = cell("import os, signal; os.kill(os.getpid(), 9)")
    tap.true("signal 9" in done.done["text"], done.done["text"])
    out, _, _ = cell("print('again')")
    tap.equal(out, "again\n", "the next one is an ordinary interpreter")


def inside():
    stream = guestwire.Stream(socket.socket(fileno=3), env=ENV,
                              cwd="/workspace")
    STATE["stream"] = stream
    stream.setup()
    sys.exit(tap.run(stream))


def main():
    if os.geteuid() != 0:
        tap.skip_all("needs root")
    tree, why = basetree.where()
    if tree is None:
        tap.skip_all(why)
    sys.exit(subprocess.run(
        [os.path.join(tap.BUILD, "tests/sys/zygote_try"),
         os.path.join(tap.BUILD, "hutch-agent"),
         os.path.join(HERE, "..", "..", "rootfs"), tree,
         sys.executable, os.path.abspath(__file__), "--inside"],
        timeout=120, check=False).returncode)


if sys.argv[1:] == ["--inside"]:
    inside()
main()
