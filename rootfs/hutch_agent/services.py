"""What the host keeps for agents: state, history, memory, sandboxes.

Each method is awaited on the loop, and called as it is in a thread, where it
returns when the host has answered.  Session and user are those of the run that
is going on, unless named; outside of a run (in init, say) they must be named.
"""
import asyncio
import contextvars
import inspect
import threading

from .errors import Conflict, ServiceError
from .request import Message, Record

current = contextvars.ContextVar("hutch_run", default=None)
TIMEOUT = 600  # seconds; of a call of a sandbox's tool too


class Port:
    """Asks the host; one for a worker.  Closed until the worker starts it."""

    def __init__(self):
        self.loop = self.write = None
        self.thread = None
        self.stop = lambda user, session: 0     # the worker's own runs
        self.asks, self.last = {}, 0

    def open(self, loop, write):
        """write(dict) sends a line; on the loop's thread only."""
        self.loop, self.write = loop, write
        self.thread = threading.get_ident()

    def answer(self, line):
        future = self.asks.pop(line.get("ask"), None)
        if future is None or future.done():
            return False
        error = line.get("error")
        if error is not None:
            future.set_exception(_error(error))
        else:
            future.set_result(line.get("value"))
        return True

    def close(self, why):
        for future in self.asks.values():
            if not future.done():
                future.set_exception(ServiceError("GONE", why))
        self.asks.clear()
        self.loop = None

    async def ask(self, what, run, members):
        if self.loop is None:
            raise ServiceError("NO_HOST", f"{what}: this works only while the "
                               "agent is run by hutch")
        self.last += 1
        number, future = self.last, self.loop.create_future()
        self.asks[number] = future
        line = {"op": "ask", "ask": number, "what": what}
        if run is not None and run.asks:
            line["run"] = run.number
        line.update((k, v) for k, v in members.items() if v is not None or k == "value")
        self.write(line)
        try:
            return await asyncio.wait_for(future, TIMEOUT)
        finally:
            self.asks.pop(number, None)

    def do(self, what, then=None, **members):
        """A coroutine on a loop; elsewhere it waits and gives the outcome."""
        run = current.get()
        if run is None or not run.asks:
            for name in ("session", "user"):
                if run is not None and members.get(name) is None:
                    members[name] = getattr(run, name, None)

        async def ask():
            value = await self.ask(what, run, members)
            return then(value) if then else value

        return self.run(ask)

    def run(self, ask):
        """ask(): here, if this is the loop; else there, and its outcome."""
        loop = self.loop
        if threading.get_ident() == self.thread or loop is None:
            return ask()
        future = asyncio.run_coroutine_threadsafe(ask(), loop)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return future.result(TIMEOUT + 5)
        return asyncio.wrap_future(future)


def _error(error):
    if not isinstance(error, dict):
        return ServiceError("SERVICE_ERROR", str(error))
    kind = Conflict if error.get("code") in ("conflict", "locked") \
        else ServiceError
    return kind(error.get("code") or "SERVICE_ERROR",
                error.get("message") or "")


def stop(port, user, session):
    """Stops what runs in a session, here and with the host's other workers."""
    async def ask():
        try:
            return await port.ask("run.stop", None, {"user": user,
                                                     "session": session})
        except ServiceError as e:
            if e.code not in ("unknown", "unavailable"):
                raise
            return {"stopped": port.stop(user, session)}

    return port.run(ask)


class State:
    """Values by name for a user and session; also a bag of attributes.

    The bag (app.state.client = ...) is this process's own and is not kept.
    """

    def __init__(self, port):
        object.__setattr__(self, "_port", port)

    def load(self, name="state", default=None, session_id=None, user_id=None,
             lock=None):
        """lock: seconds for which nobody else may save, delete or lock it,
        unless the run is over before."""
        return self._port.do(
            "state.load", lambda v: v["value"] if v else default,
            name=name, lock=lock, session=session_id, user=user_id)

    def load_versioned(self, name="state", session_id=None, user_id=None,
                       lock=None):
        """(value, version); (None, 0) where there is none, so that save with
        if_version succeeds only if there is still none."""
        return self._port.do(
            "state.load",
            lambda v: (v["value"], v.get("version")) if v else (None, 0),
            name=name, lock=lock, session=session_id, user=user_id)

    def save(self, value, name="state", ttl=None, if_version=None,
             session_id=None, user_id=None):
        """The new version.  Conflict if if_version is not the present one."""
        return self._port.do(
            "state.save",
            lambda v: v.get("version") if isinstance(v, dict) else v,
            name=name, value=value, ttl=ttl,
            if_version=if_version, session=session_id, user=user_id)

    def delete(self, name="state", session_id=None, user_id=None):
        return self._port.do("state.delete", name=name, session=session_id,
                             user=user_id)


class History:
    """The session's messages in the order they were said."""

    def __init__(self, port):
        self._port = port

    def list(self, limit=None, session_id=None, user_id=None):
        def messages(value):
            if isinstance(value, dict):
                value = value.get("messages")
            return [Message(m) for m in value or [] if isinstance(m, dict)]

        return self._port.do("history.list", messages, limit=limit,
                             session=session_id, user=user_id)

    def append(self, *messages, session_id=None, user_id=None):
        flat = []
        for m in messages:
            for one in m if isinstance(m, (list, tuple)) else [m]:
                flat.append(one if isinstance(one, dict) else
                            Message(role="assistant", content=str(one)))
        return self._port.do("history.append", messages=flat,
                             session=session_id, user=user_id)

    def clear(self, session_id=None, user_id=None):
        return self._port.do("history.clear", session=session_id,
                             user=user_id)


class Memory:
    """What is remembered of a user across sessions."""

    def __init__(self, port):
        self._port = port

    def add(self, text, metadata=None, user_id=None):
        return self._port.do("memory.add", text=text, metadata=metadata,
                             user=user_id)

    def search(self, query, limit=None, user_id=None):
        return self._port.do("memory.search", _records, query=query,
                             limit=limit, user=user_id)

    def list(self, limit=None, user_id=None):
        return self._port.do("memory.list", _records, limit=limit,
                             user=user_id)

    def delete(self, id, user_id=None):
        return self._port.do("memory.delete", id=id, user=user_id)


def _record(value):
    return Record(value) if isinstance(value, dict) else value


def _records(value):
    if isinstance(value, dict):
        value = next((v for v in value.values() if isinstance(v, list)), [])
    return [Record(v) if isinstance(v, dict) else v for v in value or []]


class Sandbox:
    """One of the session's own sandboxes."""

    def __init__(self, port, id, type, session=None, user=None):
        self._port, self.id, self.type = port, id, type
        self._whose = {"session": session, "user": user}

    def call(self, tool, arguments=None, **more):
        return self._port.do("sandbox.call", _record, id=self.id, tool=tool,
                             arguments={**(arguments or {}), **more},
                             **self._whose)

    def run_ipython_cell(self, code):
        return self.call("run_ipython_cell", code=code)

    def run_shell_command(self, command):
        return self.call("run_shell_command", command=command)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda **arguments: self.call(name, arguments)


class Sandboxes:
    def __init__(self, port):
        self._port = port

    def connect(self, types="base", session_id=None, user_id=None):
        """The session's sandboxes of these types, made when there is none."""
        if isinstance(types, str):
            types = [types]

        def boxes(value):
            if isinstance(value, dict):
                value = value.get("sandboxes")
            return [Sandbox(self._port, v.get("id"), v.get("type"),
                            session_id, user_id) for v in value or []]

        return self._port.do("sandbox.connect", boxes, types=list(types),
                             session=session_id, user=user_id)

    def release(self, session_id=None, user_id=None):
        return self._port.do("sandbox.release", session=session_id,
                             user=user_id)


class Session:
    """Keeps the state of modules (agents, memories) that have state_dict().

    With the two methods of AgentScope's sessions, kept by the host instead of
    in files or Redis.
    """

    def __init__(self, app, name="modules"):
        self._state, self._name = app.state, name

    async def save_session_state(self, session_id=None, user_id=None, ttl=None,
                                 **modules):
        value = {name: await _maybe(module.state_dict())
                 for name, module in modules.items()}
        return await self._state.save(value, self._name, ttl=ttl,
                                      session_id=session_id, user_id=user_id)

    async def load_session_state(self, session_id=None, user_id=None,
                                 allow_not_exist=True, **modules):
        value = await self._state.load(self._name, session_id=session_id,
                                       user_id=user_id)
        if value is None and not allow_not_exist:
            raise ServiceError("RESOURCE_NOT_FOUND",
                               f"no state of session {session_id!r}")
        for name, module in modules.items():
            if value and name in value:
                await _maybe(module.load_state_dict(value[name]))


async def _maybe(value):
    return await value if inspect.isawaitable(value) else value
