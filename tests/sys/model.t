#!/usr/bin/env python3
"""The built-in agent in the real daemon: hutch-model, its key, its deaths."""
import json
import os
import re
import signal
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
from daemon import BUILD, Daemon, make_root, need_root  # noqa: E402
from layout import of_folder  # noqa: E402
from live import TYPE, hutch, token  # noqa: E402
from modelwire import Endpoint, reply  # noqa: E402
from tap import Skip, equal, run, skip_all, test, true  # noqa: E402

need_root()
for program in ("hutch-front", "hutch-model"):
    if not os.path.exists(f"{BUILD}/{program}"):
        skip_all(f"no {program} here")

KEY = "sk-never-in-the-front-7f3a9c1e5b"
HEADER = "org-never-in-the-front-22d1"
FILED = "sk-from-a-file-0b7e44aa19c3"
CONFIG = """
[model real]
url = %s
key = %s
headers = X-Org: %s
retries = 0
[model filed]
url = %s
key_file = %s
retries = 0
[model tls]
url = %s
retries = 0
[model stub]
url = stub:
[agent demo]
model = stub
system = You are a demo.
tool_timeout = 20s
[agent keyed]
model = real
[agent filed]
model = filed
[agent tls]
model = tls
"""


def children(d):
    with open(f"/proc/{d.proc.pid}/task/{d.proc.pid}/children") as f:
        for pid in f.read().split():
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as c:
                    yield int(pid), c.read().split(b"\0")[0].decode()
            except OSError:
                pass


def pid_of(d, name):
    found = [pid for pid, cmd in children(d) if cmd.endswith(name)]
    return found[0] if found else None


class Agents:
    def __init__(self, d):
        self.port = int(re.findall(r"agent_port=(\d+)", d.log())[-1])

    def open(self, agent, body, seconds=30):
        q = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/agents/{agent}"
            "/v1/chat/completions", json.dumps(body).encode(),
            {"Content-Type": "application/json",
             "Authorization": "Bearer first"})
        return urllib.request.urlopen(q, timeout=seconds)

    def chat(self, agent, text, **more):
        """(status, the answer or the error's text)"""
        body = {"model": "x", "messages": [
            {"role": "user", "content": text}], **more}
        try:
            with self.open(agent, body) as r:
                return r.status, \
                    json.load(r)["choices"][0]["message"]["content"]
        except urllib.error.HTTPError as e:
            return e.code, e.read().decode()


def asked(e):
    """What a model was asked last: spans come in between."""
    return [x for x in e.seen if x[0] == "/v1/chat/completions"][-1]


def holds(pid, words):
    """Which of these words are in a process: memory, environment, files."""
    found = set()

    def look(where, data):
        for w in words:
            if w.encode() in data:
                found.add((w, where))
    with open(f"/proc/{pid}/maps") as f:
        ranges = [line.split()[:2] for line in f]
    with open(f"/proc/{pid}/mem", "rb", 0) as mem:
        for where, how in ranges:
            start, end = (int(x, 16) for x in where.split("-"))
            # ASan's shadow, of 14 TiB, says which other bytes are good.
            if how[0] != "r" or end - start > 1 << 40:
                continue
            keep = b""
            for at in range(start, end, 1 << 20):
                try:
                    mem.seek(at)
                    data = mem.read(min(1 << 20, end - at))
                except (OSError, ValueError, OverflowError):
                    break
                look("memory", keep + data)
                keep = data[-64:]
    for name in ("environ", "cmdline"):
        with open(f"/proc/{pid}/{name}", "rb") as f:
            look(name, f.read())
    for fd in os.listdir(f"/proc/{pid}/fd"):
        path = f"/proc/{pid}/fd/{fd}"
        try:
            target = os.readlink(path)
        except OSError:
            continue  # it has been closed since
        if target.startswith("/memfd:") or os.path.isfile(path):
            with open(path, "rb") as f:
                look(target, f.read(16 << 20))
    for top, _, files in os.walk(f"/proc/{pid}/root/"):
        if top.startswith((f"/proc/{pid}/root/proc",
                           f"/proc/{pid}/root/usr")):
            continue
        for name in files:
            path = os.path.join(top, name)
            if not os.path.isfile(path):
                continue
            with open(path, "rb") as f:
                look(path, f.read(16 << 20))
    return found


@test
def without_agents_that_speak(d, a, e):
    """hutch-model does not run before it is needed"""
    equal(pid_of(d, "hutch-model"), None)


@test
def scripted(d, a, e):
    """the built-in agent answers on a host without a model and a network"""
    equal(a.chat("demo", "hello"), (200, "You said: hello"))
    true(pid_of(d, "hutch-model"), "no hutch-model")


@test
def with_tools(d, a, e):
    """it runs commands in a sandbox of its session"""
    equal(a.chat("demo", "run echo $((6 * 7))"), (200, "It printed:\n42\n"))
    status, text = a.chat(
        "demo", "script: call write_file {\"path\":\"a/b\",\"content\":"
        "\"x\\ny\\n\"} ;; then ;; call read_file {\"path\":\"a/b\"} ;; "
        "call list_files ;; then ;; say $out")
    equal((status, text), (200, "x\ny\n\n/workspace/a/\n/workspace/a/b\n"))


@test
def streamed(d, a, e):
    """what it says is streamed as it comes"""
    with a.open("demo", {"model": "x", "stream": True, "messages": [
            {"role": "user", "content": "count to 8"}]}) as r:
        first = last = None
        text = ""
        for line in r:
            if line.startswith(b"data: {"):
                c = json.loads(line[6:])["choices"]
                piece = c[0]["delta"].get("content") if c else None
                if piece:
                    text += piece
                    last = time.monotonic()
                    first = first or last
    equal(text, "1 2 3 4 5 6 7 8")
    true(last - first > 0.4, "all of it at once")


@test
def a_tool_in_time(d, a, e):
    """a reader that leaves ends the model's answer and the running tool"""
    with socket.create_connection(("127.0.0.1", a.port)) as s:
        body = json.dumps({"model": "x", "stream": True, "messages": [
            {"role": "user", "content": "run sleep 17.25"}]}).encode()
        s.sendall(b"POST /agents/demo/v1/chat/completions HTTP/1.1\r\n"
                  b"Host: 127.0.0.1\r\nAuthorization: Bearer first\r\n"
                  b"Content-Type: application/json\r\n"
                  b"Content-Length: %d\r\n\r\n" % len(body) + body)
        end = time.monotonic() + 20
        while not sleeping("17.25"):
            true(time.monotonic() < end, "the tool did not start")
            time.sleep(0.05)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                     b"\1\0\0\0\0\0\0\0")
    end = time.monotonic() + 10
    while sleeping("17.25"):
        true(time.monotonic() < end, "the tool goes on")
        time.sleep(0.05)


def sleeping(seconds):
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    if f.read() == f"sleep\0{seconds}\0".encode():
                        return True
            except OSError:
                pass
    return False


@test
def keyed(d, a, e):
    """an endpoint is asked with its key, and a key from a file"""
    status, text = a.chat("keyed", "hello")
    equal((status, text), (200, "fine"))
    path, headers, body = asked(e)
    equal(path, "/v1/chat/completions")
    equal(headers["Authorization"], f"Bearer {KEY}")
    equal(headers["X-Org"], HEADER)
    equal(json.loads(body)["model"], "real")
    equal(a.chat("filed", "hello"), (200, "fine"))
    equal(asked(e)[1]["Authorization"], f"Bearer {FILED}")


@test
def verified(d, a, e):
    """an endpoint whose certificate no authority has signed is not asked"""
    if shutil.which("openssl") is None:
        raise Skip("no openssl here")
    status, text = a.chat("tls", "hello")
    true(status >= 400, (status, text))
    true("certificate" in text, text)


@test
def pushed(d, a, e):
    """a client of A2A is told of its task where it wants to be told"""
    call = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {
        "message": {"kind": "message", "messageId": "m1", "role": "user",
                    "parts": [{"kind": "text", "text": "hello"}]},
        "configuration": {"pushNotificationConfig": {
            "url": e.url + "/hook", "token": "t-1", "authentication": {
                "schemes": ["Bearer"], "credentials": "theirs"}}}}}
    q = urllib.request.Request(
        f"http://127.0.0.1:{a.port}/agents/demo/a2a",
        json.dumps(call).encode(), {"Content-Type": "application/json",
                                    "Authorization": "Bearer first"})
    with urllib.request.urlopen(q, timeout=30) as r:
        got = json.load(r)
    true("result" in got, got)
    end = time.monotonic() + 10
    while not [x for x in e.seen if x[0] == "/v1/hook"]:
        true(time.monotonic() < end, "nobody was told")
        time.sleep(0.02)
    path, headers, body = [x for x in e.seen if x[0] == "/v1/hook"][0]
    equal(headers["X-A2A-Notification-Token"], "t-1")
    equal(headers["Authorization"], "Bearer theirs")
    true("You said: hello" in body.decode(), body)


@test
def traced(d, a, e):
    """a run, its model calls and its tools are spans of the caller's trace"""
    trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    spans = {}

    def ask(agent, text, flags="01"):
        q = urllib.request.Request(
            f"http://127.0.0.1:{a.port}/agents/{agent}/v1/chat/completions",
            json.dumps({"model": "x", "messages": [
                {"role": "user", "content": text}]}).encode(),
            {"Content-Type": "application/json",
             "Authorization": "Bearer first",
             "traceparent": f"00-{trace}-{parent}-{flags}"})
        with urllib.request.urlopen(q, timeout=30) as r:
            r.read()

    def collected(name):
        for path, headers, body in list(e.seen):
            if path != "/v1/traces":
                continue
            for r in json.loads(body)["resourceSpans"]:
                for s in r["scopeSpans"][0]["spans"]:
                    if s["traceId"] == trace:
                        spans[s["name"]] = s
        return name in spans
    ask("demo", "unsampled", "00")
    ask("demo", "run echo hi")
    ask("keyed", "hello")
    end = time.monotonic() + 15
    while not (collected("invoke_agent keyed") and
               collected("invoke_agent demo")):
        true(time.monotonic() < end, f"only {sorted(spans)}")
        time.sleep(0.05)
    true("unsampled" not in json.dumps(spans), "it was not sampled")
    run_ = spans["invoke_agent demo"]
    equal(run_["parentSpanId"], parent)
    for name in ("chat stub", "execute_tool run_shell_command"):
        equal(spans[name]["parentSpanId"], run_["spanId"], name)
        true(int(spans[name]["endTimeUnixNano"]) >=
             int(spans[name]["startTimeUnixNano"]), name)
    words = {x["key"]: x["value"] for x in
             spans["chat stub"]["attributes"]}
    equal(words["gen_ai.operation.name"], {"stringValue": "chat"})
    true(int(words["gen_ai.usage.output_tokens"]["intValue"]) > 0, words)
    # What was said is in none of them, and the endpoint hears of its span.
    true("echo hi" not in json.dumps(spans), "payload in a span")
    sent = [h["traceparent"] for p, h, b in e.seen
            if p == "/v1/chat/completions" and "traceparent" in h]
    equal(sent[-1], f"00-{trace}-{spans['chat real']['spanId']}-01")


@test
def where_the_key_is(d, a, e):
    """the front has no key: not in its memory, environment or files"""
    status, text = a.chat("keyed", "quote the key")
    true(status >= 400 and "[hidden]" in text, (status, text))
    for word in (KEY, HEADER, FILED):
        true(word not in text, "the answer has the key")
        true(word not in d.log(), "the log has the key")
    model, front = pid_of(d, "hutch-model"), pid_of(d, "hutch-front")
    words = {KEY, HEADER, FILED}
    # That the search finds what is there: hutch-model has all of them.
    equal({w for w, _ in holds(model, words)}, words)
    equal(holds(front, words), set())


@test
def confined(d, a, e):
    """hutch-model has no privilege, one user of its own, no file but its own"""
    pid, front = pid_of(d, "hutch-model"), pid_of(d, "hutch-front")

    def status(p):
        with open(f"/proc/{p}/status") as f:
            return dict(x.split(":\t", 1) for x in f if ":\t" in x)
    s = status(pid)
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        equal(int(s[name], 16), 0, name)
    equal(int(s["Seccomp"]), 2)
    true(s["Uid"] != status(front)["Uid"], "the front's user")
    true(int(s["Uid"].split()[0]) > 65535, s["Uid"])

    def ns(p, name):
        return os.readlink(f"/proc/{p}/ns/{name}")
    equal(ns(pid, "net"), ns("self", "net"))
    true(ns(front, "net") != ns("self", "net"), "the front has a network")
    for name in ("user", "mnt", "pid", "ipc", "uts"):
        true(ns(pid, name) != ns("self", name), name)
    true(not os.path.exists(f"/proc/{pid}/root/etc/passwd"), "/etc/passwd")


@test
def it_dies(d, a, e):
    """hutch-model killed: the run fails and says so, the next one is answered
    """
    for _ in range(3):
        got = []
        t = threading.Thread(target=lambda: got.append(
            a.chat("demo", "script: pace 20 ;; endless on and ")))
        t.start()
        while pid_of(d, "hutch-model") is None:
            time.sleep(0.01)
        time.sleep(0.3)
        os.kill(pid_of(d, "hutch-model"), signal.SIGKILL)
        t.join(20)
        true(got and got[0][0] >= 500, got)
        equal(a.chat("demo", "hello"), (200, "You said: hello"))


@test
def front_dies(d, a, e):
    """the front killed: the new one's agents answer, by the same hutch-model
    """
    before = pid_of(d, "hutch-model")
    n = d.log().count("msg=serving")
    os.kill(pid_of(d, "hutch-front"), signal.SIGKILL)
    d.wait_log("msg=serving", count=n + 1)
    equal(a.chat("demo", "hello"), (200, "You said: hello"))
    equal(pid_of(d, "hutch-model"), before)


@test
def remembered(d, a, e):
    """a session goes on after the front was killed, in its sandbox"""
    def ask(text):
        q = urllib.request.Request(
            f"http://127.0.0.1:{a.port}/agents/demo/process", json.dumps({
                "session_id": "s-1", "user_id": "u-1", "input": [
                    {"role": "user", "content": [
                        {"type": "text", "text": text}]}]}).encode(),
            {"Content-Type": "application/json",
             "Authorization": "Bearer first"})
        with urllib.request.urlopen(q, timeout=30) as r:
            last = [x for x in r.read().split(b"\n") if x.startswith(b"data")]
        end = json.loads(last[-1][6:])
        equal((end["object"], end["status"]), ("response", "completed"), end)
        return end["output"][-1]["content"][0]["text"]
    equal(ask("my name is Ada"), "Nice to meet you, Ada.")
    equal(ask("run echo kept > f; cat f"), "It printed:\nkept\n")
    n = d.log().count("msg=serving")
    os.kill(pid_of(d, "hutch-front"), signal.SIGKILL)
    d.wait_log("msg=serving", count=n + 1)
    equal(ask("what is my name"), "Your name is Ada.")
    equal(ask("run cat f"), "It printed:\nkept\n")


@test
def reloaded(d, a, e):
    """SIGHUP: hutch-model takes a new key, the front still has none"""
    with open(d.config) as f:
        text = f.read()
    fresh = "sk-a-new-one-66f2d0c4e8"
    with open(d.config, "w") as f:
        f.write(text.replace(KEY, fresh))
    d.proc.send_signal(signal.SIGHUP)
    d.wait_log("configuration read again")
    equal(a.chat("keyed", "hello"), (200, "fine"))
    equal(asked(e)[1]["Authorization"], f"Bearer {fresh}")
    equal(holds(pid_of(d, "hutch-front"), {fresh}), set())


@test
def stopped(d, a, e):
    """a stop ends hutch-model, too"""
    pid = pid_of(d, "hutch-model")
    equal(d.stop(), 0)
    true(not os.path.exists(f"/proc/{pid}"), "hutch-model lives on")


def tls_endpoint(top):
    """A server with a certificate of its own; without openssl, nothing."""
    if shutil.which("openssl") is None:
        return "https://localhost:1/v1"
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days",
         "1", "-subj", "/CN=localhost", "-addext",
         "subjectAltName=DNS:localhost", "-keyout", f"{top}/tls.key", "-out",
         f"{top}/tls.crt"], capture_output=True)
    if made.returncode != 0:
        return "https://localhost:1/v1"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{top}/tls.crt", f"{top}/tls.key")
    s = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                context.wrap_socket(s.accept()[0], server_side=True).close()
            except OSError:
                pass  # it has left, as it should
    threading.Thread(target=serve, daemon=True).start()
    return f"https://localhost:{s.getsockname()[1]}/v1"


def answer(handler, body):
    q = json.loads(body)
    if handler.path.endswith(("/hook", "/traces")):
        reply(handler, 200, b"")
        return
    if "quote the key" in q["messages"][-1]["content"]:
        text = f"no: {handler.headers['Authorization']} of " \
            f"{handler.headers['X-Org']}"
        reply(handler, 401, json.dumps({"error": {"message": text}}).encode())
        return
    chunk = {"choices": [{"index": 0, "delta": {"content": "fine"},
                          "finish_reason": "stop"}]}
    reply(handler, 200, f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n"
          .encode(), [("Content-Type", "text/event-stream")])


def main():
    e = Endpoint(answer)
    d = Daemon("", front=f"{BUILD}/hutch-front")
    try:
        with open(f"{d.top}/key", "w") as f:
            f.write(FILED + "\n")
        d.write_config(f"push = anywhere\notlp_endpoint = {e.url[:-3]}\n" +
                       token("first") + TYPE + CONFIG % (
            e.url, KEY, HEADER, e.url.replace("127.0.0.1", "localhost"),
            f"{d.top}/key", tls_endpoint(d.top)))
        root = make_root(f"{d.top}/image")
        d.start()
        d.wait_log("msg=serving")
        with open(f"{d.top}/image.tar", "wb") as f:
            f.write(of_folder(root))
        r = hutch(d, "image", "import", f"{d.top}/image.tar", "try:1")
        equal(r.returncode, 0, r.stderr)
        failed = run(d, Agents(d), e)
    finally:
        if os.environ.get("TEST_LOG"):
            sys.stderr.write(d.log())
        d.clean()
        e.shutdown()
    return failed


sys.exit(main())
