"""AgentApp: what an agent is, said with decorators.

    app = AgentApp(app_name="echo")

    @app.query(framework="text")
    async def query(self, request):
        yield "You said: " + request.text

The shape is that of AgentScope Runtime's class of this name.  It only
collects; worker.py runs what it has collected.
"""
import sys

from . import frameworks
from .endpoint import Endpoint
from .services import History, Memory, Port, Sandboxes, State, stop

METHODS = ("get", "post", "put", "delete", "patch", "head", "options")


class Runner:
    """What handlers get as self: a place for what init has made.

    A subclass with query_handler, init_handler, shutdown_handler and a
    framework_type may be given to AgentApp(runner=...) instead.
    """
    framework_type = None
    query_handler = init_handler = shutdown_handler = None

    def __init__(self):
        self.app = None
        self.in_type_converters = None
        self.out_type_converters = None

    state = property(lambda self: self.app.state)
    history = property(lambda self: self.app.history)
    memory = property(lambda self: self.app.memory)
    sandbox = property(lambda self: self.app.sandbox)


NAME = "AgentScope Runtime API"     # of an app that was given none


class AgentApp:
    def __init__(self, app_name=NAME, app_description="",
                 endpoint_path="/process", response_type="sse", stream=True,
                 request_model=None, before_start=None, after_finish=None,
                 broker_url=None, backend_url=None, runner=None,
                 enable_embedded_worker=False, enable_stream_task=False,
                 stream_task_queue="stream_query", stream_task_timeout=None,
                 a2a_config=None, agui_config=None, interrupt_backend=None,
                 interrupt_redis_url=None, lifespan=None, mode=None,
                 protocol_adapters=None, custom_endpoints=None, **kwargs):
        self.app_name, self.app_description = app_name, app_description
        self.endpoint_path = endpoint_path
        self.response_type, self.stream = response_type, stream
        self.request_model = request_model
        self.before_start, self.after_finish = before_start, after_finish
        self.lifespan = lifespan
        self.enable_stream_task = enable_stream_task
        self.stream_task_queue = stream_task_queue
        self.stream_task_timeout = stream_task_timeout
        self.a2a_config, self.agui_config = a2a_config, agui_config
        self.kwargs = kwargs
        self.endpoints = []
        self.ignored = [name for name, value in {
            "broker_url": broker_url, "backend_url": backend_url,
            "enable_embedded_worker": enable_embedded_worker,
            "interrupt_backend": interrupt_backend,
            "interrupt_redis_url": interrupt_redis_url,
            "protocol_adapters": protocol_adapters}.items() if value]
        self.runner = runner if runner is not None else Runner()
        self.bound = runner is not None
        try:
            self.runner.app = self
        except AttributeError:  # a runner with slots
            pass
        self.query_handler = getattr(runner, "query_handler", None)
        self.init_handler = getattr(runner, "init_handler", None)
        self.shutdown_handler = getattr(runner, "shutdown_handler", None)
        self._framework, self.remembers = None, False
        self.port = Port()
        self.state = State(self.port)
        self.history = History(self.port)
        self.memory = Memory(self.port)
        self.sandbox = Sandboxes(self.port)
        for e in custom_endpoints or []:
            self.endpoint(e["path"], e.get("methods"))(e["handler"])

    title = property(lambda self: self.app_name)
    description = property(lambda self: self.app_description)

    @property
    def framework(self):
        if self._framework is None:
            self._framework = (getattr(self.runner, "framework_type", None)
                               or frameworks.default())
        return self._framework

    # What an agent's author calls.

    def query(self, framework=None, remembers=False):
        """The handler of queries: @app.query(framework="langgraph").

        remembers: it keeps its sessions itself, so what the host knows of a
        conversation is left out of a request's input.
        """
        if callable(framework):
            return self.query()(framework)
        self.remembers = remembers
        if framework is not None:
            frameworks.check(framework)

        def register(function):
            self.query_handler, self._framework = function, framework
            return function

        return register

    def init(self, function=None):
        """Called with self before the first query."""
        if function is None:
            return self.init
        self.init_handler = function
        return function

    def shutdown(self, function=None):
        """Called with self when no more queries come."""
        if function is None:
            return self.shutdown
        self.shutdown_handler = function
        return function

    def endpoint(self, path, methods=None, **more):
        """A route of the agent's own, POST unless methods says other."""
        return self._add("endpoint", path, methods or ["POST"], more)

    def task(self, path, queue="celery", **more):
        """A function that clients submit work to and ask for its outcome."""
        return self._add("task", path, ["POST"], {**more, "queue": queue})

    def api_route(self, path, methods=None, **more):
        return self._add("endpoint", path, methods or ["GET"], more)

    def add_api_route(self, path, endpoint, methods=None, **more):
        self.api_route(path, methods, **more)(endpoint)

    def _add(self, kind, path, methods, more):
        def register(function):
            self.endpoints.append(Endpoint(
                function, path, [m.upper() for m in methods], kind, **more))
            return function

        return register

    def stop_chat(self, user_id=None, session_id=None):
        """Stop what runs in a session, in whatever process and node."""
        return stop(self.port, user_id, session_id)

    def run(self, host=None, port=None, **_):
        """Says how to run an agent; its file is not a server by itself."""
        if not frameworks.in_worker():
            at = f" --port {port}" if port else ""
            print(f"This is an agent for hutch.  Run it with:\n\n"
                  f"    hutch agent run {sys.argv[0]}{at}\n\n"
                  f"or, to keep it running:\n\n"
                  f"    hutch agent deploy {sys.argv[0]}{at}", file=sys.stderr)

    def include_router(self, router, prefix="", **_):
        for e in router.endpoints:
            self.endpoints.append(e.below(prefix + router.prefix))


class Router:
    """Routes of a module of their own, for app.include_router."""

    def __init__(self, prefix="", **_):
        self.prefix, self.endpoints = prefix, []

    _add = AgentApp._add
    endpoint, task = AgentApp.endpoint, AgentApp.task
    api_route, add_api_route = AgentApp.api_route, AgentApp.add_api_route


def _method(name):
    def route(self, path, **more):
        return self._add("endpoint", path, [name.upper()], more)

    route.__name__ = name
    route.__doc__ = f"A route of the agent's own for {name.upper()}."
    return route


for _name in METHODS:
    setattr(AgentApp, _name, _method(_name))
    setattr(Router, _name, _method(_name))
