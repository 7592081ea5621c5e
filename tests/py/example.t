#!/usr/bin/env python3
"""examples/agent.py, with a host that keeps state and history."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "lib"))
from agentworker import TOP, Worker, fold, text_of  # noqa: E402
from tap import equal, run, test, true              # noqa: E402


class Host:
    def __init__(self):
        self.history, self.state = [], {}

    def serve(self, ask):
        what = ask["what"]
        if what == "history.list":
            return self.history
        if what == "history.append":
            self.history += ask["messages"]
        elif what == "history.clear":
            self.history = []
        elif what == "state.load":
            return self.state.get(ask["name"])
        elif what == "state.save":
            self.state[ask["name"]] = {"value": ask["value"], "version": 1}
            return {"version": 1}
        elif what == "state.delete":
            self.state.pop(ask["name"], None)
        elif what == "sandbox.connect":
            return [{"id": "b1", "type": "base"}]
        elif what == "sandbox.call":
            return {"content": [{"type": "text", "text": "42"}]}
        return None

    def until(self, w, number, enough):
        lines = []
        while not lines or not enough(lines[-1]):
            m = w.next(lambda m: m.get("op") == "ask" or
                       m.get("run") == number)
            if m.get("op") == "ask":
                if "run" not in m:
                    equal((m["session"], m["user"]), ("s", "u"))
                w.send(op="result", ask=m["ask"], value=self.serve(m))
            else:
                lines.append(m)
        return lines

    def answer(self, w, text):
        return self.until(w, w.query(text),
                          lambda m: m.get("op") in ("end", "reply"))


@test
def echo(w):
    """it says what was said, in pieces, and remembers it"""
    host = Host()
    lines = host.answer(w, "good morning")
    equal(text_of(lines), "You said: good morning ")
    true(len([m for m in lines if "text" in m]) >= 4, "in pieces")
    lines = host.answer(w, "again")
    true(text_of(lines).endswith("1 things before; the last was: "
                                 "good morning"), text_of(lines))
    equal([m["role"] for m in host.history],
          ["user", "assistant"] * 2)
    host.answer(w, "forget")
    equal(host.history, [])


@test
def stopped(w):
    """slow is stopped, and goes on from there"""
    host = Host()
    number = w.query("slow 5")
    host.until(w, number, lambda m: m.get("text") == "2 ")
    w.send(op="cancel", run=number)
    lines = host.until(w, number, lambda m: m.get("op") == "end")
    equal(lines[-1]["status"], "canceled")
    equal(host.state["count"]["value"], 2)
    equal(host.history[-1]["content"][0]["text"], "1 2 ")
    lines = host.answer(w, "slow 3")
    equal(text_of(lines), "3 ")
    number = w.call("/count", "GET", query="session_id=s&user_id=u")
    lines = host.until(w, number, lambda m: m.get("op") == "reply")
    equal(lines[-1]["body"], '{"count":3}')


@test
def code(w):
    """run uses a sandbox of the session's"""
    lines = Host().answer(w, "run 6*7")
    equal([m["type"] for m in fold(lines)],
          ["plugin_call", "plugin_call_output", "message"])
    equal(fold(lines)[1]["parts"][0]["data"]["output"],
          '{"content": [{"type": "text", "text": "42"}]}')


with Worker(path=os.path.join(TOP, "examples", "agent.py")) as worker:
    sys.exit(run(worker))
