#!/usr/bin/env python3
"""The README's tour of agents, its commands as they stand there.

What a user would type is read from README.md and run by a shell, line after
line, against a daemon of its own: only the port, `sudo` and the way the daemon
is started anew are the test's.
"""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
from agents import agent_port  # noqa: E402
from chaos import IMAGE, House, Leaks, alone, need, until  # noqa: E402
from tap import BUILD, equal, run, test, true  # noqa: E402

need(IMAGE, f"{BUILD}/hutch-front")
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")


def tour():
    with open(f"{TOP}/README.md", encoding="utf-8") as f:
        text = f.read().split("## Agents in five minutes", 1)[1]
    block = re.search(r"```sh\n(.*?)```", text, re.S).group(1)
    before, after = block.split("sudo systemctl restart hutch\n")
    return before, after


class Shell:
    def __init__(self, d):
        self.d = d

    def __call__(self, text):
        text = text.replace("127.0.0.1:8090",
                            f"127.0.0.1:{agent_port(self.d)}")
        text = f'hutch() {{ {BUILD}/hutch --root {self.d.root} "$@"; }}\n' + text
        r = subprocess.run(["bash", "-c", text], cwd=TOP, timeout=120,
                           capture_output=True, text=True)
        return r.stdout


def answers(out):
    """Each stream's last event."""
    events = [json.loads(line[6:]) for line in out.split("\n")
              if line.startswith("data: ")]
    return [e for e in events if e["object"] == "response" and e["status"]
            not in ("created", "in_progress")]


def text_of(answer):
    return "".join(c["text"] for m in answer["output"]
                   for c in m["content"] if c["type"] == "text")


@test
def the_first_half(d):
    """deploy, ask, run code in a sandbox, stop in the middle of an answer"""
    out = Shell(d)(tour()[0])
    true(f"agent\thttp://127.0.0.1:{agent_port(d)}/process" in out, out)
    hello, code, slow = answers(out)
    equal(hello["status"], "completed")
    true(text_of(hello).startswith("You said: hello"), hello)
    true("42" in json.dumps(code["output"]), code)
    equal(slow["status"], "canceled")
    counted = [int(n) for n in text_of(slow).split()]
    true(2 <= len(counted) <= 6, counted)
    equal(counted, list(range(1, len(counted) + 1)))
    true('"stopped":1' in out, out)
    d.counted = counted[-1]


@test
def the_second_half(d):
    """the daemon starts anew: the session goes on where it was"""
    equal(d.stop(), 0)
    d.start()
    until(lambda: d.native("GET", "agents/agent").json["state"] == "ready",
          "the agent is back")
    function = re.search(r"^ask\(\) \{.*?^\}\n", tour()[0], re.S | re.M)
    out = Shell(d)(function.group(0) + tour()[1])
    slow, = answers(out)
    equal(slow["status"], "completed")
    equal([int(n) for n in text_of(slow).split()],
          list(range(d.counted + 1, 8)))
    true(re.search(r"^agent +ready", out, re.M), out)
    true("worker-1 ready" in out, out)
    true("You said: hello again" in out, out)


def main():
    alone()
    with Leaks() as leaks:
        d = House("drain_timeout = 4\n",
                  kind="[type app]\nimage = base\nnet = none\n")
        try:
            d.start()
            leaks.of(d)
            d.put_image()
            failed = run(d)
            equal(d.stop(), 0)
        finally:
            if os.environ.get("TEST_LOG"):
                sys.stderr.write(d.log())
            d.clean()
    return failed


sys.exit(main())
