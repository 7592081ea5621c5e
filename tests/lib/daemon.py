"""A hutchd of its own root and port, with tests/sys/fronttry as its front.

Nothing here sleeps blindly: what is waited for is a line of the log, a
descriptor or an answer, each with a deadline.
"""
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import guestwire  # noqa: E402
from tap import BUILD, skip_all  # noqa: E402

BUILD = os.path.abspath(BUILD)
TOOLS = ["sh", "cat", "sleep", "id", "ls", "mount", "mkdir", "rm", "env",
         "head", "dd", "stat", "hostname"]


def need_root():
    if os.geteuid() != 0:
        skip_all("has to be root")


def make_root(top):
    """A small root of the host's own programs, to be lent or allowed."""
    done = set()

    def take(path):
        if path in done:
            return
        done.add(path)
        at = top + path
        os.makedirs(os.path.dirname(at), exist_ok=True)
        shutil.copy(path, at)
        out = subprocess.run(["ldd", path], capture_output=True, text=True)
        for lib in re.findall(r"(/\S+) \(0x", out.stdout):
            take(lib)
    for name in TOOLS:
        path = shutil.which(name)
        if path:
            take(path)
            if os.path.dirname(path) not in ("/bin", "/usr/bin"):
                continue
            alias = f"{top}/bin/{name}"
            if not os.path.exists(alias):
                os.makedirs(os.path.dirname(alias), exist_ok=True)
                shutil.copy(path, alias)
    for d in ("proc", "sys", "dev", "tmp", "root", "etc", "workspace"):
        os.makedirs(f"{top}/{d}", exist_ok=True)
    with open(f"{top}/etc/passwd", "w") as f:
        f.write("root:x:0:0::/root:/bin/sh\n")
    return top


def new_id():
    return os.urandom(16).hex()


class Daemon:
    def __init__(self, config="", front=None, args=(), root=None,
                 wrap=()):
        self.top = tempfile.mkdtemp(prefix="hutch-t-")
        self.root = root or f"{self.top}/root"
        self.log_path = f"{self.top}/log"
        self.libexec = f"{self.top}/libexec"
        os.mkdir(self.libexec)
        for name, target in (
                ("hutch-agent", f"{BUILD}/hutch-agent"),
                ("hutch-fetch", f"{BUILD}/hutch-fetch"),
                ("hutch-model", f"{BUILD}/hutch-model"),
                ("hutch-front", front or f"{BUILD}/tests/sys/fronttry")):
            os.symlink(target, f"{self.libexec}/{name}")
        self.config = f"{self.top}/hutch.conf"
        self.write_config(config)
        self.args, self.wrap = list(args), list(wrap)
        self.proc, self.read = None, 0

    def write_config(self, text):
        # The host's network is left alone, unless a test says otherwise.
        if "net = " not in text:
            text += "\n[type base]\nnet = none\n[type app]\nnet = none\n"
        with open(self.config, "w") as f:
            f.write("port = 0\nagent_port = 0\nlog_level = debug\n" + text)

    def command(self, *more):
        return [*self.wrap, f"{BUILD}/hutchd", "--root", self.root, "--config",
                self.config, "--libexec", self.libexec, *self.args, *more]

    def start(self, seconds=20):
        before = self.log().count("front started")
        log = os.open(self.log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.proc = subprocess.Popen(
            self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        os.close(log)
        self.wait_log("front started", seconds, before + 1)
        return self

    def log(self):
        if not os.path.exists(self.log_path):
            return ""
        with open(self.log_path, errors="replace") as f:
            return f.read()

    def wait_log(self, text, seconds=20, count=1):
        """Until the log says so, so often.  By pidfd, so an end is seen."""
        end = time.monotonic() + seconds
        fd = os.pidfd_open(self.proc.pid)
        try:
            while self.log().count(text) < count:
                if time.monotonic() > end:
                    raise AssertionError(f"no {text!r} in:\n{self.log()}")
                if select.select([fd], [], [], 0.02)[0] and \
                        self.log().count(text) < count:
                    raise AssertionError(f"hutchd ended:\n{self.log()}")
        finally:
            os.close(fd)

    def connect(self):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(20)
        s.connect(f"{self.root}/run/api.sock")
        return s

    def ask(self, line, keep=False):
        """The answer's words; an error is an AssertionError of its text."""
        s = self.connect()
        s.sendall(line.encode() + b"\n")
        got = b""
        while not got.endswith(b"\n"):
            b = s.recv(1)
            if not b:
                break
            got += b
        text = got.decode(errors="replace").strip()
        if not text.startswith("ok"):
            s.close()
            raise AssertionError(f"{line.split()[0]}: {text or 'hung up'}")
        if keep:
            return s, text[3:].split()
        s.close()
        return text[3:].split()

    def fails(self, line):
        try:
            self.ask(line)
        except AssertionError as e:
            return str(e)
        raise AssertionError(f"{line}: was done")

    def stream(self, line, generation=1):
        s, words = self.ask(line, keep=True)
        s.settimeout(None)
        st = guestwire.Stream(s, generation=generation, env={
            "PATH": "/usr/bin:/bin", "HOME": "/root"}, cwd="/workspace")
        st.words = dict(w.split("=", 1) for w in words)
        return st.setup()

    def wait_exit(self, box, seconds=20):
        """(end, status) as the broker told the front."""
        end = time.monotonic() + seconds
        while True:
            for e in self.ask("exits"):
                name, why, status = e.split(":")
                if name == box:
                    return int(why), int(status)
            if time.monotonic() > end:
                raise AssertionError("no word of its end")
            select.select([], [], [], 0.02)

    def hello(self):
        return dict(w.split("=", 1) for w in self.ask("hello"))

    def stop(self, seconds=40, sig=signal.SIGTERM):
        if self.proc is None:
            return None
        if self.proc.poll() is None:
            self.proc.send_signal(sig)
        try:
            return self.proc.wait(seconds)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()
            raise AssertionError(f"did not stop:\n{self.log()}")

    def clean(self):
        if self.proc and self.proc.poll() is None:
            self.proc.kill()
            self.proc.wait()
        r = subprocess.run(self.command("--reset"), capture_output=True,
                           text=True, timeout=60)
        shutil.rmtree(self.top, ignore_errors=True)
        return r
