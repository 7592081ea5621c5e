"""A route of the agent's own: from a call's bytes to a function's arguments.

What a parameter is given follows from its type, as in FastAPI: a Request; the
JSON body for a dict, a list, a dataclass, a model (anything with
model_validate) or AgentRequest; a segment of the path for a name in it; else a
value of the query string.  What does not fit is a 422 with FastAPI's texts.
"""
import base64
import contextlib
import dataclasses
import inspect
import json
import re
import typing
import urllib.parse

from . import aio, http
from .http import Invalid, problem
from .request import Record

SCALARS = (str, int, float, bool)
NEVER = inspect.Parameter.empty


class Endpoint:
    def __init__(self, function, path, methods, kind="endpoint", queue=None,
                 status_code=200, name=None, tags=None, summary=None,
                 description=None, response_class=None, include_in_schema=True,
                 **_):
        self.function, self.kind, self.queue = function, kind, queue
        self.path = path if path.startswith("/") else "/" + path
        self.methods, self.status = list(methods), status_code
        self.name = name or getattr(function, "__name__", "endpoint")
        self.tags, self.summary = tags, summary
        self.description = description or inspect.getdoc(function)
        self.response_class = response_class
        self.visible = include_in_schema
        self.pattern = _pattern(self.path)
        self.parameters = _parameters(function, self.path)
        bodies = [p for p in self.parameters if p.where == "body"]
        for p in bodies:  # several: each is a member of the body
            p.whole = len(bodies) == 1
        if kind == "task":
            self.parameters = [_whole(p) for p in self.parameters]
        for p in self.parameters:
            if p.where == "depends":
                p.endpoint = Endpoint(p.dependency, self.path, [])

    @property
    def streams(self):
        return (inspect.isasyncgenfunction(self.function) or
                inspect.isgeneratorfunction(self.function))

    def below(self, prefix):
        copy = object.__new__(Endpoint)
        copy.__dict__.update(self.__dict__, path=prefix + self.path,
                             pattern=_pattern(prefix + self.path))
        return copy

    def matches(self, method, path):
        """The path's parameters, or None."""
        if method not in self.methods:
            return None
        found = self.pattern.fullmatch(path)
        return found.groupdict() if found else None

    def arguments(self, request):
        """Raises Invalid with all that is wrong."""
        problems, named, given = [], {}, _Body(request)
        for p in self.parameters:
            if p.where == "depends":
                continue    # they may wait: see dependencies()
            try:
                named[p.name] = p.value(request, given)
            except Invalid as e:
                problems += e.problems
        if problems:
            raise Invalid(*problems)
        return {n: v for n, v in named.items() if v is not NEVER}

    async def dependencies(self, request, stack, known):
        """What Depends stands for; stack leaves their contexts."""
        found = {}
        for p in self.parameters:
            if p.where != "depends":
                continue
            if p.dependency not in known:
                inner = p.endpoint.arguments(request)
                inner.update(await p.endpoint.dependencies(request, stack,
                                                           known))
                known[p.dependency] = await _enter(p.dependency, inner, stack)
            found[p.name] = known[p.dependency]
        return found


async def _enter(function, arguments, stack):
    if inspect.isasyncgenfunction(function):
        return await stack.enter_async_context(
            contextlib.asynccontextmanager(function)(**arguments))
    if inspect.isgeneratorfunction(function):
        return stack.enter_context(
            contextlib.contextmanager(function)(**arguments))
    return await aio.call(function, **arguments)


def _pattern(path):
    parts = re.split(r"\{(\w+)(?::(\w+))?\}", path)
    text = re.escape(parts[0])
    for name, kind, after in zip(parts[1::3], parts[2::3], parts[3::3]):
        text += f"(?P<{name}>{'.+' if kind == 'path' else '[^/]+'})"
        text += re.escape(after)
    return re.compile(text)


class _Body:
    """The JSON body, read when a parameter wants it."""

    def __init__(self, request):
        self.request, self.read = request, False

    def json(self):
        if self.read:
            return self.value
        text = self.request._body
        kind = self.request.headers.get("content-type", "")
        kind = kind.split(";")[0].strip().lower()
        if not text:
            raise Invalid(problem("missing", ["body"], "Field required"))
        if kind and kind != "application/json" and not (
                kind.startswith("application/") and kind.endswith("+json")):
            self.value = text.decode("utf-8", "replace")
        else:
            self.value = self._parse(text)
        self.read = True
        if self.value is None:
            raise Invalid(problem("missing", ["body"], "Field required"))
        return self.value

    def _parse(self, text):
        try:
            return json.loads(text)
        except json.JSONDecodeError as e:
            raise Invalid(problem("json_invalid", ["body", e.pos],
                                  "JSON decode error", {},
                                  {"error": e.msg})) from e
        except (UnicodeDecodeError, RecursionError) as e:
            raise http.HTTPException(
                400, "There was an error parsing the body") from e


class Parameter:
    def __init__(self, name, kind, default, where):
        self.name, self.kind, self.default = name, kind, default
        self.where, self.whole = where, True
        self.alias = self.dependency = self.endpoint = None

    def value(self, request, body):
        return getattr(self, "_" + self.where)(request, body)

    def _request(self, request, _):
        if self.kind in (http.Request, None):
            return request
        return _starlette(self.kind, request)

    def _path(self, request, _):
        return _scalar(self.kind, request.path_params[self.name],
                       ["path", self.name])

    def _query(self, request, _):
        return self._texts(request.query_lists.get(self.alias or self.name),
                           self.alias or self.name)

    def _header(self, request, _):
        name = self.alias or self.name.replace("_", "-")
        value = request.headers.get(name)
        return self._texts(None if value is None else [value], name)

    def _cookie(self, request, _):
        name = self.alias or self.name
        value = request.cookies.get(name)
        return self._texts(None if value is None else [value], name)

    def _form(self, request, _):
        name = self.alias or self.name
        values = urllib.parse.parse_qs(
            request._body.decode("utf-8", "replace"), keep_blank_values=True)
        return self._texts(values.get(name), name, "body")

    def _texts(self, values, name, where=None):
        loc = [where or self.where, name]
        inner = _list_of(self.kind)
        if values is None:
            if self.default is NEVER:
                raise Invalid(problem("missing", loc, "Field required"))
            return self.default
        if inner is not None:
            return [_scalar(inner, v, [*loc, i])
                    for i, v in enumerate(values)]
        return _scalar(self.kind, values[-1], loc)

    def _body(self, request, body):
        loc = ["body"]
        try:
            value = body.json()
        except Invalid:
            if self.default is not NEVER and not request._body:
                return self.default
            raise
        if not self.whole:
            loc.append(self.name)
            if not isinstance(value, dict) or self.name not in value:
                if self.default is not NEVER:
                    return self.default
                raise Invalid(problem("missing", loc, "Field required"))
            value = value[self.name]
        return build(self.kind, value, loc)


def _whole(p):
    """A task gets the body as it is, whatever its parameter's type."""
    if p.where in ("body", "query"):
        return Parameter(p.name, dict, p.default, "body")
    return p


def _parameters(function, path):
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except Exception:  # a type that can't be resolved is no type
        hints = {}
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return []
    in_path = set(re.findall(r"\{(\w+)(?::\w+)?\}", path))
    found = []
    for name, p in signature.parameters.items():
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        hint = hints.get(name, p.annotation if not isinstance(
            p.annotation, str) else NEVER)
        kind = _optional(hint)
        said = _said(p.default) or next(filter(
            None, map(_said, getattr(hint, "__metadata__", ()))), None)
        one = Parameter(name, None if kind is NEVER else kind, p.default,
                        _where(name, kind, in_path))
        if said:
            one.where, one.dependency, one.alias, default = said
            if _said(p.default):
                one.default = default
            if one.where == "depends" and one.dependency is None:
                one.dependency = one.kind
        found.append(one)
    return found


def _said(value):
    """(where, dependency, alias, default) of FastAPI's Query(...) and the
    like, and of Depends, ours or FastAPI's; None of any other value."""
    where = type(value).__name__.lower()
    if type(value).__module__.split(".")[0] not in ("fastapi", "hutch_agent"):
        return None
    if where in ("depends", "security"):
        return "depends", value.dependency, None, NEVER
    if where not in ("query", "path", "header", "cookie", "body", "form"):
        return None
    default = getattr(value, "default", NEVER)
    if default is Ellipsis or type(default).__name__.startswith(
            "PydanticUndefined"):
        default = NEVER
    return where, None, getattr(value, "alias", None), default


def _where(name, kind, in_path):
    if name in in_path:
        return "path"
    if kind is http.Request or getattr(kind, "__module__", "").startswith(
            "starlette.requests"):
        return "request"
    if kind is NEVER:
        return "body" if name in ("request", "body", "data", "payload") \
            else "query"
    if kind in SCALARS:
        return "query"
    if kind is typing.Any:
        return "body" if name in ("request", "body") else "query"
    return "body"


def _optional(kind):
    """Of Optional[T] the T."""
    if hasattr(kind, "__metadata__"):  # Annotated[T, ...]
        return _optional(kind.__origin__)
    args = typing.get_args(kind)
    if type(None) in args and len(args) == 2:
        return args[0] if args[1] is type(None) else args[1]
    return kind


def _list_of(kind):
    if typing.get_origin(kind) in (list, tuple, set) and typing.get_args(kind):
        return typing.get_args(kind)[0]
    return None


WORDS = {"true": True, "1": True, "on": True, "yes": True, "t": True,
         "y": True, "false": False, "0": False, "off": False, "no": False,
         "f": False, "n": False}
TEXTS = {int: ("int_parsing", "Input should be a valid integer, unable to "
               "parse string as an integer"),
         float: ("float_parsing", "Input should be a valid number, unable to "
                 "parse string as a number"),
         bool: ("bool_parsing", "Input should be a valid boolean, unable to "
                "interpret input")}


def _scalar(kind, text, loc):
    if kind is bool:
        value = WORDS.get(text.lower())
        if value is not None:
            return value
    elif kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    else:
        return text
    type_, msg = TEXTS[kind]
    raise Invalid(problem(type_, loc, msg, text))


def build(kind, value, loc):
    """value of JSON as a kind; raises Invalid."""
    inner = _list_of(kind)
    if inner is not None or kind is list:
        if not isinstance(value, list):
            raise Invalid(problem("list_type", loc,
                                  "Input should be a valid list", value))
        if inner is None:
            return value
        return [build(inner, v, [*loc, i]) for i, v in enumerate(value)]
    if kind is None or kind is typing.Any:
        return value
    if hasattr(kind, "model_validate") and not (
            isinstance(kind, type) and issubclass(kind, Record)):
        return _model(kind, value, loc)
    if kind in SCALARS:
        return _json_scalar(kind, value, loc)
    if not isinstance(value, dict):
        raise Invalid(problem("dict_type", loc,
                              "Input should be a valid dictionary", value))
    if isinstance(kind, type) and issubclass(kind, Record):
        return kind(**value)
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind, value, loc)
    return value


def _model(kind, value, loc):
    try:
        return kind.model_validate(value)
    except ValueError as e:
        if not hasattr(e, "errors"):
            raise
        raise Invalid(*[{k: v for k, v in
                         {**p, "loc": [*loc, *p["loc"]]}.items() if k != "url"}
                        for p in e.errors()]) from e


def _json_scalar(kind, value, loc):
    good = isinstance(value, kind) or (kind is float and
                                       isinstance(value, int))
    if good and not (kind is int and isinstance(value, bool)):
        return kind(value)
    if isinstance(value, str) and kind is not str:
        return _scalar(kind, value, loc)
    word = {str: "string", int: "integer", float: "number",
            bool: "boolean"}[kind]
    raise Invalid(problem(f"{word[:3] if kind is int else word}_type", loc,
                          f"Input should be a valid {word}", value))


def _dataclass(kind, value, loc):
    problems, members = [], {}
    hints = typing.get_type_hints(kind)
    for f in dataclasses.fields(kind):
        at = [*loc, f.name]
        if f.name in value:
            try:
                members[f.name] = build(_optional(hints.get(f.name)),
                                        value[f.name], at)
            except Invalid as e:
                problems += e.problems
        elif (f.default is dataclasses.MISSING and
              f.default_factory is dataclasses.MISSING):
            problems.append(problem("missing", at, "Field required", value))
    if problems:
        raise Invalid(*problems)
    return kind(**members)


def _starlette(kind, request):
    """The framework's own Request, for a function that wants one."""
    async def receive():
        return {"type": "http.request", "body": request._body}

    return kind(scope_of(request), receive)


def scope_of(request):
    """The request as ASGI has it."""
    return {"type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1", "method": request.method,
            "scheme": "http", "path": request.path,
            "raw_path": request.path.encode("utf-8", "replace"),
            "query_string": request.query_string.encode(), "root_path": "",
            "headers": [(k.encode("latin-1", "replace"),
                         str(v).encode("latin-1", "replace"))
                        for k, v in request.headers.items()],
            "client": None, "server": None, "state": {},
            "path_params": request.path_params, "app": request.app}


def request_of(app, line):
    """The Request that a line {"op":"call"} is about."""
    if isinstance(line.get("body64"), str):
        body = base64.b64decode(line["body64"])
    else:
        body = (line.get("body") or "").encode("utf-8", "replace")
    return http.Request(app, str(line.get("method") or "POST").upper(),
                        line.get("path") or "/", line.get("query") or "",
                        line.get("headers") or {}, body)
