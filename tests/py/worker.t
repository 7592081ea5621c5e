#!/usr/bin/env python3
"""hutch_agent's worker: runs side by side, their ends, its own life."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "lib"))
from agentworker import Worker, fold, message, text_of  # noqa: E402
from tap import equal, run, test, true                  # noqa: E402

AGENT = '''
    import asyncio, os, sys, threading, time
    from hutch_agent import AgentApp, AgentError, events
    app = AgentApp(app_name="t", app_description="of tests")
    held = threading.Event()

    @app.init
    async def init(self):
        self.greeting = "hello"
        print("said by the agent")

    @app.shutdown
    async def shutdown(self):
        print("goodbye " + self.greeting)

    @app.query(framework="text")
    async def query(self, request):
        word, _, rest = request.text.partition(" ")
        if word == "echo":
            yield self.greeting
            yield " " + rest
        elif word == "many":
            for i in range(int(rest)):
                yield f"{i} "
        elif word == "wait":
            yield "before"
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                print("canceled " + rest)
                if rest == "talk":
                    yield "one more"
                if rest == "stay":
                    await asyncio.sleep(3600)
                if rest != "swallow":
                    raise
        elif word == "stubborn":
            yield "before"
            while True:
                try:
                    await asyncio.sleep(3600)
                except asyncio.CancelledError:
                    pass
        elif word == "boom":
            yield "Partial"
            raise ValueError("boom \\u00e9")
        elif word == "code":
            raise AgentError("MODEL_TIMEOUT", "too slow")
        elif word == "exit":
            sys.exit(3)
        elif word == "interrupt":
            raise KeyboardInterrupt
        elif word == "cancelme":
            raise asyncio.CancelledError
        elif word == "badtext":
            class E(Exception):
                def __str__(self):
                    raise RuntimeError("no text")
            raise E()
        elif word == "surrogate":
            yield "bad \\ud800 end"
            yield "pair \\ud83d\\ude00"
        elif word == "odd":
            yield None
            yield 7
            yield {"a": float("nan"), "b": b"bytes", 3: {1, 2}}
        elif word == "stdin":
            yield repr(sys.stdin.read()) + repr(os.read(0, 10))
        elif word == "big":
            yield "x" * int(rest)
        elif word == "think":
            yield "a"
            yield events.reasoning("hmm")
            yield events.call("c1", "f", {"x": 1})
            yield events.output("c1", "f", "done")
            yield "b"
            yield events.usage(3, 4)

    app.run(host="127.0.0.1", port=8090)
'''


@test
def whole():
    """a run is answered, and the worker ends with 0"""
    with Worker(AGENT) as w:
        equal(w.said["framework"], "text")
        equal(w.said["app"]["name"], "t")
        equal(w.said["endpoints"], [])
        lines = w.answer("echo you")
        equal([m["text"] for m in lines[:2]], ["hello", " you"])
        equal(lines[-1]["op"], "end")
        equal(lines[-1]["status"], "completed")
        equal(w.shutdown(), 0)
        true("said by the agent" in w.log(), "print goes to the log")
        true("goodbye hello" in w.log(), "the shutdown handler has run")


@test
def side_by_side():
    """many runs at once, each with its own lines in order"""
    with Worker(AGENT) as w:
        sleeping = w.query("wait")
        equal(w.line_of(sleeping)["text"], "before")
        runs = [w.query("many 300") for _ in range(20)]
        for r in runs:
            lines = w.all_of(r)
            equal(text_of(lines), "".join(f"{i} " for i in range(300)))
        w.send(op="cancel", run=sleeping)
        equal(w.all_of(sleeping)[-1]["status"], "canceled")


@test
def canceled():
    """a canceled run ends as canceled whatever its handler does"""
    with Worker(AGENT, options={"cancel_timeout": 1}) as w:
        for how in ("raise", "swallow", "talk", "stay"):
            r = w.query("wait " + how)
            equal(w.line_of(r)["text"], "before")
            w.send(op="cancel", run=r)
            lines = w.all_of(r)
            equal(lines, [{"run": r, "op": "end", "status": "canceled"}], how)
            w.wait_log("canceled " + how)
        r = w.query("stubborn")
        w.line_of(r)
        w.send(op="cancel", run=r)
        equal(w.all_of(r)[-1]["status"], "canceled")
        equal(text_of(w.answer("echo x")), "hello x", "others go on")
        r = w.query("cancelme")
        equal(w.all_of(r)[-1]["status"], "canceled")
        w.send(op="cancel", run=r)      # too late: no harm
        equal(w.shutdown(), 0)


@test
def failures():
    """what a handler raises is the end of its run, and of nothing else"""
    with Worker(AGENT) as w:
        lines = w.answer("boom")
        equal(lines[0]["text"], "Partial")
        equal(lines[-1]["status"], "failed")
        equal(lines[-1]["error"],
              {"code": "AGENT_UNKNOWN_ERROR",
               "message": "Unknown agent error: ValueError: boom \u00e9"})
        equal(w.answer("code")[-1]["error"],
              {"code": "MODEL_TIMEOUT", "message": "too slow"})
        for word in ("exit", "interrupt", "badtext"):
            equal(w.answer(word)[-1]["status"], "failed", word)
        equal(text_of(w.answer("echo x")), "hello x")
        equal(w.shutdown(), 0)


@test
def odd_text():
    """what UTF-8 and JSON can't say is said as well as they can"""
    with Worker(AGENT) as w:
        equal([m["text"] for m in w.answer("surrogate")[:2]],
              ["bad \ufffd end", "pair \U0001f600"])
        equal([m["text"] for m in w.answer("odd")[:2]],
              ["7", '{"a": null, "b": "bytes", "3": [1, 2]}'])
        equal(w.answer("stdin")[0]["text"], "''b''")


@test
def long_lines():
    """a long text comes in several lines"""
    with Worker(AGENT, options={"worker_line": 1 << 17}) as w:
        lines = w.answer("big 1000000")
        equal(text_of(lines), "x" * 1000000)
        true(max(len(m.get("text", "")) for m in lines) < 1 << 17, "in pieces")


@test
def own_events():
    """a handler yields events beside text; a message ends before the next"""
    with Worker(AGENT) as w:
        lines = w.answer("think")
        said = fold(lines)
        equal([m["type"] for m in said],
              ["message", "reasoning", "plugin_call", "plugin_call_output",
               "message"])
        equal([m["status"] for m in said], ["completed"] * 5)
        equal(said[2]["parts"][0]["data"],
              {"call_id": "c1", "name": "f", "arguments": '{"x": 1}'})
        equal(said[3]["role"], "tool")
        true({"run": 1, "op": "usage", "usage": {"input_tokens": 3,
              "output_tokens": 4}} in lines, "usage")


@test
def threads():
    """generators that are not asynchronous run beside the loop"""
    with Worker('''
        import threading, time
        from hutch_agent import AgentApp
        app = AgentApp()
        @app.query(framework="text")
        def query(self, request, **kwargs):
            word = request.text
            if word == "block":
                yield "before"
                time.sleep(3600)
            if word == "spin":
                try:
                    while True:
                        yield "x"
                        time.sleep(0.01)
                finally:
                    print("closed")
            for i in range(500):
                yield f"{i} "
            if word == "boom":
                raise KeyError("k")
            yield threading.current_thread() is threading.main_thread()
    ''') as w:
        stuck = w.query("block")
        equal(w.line_of(stuck)["text"], "before")
        spin = w.query("spin")
        w.line_of(spin)
        lines = w.answer("go")
        want = "".join(f"{i} " for i in range(500))
        equal(text_of(lines), want + "false")
        equal(w.answer("boom")[-1]["error"]["message"],
              "Unknown agent error: KeyError: 'k'")
        for r in (stuck, spin):
            w.send(op="cancel", run=r)
            equal(w.all_of(r)[-1]["status"], "canceled")
        w.wait_log("closed")
        equal(w.shutdown(), 0)


@test
def other_handlers():
    """a coroutine, a plain function, one that returns a generator"""
    for body, want in (
            ("async def query(self, request): return 'one'", "one"),
            ("def query(request): return 'two'", "two"),
            ("def query(self, request): return iter_()", "three"),
            ("async def query(self, **kw): return aiter_()", "four"),
            ("async def query(*args, **kw): yield str(len(args)) + "
             "kw['request'].user_id", "1u")):
        with Worker("from hutch_agent import AgentApp\n"
                    "app = AgentApp()\n"
                    "def iter_():\n    yield 'thr'\n    yield 'ee'\n"
                    "async def aiter_():\n    yield 'four'\n"
                    f"@app.query(framework='text')\n{body}\n") as w:
            equal(text_of(w.answer("x")), want, body)


@test
def back_pressure():
    """a paused run waits; so does one whose host does not read"""
    with Worker(AGENT) as w:
        r = w.query("many 1000000")
        w.line_of(r)
        w.send(op="pause", run=r)
        time.sleep(0.5)
        while not w.lines.empty():
            w.line_of(r)
        time.sleep(0.2)
        true(w.lines.empty(), "nothing comes of a paused run")
        w.send(op="resume", run=r)
        w.line_of(r)
        w.reading.clear()
        time.sleep(1)
        with open(f"/proc/{w.process.pid}/statm") as f:
            pages = int(f.read().split()[1])
        true(pages * 4 < 200 << 10, "memory does not grow")
        w.reading.set()
        w.send(op="cancel", run=r)
        equal(w.all_of(r)[-1]["status"], "canceled")


@test
def nonsense():
    """lines that mean nothing change nothing"""
    with Worker(AGENT) as w:
        w.raw(b"\n{\n[]\n7\nnull\n\xff\xfe\n{\"op\":\"what\"}\n")
        w.raw(b"[" * 100000 + b"\n")
        w.send(op="cancel", run=99)
        w.send(op="query", run="x", request={})
        w.send(op="result", ask=5, value=1)
        w.send(op="query", run=50, request=7)
        equal(w.all_of(50)[-1]["status"], "completed")
        w.send(op="query", run=51, request={"input": [None, {"content": 5}]})
        equal(w.all_of(51)[-1]["status"], "completed")
        w.send(op="query", run=52, request={"input": "echo yes"})
        equal(text_of(w.all_of(52)), "hello yes")
        equal(w.shutdown(), 0)


@test
def cut_lines():
    """a line may come in pieces, and several at once"""
    with Worker(AGENT) as w:
        line = (b'{"op":"query","run":9,"request":{"input":[{"role":"user",'
                b'"content":[{"type":"text","text":"echo \xc3\xa9"}]}]}}\n')
        for i in range(len(line)):
            w.raw(line[i:i + 1])
        equal(text_of(w.all_of(9)), "hello \u00e9")
        w.raw(line.replace(b'"run":9', b'"run":10') +
              line.replace(b'"run":9', b'"run":11'))
        equal(text_of(w.all_of(11)), "hello \u00e9")
        equal(text_of(w.all_of(10)), "hello \u00e9")


@test
def end_of_file():
    """the worker ends when its host has gone"""
    w = Worker(AGENT)
    with w:
        w.line_of(w.query("wait"))
        w.process.stdin.close()
        w.process.wait(10)
        true("goodbye" in w.log(), "after it has cleaned up")
    w = Worker(AGENT)
    with w:
        w.line_of(w.query("many 100000000"))
        w.process.stdout.close()
        w.process.wait(10)


@test
def no_start():
    """why an agent does not start is said"""
    for code, want in (
            ("import nothing_of_this_name", "ModuleNotFoundError"),
            ("x = 1", "no AgentApp"),
            ("def f(:", "SyntaxError"),
            ("import sys\nsys.exit(1)", "ended while it was loaded"),
            ("from hutch_agent import AgentApp\na = AgentApp()\n"
             "b = AgentApp()", "several apps (a, b)"),
            ("from hutch_agent import AgentApp\napp = AgentApp()\n"
             "@app.query(framework='text')\nasync def q(self): yield ''\n"
             "@app.init\ndef i(self): raise OSError('no disk')", "no disk"),
            ("from hutch_agent import AgentApp\napp = AgentApp()\n"
             "@app.query(framework='nope')\ndef q(): pass\n",
             "framework must be one of")):
        w = Worker(code)
        try:
            line = w.next()
            equal(line["op"], "failed", code)
            true(want in line["message"], f"{want} in {line['message']}")
            equal(w.process.wait(10), 1)
        finally:
            w.kill()


@test
def finding():
    """the app of a file or a folder, by its name, alone, or from a factory"""
    import tempfile
    app = ("from hutch_agent import AgentApp\ndef make(n):\n"
           "    a = AgentApp(app_name=n)\n"
           "    @a.query(framework='text')\n"
           "    async def q(self, request):\n        yield n\n"
           "    return a\n")
    for code, args, want in (
            (app + "app = make('app')\nother = make('other')", [], "app"),
            (app + "friday = make('friday')", [], "friday"),
            (app + "def create_app(): return make('factory')", [], "factory"),
            (app + "async def create_app(): return make('a')", [], "a"),
            (app + "a = make('a')\nb = make('b')", ["-e", "main.py:b"], "b"),
            (app + "if __name__ == '__main__': raise SystemExit\n"
             "app = make('main')", [], "main")):
        with tempfile.TemporaryDirectory() as d:
            with open(os.path.join(d, "main.py"), "w") as f:
                f.write(code)
            with Worker(path=d, args=args) as w:
                equal(text_of(w.answer("")), want, code)


@test
def life():
    """init, before_start, lifespan; then the same backwards"""
    with Worker('''
        import contextlib
        from hutch_agent import AgentApp

        @contextlib.asynccontextmanager
        async def lifespan(app):
            print("4 in"); app.state.x = "kept"
            yield
            print("5 out")

        def before(app): print("3 before")
        async def after(app): print("6 after")
        app = AgentApp(before_start=before, after_finish=after,
                       lifespan=lifespan)
        @app.init
        def init(self): print("2 init")
        @app.shutdown
        def shutdown(self): print("7 shutdown")
        print("1 loaded")
        @app.query(framework="text")
        async def query(self, request): yield self.app.state.x
    ''') as w:
        equal(text_of(w.answer("")), "kept")
        equal(w.shutdown(), 0)
        equal([line for line in w.log().splitlines() if line[0].isdigit()],
              ["1 loaded", "2 init", "3 before", "4 in", "5 out", "6 after",
               "7 shutdown"])


@test
def whole_tree():
    """tasks that a handler began are canceled with its run; others are not"""
    with Worker('''
        import asyncio
        from hutch_agent import AgentApp
        app = AgentApp()
        @app.query(framework="text")
        async def query(self, request):
            async def work():
                try:
                    await asyncio.sleep(3600)
                except asyncio.CancelledError:
                    print("the task is canceled")
                    raise
            async def late():
                await asyncio.sleep(0.2)
                print("the late task is done")
            if request.text == "late":
                asyncio.create_task(late())
                yield "done"
                return
            asyncio.create_task(asyncio.wait_for(work(), 3600))
            yield "begun"
            await asyncio.sleep(3600)
    ''') as w:
        equal(text_of(w.answer("late")), "done")
        r = w.query("x")
        equal(w.line_of(r)["text"], "begun")
        w.send(op="cancel", run=r)
        equal(w.all_of(r)[-1]["status"], "canceled")
        w.wait_log("the task is canceled")
        w.wait_log("the late task is done")


@test
def one_task():
    """a lifespan is left in the task that entered it"""
    with Worker('''
        import asyncio, contextlib
        from hutch_agent import AgentApp
        @contextlib.asynccontextmanager
        async def lifespan(app):
            begun = asyncio.current_task()
            yield
            print("same task" if asyncio.current_task() is begun else "other")
        app = AgentApp(lifespan=lifespan)
    ''') as w:
        equal(w.shutdown(), 0)
        true("same task" in w.log(), w.log())


@test
def blocked():
    """a handler that blocks the loop is named in the log"""
    with Worker('''
        import time
        from hutch_agent import AgentApp
        app = AgentApp()
        @app.query(framework="text")
        async def query(self, request):
            yield "a"
            rude()
        def rude():
            time.sleep(7)
    ''') as w:
        lines = w.answer("")
        equal(lines[-1]["status"], "completed")
        true("in rude" in w.log(), w.log())


@test
def news():
    """an agent that remembers is not told what the host has kept"""
    code = '''
        from hutch_agent import AgentApp
        app = AgentApp()
        @app.query(framework="text", remembers=%s)
        async def query(self, request):
            yield str(len(request.input)) + str(len(request.news))
    '''
    for remembers, want in ((True, "11"), (False, "31")):
        with Worker(code % remembers) as w:
            equal(text_of(w.answer(history=2, input=[
                message("a"), message("b", "assistant"), message("c")])),
                want)


@test
def slow_shutdown():
    """a shutdown that does not end is cut"""
    with Worker('''
        import asyncio
        from hutch_agent import AgentApp
        app = AgentApp()
        @app.shutdown
        async def shutdown(self): await asyncio.sleep(3600)
    ''', options={"shutdown_timeout": 0.5}) as w:
        equal(w.said["query"], False)
        equal(w.shutdown(), 1)


sys.exit(run())
