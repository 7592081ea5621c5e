"""boxes: sandboxes of the isolator alone, for its tests.

Drives tests/sys/boxtry by lines.  Also the little TAP that the tests print.
"""
import atexit
import os
import shutil
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(os.environ.get("HUTCH_BUILD", "."))
TRY = os.path.join(BUILD, "tests/sys/boxtry")
PAY = os.path.join(BUILD, "tests/sys/boxpay")
PROBE = os.path.join(BUILD, "tests/sys/probe")
OWNPROBE = os.path.join(BUILD, "tests/sys/ownprobe")
SLOTS = 256
# First id of slot 0, where files of layers rest; not the one of other tests
# that run now.
REST = 3221225472 + os.getpid() % 60 * SLOTS * 65536


def need_root():
    if os.geteuid() != 0:
        print("1..0 # SKIP needs root")
        sys.exit(77)


class Tap:
    def __init__(self):
        self.n = self.bad = 0

    def ok(self, good, name, *why):
        self.n += 1
        if not good:
            self.bad += 1
        print(f"{'ok' if good else 'not ok'} {self.n} - {name}", flush=True)
        if not good:
            for line in why:
                for part in str(line).splitlines():
                    print(f"#   {part}", flush=True)
        return good

    def same(self, got, want, name):
        return self.ok(got == want, name, f"got  {got!r}", f"want {want!r}")

    def skip(self, name, why):
        self.n += 1
        print(f"ok {self.n} - {name} # SKIP {why}", flush=True)

    def end(self):
        print(f"1..{self.n}", flush=True)
        sys.exit(1 if self.bad else 0)


class Failed(Exception):
    pass


class Boxes:
    """One daemon's worth of isolator; closes what it started."""

    def __init__(self, name=None, *options, image=PAY, cgroup=None):
        self.name = name or f"test-{os.getpid()}"

        def into():
            with open(f"{cgroup}/cgroup.procs", "w", encoding="ascii") as f:
                f.write("0")

        self.p = subprocess.Popen([TRY, image, self.name, f"id_base={REST}",
                                   *options],
                                  stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE,
                                  preexec_fn=into if cgroup else None)
        line = self.p.stdout.readline().decode()
        if not line.startswith("ok"):
            raise Failed(self.p.stderr.read().decode())
        self.pid = int(line.split()[1])
        atexit.register(self.close)

    def ask(self, line):
        self.p.stdin.write(line.encode() + b"\n")
        self.p.stdin.flush()
        reply = self.p.stdout.readline().decode().rstrip("\n")
        if not reply.startswith("ok"):
            raise Failed(reply[4:] if reply else "boxtry is gone")
        return reply[3:]

    def start(self, name, *options):
        """Returns the pid of process 1, as seen from here."""
        return int(self.ask(f"start {name} {' '.join(options)}"))

    def run(self, name, command, ms=20000):
        """(wait status, bytes of output)"""
        status, size = self.ask(f"run {name} {ms} {command}").split()
        return int(status), self.p.stdout.read(int(size))

    def out(self, name, command, ms=20000):
        return self.run(name, command, ms)[1].decode(errors="replace")

    def confined(self, profile, program, folder=""):
        status, size = self.ask(
            f"confined {profile} {program} {folder}".rstrip()).split()
        text = self.p.stdout.read(int(size)).decode()
        return int(status), dict(line.split("=", 1)
                                 for line in text.splitlines())

    def usage(self, name):
        return {k: int(v) for k, v in
                (w.split("=") for w in self.ask(f"usage {name}").split())}

    def wait(self, name, ms=10000):
        code, status = self.ask(f"wait {name} {ms}").split()
        return int(code), int(status)

    def end(self, name):
        self.ask(f"stop {name}")
        return self.wait(name)

    def close(self):
        if self.p.poll() is None:
            self.p.stdin.close()
            try:
                self.p.wait(20)
            except subprocess.TimeoutExpired:
                self.p.kill()
                self.p.wait()


def scratch():
    """A directory that is gone when the test is.  On a tmpfs: layers must not
    lie inside each other, and "/" is one."""
    path = tempfile.mkdtemp(prefix="hutch-test-", dir="/dev/shm")
    os.chmod(path, 0o755)
    atexit.register(shutil.rmtree, path, True)
    return path


def layer(*parts):
    """A directory to put above "/" as an image's topmost layer, with the
    probe in it; parts: ("dir", path), ("link", path, to), ("file", path,
    text, mode)."""
    top = scratch()
    shutil.copy(PROBE, os.path.join(top, "probe"))
    os.chmod(os.path.join(top, "probe"), 0o755)
    for kind, path, *rest in parts:
        at = os.path.join(top, path.lstrip("/"))
        os.makedirs(os.path.dirname(at), exist_ok=True)
        if kind == "dir":
            os.makedirs(at, exist_ok=True)
        elif kind == "link":
            os.symlink(rest[0], at)
        else:
            with open(at, "w", encoding="utf-8") as f:
                f.write(rest[0])
            os.chmod(at, rest[1] if len(rest) > 1 else 0o644)
    return top


def pairs(text):
    """key=value lines of the probe, as a dict"""
    return dict(line.split("=", 1) for line in text.splitlines()
                if "=" in line)


def mounts():
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        return sorted(line.split()[4] for line in f)


def cgroups(name):
    found = []
    for top, dirs, _ in os.walk("/sys/fs/cgroup"):
        found += [os.path.join(top, d) for d in dirs
                  if d == f"hutch-{name}" or f"/hutch-{name}/" in f"{top}/"]
    return found
