"""Runs a client's script against the doors of a paper agent.

A script prints "ok WHAT" and "not ok WHAT: WHY"; here they become TAP.
"""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TOP, "tests", "lib"))
from tap import BUILD  # noqa: E402

SCRIPTS = os.path.join(HERE, "protocols")


def made_by(script, *args):
    return subprocess.run(
        [os.path.join(TOP, "scripts", script), *args], cwd=TOP, text=True,
        stdout=subprocess.PIPE, stderr=sys.stderr, check=True).stdout.strip()


def python(name):
    """The Python that has what protocols/NAME.txt lists."""
    return made_by("python-with", name, os.path.join(SCRIPTS, name + ".txt"))


def node():
    """(a node, the folder with the packages of protocols/package.json)"""
    return made_by("node-with", "protocols",
                   os.path.join(SCRIPTS, "package.json")).split()


class Doors:
    """agents_try, on a port of its own."""

    def __init__(self, *args):
        self.dir = tempfile.TemporaryDirectory(prefix="hutch-doors-")
        self.process = subprocess.Popen(
            [os.path.join(BUILD, "tests", "api", "agents_try"), "-d",
             self.dir.name, *args], stdout=subprocess.PIPE, text=True)
        port = self.process.stdout.readline().split()[1]
        self.url = "http://127.0.0.1:" + port

    def close(self):
        """False: it has not ended well."""
        self.process.terminate()
        code = self.process.wait(20)
        self.process.stdout.close()
        self.dir.cleanup()
        return code == 0


class Run:
    """Scripts, one after another; counts as it goes."""

    def __init__(self):
        self.n, self.bad = 0, 0

    def say(self, ok, what):
        self.n += 1
        self.bad += not ok
        print(f"{'ok' if ok else 'not ok'} {self.n} - {what}", flush=True)

    def script(self, command, name, timeout=120, cwd=None, env=None):
        env = {**os.environ, "no_proxy": "127.0.0.1", "PYTHONPATH": SCRIPTS,
               **(env or {})}
        try:
            done = subprocess.run(command, text=True, timeout=timeout,
                                  cwd=cwd, env=env, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        except subprocess.TimeoutExpired as e:
            self.say(False, f"{name}: not done in {timeout} s")
            print(f"# {e.stdout}"[:2000])
            return
        seen = 0
        for line in done.stdout.splitlines():
            ok = line.startswith("ok ")
            if ok or line.startswith("not ok "):
                seen += 1
                self.say(ok, f"{name}: {line.split('ok ', 1)[1]}")
        if done.returncode != 0 or seen == 0:
            self.say(False, f"{name}: ends with {done.returncode}")
            for line in (done.stdout + done.stderr).splitlines()[-30:]:
                print("# " + line)

    def python(self, packages, script, url):
        self.script([python(packages), os.path.join(SCRIPTS, script), url],
                    f"{packages} {script}")

    def node(self, script, url):
        """Beside its packages: where node looks for them."""
        program, home = node()
        for name in ("say.mjs", script):
            with open(os.path.join(SCRIPTS, name), encoding="utf-8") as f, \
                    open(os.path.join(home, name), "w",
                         encoding="utf-8") as to:
                to.write(f.read())
        self.script([program, os.path.join(home, script), url], script)

    def end(self, doors):
        self.say(doors.close(), "the daemon's doors ended well")
        print(f"1..{self.n}")
        return 1 if self.bad else 0
