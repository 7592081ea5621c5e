"""Finds the one app object in a file of the user's."""
import asyncio
import importlib.util
import inspect
import os
import sys

from . import log
from .app import AgentApp
from .program import Broken, Program

ENTRIES = ("app.py", "agent.py", "main.py")
NAMES = ("agent_app", "app")
FACTORIES = ("create_app", "create_agent_app", "get_app")
MODULE = "__hutch_agent_main__"


class NoApp(Exception):
    pass


def program(source, entry=None):
    """Never raises: what goes wrong is said when the program is started."""
    try:
        path, name = find_file(source, entry)
        return drive(find_app(load(path), name, path))
    except BaseException as e:      # sys.exit() at the top of a file too
        log.failure(f"{source} can't be loaded", e)
        if not isinstance(e, Exception):
            e = NoApp(f"{source}: ended while it was loaded: {e!r}")
        return Broken(e)


def drive(app):
    if isinstance(app, AgentApp):
        return Program(app)
    from .upstream import Upstream
    return Upstream(app)


def find_file(source, entry):
    name = None
    if entry and ":" in os.path.basename(entry):
        entry, name = entry.rsplit(":", 1)
    if os.path.isfile(source):
        return source, name
    if not os.path.isdir(source):
        raise NoApp(f"{source}: no such file or directory")
    if entry:
        path = os.path.join(source, entry)
        if not os.path.isfile(path):
            raise NoApp(f"{path}: no such file")
        return path, name
    for candidate in ENTRIES:
        path = os.path.join(source, candidate)
        if os.path.isfile(path):
            return path, name
    raise NoApp(f"{source}: has none of {', '.join(ENTRIES)}; "
                "say which file it is with -e")


def load(path):
    path = os.path.abspath(path)
    folder = os.path.dirname(path)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    watch_upstream()
    sys.argv = [path]
    spec = importlib.util.spec_from_file_location(MODULE, path)
    if spec is None:
        raise NoApp(f"{path}: is no Python file")
    module = importlib.util.module_from_spec(spec)
    # Importable by its own name too, so that it is not loaded twice.
    sys.modules[MODULE] = module
    sys.modules.setdefault(os.path.splitext(os.path.basename(path))[0],
                           module)
    spec.loader.exec_module(module)
    return module


def is_app(value):
    """Ours, or AgentScope Runtime's by its shape."""
    if isinstance(value, AgentApp):
        return True
    return (not isinstance(value, type) and hasattr(value, "_runner") and
            hasattr(value, "endpoint_path") and
            callable(getattr(value, "query", None)))


def find_app(module, name, path):
    found = vars(module)
    if name:
        if name not in found:
            raise NoApp(f"{path}: has no {name}")
        value = found[name]
        return value if is_app(value) else made(value, name, path)
    for name in NAMES:
        if is_app(found.get(name)):
            return found[name]
    apps = {id(v): v for v in found.values() if is_app(v)}
    if len(apps) == 1:
        return next(iter(apps.values()))
    if apps:
        names = sorted(n for n, v in found.items() if is_app(v))
        raise NoApp(f"{path}: has several apps ({', '.join(names)}); "
                    "say which with -e FILE:NAME")
    for name in FACTORIES:
        if callable(found.get(name)):
            return made(found[name], name, path)
    raise NoApp(f"{path}: has no AgentApp; it is looked for as "
                f"{', '.join(NAMES)}, any other name, and what "
                f"{FACTORIES[0]}() gives")


def made(factory, name, path):
    value = factory() if callable(factory) else factory
    if inspect.isawaitable(value):
        value = asyncio.new_event_loop().run_until_complete(value)
    if not is_app(value):
        raise NoApp(f"{path}: {name} is no AgentApp")
    return value


def watch_upstream():
    """run() of AgentScope Runtime's class is to start no server here."""
    sys.meta_path.insert(0, _Watch())


class _Watch:
    NAME = "agentscope_runtime.engine.app.agent_app"

    def find_spec(self, name, path=None, target=None):
        if name != self.NAME:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            module.AgentApp.run = lambda self, *a, **kw: None

        spec.loader.exec_module = exec_module
        return spec
