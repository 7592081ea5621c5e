"""The worker of hutch-worker(7): lines in, runs, lines out."""
import asyncio
import faulthandler
import gc
import os
import signal

from . import log
from .errors import ServiceError
from .run import Call, Query
from .services import current
from .stream import LINE
from .wire import In, Out, compact, utf8

PROTOCOL = 1
BLOCKED = 5     # seconds that nothing runs but one handler: worth a word
SHUTDOWN = 10.0     # seconds for an agent's own cleaning up


def _child(loop, coroutine, **options):
    """A task; one that a run has begun is canceled with it."""
    task = asyncio.Task(coroutine, loop=loop, **options)
    run = current.get()
    if run is not None:
        run.children.add(task)
    return task


class Worker:
    def __init__(self, program, fd_in, fd_out):
        """program: a loaded agent, see program.py; or what keeps it out."""
        self.program = program
        self.loop = asyncio.get_running_loop()
        self.out = Out(self.loop, fd_out, self._gone)
        self.loop.set_task_factory(_child)
        self.runs = {}
        self.limit, self.cancel_timeout = LINE, 2.0
        self.over, self.stopping = asyncio.Event(), asyncio.Event()
        self.init = None
        self.ready = self.started = False
        self.status = 0
        self.input = In(self.loop, fd_in, self._line, self._bad, self._gone)
        self.ops = {name[4:]: getattr(self, name) for name in dir(self)
                    if name.startswith("_op_")}
        self.beat = None
        for number in (signal.SIGTERM, signal.SIGINT):
            self.loop.add_signal_handler(number, self.over.set)

    def say(self, members):
        self.out.line(compact(members))

    def ask(self, members):
        text = compact(members)
        if len(text) > self.limit // 3 and len(utf8(text)) >= self.limit:
            raise ServiceError("TOO_LARGE", f"{members['what']}: more than "
                               f"{self.limit} bytes")
        self.out.line(text)

    def _bad(self, why):
        log.warning(f"from the host: {why}")

    def _gone(self):
        self.over.set()

    def _line(self, line):
        op = self.ops.get(line.get("op"))
        if op is None:
            self._bad(f"unknown op {line.get('op')!r:.60}")
            return
        try:
            op(line)
        except Exception as e:  # one bad line is not the end of others' runs
            log.failure(f"op {line.get('op')}", e)

    def _op_init(self, line):
        if not self.started:
            self.started = True
            self.init = self.loop.create_task(self._init(line))

    async def _init(self, line):
        options = line.get("options") or {}
        self._options(options)
        port = self.program.port
        port.open(self.loop, self.ask)
        port.stop = self._stop_runs
        try:
            await self.program.start(line.get("name"), options)
            ready = self._short(self.program.ready())
        except BaseException as e:
            log.failure("the agent does not start", e)
            self.say({"op": "failed",
                      "message": f"{type(e).__name__}: {e}"})
            self.status = 1
            self.over.set()
            return
        gc.collect()
        gc.freeze()     # what is loaded stays: not looked at again and again
        self.ready = True
        self.say({"op": "ready", "protocol": PROTOCOL, **ready})
        # The agent's contexts are left in the task that entered them.
        await self.stopping.wait()
        await self.program.stop()

    def _short(self, ready):
        """ready as it fits into a line: else without descriptions."""
        if len(compact(ready)) * 3 > self.limit:
            for e in ready["endpoints"]:
                e.pop("operation", None)
        return ready

    def _options(self, options):
        def number(name, default):
            value = options.get(name)
            good = isinstance(value, (int, float)) and value > 0
            return value if good and not isinstance(value, bool) else default

        self.limit = int(number("worker_line", LINE))
        # Ours is shorter than the host's, who ends the process after his.
        self.cancel_timeout = number("cancel_timeout", 4.0) / 2
        self.shutdown_timeout = number("shutdown_timeout", SHUTDOWN)

    def _begin(self, kind, line, what):
        number = line.get("run")
        if not isinstance(number, int) or isinstance(number, bool):
            self._bad("a run without a number")
        elif number in self.runs:
            self._bad(f"run {number} is there already")
        elif not self.ready:
            self.say({"run": number, "op": "end", "status": "failed",
                      "error": {"code": "NOT_READY",
                                "message": "the agent has not started"}})
        else:
            run = self.runs[number] = kind(self, number, what)
            run.start()
            if self.beat is None:
                self._watch()

    def _watch(self):
        """While there are runs: who blocks the loop is shown in the log."""
        faulthandler.cancel_dump_traceback_later()
        self.beat = None
        if self.runs:
            faulthandler.dump_traceback_later(BLOCKED + 1)
            self.beat = self.loop.call_later(1, self._watch)

    def _op_query(self, line):
        request = line.get("request")
        self._begin(Query, line, request if isinstance(request, dict) else {})

    def _op_call(self, line):
        self._begin(Call, line, line)

    def _run_of(self, line):
        run = self.runs.get(line.get("run"))
        if run is None:     # it may just have ended
            log.info(f"{line.get('op')}: no run {line.get('run')!r:.40}")
        return run

    def _op_cancel(self, line):
        run = self._run_of(line)
        if run:
            run.cancel()

    def _op_pause(self, line):
        run = self._run_of(line)
        if run:
            run.pause()

    def _op_resume(self, line):
        run = self._run_of(line)
        if run:
            run.resume()

    def _op_result(self, line):
        if not self.program.port.answer(line):
            log.info(f"an answer to no ask: {line.get('ask')!r:.40}")

    def _op_shutdown(self, line):
        self.over.set()

    def _stop_runs(self, user, session):
        """Those of a session here; not the one that asks."""
        found = [r for r in self.runs.values() if r.session == session and
                 session and user in (None, "", r.user) and
                 r is not current.get()]
        for run in found:
            run.cancel()
        return len(found)

    def forget(self, run):
        self.runs.pop(run.number, None)

    async def life(self):
        """Until the host has had enough; the exit status."""
        await self.over.wait()
        self.input.close()
        for run in list(self.runs.values()):
            run.cancel()
        tasks = [run.task for run in self.runs.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=self.cancel_timeout + 0.5)
        if self.ready:
            self.ready = False
            await self._stop()
        try:
            await asyncio.wait_for(self.out.drain(), 5)
        except asyncio.TimeoutError:
            log.warning("the host does not read: the last lines are lost")
        return self.status

    async def _stop(self):
        task = self.init
        self.stopping.set()
        done, _ = await asyncio.wait([task], timeout=self.shutdown_timeout)
        if not done:
            log.warning("the agent's shutdown takes too long")
            self.status = 1
        elif task.cancelled() or task.exception() is not None:
            if not task.cancelled():
                log.failure("the agent's shutdown failed", task.exception())
            self.status = 1


def stand_apart():
    """The protocol's descriptors, out of the way of what the agent prints.

    Its standard output is its log from here on, its standard input is empty.
    """
    fd_in, fd_out = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return fd_in, fd_out


def main(program, fd_in, fd_out):
    # Not asyncio.run: at its end it waits for tasks that ignore being canceled.
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)

    async def live():
        return await Worker(program, fd_in, fd_out).life()

    return loop.run_until_complete(live())
