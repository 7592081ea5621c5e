"""The sandbox interface over HTTP, and hutch(1), against a daemon of ours."""
import hashlib
import json
import re
import subprocess
import urllib.error
import urllib.request

from daemon import BUILD
from tap import equal, true

TYPE = "[type base]\nnet = none\nimage = try:1\n"


def token(name):
    digest = hashlib.sha256(name.encode()).hexdigest()
    return f"[tenant one]\ntoken_sha256 = {digest}\nadmin = yes\n"


class Client:
    def __init__(self, d, token="first"):
        self.port = int(re.findall(r" port=(\d+)", d.log())[-1])
        self.token = token

    def post(self, path, body, seconds=30):
        """(status, JSON)"""
        q = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", json.dumps(body).encode(),
            {"Content-Type": "application/json",
             "Authorization": f"Bearer {self.token}"})
        try:
            with urllib.request.urlopen(q, timeout=seconds) as r:
                return r.status, json.load(r)
        except urllib.error.HTTPError as e:
            return e.code, None

    def create(self):
        status, body = self.post("/create_from_pool", {"sandbox_type": "base"})
        equal(status, 200)
        true(body["data"], body)
        return body["data"]

    def shell(self, box, command, seconds=30):
        status, body = self.post("/call_tool", {
            "identity": box, "tool_name": "run_shell_command",
            "arguments": {"command": command}}, seconds)
        equal(status, 200, command)
        return body["data"]["content"][0]["text"]


def hutch(d, *args):
    return subprocess.run([f"{BUILD}/hutch", "--root", d.root, *args],
                          capture_output=True, text=True, timeout=60)


def front_pid(d):
    with open(f"/proc/{d.proc.pid}/task/{d.proc.pid}/children") as f:
        for pid in f.read().split():
            with open(f"/proc/{pid}/cmdline", "rb") as c:
                if b"hutch-front" in c.read():
                    return int(pid)
    raise AssertionError("no front")
