"""A broker of paper: hutch-front and real agents without root's part.

Answers on the front's link what hutchd would; a sandbox is a bare hutch-agent
in a directory of its own.  For tests of everything between HTTP and the agent.
"""
import hashlib
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

from guestwire import orphans_too

(LISTENERS, LIVE, BUILD, ATTACH, JOIN, STOP, FREEZE, USAGE, IMPORT, EXPORT,
 IMAGES, IMAGE_RM) = range(1, 13)
OK, ERR, EXITED, DRAIN = 100, 101, 102, 103
HEAD = struct.Struct("=HHI")
SYS, INVALID, DENIED, MISSING, BUSY, LIMIT, TIMEOUT, PROTO = range(8)
IMAGE = "base:latest"


# The agent runs as on the host, but for a /workspace of its own.
JAIL = """
mount -t tmpfs tmpfs "$1"
mkdir "$1/u" "$1/w" "$1/r"
mount -t overlay -o "lowerdir=/,upperdir=$1/u,workdir=$1/w" overlay "$1/r"
mkdir -p "$1/r/workspace"
for d in proc dev tmp; do mount --rbind "/$d" "$1/r/$d"; done
mount --bind "$2" "$1/r/workspace"
cp "$3" "$1/r/agent"
exec chroot "$1/r" /agent --bare /workspace
"""


def listener(family, address):
    s = socket.socket(family, socket.SOCK_STREAM)
    s.bind(address)
    s.listen(64)
    s.setblocking(False)
    return s


class Box:
    def __init__(self, key, proc, files, control):
        self.key, self.proc, self.files = key, proc, files
        self.control, self.frozen, self.told = control, False, False
        self.pidfd = os.pidfd_open(proc.pid)

    def kill(self):
        with orphans_too(self.proc.pid):
            self.proc.kill()
            self.proc.wait()


class Broker(threading.Thread):
    """Runs hutch-front until stop()."""

    def __init__(self, libexec, conf=""):
        super().__init__(daemon=True)
        self.dir = tempfile.mkdtemp(prefix="hutch-front.")
        self.libexec = libexec
        self.boxes, self.generation = {}, 0
        self.fail_builds = 0  # so many are refused
        self.builds = []      # the requests, as bytes
        self.lock = threading.Lock()
        self.noticed, self.again = threading.Event(), threading.Event()
        self.imported = []
        for name in ("state", "images"):
            os.mkdir(f"{self.dir}/{name}")
        self.put_image(IMAGE)
        self.tcp = listener(socket.AF_INET, ("127.0.0.1", 0))
        self.port = self.tcp.getsockname()[1]
        self.agents = listener(socket.AF_INET, ("127.0.0.1", 0))
        self.agent_port = self.agents.getsockname()[1]
        self.socket = f"{self.dir}/api.sock"
        self.native = listener(socket.AF_UNIX, self.socket)
        self.conf = (f"root = {self.dir}\nport = {self.port}\n"
                     f"{conf}\n[type base]\nimage = {IMAGE}\n"
                     f"[type app]\nimage = {IMAGE}\n")
        self.wake, self.woken = os.pipe()
        self.ending = False
        self.front_start()
        self.start()
        self.await_http()

    # ---- the front ----

    def front_start(self):
        self.link, theirs = socket.socketpair(socket.AF_UNIX,
                                              socket.SOCK_SEQPACKET)
        self.generation += 1
        for s in (self.link, theirs):
            s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        theirs.setblocking(False)

        def give():
            os.dup2(theirs.fileno(), 3)
        self.log = open(f"{self.dir}/front.log", "ab")
        self.front = subprocess.Popen(
            [f"{self.libexec}/hutch-front"], preexec_fn=give, pass_fds=(3,),
            stdin=subprocess.DEVNULL, stderr=self.log)
        theirs.close()

    def await_http(self, seconds=10):
        """It answers: the backlog takes us before it does."""
        end = time.monotonic() + seconds
        while True:
            try:
                with socket.create_connection(("127.0.0.1", self.port),
                                              2) as s:
                    s.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
                              b"Connection: close\r\n\r\n")
                    if s.recv(12) == b"HTTP/1.1 200":
                        return
            except OSError:
                pass
            if time.monotonic() > end or self.front.poll() is not None:
                raise AssertionError("no front: " + self.said())
            select.select([], [], [], 0.02)

    def said(self):
        with open(f"{self.dir}/front.log", errors="replace") as f:
            return f.read()

    def drain(self):
        self.send(DRAIN, 0)

    # ---- messages ----

    def send(self, kind, call, body=b"", fds=()):
        message = HEAD.pack(kind, len(fds), call) + body
        if fds:
            socket.send_fds(self.link, [message], fds)
        else:
            self.link.send(message)

    def refuse(self, call, code, text):
        self.send(ERR, call, struct.pack("=ii232s", code, 0, text.encode()))

    def run(self):
        while not self.ending:
            watched = {self.wake: None, self.link.fileno(): None}
            with self.lock:
                for b in self.boxes.values():
                    if not b.told:
                        watched[b.pidfd] = b
            ready = select.select(list(watched), [], [])[0]
            for fd in ready:
                if fd == self.wake:
                    os.read(self.wake, 1)
                elif fd == self.link.fileno():
                    self.receive()
                else:
                    self.ended(watched[fd], 0, 0)

    def receive(self):
        try:
            message, fds, _, _ = socket.recv_fds(self.link, 20000, 4)
        except OSError:
            message, fds = b"", []
        if len(message) < HEAD.size:
            self.link.close()
            self.noticed.set()
            if not self.ending:
                self.again.wait(20)
            self.again.clear()
            return
        kind, _, call = HEAD.unpack_from(message)
        body = message[HEAD.size:]
        rows = {LISTENERS: self.on_listeners, LIVE: self.on_live,
                BUILD: self.on_build, ATTACH: self.on_attach,
                STOP: self.on_stop, FREEZE: self.on_freeze,
                USAGE: self.on_usage, IMAGES: self.on_images,
                IMAGE_RM: self.on_image_rm, IMPORT: self.on_import,
                EXPORT: self.on_export}
        if kind in rows:
            rows[kind](call, body)
        else:
            self.refuse(call, DENIED, "not on paper")
        for fd in fds:
            os.close(fd)

    def on_listeners(self, call, _):
        conf = os.memfd_create("conf")
        os.write(conf, self.conf.encode())
        os.lseek(conf, 0, os.SEEK_SET)
        state = os.open(f"{self.dir}/state", os.O_DIRECTORY)
        self.send(OK, call, struct.pack("=II", 2, self.generation),
                  [self.tcp.fileno(), self.native.fileno(), conf, state,
                   self.agents.fileno()])
        os.close(conf)
        os.close(state)

    def on_live(self, call, body):
        start = struct.unpack("=I", body)[0]
        with self.lock:
            keys = [k for k, b in self.boxes.items() if not b.told]
        page = keys[start:start + 256]
        self.send(OK, call, struct.pack("=II", len(keys), len(page)) +
                  b"".join(page).ljust(256 * 16, b"\0"))

    def on_build(self, call, body):
        self.builds.append(body)
        if self.fail_builds:
            self.fail_builds -= 1
            self.refuse(call, LIMIT, "no slot is free")
            return
        key = body[:16]
        files, jail = f"{self.dir}/{key.hex()}", f"{self.dir}/{key.hex()}.r"
        os.mkdir(files)
        os.mkdir(jail)
        ours, theirs = socket.socketpair(socket.AF_UNIX,
                                         socket.SOCK_SEQPACKET)

        def give():
            os.dup2(theirs.fileno(), 3)
        proc = subprocess.Popen(
            ["unshare", "-m", "sh", "-ec", JAIL, "sh", jail, files,
             f"{self.libexec}/hutch-agent"], preexec_fn=give, pass_fds=(3,),
            stdin=subprocess.DEVNULL, stderr=self.log)
        theirs.close()
        box = Box(key, proc, files, ours)
        with self.lock:
            self.boxes[key] = box
        self.answer_built(call, box)

    def answer_built(self, call, box):
        ours, theirs = socket.socketpair()
        socket.send_fds(box.control, [b"stream\0\0"], [theirs.fileno()])
        theirs.close()
        self.send(OK, call, struct.pack("=II12I", 1, 0, *([100] * 12)),
                  [ours.fileno(), box.pidfd])
        ours.close()

    def box(self, key):
        with self.lock:
            b = self.boxes.get(key)
        return None if b is None or b.told else b

    def on_attach(self, call, body):
        b = self.box(body)
        if b is None:
            self.refuse(call, MISSING, "no such box")
        else:
            self.answer_built(call, b)

    def ended(self, b, end, status):
        if b.told:
            return
        b.told = True
        b.kill()
        b.control.close()
        self.send(EXITED, 0, b.key + struct.pack("=Ii", end, status))

    def on_stop(self, call, body):
        b = self.box(body)
        if b is None:
            self.refuse(call, MISSING, "no such box")
            return
        self.send(OK, call)
        self.ended(b, 1, 9)

    def on_freeze(self, call, body):
        b = self.box(body[:16])
        if b is None:
            self.refuse(call, MISSING, "no such box")
            return
        b.frozen = struct.unpack_from("=I", body, 16)[0] != 0
        b.proc.send_signal(signal.SIGSTOP if b.frozen else signal.SIGCONT)
        self.send(OK, call)

    def on_usage(self, call, body):
        if self.box(body) is None:
            self.refuse(call, MISSING, "no such box")
        else:
            self.send(OK, call, struct.pack("=7Q", 1500000, 2, 3, 4, 5, 6, 7))

    # ---- images ----

    def image_path(self, name):
        digest = hashlib.sha256(name.encode()).hexdigest()
        return f"{self.dir}/images/{digest}.json"

    def put_image(self, name):
        layer = hashlib.sha256(b"layer").hexdigest()
        record = {"version": 1, "name": name, "id": "sha256:" + layer,
                  "digest": None, "created": None, "imported": 1796048410.5,
                  "os": "linux", "architecture": "amd64", "size": 10,
                  "layers": [{"id": layer, "diff_id": "sha256:" + layer,
                              "size": 10, "packed": 5}],
                  "config": {"env": ["PATH=" + os.environ["PATH"]],
                             "entrypoint": [], "cmd": [], "workdir": "",
                             "user": "", "labels": {}, "stop_signal": ""}}
        with open(self.image_path(name), "w") as f:
            json.dump(record, f)

    def on_images(self, call, _):
        fd = os.open(f"{self.dir}/images", os.O_DIRECTORY)
        self.send(OK, call, b"", [fd])
        os.close(fd)

    def on_image_rm(self, call, body):
        name = body.rstrip(b"\0").decode()
        try:
            os.unlink(self.image_path(name))
            self.send(OK, call)
        except FileNotFoundError:
            self.refuse(call, MISSING, f"no image {name}")

    def job(self, call, work):
        """Two pipes to the front, their other ends to work, in a thread."""
        tar, words = (os.pipe(), os.pipe())
        front, ours = ((tar[1], tar[0]) if work == self.fetch else
                       (tar[0], tar[1]))
        return front, ours, words

    def on_import(self, call, body):
        name = body.rstrip(b"\0").decode()
        front, ours, words = self.job(call, self.fetch)
        self.send(OK, call, b"", [front, words[0]])
        os.close(front)
        os.close(words[0])
        threading.Thread(target=self.fetch, args=(name, ours, words[1]),
                         daemon=True).start()

    def fetch(self, name, tar, words):
        got, digest = 0, hashlib.sha256()

        def say(text):
            try:
                os.write(words, text.encode() + b"\n")
            except BrokenPipeError:
                pass
        with os.fdopen(tar, "rb", 0) as f:
            while True:
                b = f.read(65536)
                if not b:
                    break
                got += len(b)
                digest.update(b)
                if "early" in name:
                    say("error invalid it is no image")
                    break
                say(f"progress {got} bytes")
        self.imported.append((name, got, digest.hexdigest()))
        if "broken" in name:
            say("error limit it is too large")
        elif "mute" not in name and "early" not in name:
            self.put_image(name)
            say(f"done {name}")
        os.close(words)

    def on_export(self, call, body):
        name = body.rstrip(b"\0").decode()
        front, ours, words = self.job(call, self.export)
        self.send(OK, call, b"", [front, words[0]])
        os.close(front)
        os.close(words[0])
        threading.Thread(target=self.export, args=(name, ours, words[1]),
                         daemon=True).start()

    def export(self, name, tar, words):
        try:
            if "missing" in name:
                os.write(words, b"error missing no such image\n")
            else:
                with os.fdopen(os.dup(tar), "wb") as f:
                    for _ in range(64):
                        f.write(b"x" * 65536)
                os.write(words, b"error sys disk\n" if "broken" in name
                         else b"done x\n")
        except BrokenPipeError:
            pass
        os.close(tar)
        os.close(words)

    # ---- the end ----

    def front_restart(self):
        """Kill it and start another; sandboxes live on."""
        self.noticed.clear()
        self.front.kill()
        self.front.wait()
        self.noticed.wait(20)
        self.front_start()
        self.again.set()
        self.await_http()

    def stop(self, seconds=20):
        """SIGTERM; its exit status."""
        if self.ending:
            return self.front.returncode
        self.front.terminate()
        try:
            status = self.front.wait(seconds)
        except subprocess.TimeoutExpired:
            self.front.kill()
            status = -9
        self.ending = True
        self.again.set()
        os.write(self.woken, b"x")
        self.join(5)
        for b in self.boxes.values():
            b.kill()
            os.close(b.pidfd)
        shutil.rmtree(self.dir, ignore_errors=True)
        return status
