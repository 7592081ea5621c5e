#!/usr/bin/env python3
"""What an agent of code keeps with the true daemon, and the doors around it.

State, history, memory and sandboxes as its Python code asks for them, across
sessions, users, agents, a killed front and a stopped daemon; /stop, tasks and
streams that are resumed, with a worker in a true sandbox behind them.
"""
import http.client
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
from agents import (Stream, agent_port, ask_body, deploy,  # noqa: E402
                    is_delta, run as ask, tar_of, text_of)
from chaos import IMAGE, House, Leaks, alone, need, until  # noqa: E402
from tap import BUILD, equal, run, test, true  # noqa: E402
from webclient import Client  # noqa: E402

need(IMAGE, f"{BUILD}/hutch-front")

APP = '''
import asyncio, json
from hutch_agent import AgentApp
app = AgentApp(app_name="keeper")

@app.query(framework="text")
async def query(self, msgs=None, request=None, **kw):
    text = "".join(c.text for m in request.input for c in m.content)
    what, _, rest = text.partition(" ")
    if what == "count":
        n = (await app.state.load("n", default=0)) + 1
        await app.state.save(n, "n")
        yield str(n)
    elif what == "conflict":
        await app.state.save(1, "c", if_version=0)
        try:
            await app.state.save(2, "c", if_version=0)
        except Exception as e:
            yield type(e).__name__
    elif what == "say":
        await app.history.append({"role": "user", "type": "message",
            "content": [{"type": "text", "text": rest}]})
        said = await app.history.list()
        yield " ".join(m.content[0].text for m in said)
    elif what == "remember":
        await app.memory.add(rest, {"n": 1})
        yield "yes"
    elif what == "recall":
        found = await app.memory.search(rest)
        yield "|".join(r["text"] for r in found)
    elif what == "box":
        boxes = await app.sandbox.connect()
        result = await boxes[0].run_shell_command(rest)
        yield json.dumps([boxes[0].id, result["content"][0]["text"]])
    elif what == "release":
        yield json.dumps(await app.sandbox.release())
    elif what == "slow":
        for i in range(int(rest or 6000)):
            yield f"{i} "
            await asyncio.sleep(0.02)
    else:
        yield text
'''


def says(d, text, session="s", path="/process", **more):
    state, said, last = ask(agent_port(d), text, session, path, **more)
    equal(state, "completed", last)
    return said


@test
def state_is_kept(d):
    """state belongs to user and session; a save over another is a conflict"""
    true("done" in deploy(d, "keeper", tar_of(app__py=APP)), "deployed")
    equal([says(d, "count") for _ in range(3)], ["1", "2", "3"])
    equal(says(d, "count", "other"), "1")
    equal(says(d, "count", user_id="somebody"), "1")
    equal(says(d, "conflict"), "Conflict")
    true("done" in deploy(d, "twin", tar_of(app__py=APP)), "deployed")
    equal(says(d, "count", path="/agents/twin/process"), "1")
    equal(d.native("DELETE", "agents/twin").status, 204)


@test
def history_and_memory(d):
    """a session's history is its own; memory is its user's"""
    equal(says(d, "say one", user_id="u"), "one")
    equal(says(d, "say two", user_id="u"), "one two")
    equal(says(d, "say three", "t", user_id="u"), "three")
    equal(says(d, "remember likes green tea", user_id="u"), "yes")
    equal(says(d, "remember lives in Bern", user_id="u"), "yes")
    equal(says(d, "recall which TEA?", "t", user_id="u"), "likes green tea")
    equal(says(d, "recall tea", user_id="v"), "")


@test
def sandboxes_of_a_session(d):
    """a session has a sandbox of its own, and the same one each time"""
    before = len(d.sandboxes())
    box, out = json.loads(says(d, "box echo hi > f; echo ho"))
    equal(out, "ho\n")
    equal(json.loads(says(d, "box cat f")), [box, "hi\n"])
    other, out = json.loads(says(d, "box cat f", "else"))
    true(other != box and "hi" not in out, (other, out))
    says(d, "release")
    says(d, "release", "else")
    until(lambda: len(d.sandboxes()) == before, "both are gone")


@test
def stopped_in_the_middle(d):
    """/stop ends the run in its worker; the session is usable at once"""
    s = Stream(agent_port(d), ask_body("slow", "halt", user_id="u"))
    s.until(is_delta)
    r = Client(agent_port(d)).ask("POST", "/stop", json.dumps(
        {"session_id": "halt", "user_id": "u"}),
        {"Content-Type": "application/json"})
    equal(r.json["stopped"], 1)
    events = s.rest()
    equal([(e["object"], e["status"]) for e in events[-2:]],
          [("message", "canceled"), ("response", "canceled")])
    equal([e["sequence_number"] for e in events], list(range(len(events))))
    equal(says(d, "again", "halt", user_id="u"), "again")


@test
def a_task_of_a_worker(d):
    """a task goes on without a reader, and its result is fetched"""
    c = Client(agent_port(d))
    r = c.ask("POST", "/process/task", ask_body("slow 20"),
              {"Content-Type": "application/json"})
    path = "/process/task/" + r.json["task_id"]
    equal(c.ask("GET", path).json["status"], "running")
    done = until(lambda: (lambda j: j["status"] == "finished" and j)(
        c.ask("GET", path).json), "finished")
    text = done["result"]["output"][0]["content"][0]["text"]
    equal(text, "".join(f"{i} " for i in range(20)))


@test
def a_stream_is_resumed(d):
    """a reader that is cut off comes back for the rest: nothing is lost"""
    c = http.client.HTTPConnection("127.0.0.1", agent_port(d), timeout=60)
    c.request("POST", "/process", ask_body("slow 50", id="resumed-1"),
              {"Content-Type": "application/json", "Prefer": "resume"})
    r, got = c.getresponse(), []
    while len(got) < 10:
        line = r.readline()
        if line.startswith(b"data: "):
            got.append(json.loads(line[6:]))
    r.close()
    c.close()
    r = Client(agent_port(d)).ask(
        "GET", "/process/runs/resumed-1", None,
        {"Last-Event-ID": str(got[-1]["sequence_number"])})
    got += [json.loads(line[6:]) for line in r.body.splitlines()
            if line.startswith(b"data: ")]
    equal([e["sequence_number"] for e in got], list(range(len(got))))
    equal(got[-1]["status"], "completed")
    equal(text_of(got), "".join(f"{i} " for i in range(50)))


@test
def all_is_there_afterwards(d):
    """what was kept outlives the front and the daemon"""
    d.kill_front()
    equal(says(d, "count"), "4")
    equal(says(d, "say three", user_id="u"), "one two three")
    equal(d.stop(), 0)
    d.start()
    equal(says(d, "count"), "5")
    equal(says(d, "recall bern", user_id="u"), "lives in Bern")
    mode = os.stat(f"{d.root}/front/services.sqlite3").st_mode & 0o777
    true(mode & 0o077 == 0, f"others may read it: {mode:o}")
    equal(d.native("DELETE", "agents/keeper").status, 204)


def main():
    alone()
    with Leaks() as leaks:
        d = House("drain_timeout = 4\ncancel_timeout = 2\n",
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
