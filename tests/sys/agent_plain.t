#!/usr/bin/env python3
"""hutch-agent --bare: cells in an image that has Python and no IPython."""
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
import guestwire as wire  # noqa: E402
from tap import BUILD, equal, run, test, true  # noqa: E402

PROGRAM = os.path.join(BUILD, "hutch-agent")

TABLE = [
    ("print(1)", "1\n", ""),
    ("1+1", "Out[1]: 2\n", ""),
    ("x=5", "", ""),
    ("None", "", ""),
    ("1\n2", "Out[1]: 2\n", ""),
    ("print(x)\nx*2", "5\nOut[1]: 10\n", ""),
    ("_", "Out[1]: 10\n", ""),
    ("class R:\n    def __repr__(self):\n        return 'a\\nb'\nR()",
     "Out[1]: \na\nb\n", ""),
    ("   ", "", ""),
    ("# nothing", "", ""),
    ("x=1\r\nprint(x)\r\n", "1\n", ""),
    ("import asyncio\nawait asyncio.sleep(0, 'done')", "Out[1]: 'done'\n",
     ""),
    ("async def f():\n    return 7\nawait f()", "Out[1]: 7\n", ""),
    ("async with asyncio.Lock():\n    print('in')", "in\n", ""),
    ("import sys\nprint('out')\nprint('err', file=sys.stderr)", "out\n",
     "err\n"),
    ("__name__", "Out[1]: '__main__'\n", ""),
    ("import os; os.system('echo x')", "x\nOut[1]: 0\n", ""),
    ("if True:\n    5", "", ""),
    ("from __future__ import annotations\n1", "Out[1]: 1\n", ""),
]
LAST = [
    ("1/0", "ZeroDivisionError: division by zero"),
    ("def f(:", "SyntaxError: invalid syntax"),
    ("raise SystemExit(3)", "SystemExit: 3"),
    ("exit()", "SystemExit: None"),
    ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    ("raise BaseException('x')", "BaseException: x"),
    ("input('q')", "EOFError: EOF when reading a line"),
    ("return 1", "SyntaxError: 'return' outside function"),
    ("!ls", "SyntaxError: invalid syntax"),
    ("asyncio.run(f())",
     "RuntimeError: asyncio.run() cannot be called from a running event loop"),
]


@test
def table(a):
    """what is left of the contract's table, to the byte"""
    for code, out, err in TABLE:
        c = a.cell(code)
        equal((c.stdout.decode(), c.stderr.decode(), c.done["code"]),
              (out, err, 0), code)


@test
def mistakes(a):
    """mistakes are told on stdout, and the session survives them"""
    a.cell("async def f(): pass")
    for code, last in LAST:
        c = a.cell(code)
        equal(c.stdout.decode().rstrip().splitlines()[-1], last, code)
        equal(c.done["code"], 0, code)
    equal(a.cell("print('alive')").stdout, b"alive\n")


@test
def tracebacks(a):
    """a traceback shows the cell's lines and nothing of ours"""
    c = a.cell("def f():\n    g()\ndef g():\n    1/0\nf()")
    text = c.stdout.decode()
    for line in ("    g()", "    1/0", "    f()"):
        true(line in text, text)
    true("hutch_cell" not in text, text)


@test
def state_and_modules(a):
    """state is kept; classes pickle; modules of the workspace import"""
    a.cell("a = 1\nclass P: pass")
    equal(a.cell("import pickle\n"
                 "type(pickle.loads(pickle.dumps(P()))).__name__, a").stdout,
          b"Out[1]: ('P', 1)\n")
    a.cell("open('mymodule.py', 'w').write('v = 7')")
    equal(a.cell("import mymodule; mymodule.v").stdout, b"Out[1]: 7\n")


@test
def interrupted(a):
    """interrupts keep the state"""
    a.cell("kept = 1; import time")
    for code in ("while True: pass", "await asyncio.sleep(60)",
                 "time.sleep(60)"):
        start = time.monotonic()
        c = a.cell(code, work_ms=200)
        equal(c.done["code"], wire.TIMEOUT)
        true("state is kept" in c.done["text"], c.done["text"])
        true(b"KeyboardInterrupt" in c.stdout, c.stdout)
        true(time.monotonic() - start < 5, "in time")
    equal(a.cell("kept").stdout, b"Out[1]: 1\n")


@test
def death(a):
    """death is told, and the next cell works"""
    c = a.cell("import os; os._exit(3)")
    true("exit status 3" in c.done["text"], c.done["text"])
    equal(a.cell("1").stdout, b"Out[1]: 1\n")


def main():
    with tempfile.TemporaryDirectory() as ws:
        ws = os.path.realpath(ws)
        # Whatever this Python has, in here it has no IPython.
        os.makedirs(ws + "/lib/IPython")
        with open(ws + "/lib/IPython/__init__.py", "w") as f:
            f.write("raise ImportError('not in this image')\n")
        os.mkdir(ws + "/w")
        env = {"PATH": os.path.dirname(sys.executable) + ":/usr/bin:/bin",
               "HOME": ws, "PYTHONPATH": ws + "/lib"}
        a = wire.Agent(PROGRAM, ws + "/w", cwd=ws + "/w", env=env).setup()
        status = run(a)
        a.stop()
    return status


if __name__ == "__main__":
    sys.exit(main())
