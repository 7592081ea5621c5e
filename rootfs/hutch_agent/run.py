"""A query or a call that is going on: one task of the loop each.

It ends once, with one line, whatever its handler does: returns, raises, exits,
ignores that it is canceled or never comes back.
"""
import asyncio
import base64
import contextlib
import inspect
import time
import weakref

from . import aio, http, log
from .errors import describe
from .events import Events
from .request import AgentRequest, AgentResponse
from .services import current
from .stream import Stream
from .wire import compact, plain, spaced, utf8

TURN = 0.002    # seconds of a handler that never waits, before others' turn
CANCEL = 2.0    # seconds a handler may take to end after it was canceled


class Run:
    def __init__(self, worker, number):
        self.worker, self.number = worker, number
        self.ended = self.canceled = False
        self.resumed = None     # a future while the run is paused
        self.session = self.user = None
        self.stream = Stream(number, worker.out.line, worker.limit)
        self.task = None
        self.children = weakref.WeakSet()   # tasks that the handler began

    @property
    def asks(self):
        """The host knows this run: it may be named in an ask."""
        return not (self.ended or self.canceled)

    def start(self):
        self.task = self.worker.loop.create_task(self._whole())

    async def _whole(self):
        current.set(self)
        status, error = "completed", None
        try:
            await self.answer()
        except asyncio.CancelledError:
            status = "canceled"
        except BaseException as e:  # SystemExit must not end the worker
            status, error = "failed", e
        self.finish(status, error)

    def cancel(self):
        if self.canceled or self.ended:
            return
        self.canceled = self.stream.muted = True
        self.resume()
        self._cancel_tasks()
        self.worker.loop.call_later(self.worker.cancel_timeout, self._abandon)

    def _abandon(self):
        """The handler has been told and has not ended: the run does."""
        if not self.ended:
            log.warning(f"run {self.number}: the handler did not end when it "
                        "was canceled; it is left to itself")
            self.finish("canceled", None)
            self._cancel_tasks()

    def _cancel_tasks(self):
        """The handler's, and those it began and would leave behind: an agent
        that works in a task of its own must not go on unseen."""
        self.task.cancel()
        for task in list(self.children):
            if not task.done():
                task.cancel()

    def pause(self):
        if self.resumed is None and not self.canceled:
            self.resumed = self.worker.loop.create_future()

    def resume(self):
        if self.resumed is not None:
            waiting, self.resumed = self.resumed, None
            if not waiting.done():
                waiting.set_result(None)

    async def room(self):
        """Returns when the host may be told more."""
        while self.resumed is not None:
            await asyncio.shield(self.resumed)
        if self.worker.out.full:
            await self.worker.out.room()

    def finish(self, status, error):
        if self.ended:
            return
        self.ended = True
        if self.canceled:
            status, error = "canceled", None
        if error is not None:
            log.failure(f"run {self.number} failed", error)
        try:
            self.close(status, error)
        except Exception as e:  # an error that can't be said
            log.failure(f"run {self.number}", e)
            self.stream.write('{"run":%d,"op":"end","status":"failed"}'
                              % self.number)
        self.stream.muted = True
        self.worker.forget(self)

    async def steps(self, source, one):
        """one(item) for each of source's items, with others' turns between."""
        iterator = source.__aiter__()
        turn = time.monotonic() + TURN
        count = 0
        try:
            async for item in iterator:
                one(item)
                count += 1
                if self.resumed is not None or self.worker.out.full:
                    await self.room()
                elif count & 15 == 0 and time.monotonic() > turn:
                    await asyncio.sleep(0)
                    turn = time.monotonic() + TURN
        finally:
            close = getattr(iterator, "aclose", None)
            if close is not None:
                with contextlib.suppress(RuntimeError):
                    await close()


class Query(Run):
    def __init__(self, worker, number, request):
        super().__init__(worker, number)
        self.request = AgentRequest(request)
        self.session = self.request.session_id
        self.user = self.request.user_id
        self.response = AgentResponse(id=self.request.id,
                                      session_id=self.session)

    async def answer(self):
        source, adapter = await self.worker.program.query(self)
        stream, feed = self.stream, adapter.feed
        text = adapter.text

        def one(item):
            if text is not None and type(item) is str:
                text(item)
            elif isinstance(item, Events):
                for event in item:
                    stream.event(event)
            elif isinstance(item, dict) and ("object" in item
                                             or "op" in item):
                stream.event(item)
            else:
                feed(item)

        await self.steps(source, one)
        adapter.finish()
        stream.usage(getattr(self.response, "usage", None))

    def close(self, status, error):
        end = {"run": self.number, "op": "end", "status": status}
        if error is not None:
            end["error"] = describe(error)
        self.stream.write(compact(end))


# Of a generator's item, as it goes into an event stream: what some readers
# take for the end of a line is written as an escape.
ESCAPES = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def sse(item):
    return "data: " + spaced(plain(item)).translate(ESCAPES) + "\n\n"


class Call(Run):
    def __init__(self, worker, number, line):
        super().__init__(worker, number)
        self.line, self.begun, self.replied = line, False, False
        self.detailed = False   # what goes wrong is said, not only that

    async def answer(self):
        await self.worker.program.call(self, self.line)

    def reply(self, status, body, type="application/json", headers=None):
        """body: bytes."""
        if self.replied or self.begun:
            return
        if len(body) > 64 << 10:    # more than fits into a line, perhaps
            self.begin(status, type or "", headers)
            self.data(body)
            return
        line = {"op": "reply", "status": status, "type": type or ""}
        if headers:
            line["headers"] = headers
        try:
            line["body"] = body.decode()
        except UnicodeDecodeError:
            line["body64"] = base64.b64encode(body).decode()
        self.replied = True
        self.stream.emit(line)

    def reply_json(self, status, value, headers=None):
        self.reply(status, utf8(compact(value)), headers=headers)

    def begin(self, status=200, type="text/event-stream", headers=None):
        self.begun = True
        line = {"op": "start", "status": status, "type": type}
        if headers:
            line["headers"] = headers
        self.stream.emit(line)

    def data(self, data):
        """str or bytes."""
        if isinstance(data, (bytes, bytearray, memoryview)):
            data = bytes(data)
            try:
                data = data.decode()
            except UnicodeDecodeError:
                for i in range(0, len(data), 48 << 10):
                    piece = base64.b64encode(data[i:i + (48 << 10)])
                    self.stream.emit({"op": "data", "data64": piece.decode()})
                return
        for i in range(0, len(data), 64 << 10):
            self.stream.emit({"op": "data", "text": data[i:i + (64 << 10)]})

    def close(self, status, error):
        if self.replied:
            return
        if self.begun:
            self.stream.write(compact({"run": self.number, "op": "end",
                                       "status": status}))
        elif status == "canceled":
            self.stream.write(compact({"run": self.number, "op": "end",
                                       "status": "canceled"}))
        elif self.detailed and error is not None:
            self.reply_json(500, {"detail": getattr(error, "message", None)
                                  or str(error)})
        else:
            self.reply(500, b"Internal Server Error",
                       "text/plain; charset=utf-8")


async def serve(call, endpoint, request):
    """Answers call with what endpoint's function makes of request."""
    try:
        async with contextlib.AsyncExitStack() as stack:
            arguments = endpoint.arguments(request)
            arguments.update(await endpoint.dependencies(request, stack, {}))
            await _answer(call, endpoint, arguments)
    except http.Invalid as e:
        call.reply_json(422, {"detail": plain(e.problems)})
    except Exception as e:
        status = getattr(e, "status_code", None)
        if not isinstance(status, int) or not hasattr(e, "detail"):
            raise
        detail = e.detail if e.detail is not None else _reason(status)
        call.reply_json(status, {"detail": plain(detail)},
                        _headers(getattr(e, "headers", None)))


async def _answer(call, endpoint, arguments):
    if endpoint.kind == "task":
        await _task(call, endpoint, arguments)
        return
    if endpoint.streams:
        await _generator(call, aio.items(endpoint.function, **arguments))
        return
    value = await aio.call(endpoint.function, **arguments)
    if inspect.isgenerator(value):
        value = aio.Threaded(value)
    if hasattr(value, "__aiter__"):
        await _generator(call, value)
    elif hasattr(value, "status_code") and hasattr(value, "headers"):
        await _response(call, value)
    else:
        _value(call, endpoint, value)


def _value(call, endpoint, value):
    if endpoint.response_class is not None and isinstance(value, (str, bytes)):
        made = endpoint.response_class(value)
        call.reply(endpoint.status, made.body, made.media_type)
    elif endpoint.status == 204:
        call.reply(204, b"")
    else:
        call.reply_json(endpoint.status, plain(value))


def _reason(status):
    import http as names
    try:
        return names.HTTPStatus(status).phrase
    except ValueError:
        return "Error"


def _headers(headers):
    return {str(k): str(v) for k, v in dict(headers or {}).items()} or None


async def _generator(call, source):
    """A generator's items as server-sent events."""
    call.begin(type="text/event-stream; charset=utf-8",
               headers={"cache-control": "no-cache"})
    try:
        await call.steps(source, lambda item: call.data(sse(item)))
    except Exception as e:
        log.failure(f"run {call.number}: a stream failed", e)
        call.data(sse({"error": str(e), "error_type": type(e).__name__,
                       "message": "Error in streaming generator"}))


async def _response(call, value):
    """A Response, ours or Starlette's."""
    headers = _headers(value.headers) or {}
    kind = headers.pop("content-type", None) or value.media_type
    headers.pop("content-length", None)
    source = getattr(value, "body_iterator", None)
    if source is None:
        call.reply(value.status_code, value.body, kind, headers)
    else:
        call.begin(value.status_code, kind, headers)
        if not hasattr(source, "__aiter__"):
            source = aio.Threaded(item for item in source)
        await call.steps(source, call.data)
    background = getattr(value, "background", None)
    if background is not None:
        await background()


async def _task(call, endpoint, arguments):
    call.detailed = True
    if endpoint.streams:
        results = []
        await call.steps(aio.items(endpoint.function, **arguments),
                         results.append)
        call.reply_json(200, plain(results))
    else:
        call.reply_json(200, plain(await aio.call(endpoint.function,
                                                  **arguments)))
