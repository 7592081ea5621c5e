#!/usr/bin/env python3
"""kill -9 of workers and of the front, again and again under runs.

Every run that a client was told of ends with a terminal event, or its
connection is cut where the front was killed; none looks complete and is not.
Afterwards no session is held, and there is one worker and no more.
"""
import collections
import http.client
import os
import random
import signal
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
import agents  # noqa: E402
from agents import agent_port, deploy, tar_of  # noqa: E402
from chaos import (IMAGE, House, Leaks, a_moment, alone, need,  # noqa: E402
                   processes, read, until)
from tap import BUILD, equal, run, test, true  # noqa: E402

need(IMAGE, f"{BUILD}/hutch-front")
WORKERS, FRONTS = 15, 4
APP = '''
import asyncio, random
from hutch_agent import AgentApp
app = AgentApp(app_name="chaos")

@app.query(framework="text")
async def query(self, msgs=None, request=None, **kw):
    n = random.randrange(5, 60)
    for i in range(n):
        yield f"{i} "
        await asyncio.sleep(0.005)
    yield f"of {n}"
'''
ENDS = {"completed", "failed", "canceled", "incomplete"}


class Load:
    def __init__(self, port, sessions):
        self.port, self.over = port, threading.Event()
        self.seen, self.wrong = collections.Counter(), []
        self.threads = [threading.Thread(target=self.go, args=(s,))
                        for s in sessions]

    def go(self, session):
        while not self.over.is_set():
            try:
                self.seen[self.one(session)] += 1
            except Exception as e:  # whatever it is: it goes into the report
                self.wrong.append(f"{session}: {e!r}")

    def one(self, session):
        """How it ended; "cut": the connection broke."""
        try:
            status, text, last = agents.run(self.port, "go", session)
        except (OSError, http.client.HTTPException):
            return "cut"
        if status == "completed":
            words = text.split()
            n = int(words[-1])
            equal(words[:-2], [str(i) for i in range(n)], "all of it")
        elif status == "failed":
            true(last["error"]["code"] in ("WORKER_DIED",
                                           "AGENT_NOT_STARTED"), last)
        elif status not in ENDS:
            true(status in (409, 503), f"{status}: {last}")
        return status

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for t in self.threads:
            t.join(90)
            true(not t.is_alive(), "a reader without an end")


def worker_pids():
    return [p for p in processes()
            if b"-m\0hutch_agent" in (read(f"/proc/{p}/cmdline") or b"")]


def kill_worker():
    pids = until(worker_pids, "a worker", 40)
    try:
        os.kill(random.choice(pids), signal.SIGKILL)
    except ProcessLookupError:
        pass


def all_is_well(d, sessions):
    """Every session can be used at once, and nothing is left of the dead."""
    until(lambda: d.native("GET", "agents/chaos").json["state"] == "ready",
          "ready", 60)
    for s in sessions:
        until(lambda: agents.run(agent_port(d), "go", s)[0] == "completed",
              f"session {s} is free", 20)
    equal(d.native("GET", "agents/chaos/runs").json["runs"], [])
    until(lambda: len([s for s in d.sandboxes().values()
                       if "hutch_agent" in s["meta"]]) == 2,
          "a sandbox for each process", 30)
    until(lambda: len(worker_pids()) == 2, "two processes", 30)


@test
def workers_are_killed(d):
    """workers are killed under runs: all of these end, and say how"""
    sessions = [f"s{i}" for i in range(8)]
    with Load(agent_port(d), sessions) as load:
        for _ in range(WORKERS):
            a_moment(0.15)
            kill_worker()
    equal(load.wrong[:3], [])
    true(load.seen["completed"] and load.seen["failed"], load.seen)
    equal(load.seen["cut"], 0, "nobody was cut off")
    all_is_well(d, sessions)


@test
def the_front_is_killed(d):
    """the front is killed under runs: they are cut, and the agent is back"""
    sessions = [f"f{i}" for i in range(8)]
    with Load(agent_port(d), sessions) as load:
        for _ in range(FRONTS):
            until(lambda: d.native("GET", "agents/chaos").json["state"]
                  == "ready", "ready", 60)
            a_moment(0.5)
            d.kill_front()
    equal(load.wrong[:3], [])
    true(load.seen["completed"] and load.seen["cut"], load.seen)
    all_is_well(d, sessions)


@test
def both(d):
    """both, in turns that nobody knows"""
    sessions = [f"b{i}" for i in range(8)]
    with Load(agent_port(d), sessions) as load:
        for i in range(10):
            a_moment(0.2)
            if i % 5 == 4:
                d.kill_front()
            else:
                kill_worker()
    equal(load.wrong[:3], [])
    all_is_well(d, sessions)


def main():
    alone()
    with Leaks() as leaks:
        d = House("cancel_timeout = 2\n",
                  kind="[type app]\nimage = base\nnet = none\n")
        try:
            d.start()
            leaks.of(d)
            d.put_image()
            got = deploy(d, "chaos", tar_of(app__py=APP), processes=2)
            true("done" in got, got)
            failed = run(d)
            equal(d.stop(), 0)
        finally:
            if os.environ.get("TEST_LOG"):
                sys.stderr.write(d.log())
            d.clean()
    return failed


sys.exit(main())
