"""A loaded agent as the worker drives it: start, query, call, stop."""
import contextlib
import importlib
import inspect

from . import aio, frameworks, log
from .adapters.inputs import paired
from .endpoint import request_of
from .errors import AgentError

from .run import serve


class Broken:
    """An agent that could not be loaded: it says why when it is started."""

    def __init__(self, error):
        from .services import Port
        self.error, self.port = error, Port()

    async def start(self, name, options):
        raise self.error


class TraceEvent:
    """What handlers of AgentScope Runtime log to; here, the agent's log."""

    def on_log(self, message="", **_):
        log.info(str(message))


class Program:
    def __init__(self, app):
        self.app, self.port = app, app.port
        self.open = contextlib.AsyncExitStack()
        self.adapter = None

    async def start(self, name, options):
        app = self.app
        for what in app.ignored:
            log.info(f"{what}: the host has this; ignored")
        if app.query_handler is not None:
            self.adapter = adapter_of(app.framework)
        if app.init_handler is not None:
            await self._hook(app.init_handler)
        if app.before_start is not None:
            await aio.call(app.before_start, app)
        if app.lifespan is not None:
            await self.open.enter_async_context(_context(app.lifespan(app)))

    async def stop(self):
        app, errors = self.app, []
        for step in (self.open.aclose(), self._after(), self._shutdown()):
            try:
                await step
            except Exception as e:
                log.failure("shutdown", e)
                errors.append(e)
        if errors:
            raise errors[0]

    async def _after(self):
        if self.app.after_finish is not None:
            await aio.call(self.app.after_finish, self.app)

    async def _shutdown(self):
        if self.app.shutdown_handler is not None:
            await self._hook(self.app.shutdown_handler)

    async def _hook(self, function):
        arguments, _ = bind(function, self.app, {})
        await aio.call(function, *arguments)

    def ready(self):
        from .openapi import operation
        app = self.app
        from .app import NAME
        name = app.app_name if app.app_name != NAME else None
        about = {"name": name, "description": app.app_description,
                 "endpoint_path": app.endpoint_path,
                 "stream_task": bool(app.enable_stream_task),
                 "stream_task_queue": app.stream_task_queue,
                 "stream_task_timeout": app.stream_task_timeout,
                 "a2a": app.a2a_config}
        ready = {"framework": app.framework,
                 "app": {k: v for k, v in about.items() if v is not None},
                 "endpoints": [_said(e, operation(e)) for e in app.endpoints]}
        if app.query_handler is None:
            ready["query"] = False
        return ready

    async def query(self, run):
        app, handler = self.app, self.app.query_handler
        if handler is None:
            raise AgentError("AGENT_ERROR", "this agent has no query handler")
        if app.remembers:
            run.request.input, run.request.history = run.request.news, 0
        offered = {"request": run.request, "response": run.response,
                   "trace_event": TraceEvent()}
        await offer_messages(self.adapter, app.runner, run.request, offered)
        arguments, named = bind(handler, app, offered)
        return (aio.items(handler, *arguments, **named),
                self.adapter.Adapter(run.stream, app.runner))

    async def call(self, call, line):
        request = request_of(self.app, line)
        for endpoint in self.app.endpoints:
            found = endpoint.matches(request.method, request.path)
            if found is not None:
                request.path_params = found
                await serve(call, endpoint, request)
                return
        call.reply_json(404, {"detail": "Not Found"})


def adapter_of(framework):
    """Its module; the framework itself is imported, too, or is missing now."""
    frameworks.check(framework)
    adapter = importlib.import_module(f".adapters.{framework}", __package__)
    make = getattr(adapter, "messages", None)
    try:
        if make is not None:
            make([])
    except ImportError as e:
        raise AgentError("CONFIGURATION_ERROR",
                         f"framework {framework}: {e}") from e
    return adapter


async def offer_messages(adapter, runner, request, offered):
    """msgs, the input in the framework's own classes, if it has some."""
    make = getattr(adapter, "messages", None)
    if make is not None:
        hooks = getattr(runner, "in_type_converters", None)
        value = make(paired(request["input"]), hooks)
        offered["msgs"] = await value if inspect.isawaitable(value) else value


def bind(handler, app, offered):
    """(positional, named) arguments of what is offered and handler takes.

    A first parameter that is none of the offered is self: the runner.
    """
    try:
        parameters = list(inspect.signature(handler).parameters.values())
    except (TypeError, ValueError):
        return [], offered
    positional, named = [], {}
    rest = any(p.kind is p.VAR_KEYWORD for p in parameters)
    names = {p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY}
    if (parameters and not inspect.ismethod(handler) and
            parameters[0].kind in (inspect.Parameter.POSITIONAL_ONLY,
                                   inspect.Parameter.POSITIONAL_OR_KEYWORD,
                                   inspect.Parameter.VAR_POSITIONAL) and
            parameters[0].name not in offered):
        first = parameters[0].name
        positional.append(app if first in ("app", "agent_app")
                          else app.runner)
    for name, value in offered.items():
        if rest or name in names:
            named[name] = value
    return positional, named


def _context(value):
    """An asynchronous context manager of whatever lifespan gave."""
    if hasattr(value, "__aenter__"):
        return value
    if inspect.isasyncgen(value):
        return contextlib.asynccontextmanager(lambda: value)()
    if inspect.isgenerator(value):
        value = contextlib.contextmanager(lambda: value)()

    @contextlib.asynccontextmanager
    async def wrap():
        with value as inner:
            yield inner

    return wrap()


def _said(endpoint, operation):
    said = {"name": endpoint.name, "path": endpoint.path,
            "methods": endpoint.methods, "kind": endpoint.kind,
            "stream": endpoint.streams, "queue": endpoint.queue,
            "operation": operation}
    return {k: v for k, v in said.items() if v is not None}
