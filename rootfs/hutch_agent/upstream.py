"""An app of the real agentscope_runtime package, driven as if it were ours.

Its handler is called with that package's own request and response, its items
go through our adapters; its routes are served through ASGI, its tasks by
their functions.  The doors that it would open by itself stay shut: the host
has them.
"""
import importlib

from . import log
from .aio import items
from .endpoint import Endpoint, request_of, scope_of
from .errors import AgentError
from .openapi import inline, operation
from .program import TraceEvent, adapter_of, bind, offer_messages
from .run import serve
from .services import Port, stop

SCHEMAS = "agentscope_runtime.engine.schemas.agent_schemas"
OURS = "agentscope_runtime."    # adapters of these modules are its doors
SKIP = ("/openapi.json", "/docs", "/docs/oauth2-redirect", "/redoc")


class Upstream:
    def __init__(self, app):
        self.app, self.runner = app, app._runner
        self.port = Port()
        self.tasks, self.routes = [], []
        self.adapter = self.life = None

    async def start(self, name, options):
        app = self.app
        app._build_runner()
        self.runner = app._runner
        self.framework = getattr(self.runner, "framework_type", None)
        if self.framework:
            self.adapter = adapter_of(self.framework)
        self.schemas = importlib.import_module(SCHEMAS)
        app.protocol_adapters = [
            a for a in app.protocol_adapters or []
            if not type(a).__module__.startswith(OURS)]
        app.stop_chat = self._stop_chat
        self._endpoints()
        self.life = app.router.lifespan_context(app)
        self.state = await self.life.__aenter__()

    async def stop(self):
        await self.life.__aexit__(None, None, None)

    async def _stop_chat(self, user_id=None, session_id=None):
        return await stop(self.port, user_id, session_id)

    def _endpoints(self):
        own = {self.app.endpoint_path}
        for info in self.app.custom_endpoints:
            methods = sorted(m for m in info["methods"] if m != "HEAD")
            if info.get("task_type"):
                self.tasks.append(Endpoint(
                    info["original_func"], info["path"], ["POST"], "task",
                    info["queue"]))
            elif info["path"] not in own:
                self.routes.append((info["path"], methods,
                                    info["function_name"]))
        for route in self.app.routes:
            if type(route).__name__ == "Mount":
                self.routes.append((
                    route.path.rstrip("/") + "/{path:path}",
                    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE",
                     "OPTIONS"], route.name or "mount"))
            elif type(route).__name__ == "Route" and route.path not in SKIP:
                self.routes.append((route.path, sorted(route.methods or []),
                                    route.name))

    def ready(self):
        app = self.app
        try:
            schema = app.openapi()
        except Exception as e:      # a route that can't be described
            log.failure("openapi", e)
            schema = {}
        defs = schema.get("components", {}).get("schemas", {})
        said = [{"name": e.name, "path": e.path, "methods": e.methods,
                 "kind": "task", "stream": False, "queue": e.queue,
                 "operation": operation(e)} for e in self.tasks]
        for path, methods, name in self.routes:
            found = schema.get("paths", {}).get(path, {})
            ops = [found[m.lower()] for m in methods if m.lower() in found]
            said.append({"name": name, "path": path, "methods": methods,
                         "kind": "endpoint",
                         "operation": inline(ops[0], defs) if ops else {}})
        ready = {"framework": self.framework or "text", "endpoints": said,
                 "app": {"name": app.title, "description": app.description,
                         "endpoint_path": app.endpoint_path,
                         "stream_task": app.enable_stream_task,
                         "stream_task_queue": app.stream_task_queue,
                         "stream_task_timeout": app.stream_task_timeout}}
        if self.adapter is None:
            ready["query"] = False
        return ready

    async def query(self, run):
        if self.adapter is None:
            raise AgentError("AGENT_ERROR", "this agent has no query handler")
        given = {k: v for k, v in run.request.items() if v is not None}
        request = self.schemas.AgentRequest(**given)
        request.session_id = request.session_id or run.session
        request.user_id = request.user_id or request.session_id
        response = self.schemas.AgentResponse(id=request.id)
        response.session_id = request.session_id
        run.response = response
        offered = {"request": request, "response": response,
                   "trace_event": TraceEvent()}
        if self.framework not in ("text", "autogen"):
            await offer_messages(self.adapter, self._hooked(request),
                                 run.request, offered)
        handler = self.runner.query_handler
        arguments, named = bind(handler, self, offered)
        return (items(handler, *arguments, **named),
                self.adapter.Adapter(run.stream, self.runner))

    def _hooked(self, request):
        """Converters of the runner's get that package's messages."""
        class Hooks:
            in_type_converters = {
                type_: lambda m, hook=hook: hook(
                    self.schemas.Message(**m))
                for type_, hook in (getattr(
                    self.runner, "in_type_converters", None) or {}).items()}
        return Hooks

    async def call(self, call, line):
        request = request_of(self.app, line)
        for task in self.tasks:
            if task.matches(request.method, request.path) is not None:
                await serve(call, task, request)
                return
        await self._asgi(call, request)

    async def _asgi(self, call, request):
        scope = scope_of(request)
        scope["state"] = dict(self.state or {})
        scope["server"] = ("127.0.0.1", 8090)
        scope["client"] = ("127.0.0.1", 0)
        for name in ("path_params", "app"):
            del scope[name]
        given = [{"type": "http.request", "body": request._body}]
        head, gone = {}, call.worker.loop.create_future()

        async def receive():
            if given:
                return given.pop()
            await gone      # until the task is canceled
            return {"type": "http.disconnect"}

        async def send(message):
            if message["type"] == "http.response.start":
                head.update(_head(message))
            elif message["type"] == "http.response.body":
                await _body(call, head, message)

        await self.app(scope, receive, send)


def _head(message):
    headers = {k.decode("latin-1").lower(): v.decode("latin-1")
               for k, v in message.get("headers", [])}
    length = headers.pop("content-length", "")
    return {"status": message["status"], "type": headers.pop(
        "content-type", ""), "headers": headers, "kept": b"",
        "short": length.isdigit() and int(length) <= 64 << 10}


async def _body(call, head, message):
    body, more = message.get("body", b""), message.get("more_body", False)
    if not call.begun and (head["short"] or not more):
        head["kept"] += body    # a short answer is told at once
        if not more:
            call.reply(head["status"], head["kept"], head["type"],
                       head["headers"])
        return
    if not call.begun:
        call.begin(head["status"], head["type"], head["headers"])
    if body:
        call.data(body)
        await call.room()
