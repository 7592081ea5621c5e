"""The daemon that the SDK's tests talk to: a root of its own, a free port.

One root for the whole run, so that the image is imported once; the daemon is
started anew for each set of environment variables, through the command that
upstream has, runtime-sandbox-server, as it would be found on PATH.
"""
import atexit
import http.client
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

BUILD = os.path.abspath(os.environ.get("HUTCH_BUILD", "build"))
BOX = os.environ.get("HUTCH_BOX", "/var/cache/hutch/base.tar")
IMAGE = "agentscope/runtime-sandbox-base:latest"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class House:
    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="hutch-sdk.")
        self.root = f"{self.dir}/root"
        self.port = free_port()
        self.url = f"http://localhost:{self.port}"
        self.proc, self.variables = None, None
        self.imported = False
        self.log = open(f"{self.dir}/log", "ab")
        self.write_config()
        atexit.register(self.remove)

    def write_config(self):
        """Room for large files; the command has no way to name a file."""
        with open(f"{self.dir}/hutch.conf", "w") as f:
            f.write("[type base]\nmemory = 6GiB\nworkspace_size = 4GiB\n")
        with open(f"{self.dir}/hutchd", "w") as f:
            f.write(f'#!/bin/sh\nexec {BUILD}/hutchd --config '
                    f'{self.dir}/hutch.conf "$@"\n')
        os.chmod(f"{self.dir}/hutchd", 0o755)

    def memory(self):
        """{name: most KiB} that a process of ours has had at once so far."""
        most = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/status") as f:
                    status = dict(ln.split(":", 1) for ln in f if ":" in ln)
                exe = os.readlink(f"/proc/{pid}/exe")
            except OSError:
                continue
            name = status["Name"].strip()
            if "memfd:hutch-agent" in exe:
                name = "hutch-agent"
            if "VmHWM" in status and (exe.startswith(BUILD) or
                                      name == "hutch-agent"):
                kib = int(status["VmHWM"].split()[0])
                most[name] = max(most.get(name, 0), kib)
        return most

    def start(self, **variables):
        """Idempotent: what runs with these variables is left running."""
        if self.proc is not None and self.variables == variables:
            return self
        self.stop()
        self.variables = variables
        env = {k: v for k, v in os.environ.items()
               if k not in ("BEARER_TOKEN", "HOST", "PORT")}
        env.update(PORT=str(self.port), HUTCH_AGENT_PORT="0",
                   HUTCH_HUTCHD=f"{self.dir}/hutchd",
                   HUTCH_LOG_LEVEL="debug",
                   PATH=f"{BUILD}/src/cli:{env['PATH']}", **variables)
        self.proc = subprocess.Popen(
            ["runtime-sandbox-server", "--root", self.root,
             "--libexec", BUILD], env=env, cwd=self.dir,
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.await_health()
        if not self.imported:
            self.hutch("image", "import", BOX, IMAGE)
            self.imported = True
        return self

    def await_health(self, seconds=20):
        end = time.monotonic() + seconds
        while True:
            try:
                c = http.client.HTTPConnection("localhost", self.port,
                                               timeout=5)
                c.request("GET", "/health")
                if c.getresponse().status == 200:
                    return
            except OSError:
                pass
            if time.monotonic() > end or self.proc.poll() is not None:
                raise AssertionError(f"no daemon:\n{self.said()[-3000:]}")
            time.sleep(0.05)

    def said(self):
        with open(f"{self.dir}/log", errors="replace") as f:
            return f.read()

    def hutch(self, *args):
        return subprocess.run(
            [f"{BUILD}/hutch", "--root", self.root, *args], check=True,
            capture_output=True, text=True, timeout=300).stdout

    def stop(self):
        if self.proc is None:
            return None
        self.proc.send_signal(signal.SIGTERM)
        try:
            status = self.proc.wait(60)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            status = self.proc.wait()
        self.proc = None
        return status

    def remove(self):
        self.stop()
        subprocess.run([f"{BUILD}/hutchd", "--root", self.root, "--libexec", BUILD,
             "--reset"],
                       stdout=self.log, stderr=self.log, timeout=120)
        keep = os.environ.get("HUTCH_SDK_LOG")
        if keep:
            shutil.copy(f"{self.dir}/log", keep)
        shutil.rmtree(self.dir, ignore_errors=True)


house = House()


def until(fn, what, seconds=20):
    """Ask again until it is so: the other side is a program of its own."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if fn():
            return
        time.sleep(0.1)
    raise AssertionError(f"never: {what}")


def texts(result):
    """[(description, text)] of a tool's result."""
    assert isinstance(result, dict), result
    return [(i.get("description"), i["text"]) for i in result["content"]]
