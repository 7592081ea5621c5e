#!/usr/bin/env python3
"""hutch-agent --bare: exec, with pipes and with a terminal."""
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
import guestwire as wire  # noqa: E402
from tap import BUILD, equal, run, test, true  # noqa: E402

PROGRAM = os.path.join(BUILD, "hutch-agent")


def exec_(a, *argv, seconds=20, **args):
    kw = {k: args.pop(k) for k in ("work_ms", "cap", "credit", "answer_ms")
          if k in args}
    return a.run("exec", {"argv": argv, **args}, seconds, **kw)


def begin(a, *argv, **args):
    return a.start("exec", {"argv": argv, **args})


@test
def plain(a, _):
    """arguments arrive as they are; the status comes back"""
    c = exec_(a, "printf", "%s|", "a b", "", "$HOME", "\N{EURO SIGN}", "*")
    equal(c.stdout.decode(), "a b||$HOME|\N{EURO SIGN}|*|")
    c = exec_(a, "sh", "-c", "echo e >&2; exit 7")
    equal((c.stderr, c.done["exit"]), (b"e\n", 7))
    true(a.hello.tools["exec"]["internal"], "exec is no tool for a model")


@test
def directory_and_environment(a, ws):
    """cwd and env are over what Setup said"""
    os.mkdir(ws + "/d")
    c = exec_(a, "sh", "-c", "pwd; echo $A $HOME", cwd=ws + "/d",
              env=["A=1", "HOME=/x", "nonsense"])
    equal(c.stdout.decode(), f"{ws}/d\n1 /x\n")
    equal(a.shell("echo ${A-none} $HOME").stdout, b"none /root\n")


@test
def not_there(a, ws):
    """a missing program, directory, or right is told as a shell would"""
    c = exec_(a, "nosuch-program")
    equal((c.done["code"], c.done["exit"]), (wire.MISSING, 127))
    true("nosuch-program" in c.done["text"], c.done["text"])
    c = exec_(a, "/nosuch/program")
    equal((c.done["code"], c.done["exit"]), (wire.MISSING, 127))
    with open(ws + "/plain", "w") as f:
        f.write("x")
    c = exec_(a, ws + "/plain")
    equal((c.done["code"], c.done["exit"]), (wire.DENIED, 126))
    os.chmod(ws + "/plain", 0o755)
    c = exec_(a, ws + "/plain")
    equal((c.done["code"], c.done["exit"]), (wire.DENIED, 126))
    c = exec_(a, "true", cwd="/nosuch")
    equal(c.done["code"], wire.MISSING)
    true("/nosuch" in c.done["text"], c.done["text"])
    for cwd in ("/proc/self/fd/3", "/proc/self/fd/0", "/proc/1/root"):
        true(exec_(a, "true", cwd=cwd).done["code"] != 0, cwd)
    c = exec_(a, "tr\0ue")
    equal(c.done["code"], wire.INVALID)
    c = a.run("exec", {"argv": []})
    true(c.done["code"] != 0, "an empty argv")
    c = exec_(a, "echo", "x" * (200 * 1024))
    equal((c.done["code"], c.done["exit"]), (wire.LIMIT, 126))


@test
def a_script_that_names_the_caller(a, ws):
    """an interpreter line of /proc/self/exe runs nothing of ours"""
    with open(ws + "/sh", "w") as f:
        f.write("#!/proc/self/exe --bare\n")
    os.chmod(ws + "/sh", 0o755)
    c = exec_(a, ws + "/sh")
    true(c.done["exit"] != 0, c.done)
    equal(c.stdout, b"")


@test
def without_input(a, _):
    """stdin is empty unless it is asked for"""
    c = exec_(a, "cat")
    equal((c.stdout, c.done["exit"]), (b"", 0))


@test
def with_input(a, _):
    """input of any bytes and length arrives, and its end"""
    c = begin(a, "cat", input=True)
    c.input(b"\0\xff\n")
    c.wait_out(b"\0\xff\n")
    c.input(eof=True)
    equal(c.wait().done["exit"], 0)
    data = os.urandom(3 << 20)
    c = begin(a, "sh", "-c", "sleep 0.3; cat", input=True)
    c.input(data, eof=True)
    true(c.wait().stdout == data, "3 MB there and back")


@test
def input_nobody_reads(a, _):
    """a program that ends or closes its stdin does not hang the writer"""
    c = begin(a, "sh", "-c", "exec <&-; sleep 0.5; echo done", input=True)
    c.input(b"x" * (1 << 20), eof=True)
    equal(c.wait().stdout, b"done\n")
    c = begin(a, "true", input=True)
    c.input(b"x" * (1 << 20), eof=True)
    equal(c.wait().done["exit"], 0)


@test
def too_much_input(_a, ws):
    """input that was not asked for ends the stream"""
    a = wire.Agent(PROGRAM, ws, control=True).setup()
    c = begin(a, "sleep", "30", input=True)
    a.until(lambda: c.room > 0, 5)
    a.send(c.n, wire.data(4, wire.text(1, b"x" * 100000)))
    try:
        a.until(lambda: False, 5)
    except AssertionError as e:
        equal(str(e), "the agent hung up")
    a.stop()


@test
def terminal(a, _):
    """tty: a controlling terminal of the size asked for, resized later"""
    c = begin(a, "sh", "-c", "tty; stty size; ps -o tty= -p $$; "
              "trap 'stty size; exit 5' WINCH; echo ready; "
              "while :; do sleep 0.05; done", tty=True, input=True, rows=33,
              cols=99)
    c.wait_out(b"ready")
    c.resize(40, 120)
    c.wait()
    out = c.stdout.decode().split("\r\n")
    true(out[0].startswith("/dev/pts/"), out)
    equal(out[1], "33 99")
    equal("/dev/" + out[2].strip(), out[0])
    equal((out[4], c.done["exit"]), ("40 120", 5))
    equal(c.stderr, b"")


@test
def terminal_input(a, _):
    """tty: echo, ^C and ^D work"""
    c = begin(a, "cat", tty=True, input=True)
    c.input(b"hi\n")
    c.wait_out(b"hi\r\nhi\r\n")
    c.input(b"\x03")
    equal(c.wait().done["exit"], -2)
    c = begin(a, "cat", tty=True, input=True)
    c.input(b"x\n")
    c.wait_out(b"x\r\nx\r\n")
    c.input(eof=True)
    equal(c.wait().done["exit"], 0)


@test
def terminal_flood(a, _):
    """tty: yes, without credit, waits; cancelled, it ends"""
    a.credit_back = False
    c = a.start("exec", {"argv": ["yes"], "tty": True}, credit=200000)
    a.until(lambda: c.taken == 200000, 20)
    equal(a.shell("echo hi").stdout, b"hi\n")
    c.cancel()
    a.credit_back = True
    c.credit(1 << 20)
    equal(c.wait().done["code"], wire.BUSY)


@test
def cancelled(a, _):
    """cancel ends it, by force after a grace, and says so"""
    c = begin(a, "sleep", "60")
    c.cancel()
    c.wait(5)
    equal((c.done["code"], c.done["exit"]), (wire.BUSY, -15))
    c = begin(a, "sh", "-c", "trap '' TERM; echo x; while :; do sleep 1; done")
    c.wait_out(b"x")
    start = time.monotonic()
    c.cancel()
    c.wait(10)
    equal(c.done["exit"], -9)
    true(time.monotonic() - start < 4, "in time")


def main():
    with tempfile.TemporaryDirectory() as ws:
        ws = os.path.realpath(ws)
        a = wire.Agent(PROGRAM, ws, cwd=ws).setup()
        status = run(a, ws)
        a.stop()
    return status


if __name__ == "__main__":
    sys.exit(main())
