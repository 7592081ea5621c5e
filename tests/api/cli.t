#!/usr/bin/env python3
"""The command line against a daemon of paper: what it asks, and what it makes
of the answers.  No root; run in the build directory."""
import fcntl
import http.server
import io
import json
import os
import pty
import select
import signal
import socket
import socketserver
import struct
import subprocess
import sys
import tarfile
import tempfile
import termios
import threading
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "lib"))
import tap
from tap import test

HUTCH = os.path.join(os.path.abspath(tap.BUILD), "hutch")
WAIT = 20  # seconds, for anything


class Paper:
    """What the daemon knows, and what it was asked."""

    def __init__(self):
        self.asked = []
        self.files = {"/workspace/a.txt": b"bytes of a",
                      "/workspace/d/e": b"\x00\xff" * 70000}
        self.modes = {}
        self.made = []
        self.start = None
        self.frames = []
        self.image = b""

    def took(self, method, path):
        return any(m == method and p == path for m, p, _ in self.asked)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def address_string(self):
        return "local"

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        out = b""
        while n := int(self.rfile.readline(), 16):
            out += self.rfile.read(n)
            self.rfile.readline()
        self.rfile.readline()
        return out

    def say(self, status, value=None, kind="application/json"):
        data = b""
        if value is not None:
            data = value if isinstance(value, bytes) else json.dumps(
                value).encode()
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if data:
            self.wfile.write(data)

    def answer(self):
        paper = self.server.paper
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        body = self.body()
        paper.asked.append((self.command, self.path, body))
        parts = url.path.split("/")[3:]
        name = f"{self.command}_{parts[0]}_{parts[2]}" if len(
            parts) > 2 else f"{self.command}_{parts[0]}"
        handle = getattr(self, name, None)
        if handle is None:
            return self.say(404, {"code": "missing",
                                  "detail": f"no \x1b[31m{url.path}"})
        return handle(paper, parts, query, body)

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def GET_info(self, *_):
        self.say(200, {"version": "9.9"})

    def GET_sandboxes(self, *_):
        self.say(200, {"sandboxes": [
            {"id": "one", "type": "base", "image": "img", "state": "running",
             "paused": True, "created_at": 1, "reason": None},
            {"id": "two", "type": "base", "image": "evil\x1b]0;x\x07",
             "state": "running", "paused": False, "created_at": 1}]})

    def POST_sandboxes(self, paper, parts, query, body):
        wanted = json.loads(body)
        if wanted.get("image") == "none":
            return self.say(404, {"code": "missing",
                                  "detail": "no image \"none\": import it"})
        return self.say(201, {"id": "fresh"})

    def DELETE_sandboxes(self, paper, parts, query, body):
        if parts[1] == "ghost":
            return self.say(404, {"code": "missing", "detail": "unknown"})
        return self.say(204)

    def POST_sandboxes_pause(self, *_):
        self.say(204)

    def GET_sandboxes_stats(self, *_):
        self.say(200, {"cpu_us": 1500000, "memory": 20 << 20, "pids": 3,
                       "memory_peak": 0, "memory_limit": 2 << 30,
                       "pids_limit": 512, "oom_kills": 0})

    def GET_sandboxes_logs(self, *_):
        self.say(200, b"line \x1b[1m\n", "text/plain")

    def GET_sandboxes_files(self, paper, parts, query, body):
        path = query["path"]
        below = path.rstrip("/") + "/"
        if "list" not in query:
            if path in paper.files:
                return self.say(200, paper.files[path],
                                "application/octet-stream")
            return self.say(404, {"code": "missing", "detail": "no file"})
        if path in paper.files:
            return self.say(400, {"code": "invalid", "detail": "no folder"})
        if path == "/evil":
            return self.say(200, {"entries": [
                {"name": "../../etc/x", "type": "file"}]})
        names = sorted({f[len(below):].split("/")[0] for f in paper.files
                        if f.startswith(below)})
        if not names:
            return self.say(404, {"code": "missing", "detail": "no folder"})
        return self.say(200, {"entries": [
            {"name": n, "path": below + n,
             "type": "file" if below + n in paper.files else "dir"}
            for n in names]})

    def PUT_sandboxes_files(self, paper, parts, query, body):
        if "dir" in query:
            paper.made.append(query["path"])
        else:
            paper.files[query["path"]] = body
            paper.modes[query["path"]] = query.get("mode")
        self.say(204)

    def GET_images(self, paper, parts, query, body):
        if len(parts) > 1:
            return self.say(404, {"code": "missing",
                                  "detail": f"no \x1b[31m{parts[1]}"})
        return self.say(200, {"images": [{"name": "img", "layers": [1, 2]}]})

    def POST_images(self, paper, parts, query, body):
        paper.image = body
        last = {"done": {"name": query["name"]}}
        if query["name"] == "bad":
            last = {"code": "invalid", "detail": "digest differs"}
        lines = [{"progress": "layer 1\x1b[2J"}, last]
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        for line in lines:
            self.wfile.write(json.dumps(line).encode() + b"\n")
        self.close_connection = True

    def GET_export(self, paper, parts, query, body):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as t:
            d = tarfile.TarInfo("etc")
            d.type, d.mode = tarfile.DIRTYPE, 0o755
            t.addfile(d)
            f = tarfile.TarInfo("etc/name")
            f.size = 5
            t.addfile(f, io.BytesIO(b"hutch"))
        data = out.getvalue()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if query["image"] == "cut":
            self.wfile.write(data[:700])
            self.close_connection = True
            return
        self.wfile.write(data)

    def GET_backup(self, *_):
        self.say(200, b"SQLite format 3\0", "application/vnd.sqlite3")

    # ---- exec ----

    def send_frame(self, kind, data=b""):
        self.wfile.write(struct.pack(">I", len(data) + 1) + kind + data)
        self.wfile.flush()

    def read_frame(self):
        head = self.rfile.read(4)
        if len(head) < 4:
            return None, b""
        frame = self.rfile.read(struct.unpack(">I", head)[0])
        return frame[:1], frame[1:]

    def GET_sandboxes_exec(self, paper, parts, query, body):
        if parts[1] == "ghost":
            return self.say(404, {"code": "missing",
                                  "detail": "no sandbox ghost"})
        if self.headers.get("Upgrade") != "hutch-exec":
            return self.say(400, {"code": "invalid", "detail": "no upgrade"})
        self.send_response(101)
        self.send_header("Connection", "Upgrade")
        self.send_header("Upgrade", "hutch-exec")
        self.end_headers()
        self.close_connection = True
        _, data = self.read_frame()
        paper.start = json.loads(data)
        getattr(self, "play_" + paper.start["argv"][0])(paper)

    def play_echo(self, paper):
        self.send_frame(b"E", b"to stderr")
        while True:
            kind, data = self.read_frame()
            if kind == b"I" and not data:
                break
            self.send_frame(b"O", data)
        self.send_frame(b"X", b'{"exit": 7}')

    def play_signal(self, paper):
        self.send_frame(b"X", b'{"exit": -9}')

    def play_fail(self, paper):
        self.send_frame(b"X", b'{"code": "missing", "detail": "no such '
                              b'program: fail"}')

    def play_leave(self, paper):
        pass

    def play_wait(self, paper):
        self.send_frame(b"O", b"ready\n")
        while True:
            kind, data = self.read_frame()
            paper.frames.append((kind, data))
            if kind is None:
                return
            if kind == b"K" or data == b"q":
                return self.send_frame(b"X", b'{"exit": -15}')


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


class Run:
    def __init__(self, result):
        self.out, self.err = result.stdout, result.stderr
        self.status = result.returncode


def hutch(at, *args, stdin=b"", env=None):
    return Run(subprocess.run([HUTCH, "--socket", at.socket, *args],
                              input=stdin, capture_output=True, timeout=WAIT,
                              env={**os.environ, **(env or {})}, check=False))


@test
def ps_shows_no_control_characters(at):
    r = hutch(at, "ps")
    assert r.status == 0, r.err
    lines = r.out.decode().splitlines()
    assert lines[0].split()[:4] == ["ID", "TYPE", "IMAGE", "STATE"], lines
    assert lines[1].split()[3] == "paused", lines
    assert b"\x1b" not in r.out and b"evil\\x1b]0;x\\x07" in r.out, r.out
    assert hutch(at, "ps", "-q").out == b"one\ntwo\n"
    assert json.loads(hutch(at, "--json", "ps").out)["sandboxes"]


@test
def errors_are_the_daemons_words_made_safe(at):
    r = hutch(at, "image", "inspect", "x/y:z")
    assert r.status == 1 and b"\x1b" not in r.err, r.err
    assert b"no \\x1b[31mx%2Fy%3Az" in r.err, r.err
    r = hutch(at, "image", "inspect", "--json", "x")
    assert json.loads(r.err)["error"]["code"] == "missing", r.err


@test
def without_a_daemon_it_says_what_to_do(at):
    r = Run(subprocess.run([HUTCH, "--socket", at.dir + "/none", "ps"],
                           capture_output=True, timeout=WAIT, check=False))
    assert r.status == 1 and b"systemctl start hutch" in r.err, r.err


@test
def exec_joins_three_streams_and_the_status(at):
    data = os.urandom(300000)
    r = hutch(at, "exec", "-e", "A=b=c", "-w", "/tmp", "one", "--", "echo",
              "-n", stdin=data)
    assert r.status == 7 and r.out == data and r.err == b"to stderr", (
        r.status, len(r.out), r.err)
    assert at.paper.start == {
        "argv": ["echo", "-n"], "env": {"A": "b=c"}, "tty": False,
        "cwd": "/tmp", "rows": 24, "cols": 80, "remove": False}, at.paper.start


@test
def how_a_command_can_end(at):
    assert hutch(at, "exec", "one", "signal").status == 137
    r = hutch(at, "exec", "one", "fail")
    assert r.status == 125 and b"no such program" in r.err, r.err
    r = hutch(at, "exec", "one", "leave")
    assert r.status == 125 and b"left before" in r.err, r.err
    r = hutch(at, "exec", "ghost", "echo")
    assert r.status == 125 and b"no sandbox ghost" in r.err, r.err


@test
def run_makes_a_sandbox_that_ends_with_the_command(at):
    r = hutch(at, "run", "-n", "-e", "X=1", "--net", "none", "img", "echo")
    assert r.status == 7, r.err
    made = [json.loads(b) for m, p, b in at.paper.asked
            if (m, p) == ("POST", "/api/v1/sandboxes")][-1]
    assert made == {"image": "img", "net": "none", "env": {"X": "1"},
                    "lease": 10}, made
    assert at.paper.start["remove"] is True
    r = hutch(at, "run", "none", "echo")
    assert r.status == 125 and b"import it" in r.err, r.err


@test
def run_forgets_a_sandbox_in_which_nothing_ran(at):
    at.paper.asked.clear()
    assert hutch(at, "run", "img", "leave").status == 125
    assert at.paper.took("DELETE", "/api/v1/sandboxes/fresh")


@test
def only_root_may_lend_a_folder(at):
    r = hutch(at, "run", at.dir, "echo")
    assert r.status == 125 and b"admin.sock" in r.err, r.err


@test
def an_interrupt_ends_the_command(at):
    p = subprocess.Popen([HUTCH, "--socket", at.socket, "exec", "one", "wait"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert p.stdout.readline() == b"ready\n"
    p.send_signal(signal.SIGINT)
    assert p.wait(WAIT) == 128 + 15
    assert (b"K", b"") in at.paper.frames


@test
def a_terminal_is_raw_and_resizes(at):
    at.paper.frames.clear()
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(HUTCH, [HUTCH, "--socket", at.socket, "exec", "one", "wait"])
    assert select.select([fd], [], [], WAIT)[0]
    assert b"ready" in os.read(fd, 100)
    assert at.paper.start["tty"] is True
    assert not termios.tcgetattr(fd)[3] & termios.ICANON
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 132, 0, 0))
    os.write(fd, b"\x03")
    while (b"I", b"\x03") not in at.paper.frames:
        assert select.select([], [], [], 0.02) is not None
    os.write(fd, b"q")
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 128 + 15, status
    sizes = [json.loads(d) for k, d in at.paper.frames if k == b"R"]
    assert {"rows": 50, "cols": 132} in sizes, at.paper.frames
    os.close(fd)


@test
def rm_tries_all_and_fails_for_one(at):
    r = hutch(at, "rm", "ghost", "one")
    assert r.status == 1 and r.out == b"one\n", r.out
    assert b"ghost: unknown" in r.err, r.err
    assert hutch(at, "rm", "--all").out == b"one\ntwo\n"
    assert hutch(at, "rm").status == 2
    assert hutch(at, "pause", "-q", "one").out == b""


@test
def stats_and_logs(at):
    r = hutch(at, "stats")
    assert r.out.decode().splitlines()[1].split() == [
        "one", "1.5s", "20M", "-", "2.0G", "3", "512", "0"], r.out
    assert hutch(at, "logs", "one").out == b"line \x1b[1m\n"


@test
def cp_takes_a_folder_in(at):
    src = os.path.join(at.dir, "src")
    os.makedirs(src + "/sub")
    with open(src + "/sub/x", "wb") as f:
        f.write(b"x" * 200000)
    os.chmod(src + "/sub/x", 0o755)
    os.symlink("/etc/passwd", src + "/link")
    r = hutch(at, "cp", src, "one:/new")
    assert r.status == 0, r.err
    assert at.paper.made == ["/new", "/new/sub"], at.paper.made
    assert at.paper.files["/new/sub/x"] == b"x" * 200000
    assert at.paper.modes["/new/sub/x"] == "755"
    assert b"left out, a link: link" in r.err, r.err
    assert "/new/link" not in at.paper.files
    r = hutch(at, "cp", src + "/sub/x", "one:/workspace")
    assert "/workspace/x" in at.paper.files, r.err
    hutch(at, "cp", "-", "one:/workspace/in", stdin=b"piped")
    assert at.paper.files.pop("/workspace/in") == b"piped"
    del at.paper.files["/workspace/x"]


@test
def cp_brings_a_folder_out(at):
    dest = os.path.join(at.dir, "out")
    r = hutch(at, "--json", "cp", "one:/workspace", dest)
    assert r.status == 0, r.err
    assert json.loads(r.out) == {"files": 2, "bytes": 140010}, r.out
    with open(dest + "/d/e", "rb") as f:
        assert f.read() == at.paper.files["/workspace/d/e"]
    assert hutch(at, "cp", "one:/workspace/a.txt", "-").out == b"bytes of a"


@test
def cp_is_not_led_astray(at):
    dest = os.path.join(at.dir, "astray")
    r = hutch(at, "cp", "one:/evil", dest)
    assert r.status == 1 and b"a name that is none" in r.err, r.err
    assert os.listdir(dest) == []
    os.symlink("/nonexistent/target", dest + "/a.txt")
    r = hutch(at, "cp", "one:/workspace/a.txt", dest)
    assert r.status == 0 and not os.path.islink(dest + "/a.txt"), r.err
    r = hutch(at, "cp", "one:/none", dest + "/n")
    assert r.status == 1 and not os.path.exists(dest + "/n"), r.err
    assert sorted(os.listdir(dest)) == ["a.txt"], os.listdir(dest)


@test
def import_sends_a_folder_as_a_tar(at):
    src = os.path.join(at.dir, "layout")
    os.makedirs(src + "/blobs/sha256")
    for name, text in (("oci-layout", "{}"), ("blobs/sha256/aa", "b" * 70000)):
        with open(f"{src}/{name}", "w", encoding="ascii") as f:
            f.write(text)
    r = hutch(at, "image", "import", src, "repo/img:1")
    assert r.status == 0 and r.out == b"repo/img:1\n", r.err
    assert b"layer 1\\x1b[2J" in r.err, r.err
    with tarfile.open(fileobj=io.BytesIO(at.paper.image)) as t:
        assert sorted(t.getnames()) == [
            "blobs", "blobs/sha256", "blobs/sha256/aa", "oci-layout"]
        assert t.extractfile("blobs/sha256/aa").read() == b"b" * 70000
    r = hutch(at, "image", "import", at.dir + "/src", "x")
    assert r.status == 1 and b"holds no image" in r.err, r.err


@test
def import_of_a_file_and_its_failure(at):
    path = os.path.join(at.dir, "file.tar")
    with open(path, "wb") as f:
        f.write(os.urandom(3 << 20))
    r = hutch(at, "--json", "image", "import", path, "ok")
    assert json.loads(r.out) == {"name": "ok"}, (r.out, r.err)
    assert len(at.paper.image) == 3 << 20
    r = hutch(at, "image", "import", path, "bad")
    assert r.status == 1 and b"digest differs" in r.err, r.err
    r = hutch(at, "image", "import", path + "x", "bad")
    assert r.status == 1 and b"No such file" in r.err, r.err


@test
def export_to_a_folder_a_file_and_a_pipe(at):
    dest = os.path.join(at.dir, "root")
    r = hutch(at, "image", "export", "img", dest)
    assert r.status == 0, r.err
    with open(dest + "/etc/name", "rb") as f:
        assert f.read() == b"hutch"
    r = hutch(at, "image", "export", "img", dest)
    assert r.status == 1 and b"not empty" in r.err, r.err
    hutch(at, "image", "export", "img", dest + ".tar")
    assert tarfile.open(dest + ".tar").getnames() == ["etc", "etc/name"]
    r = hutch(at, "image", "export", "img", "-")
    assert tarfile.open(fileobj=io.BytesIO(r.out)).getnames()


@test
def half_an_export_leaves_nothing(at):
    for dest in ("half", "half.tar"):
        path = os.path.join(at.dir, dest)
        r = hutch(at, "image", "export", "cut", path)
        assert r.status == 1, r.err
        assert not os.path.exists(path), os.listdir(path)
        assert not os.path.exists(path + ".part")


@test
def backup_is_whole_and_private(at):
    path = os.path.join(at.dir, "state.db")
    r = hutch(at, "backup", path)
    assert r.status == 0, r.err
    assert os.stat(path).st_mode & 0o777 == 0o600
    with open(path, "rb") as f:
        assert f.read() == b"SQLite format 3\0"


@test
def version_and_completion(at):
    assert b"hutchd 9.9" in hutch(at, "version").out
    words = hutch(at, "complete", "exec").out.split()
    assert b"--tty" in words and words[-2:] == [b"one", b"two"], words
    words = hutch(at, "complete", "image").out.split()
    assert b"import" in words and b"ls" in words, words
    script = hutch(at, "completion", "bash").out.decode()
    r = subprocess.run(
        ["bash", "-c", script + """
            COMP_WORDS=(hutch image i) COMP_CWORD=2; _hutch
            echo "${COMPREPLY[@]}" """],
        env={**os.environ, "PATH": os.path.dirname(HUTCH) + ":" +
             os.environ["PATH"]}, capture_output=True, text=True, check=False)
    assert r.stdout.split() == ["import", "inspect"], (r.stdout, r.stderr)


@test
def a_bad_command_line_is_told_apart(at):
    for args in (["nothing"], ["image"], ["ps", "x"], ["exec", "one"],
                 ["ps", "--nothing"], ["--url", "ftp://x", "ps"]):
        r = hutch(at, *args)
        assert r.status == 2, (args, r.status, r.err)


def main():
    with tempfile.TemporaryDirectory() as at_dir:
        server = Server(os.path.join(at_dir, "api.sock"), Handler)
        server.paper = Paper()
        threading.Thread(target=server.serve_forever, daemon=True).start()

        class At:
            dir, socket, paper = at_dir, server.server_address, server.paper
        status = tap.run(At)
        server.shutdown()
    return status


if __name__ == "__main__":
    for key in [k for k in os.environ if k.startswith("HUTCH_")]:
        if key != "HUTCH_BUILD":
            del os.environ[key]
    sys.exit(main())
