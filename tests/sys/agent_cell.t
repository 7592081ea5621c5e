#!/usr/bin/env python3
"""hutch-agent --bare: cells, in IPython as the contract observed it."""
import os
import re
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
import guestwire as wire  # noqa: E402
import ipython  # noqa: E402
from tap import BUILD, equal, run, skip_all, test, true  # noqa: E402

PROGRAM = os.path.join(BUILD, "hutch-agent")
SGR = re.compile(r"\x1b\[[0-9;]*m")


def outcome(c):
    return c.stdout.decode(), c.stderr.decode()


def plain(b):
    return SGR.sub("", b.decode())


def bottom(b):
    return plain(b).rstrip().splitlines()[-1]


# What the contract's table says, to the byte: code, stdout, stderr.
EXACT = [
    ("print(1)", "1\n", ""),
    ("1+1", "Out[1]: 2\n", ""),
    ("x=5", "", ""),
    ("None", "", ""),
    ("'a';", "Out[1]: 'a'\n", ""),
    ("1\n2", "Out[1]: 2\n", ""),
    ("print(x)\nx*2", "5\nOut[1]: 10\n", ""),
    ("class R:\n    def __repr__(self):\n        return 'a\\nb'\nR()",
     "Out[1]: \na\nb\n", ""),
    ("display(1,'a')", "1\n'a'\n", ""),
    ("h = display('p', display_id=True)\nh.update('q')", "'p'\n'q'\n", ""),
    ("from IPython.display import *\nclear_output()", "\x1b[2K\r\x1b[2K\r",
     ""),
    ("HTML('<b>')", "Out[1]: <IPython.core.display.HTML object>\n", ""),
    ("display(HTML('<b>'))", "<IPython.core.display.HTML object>\n", ""),
    ("Markdown('x')", "Out[1]: <IPython.core.display.Markdown object>\n", ""),
    ("z=!echo a; echo b", "", ""),
    ("list(z)", "Out[1]: ['a', 'b']\n", ""),
    ("!exit 3", "", ""),
    ("_exit_code", "Out[1]: 3\n", ""),
    ("!echo hi; echo e >&2", "hi\r\ne\r\n", ""),
    ("%%bash\necho hi", "hi\n", ""),
    ("print('a\\0b')", "a\0b\n", ""),
    ("x=1\r\nprint(x)\r\n", "1\n", ""),
    ("   ", "", ""),
    ("# nothing", "", ""),
    ("import asyncio\nawait asyncio.sleep(0, 'done')", "Out[1]: 'done'\n",
     ""),
    ("import sys\nprint('out')\nprint('err', file=sys.stderr)", "out\n",
     "err\n"),
    ("6*7", "Out[1]: 42\n", ""),
    ("_", "Out[1]: 42\n", ""),
    ("Out", "Out[1]: {1: 42}\n", ""),
    ("In", "Out[1]: ['']\n", ""),
    ("%history", "", ""),
    ("__name__", "Out[1]: '__main__'\n", ""),
    ("%nosuchmagic", "",
     "UsageError: Line magic function `%nosuchmagic` not found.\n"),
    ("%cd /", "/\n", ""),
    ("import os; os.getcwd()", "Out[1]: '/'\n", ""),
]

# ... and where only the end is told: code, last line of stdout, of stderr.
LAST = [
    ("1/0", "ZeroDivisionError: division by zero", None),
    ("def f(:", "SyntaxError: invalid syntax", None),
    ("exit()", "AttributeError: 'InteractiveShell' object has no attribute "
     "'ask_exit'", None),
    ("quit()", "AttributeError: 'InteractiveShell' object has no attribute "
     "'ask_exit'", None),
    ("raise KeyboardInterrupt", "KeyboardInterrupt:", None),
    ("raise BaseException('x')", "BaseException: x", None),
    ("async def f(): pass\nc = f()\ntry:\n    asyncio.run(c)\n"
     "finally:\n    c.close()",
     "RuntimeError: asyncio.run() cannot be called from a running event loop",
     None),
    ("a = 'x\0y'", "SyntaxError: source code string cannot contain null bytes",
     None),
    ("\ufeffprint(1)", "SyntaxError: invalid non-printable character U+FEFF",
     None),
    ("input('q')", "EOFError: EOF when reading a line", None),
    ("import getpass; getpass.getpass()", "EOFError:", "Password:"),
    ("import warnings; warnings.warn('w')", None,
     "  import warnings; warnings.warn('w')"),
    ("raise SystemExit(3)", "SystemExit: 3",
     "  warn(\"To exit: use 'exit', 'quit', or Ctrl-D.\", stacklevel=1)"),
    ("%%bash\nexit 3", None, None),
]
if sys.version_info >= (3, 11):
    LAST.append(("raise ExceptionGroup('g', [ValueError(1)])", None,
                 "    +------------------------------------"))


@test
def table(a, _):
    """the contract's table, to the byte"""
    for code, out, err in EXACT:
        equal(outcome(a.cell(code)), (out, err), code)


@test
def table_of_ends(a, _):
    """the contract's table, where only the end is told"""
    for code, out, err in LAST:
        c = a.cell(code)
        equal(c.done["code"], 0, code)
        if out is not None:
            equal(bottom(c.stdout), out, code)
        if err is not None:
            true(c.stderr, code)
            equal(bottom(c.stderr), err, code)
        elif code != "%%bash\nexit 3":
            equal(c.stderr, b"", code)
    true(b"CalledProcessError" in a.cell("%%bash\necho x; exit 3").stdout,
         "%%bash tells the status")
    c = a.cell("1/0")
    true("Cell In[1], line 1" in plain(c.stdout), plain(c.stdout))
    true(b"\x1b[" in c.stdout, "colours")
    equal(a.cell("print('alive')").stdout, b"alive\n")


@test
def state(a, _):
    """state is kept from cell to cell"""
    a.cell("a=1")
    equal(a.cell("print(a)").stdout, b"1\n")


@test
def below_python(a, _):
    """children and C code are heard, in the order of writing"""
    c = a.cell("""
import ctypes, os, subprocess, sys
print("1")
ctypes.CDLL(None).puts(b"2")
print("3", end="")
os.write(1, b"4\\n")
subprocess.run(["echo", "5"])
os.system("echo 6; echo e6 >&2")
if os.fork() == 0:
    print("7")
    os._exit(0)
os.wait()
sys.stdout.buffer.write(b"\\xff8\\n")
sys.stderr.write("e8\\n")
print("9")
""")
    equal(c.stdout, b"1\n2\n34\n5\n6\n7\n\xff8\n9\n")
    equal(c.stderr, b"e6\ne8\n")
    equal(a.cell("os.system('echo x')").stdout, b"x\nOut[1]: 0\n")
    c = a.cell("import logging; logging.warning('lw')")
    equal((c.stdout, c.stderr), (b"", b"WARNING:root:lw\n"))


@test
def what_stdout_is(a, _):
    """sys.stdout has a descriptor, a buffer and an encoding"""
    equal(a.cell("(sys.stdout.fileno(), sys.stdout.encoding, "
                 "sys.stdout.isatty(), sys.stdin.read())").stdout,
          b"Out[1]: (1, 'utf-8', False, '')\n")
    c = a.cell(r"print('\udcff\ud800', '\u2028'); "
               r"print('\N{GRINNING FACE}')")
    equal(c.stdout, b"\xff? \xe2\x80\xa8\n\xf0\x9f\x98\x80\n")
    a.cell("sys.stdout.close(); sys.stderr = None")
    equal(outcome(a.cell("print('again'); print('e', file=sys.stderr)")),
          ("again\n", "e\n"))


@test
def own_process(a, ws):
    """main thread, signals, its own modules, one loop for all cells"""
    equal(a.cell("import threading, signal\n"
                 "signal.signal(signal.SIGALRM, lambda *_: print('alarm'))\n"
                 "signal.setitimer(signal.ITIMER_REAL, 0.05)\n"
                 "import time; time.sleep(0.2)\n"
                 "threading.current_thread() is threading.main_thread()"
                 ).stdout, b"alarm\nOut[1]: True\n")
    with open(ws + "/mymodule.py", "w") as f:
        f.write("value = 7\n")
    a.cell(f"%cd -q {ws}")
    equal(a.cell("import mymodule; mymodule.value, sys.path[0]").stdout,
          b"Out[1]: (7, '')\n")
    a.cell("""
async def later():
    global seen
    await asyncio.sleep(0.2)
    seen = "task lived on"
seen = None
task = asyncio.create_task(later())
""")
    equal(a.cell("await task; print(seen)").stdout, b"task lived on\n")
    equal(a.shell("pwd; echo ${Z-none}").stdout.decode(), ws + "\nnone\n")
    a.cell("os.environ['Z'] = '1'; os.chdir('/')")
    equal(a.shell("pwd; echo ${Z-none}").stdout.decode(), ws + "\nnone\n")
    equal(a.cell("""
import pickle
class P: pass
type(pickle.loads(pickle.dumps(P()))).__name__
""").stdout, b"Out[1]: 'P'\n")


@test
def concurrent_cells(a, _):
    """40 cells at once run in order and never mix"""
    a.cell("order = []")
    calls = [a.start("run_ipython_cell", {"code": f"""
import subprocess, time
order.append({i})
print("out", {i}); time.sleep(0.005)
print("err", {i}, file=sys.stderr)
subprocess.run(["echo", "child {i}"]);
pass
"""}) for i in range(40)]
    for i, c in enumerate(calls):
        c.wait(30)
        equal(outcome(c), (f"out {i}\nchild {i}\n", f"err {i}\n"))
    equal(a.cell("order == list(range(40))").stdout, b"Out[1]: True\n")


@test
def children_keep_their_cell(a, _):
    """what an earlier cell left running does not show in a later one"""
    with tempfile.TemporaryDirectory() as d:
        os.mkfifo(d + "/go")
        c = a.cell(f"p = subprocess.Popen(['sh', '-c', "
                   f"'echo now; read x <{d}/go; yes | head -c 300000; "
                   f"echo late >&2'], stdout=None); "
                   f"time.sleep(0.2)")
        equal(c.stdout, b"now\n")
        c = a.cell(f"open('{d}/go', 'w').write('x'); p.wait()")
        equal(outcome(c), ("Out[1]: 0\n", ""))


@test
def shells_meanwhile(a, _):
    """a long cell stops no shell call"""
    c = a.start("run_ipython_cell", {"code": "print('in'); time.sleep(30)"})
    c.wait_out(b"in\n")
    start = time.monotonic()
    equal(a.shell("echo hi").stdout, b"hi\n")
    true(time.monotonic() - start < 1, "in time")
    c.cancel()
    c.wait(5)


@test
def interrupted(a, _):
    """a cell is interrupted wherever it is, and the state survives"""
    a.cell("kept = 'yes'; import time")
    for code in ("while True: pass", "time.sleep(60)",
                 "await asyncio.sleep(60)", "await asyncio.Event().wait()",
                 "threading.Event().wait()", "os.system('sleep 60')",
                 "!sleep 60", "subprocess.run(['sleep', '60'])",
                 "%%bash\nsleep 8"):
        start = time.monotonic()
        c = a.cell("%s" % code, work_ms=300)
        equal(c.done["code"], wire.TIMEOUT, code)
        true("state is kept" in c.done["text"], c.done["text"])
        true(time.monotonic() - start < 5, f"{code}: in time")
        if code == "await asyncio.sleep(60)":
            equal(bottom(c.stdout), "KeyboardInterrupt:", code)
            true("hutch_cell" not in plain(c.stdout), plain(c.stdout))
    equal(a.cell("print(kept)").stdout, b"yes\n")
    c = a.start("run_ipython_cell",
                {"code": "print('in')\nwhile True: pass"}).wait_out(b"in\n")
    c.cancel()
    c.wait(5)
    equal(c.done["code"], wire.BUSY)
    true(b"in\n" in c.stdout and b"KeyboardInterrupt" in c.stdout, "told")
    equal(a.cell("print(kept)").stdout, b"yes\n")


@test
def shell_escape(a, _):
    """!command has a terminal, and tells how it ended"""
    for code, out in (
            ("!test -t 0 -a -t 2 && stty size", "24 80\r\n"),
            ("!exit 3", ""), ("_exit_code", "Out[1]: 3\n"),
            ("!kill -9 $$", ""), ("_exit_code", "Out[1]: -9\n"),
            ("!(exit 130); exit $?", ""), ("_exit_code", "Out[1]: -2\n"),
            ("x = 'a b'\n!echo {x} $x", "a b a b\r\n"),
            ("%%capture c\n!printf 'one\\ntwo'", ""),
            ("c.stdout", "Out[1]: 'one\\r\\ntwo'\n"),
            # A character may come in two pieces; what is none is replaced.
            (r"!printf '\303'; sleep 0.1; printf '\251\377.'",
             "\u00e9\ufffd."),
            ("!yes | head -n 2", "y\r\ny\r\n")):
        equal(outcome(a.cell(code)), (out, ""), code)
    c = a.cell("!echo no &")
    true("Background processes not supported" in plain(c.stdout), c.stdout)
    c = a.cell("!trap 'echo bye; exit 4' INT; echo in; while :; do sleep 1; "
               "done\n_exit_code", work_ms=700)
    true(b"in\r\n^Cbye\r\n" in c.stdout, c.stdout)
    start = time.monotonic()
    a.cell("!trap '' INT HUP TERM; sleep 30", work_ms=200)
    true(time.monotonic() - start < 5, "in time")
    equal(a.cell("_exit_code").stdout, b"Out[1]: -9\n")


@test
def escape_in_small_memory(a, _):
    """what !command prints is not kept anywhere"""
    peak = "__import__('resource').getrusage(0).ru_maxrss"
    a.cell(f"was = {peak}")
    c = a.cell("!head -c 100M /dev/zero | tr '\\0' a")
    equal((len(c.stdout), set(c.stdout)), (100 << 20, {ord("a")}))
    grown = a.cell(f"print({peak} - was)").stdout
    true(int(grown) < 16384, f"{grown} KiB more")


@test
def cleans_up_when_interrupted(a, _):
    """finally and except KeyboardInterrupt run"""
    c = a.cell("try:\n    await asyncio.sleep(60)\n"
               "except KeyboardInterrupt:\n    print('caught')\n"
               "await asyncio.sleep(0.01)\nprint('after')", work_ms=200)
    equal(c.stdout, b"caught\nafter\n")
    equal(a.cell("await asyncio.sleep(0.01, 5)").stdout, b"Out[1]: 5\n")


@test
def queued(a, _):
    """a waiting cell can be cancelled, or run out of time, before its turn"""
    first = a.start("run_ipython_cell",
                    {"code": "print('in'); time.sleep(30)"})
    first.wait_out(b"in\n")
    second = a.start("run_ipython_cell", {"code": "second = 1"})
    third = a.start("run_ipython_cell", {"code": "third = 1"}, work_ms=100)
    second.cancel()
    equal(second.wait(5).done["code"], wire.BUSY)
    equal(third.wait(5).done["code"], wire.TIMEOUT)
    first.cancel()
    first.wait(5)
    equal(a.cell("'second' in globals() or 'third' in globals()").stdout,
          b"Out[1]: False\n")


@test
def early_answer(a, _):
    """answer_ms: output so far; the work is finished, later cells see it"""
    c = a.cell("print('so far'); time.sleep(0.6); late = 'done'",
               answer_ms=200)
    equal((c.stdout, c.done["running"]), (b"so far\n", True))
    equal(a.cell("print(late)").stdout, b"done\n")


@test
def orphans(a, _):
    """an orphan is interrupted a second after another waits, not before"""
    a.cell("kept = 1")
    c = a.cell("time.sleep(60)", answer_ms=100)
    equal(c.done["running"], True)
    start = time.monotonic()
    equal(a.cell("print(kept)").stdout, b"1\n")
    took = time.monotonic() - start
    true(0.9 < took < 4, f"{took:.1f} s")
    c = a.start("run_ipython_cell", {"code": "print('x')\nwhile 1: pass"})
    c.wait_out(b"x\n")
    c.detach()
    start = time.monotonic()
    equal(a.cell("print(kept)").stdout, b"1\n")
    took = time.monotonic() - start
    true(0.9 < took < 4, f"{took:.1f} s")


@test
def not_orphans(a, _):
    """a cell that somebody waits for is not interrupted for another"""
    c = a.start("run_ipython_cell", {"code": "time.sleep(2.5); print('end')"})
    d = a.start("run_ipython_cell", {"code": "print('next')"})
    equal(d.wait().stdout, b"next\n")
    equal(c.wait().stdout, b"end\n")


@test
def death(a, _):
    """the interpreter's death is told with its cause; shells go on"""
    a.cell("kept = 1")
    for code, says, status in (
            ("os._exit(3)", "exit status 3", 3),
            ("import ctypes; ctypes.string_at(0)", "signal 11", -11),
            ("os.kill(os.getpid(), 9)", "signal 9", -9)):
        shell = a.start("run_shell_command", {"command": "sleep 1; echo hi"})
        c = a.cell("import os; print('last words'); " + code)
        equal(c.stdout, b"last words\n")
        equal((c.done["code"], c.done["exit"]), (wire.BUSY, status))
        true(says in c.done["text"] and "state is lost" in c.done["text"],
             c.done["text"])
        equal(a.cell("'kept' in globals()").stdout, b"Out[1]: False\n",
              code)
        equal(shell.wait().stdout, b"hi\n")
        a.cell("kept = 1")
    a.cell("import os; pid = os.getpid()")
    pid = int(a.cell("print(pid)").stdout)
    os.kill(pid, signal.SIGKILL)  # between cells
    c = a.cell("print('not run')")
    equal((c.stdout, c.done["code"]), (b"", wire.BUSY))
    true("state is lost" in c.done["text"], c.done["text"])
    equal(a.cell("'kept' in globals()").stdout, b"Out[1]: False\n")


@test
def death_with_others_waiting(a, _):
    """only the cell that killed it fails; those behind it get a new one"""
    c = a.start("run_ipython_cell",
                {"code": "import os, time; time.sleep(0.3); os._exit(1)"})
    d = a.start("run_ipython_cell", {"code": "print('fine')"})
    equal(c.wait().done["code"], wire.BUSY)
    equal((d.wait().stdout, d.done["code"]), (b"fine\n", 0))


@test
def survives(a, _):
    """a fork, a stopped loop, closed descriptors: the next cell works"""
    c = a.cell("import os, asyncio\npid = os.fork()\n"
               "if pid: os.waitpid(pid, 0)\nelse: print('child')")
    equal(c.stdout, b"child\n")
    equal(a.cell("print(1)").stdout, b"1\n")
    a.cell("asyncio.get_running_loop().stop()")
    equal(a.cell("print(2)").stdout, b"2\n")
    a.cell("asyncio.current_task().cancel()")
    equal(a.cell("print(3)").stdout, b"3\n")
    a.cell("import sys\nasync def bad(): sys.exit(3)\n"
           "t = asyncio.create_task(bad())")
    equal(a.cell("await asyncio.sleep(0.05); print(4)").stdout, b"4\n")
    a.cell("os.close(1); os.close(2)")
    equal(a.cell("print(5)").stdout, b"5\n")
    a.cell("import signal; signal.signal(signal.SIGINT, signal.SIG_DFL)")
    c = a.cell("while True: pass", work_ms=200)
    true("state is kept" in c.done["text"], c.done["text"])
    equal(a.cell("print(6)").stdout, b"6\n")


@test
def deaf(a, _):
    """an interpreter that closes its socket is ended, and says why"""
    c = a.cell("import os, time; print('x'); os.closerange(3, 200); "
               "time.sleep(30)")
    equal(c.stdout, b"x\n")
    true("closed its connection" in c.done["text"], c.done["text"])
    equal(a.cell("print(1)").stdout, b"1\n")
    a.cell("import os; os.closerange(3, 50)")  # the loop's own files
    c = a.cell("print(1)")
    true("state is lost" in c.done["text"], c.done["text"])
    equal(a.cell("print(1)").stdout, b"1\n")


@test
def heedless(a, _):
    """a cell that heeds no interrupt is killed, which is said"""
    c = a.cell("import time\nwhile True:\n    try:\n        time.sleep(9)\n"
               "    except BaseException:\n        pass", work_ms=100)
    equal(c.done["code"], wire.TIMEOUT)
    true("was killed" in c.done["text"] and "lost" in c.done["text"],
         c.done["text"])
    equal(a.cell("print(1)").stdout, b"1\n")


@test
def capped(a, _):
    """output of a cell is bounded, its end is kept"""
    c = a.cell("for i in range(100000): print(i)\n1/0", cap=4000)
    true(c.stdout.startswith(b"0\n1\n2\n"), c.stdout[:20])
    true(b"\n[... %d bytes left out ...]\n" % c.done["cut_out"] in c.stdout,
         "marker")
    equal(bottom(c.stdout), "ZeroDivisionError: division by zero")
    c = a.cell("import os\nb = b'x' * 65536\n"
               "for i in range(3200): os.write(1, b)", cap=1 << 20,
               seconds=60)
    equal(c.done["cut_out"], 3200 * 65536 - (1 << 20))


@test
def long_code(a, _):
    """20,000 lines, and a line of 5 MB"""
    code = "".join(f"v{i} = {i}\n" for i in range(20000)) + "v19999"
    equal(a.cell(code, 60).stdout, b"Out[1]: 19999\n")
    equal(a.cell("s = '%s'; len(s)" % ("x" * 5000000), 60).stdout,
          b"Out[1]: 5000000\n")


@test
def refused(a, _):
    """empty code says what is required"""
    c = a.cell("")
    equal((c.done["code"], c.done["text"]), (wire.INVALID,
                                             "code is required"))


@test
def new_stream_keeps_state(_a, ws):
    """a new front: the running cell is interrupted, its state is there"""
    a = wire.Agent(PROGRAM, ws, control=True, cwd=ws, env=_a.env).setup()
    a.cell("kept = 5")
    c = a.start("run_ipython_cell", {"code": "print('x')\nwhile 1: pass"})
    c.wait_out(b"x\n")
    b = wire.Stream(a.new_stream(), generation=2, cwd=ws, env=_a.env).setup()
    equal(b.cell("print(kept)").stdout, b"5\n")
    b.close()
    a.stop()


@test
def nothing_stays_open(a, _):
    """descriptors are flat over cells and deaths"""
    def count():
        return len(os.listdir(f"/proc/{a.proc.pid}/fd"))
    a.cell("1")
    before = count()
    for _i in range(50):
        a.cell("print(1)")
    a.cell("import os; os._exit(0)")
    a.cell("1")
    equal(count(), before)


@test
def no_python(_a, ws):
    """an image without Python says what is missing"""
    env = dict(_a.env, PATH="/nosuch")
    a = wire.Agent(PROGRAM, ws, cwd=ws, env=env).setup()
    c = a.cell("1")
    equal(c.done["code"], wire.MISSING)
    true("no Python" in c.done["text"] and "python3" in c.done["text"],
         c.done["text"])
    a.stop()


@test
def broken_python(_a, ws):
    """a Python that can't start is quoted"""
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/python3", "w") as f:
            f.write("#!/bin/sh\necho broken >&2\nexit 9\n")
        os.chmod(d + "/python3", 0o755)
        a = wire.Agent(PROGRAM, ws, cwd=ws, env=dict(
            _a.env, PATH=d + ":/usr/bin:/bin")).setup()
        c = a.cell("1")
        equal(c.stderr, b"broken\n")
        true("could not start: exit status 9" in c.done["text"],
             c.done["text"])
        a.stop()


def main():
    path, why = ipython.where()
    if path is None:
        skip_all(why)
    with tempfile.TemporaryDirectory() as ws:
        ws = os.path.realpath(ws)
        os.mkdir(ws + "/w")
        os.mkdir(ws + "/home")
        env = {"PATH": os.path.dirname(sys.executable) +
               ":/usr/local/bin:/usr/bin:/bin", "HOME": ws + "/home",
               "LANG": "C.UTF-8", "PYTHONPATH": path}
        a = wire.Agent(PROGRAM, ws + "/w", cwd=ws + "/w", env=env).setup()
        status = run(a, ws + "/w")
        a.stop()
    return status


if __name__ == "__main__":
    sys.exit(main())
