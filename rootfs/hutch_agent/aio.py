"""Ordinary functions and generators from the loop, in threads of their own.

A thread can't be stopped from outside: a generator that is no longer wanted is
closed at its next item, and a thread that never comes to one is left behind
(all are daemons, so it does not keep the process alive).
"""
import asyncio
import collections
import contextvars
import inspect
import threading

AHEAD = 64  # items that a thread may be ahead of its reader


def start(name, target, *args):
    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(target, *args),
                              name=name, daemon=True)
    thread.start()


def in_thread(function, *args, **kwargs):
    """A future of what function returns or raises."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()

    def settle(value, error):
        if future.done():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    def work():
        value = error = None
        try:
            value = function(*args, **kwargs)
        except BaseException as e:  # also SystemExit: it ends no worker
            error = e if isinstance(e, Exception) else RuntimeError(repr(e))
            if isinstance(e, StopIteration):  # a future can't hold it
                error = RuntimeError(repr(e))
        _call_soon(loop, settle, value, error)

    start(getattr(function, "__name__", "call"), work)
    return future


def _call_soon(loop, *call):
    try:
        loop.call_soon_threadsafe(*call)
    except RuntimeError:  # the loop has ended meanwhile
        pass


class Threaded:
    """Iterates a generator in a thread: async for item in Threaded(gen)."""

    def __init__(self, generator):
        self.loop = asyncio.get_running_loop()
        self.generator = generator
        self.items = collections.deque()
        self.room = threading.Semaphore(AHEAD)
        self.news = asyncio.Event()
        self.told = False           # the loop knows that there are items
        self.closed = self.ended = False
        self.error = None
        start("generator", self._work)

    def _work(self):
        error = None
        try:
            for item in self.generator:
                self.room.acquire()
                if self.closed:
                    break
                self.items.append(item)
                self._tell()
        except BaseException as e:
            error = e if isinstance(e, Exception) else RuntimeError(repr(e))
        if self.closed:
            self._close()
        self.error, self.ended = error, True
        self.told = False
        self._tell()

    def _tell(self):
        if not self.told:
            self.told = True
            _call_soon(self.loop, self.news.set)

    def _close(self):
        try:
            self.generator.close()
        except Exception:
            pass

    def __aiter__(self):
        return self

    async def __anext__(self):
        while not self.items:
            if self.ended and not self.items:
                if self.error is not None:
                    raise self.error
                raise StopAsyncIteration
            self.told = False
            if self.items or self.ended:
                continue
            await self.news.wait()
            self.news.clear()
        item = self.items.popleft()
        self.room.release()
        return item

    async def aclose(self):
        self.closed = True
        self.room.release()


async def once(result):
    """One item of what a coroutine or a plain function gave."""
    yield await result


def items(function, *args, **kwargs):
    """What function yields or returns, as something to iterate with async for.

    Generators that are not asynchronous run in a thread, and so does a plain
    function; what it returns may be any of these things again.
    """
    if inspect.isasyncgenfunction(function):
        return function(*args, **kwargs)
    if inspect.iscoroutinefunction(function):
        return _unwrap(function(*args, **kwargs))
    if inspect.isgeneratorfunction(function):
        return Threaded(function(*args, **kwargs))
    return _unwrap(in_thread(function, *args, **kwargs))


async def _unwrap(awaitable):
    value = await awaitable
    if hasattr(value, "__aiter__"):
        async for item in value:
            yield item
    elif inspect.isgenerator(value):
        inner = Threaded(value)
        try:
            async for item in inner:
                yield item
        finally:
            await inner.aclose()
    elif inspect.isawaitable(value):
        yield await value
    else:
        yield value


async def call(function, *args, **kwargs):
    """What function returns; in a thread if it is no coroutine function."""
    if inspect.iscoroutinefunction(function):
        return await function(*args, **kwargs)
    value = await in_thread(function, *args, **kwargs)
    return await value if inspect.isawaitable(value) else value
