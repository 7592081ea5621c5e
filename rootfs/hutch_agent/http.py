"""Requests to endpoints and their answers, as endpoint functions see them."""
import json
import urllib.parse

from .request import Record
from .wire import compact


class HTTPException(Exception):
    """Raised by an endpoint: an answer with this status."""

    def __init__(self, status_code, detail=None, headers=None):
        super().__init__(detail)
        self.status_code, self.detail = status_code, detail
        self.headers = headers


class Invalid(Exception):
    """What is wrong with a request's parameters: a 422."""

    def __init__(self, *problems):
        super().__init__(str(problems))
        self.problems = list(problems)


def problem(type, loc, msg, input=None, ctx=None):
    said = {"type": type, "loc": list(loc), "msg": msg, "input": input}
    if ctx:
        said["ctx"] = ctx
    return said


class Depends:
    """The default of a parameter: what the function gives for the request."""

    def __init__(self, dependency=None, use_cache=True):
        self.dependency = dependency


class Headers(dict):
    """Names are compared without case."""

    def __init__(self, items=()):
        super().__init__({str(k).lower(): v for k, v in dict(items).items()})

    def get(self, name, default=None):
        return super().get(name.lower(), default)

    def __getitem__(self, name):
        return super().__getitem__(name.lower())

    def __contains__(self, name):
        return super().__contains__(name.lower())


class Request:
    def __init__(self, app, method, path, query="", headers=(), body=b"",
                 path_params=None):
        self.app, self.method, self.path = app, method, path
        self.query_string = query or ""
        self.headers, self._body = Headers(headers), body
        self.path_params = path_params or {}
        pairs = urllib.parse.parse_qsl(self.query_string,
                                       keep_blank_values=True)
        self.query_lists = {}
        for name, value in pairs:
            self.query_lists.setdefault(name, []).append(value)
        self.query_params = {n: v[-1] for n, v in self.query_lists.items()}
        self.state = Record()

    async def body(self):
        return self._body

    async def json(self):
        return json.loads(self._body)

    async def text(self):
        return self._body.decode("utf-8", "replace")

    async def form(self):
        return dict(urllib.parse.parse_qsl(
            self._body.decode("utf-8", "replace"), keep_blank_values=True))

    @property
    def cookies(self):
        pairs = (c.split("=", 1) for c in
                 self.headers.get("cookie", "").split(";") if "=" in c)
        return {name.strip(): value.strip() for name, value in pairs}


class Response:
    media_type = "text/plain; charset=utf-8"

    def __init__(self, content=b"", status_code=200, headers=None,
                 media_type=None):
        self.status_code = status_code
        self.headers = dict(headers or {})
        self.media_type = media_type or self.media_type
        self.body = self.render(content)

    def render(self, content):
        if content is None:
            return b""
        return content.encode() if isinstance(content, str) else content


class PlainTextResponse(Response):
    pass


class HTMLResponse(Response):
    media_type = "text/html; charset=utf-8"


class JSONResponse(Response):
    media_type = "application/json"

    def render(self, content):
        return compact(content).encode("utf-8", "replace")


class RedirectResponse(Response):
    def __init__(self, url, status_code=307, headers=None):
        super().__init__(b"", status_code, {**(headers or {}),
                                            "location": url})


class StreamingResponse(Response):
    def __init__(self, content, status_code=200, headers=None,
                 media_type=None):
        super().__init__(b"", status_code, headers,
                         media_type or "application/octet-stream")
        self.body_iterator = content
