"""The interpreter in which cells run, as the agent of a sandbox starts it.

It is compiled into the agent and handed to the image's own python3, so an
image needs nothing of ours; with IPython in the image cells are IPython's,
without it plain Python's.  Standard library only, Python 3.8 or newer.

Descriptor 3 is a SOCK_SEQPACKET socket to the agent:

    agent   b"R" with three descriptors: where the cell's stdout and stderr
            go, and a memory file with its code (UTF-8)
    here    b"H" and a text once, when ready; b"D" when a cell is done

Descriptors 1 and 2 are the cell's for as long as no other has come, so that
children and C code are heard too, each child at the cell that started it.
SIGINT interrupts the cell.  One event loop lives on across cells: tasks do.
"""
import array
import asyncio
import codecs
import fcntl
import io
import os
import signal
import socket
import sys
import types

HERE = "hutch_cell"  # as which the agent compiles this
SOCKET = 100  # out of the way of code that closes 3, 4, 5, ...


# ---- standard streams ----

def lenient(error):
    """Names of files that are no UTF-8 go out as the bytes they are."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    bad = error.object[error.start:error.end]
    out = bytearray()
    for c in bad:
        n = ord(c)
        out += bytes([n - 0xdc00]) if 0xdc80 <= n <= 0xdcff else b"?"
    return bytes(out), error.end


class Streams:
    """sys.stdin, stdout and stderr on descriptors 0, 1 and 2.

    Nothing is held back in them: what a child writes between two prints comes
    out between them.
    """

    def __init__(self):
        codecs.register_error("hutch", lenient)
        self.kept = {}

    @staticmethod
    def make(fd, mode, name):
        raw = io.FileIO(fd, mode, closefd=False)
        if mode == "r":
            return io.TextIOWrapper(io.BufferedReader(raw), encoding="utf-8",
                                    errors="surrogateescape")
        raw.name = name
        return io.TextIOWrapper(Unbuffered(raw), encoding="utf-8",
                                errors="hutch", write_through=True,
                                newline="\n")

    def fresh(self):
        """Each cell finds them whole, whatever the one before it did."""
        for name, fd, mode in (("stdin", 0, "r"), ("stdout", 1, "w"),
                               ("stderr", 2, "w")):
            stream = self.kept.get(name)
            if stream is None or stream.closed:
                stream = self.kept[name] = self.make(fd, mode, f"<{name}>")
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)


class Unbuffered(io.BufferedIOBase):
    """A .buffer that writes all of what it is given, at once."""

    def __init__(self, raw):
        self.raw = raw

    name = property(lambda self: self.raw.name)
    mode = property(lambda self: self.raw.mode)

    def writable(self):
        return True

    def fileno(self):
        return self.raw.fileno()

    def isatty(self):
        return False

    def write(self, b):
        n = self.raw.write(b)
        if type(b) is bytes and n == len(b):
            return n
        with memoryview(b) as view, view.cast("B") as at:
            while n < len(at):  # a signal came in between
                n += self.raw.write(at[n:])
        return n


def unbuffer_c():
    """printf of C code comes out when it is called, not at the end."""
    try:
        import ctypes
        libc = ctypes.CDLL(None)
        stdout = ctypes.c_void_p.in_dll(libc, "stdout")
        libc.setvbuf(stdout, None, 2, 0)
    except (ImportError, OSError, ValueError, AttributeError):
        pass


# ---- !command ----

class Terminal:
    """A command of the shell's on a terminal of its own.

    IPython's own way keeps all of the output until the command has ended, and
    looks at all of it for each piece that comes: a gigabyte never ends.  Here
    what comes goes out, and who writes faster than the agent reads waits.
    """
    SIZE = (24, 80)
    LAST_WORDS = 0.2  # seconds after an interrupt, and after each signal

    def __init__(self, command):
        import shutil
        name = os.environ.get("SHELL", "sh")
        shell = shutil.which(name)
        if shell is None:
            raise OSError(f'"{name}" shell not found')
        self.text = codecs.getincrementaldecoder("utf-8")("replace")
        self.status, self.open = None, True
        self.pid, self.fd = os.forkpty()
        if self.pid == 0:
            self.become([shell, "-c", command])

    def become(self, argv):
        import struct
        import termios
        try:
            size = struct.pack("4H", *self.SIZE, 0, 0)
            fcntl.ioctl(0, termios.TIOCSWINSZ, size)
            for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            os.closerange(3, os.sysconf("SC_OPEN_MAX"))
            os.execv(argv[0], argv)
        finally:
            os._exit(127)

    def piece(self):
        """Shows some of its output; False at its end."""
        try:
            got = os.read(self.fd, 65536)
        except OSError:  # EIO: nobody has the terminal open any more
            got = b""
        text = self.text.decode(got, not got)
        if text:
            sys.stdout.write(text)
        return bool(got)

    def ended(self, hang=0):
        if self.status is None:
            try:
                pid, status = os.waitpid(self.pid, hang)
            except ChildProcessError:  # somebody else's wait was quicker
                pid, status = self.pid, 0
            if pid != 0:
                self.status = status
        return self.status is not None

    def ends_soon(self):
        """What it still says is shown, for as long as it may take."""
        import select
        import time
        until = time.monotonic() + self.LAST_WORDS
        while time.monotonic() < until:
            wait = [self.fd] if self.open else []
            if select.select(wait, [], [], 0.01)[0]:
                self.open = self.piece()
            elif self.ended(os.WNOHANG):
                return True
        return False

    def tell(self, number):
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            pass

    def interrupt(self):
        """As the key does it; who does not care is ended."""
        try:
            os.write(self.fd, b"\3")
        except OSError:
            pass
        for number in (signal.SIGHUP, signal.SIGCONT, signal.SIGINT):
            if self.ends_soon():
                return
            self.tell(number)
        self.ends_soon()

    def close(self):
        if self.status is None:
            os.killpg(self.pid, signal.SIGKILL)  # it is there: not waited for
            self.ended()
        os.close(self.fd)

    @classmethod
    def system(cls, command):
        """Its exit status; the number of a signal is negative."""
        it = cls(command)
        try:
            while it.piece():
                pass
            it.ended()
        except KeyboardInterrupt:
            try:
                it.interrupt()
            except KeyboardInterrupt:
                pass  # impatient
        finally:
            it.close()
        if os.WIFSIGNALED(it.status):
            return -os.WTERMSIG(it.status)
        code = os.WEXITSTATUS(it.status)
        return 128 - code if code > 128 else code


# ---- cells ----

class IPythonCells:
    def __init__(self):
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config
        import IPython
        config = Config()
        # Its thread and its database would be state outside of the cells.
        config.HistoryManager.enabled = False
        self.shell = InteractiveShell.instance(config=config)
        if getattr(self.shell.db, "_mock", False):
            self.shell.db = {}  # or each %cd would warn that it has none
        from IPython.core import interactiveshell
        if hasattr(interactiveshell, "system"):
            interactiveshell.system = Terminal.system
        self.shell.set_custom_exc((KeyboardInterrupt,), self.interrupted)
        self.kind = f"IPython {IPython.__version__}"

    @staticmethod
    def interrupted(shell, kind, value, tb, tb_offset=None):
        """The traceback ends where the cell was, not in our handler."""
        at = tb
        while at is not None and at.tb_next is not None:
            if at.tb_next.tb_frame.f_code.co_filename == HERE:
                at.tb_next = None
            at = at.tb_next
        shell.showtraceback((kind, value, tb), tb_offset=tb_offset)

    def forget(self):
        self.shell.reset(new_session=True, aggressive=False)

    async def run(self, code):
        shell = self.shell
        failed = None
        try:
            clean = shell.transform_cell(code)
        except Exception:
            clean, failed = code, sys.exc_info()
        result = None
        try:
            result = await shell.run_cell_async(
                code, store_history=False, transformed_cell=clean,
                preprocessing_exc_tuple=failed)
        finally:
            shell.events.trigger("post_execute")
            shell.events.trigger("post_run_cell", result)


class PlainCells:
    """What is left of it without IPython."""

    def __init__(self):
        self.kind = "Python %d.%d.%d" % sys.version_info[:3]
        self.module = types.ModuleType("__main__")
        self.module.__dict__["__builtins__"] = __builtins__
        sys.modules["__main__"] = self.module
        self.count = 0

    def forget(self):
        for name in ("os", "sys", "json", "_"):
            self.module.__dict__.pop(name, None)

    async def execute(self, tree, mode):
        import ast
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        body = (ast.Module(tree, []) if mode == "exec" else
                ast.Expression(tree[0].value))
        code = compile(body, self.name, mode, flags, True)
        value = eval(code, self.module.__dict__)
        if code.co_flags & 0x80:  # CO_COROUTINE
            value = await value
        return value

    async def run(self, code):
        import ast
        import linecache
        self.count += 1
        self.name = f"<cell {self.count}>"
        linecache.cache[self.name] = (len(code), None,
                                      code.splitlines(True), self.name)
        try:
            body = compile(code, self.name, "exec",
                           ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
                           True).body
            last = [body.pop()] if body and isinstance(
                body[-1], ast.Expr) else []
            if body:
                await self.execute(body, "exec")
            if last:
                self.show(await self.execute(last, "eval"))
        except BaseException:
            self.complain()

    def show(self, value):
        if value is None:
            return
        text = repr(value)
        gap = "\n" if "\n" in text else ""
        print(f"Out[1]: {gap}{text}")
        self.module._ = value

    @staticmethod
    def complain():
        import traceback
        kind, value, tb = sys.exc_info()
        while tb is not None and tb.tb_frame.f_code.co_filename == HERE:
            tb = tb.tb_next
        print("".join(traceback.format_exception(kind, value, tb)), end="")


def make_cells():
    try:
        return IPythonCells()
    except ImportError:
        return PlainCells()


# ---- interrupts ----

class Interrupts:
    """SIGINT, while one task of the loop is the cell's.

    Code that runs is interrupted where it is.  A cell that awaits something
    gets its KeyboardInterrupt there, by way of a cancelled task.
    """

    def __init__(self, loop):
        self.loop, self.task = loop, None
        self.running, self.flag, self.asked = False, False, 0
        self.arm()

    def arm(self):
        self.handler = self.caught
        signal.signal(signal.SIGINT, self.handler)

    def caught(self, _number, _frame):
        self.asked += 1
        now = asyncio.current_task(self.loop)
        if self.running and now is self.task or (
                now is not None and now is not self.task) and (
                self.asked > 1 or not self.running):
            raise KeyboardInterrupt
        if self.running and now is None:
            self.loop.call_soon_threadsafe(self.cancel)

    def cancel(self):
        if self.running:
            self.flag = True
            self.task.cancel()

    @types.coroutine
    def drive(self, coro):
        """Await coro; our own cancellations reach it as interrupts."""
        step, what = coro.send, None
        while True:
            try:
                future = step(what)
            except StopIteration as end:
                return end.value
            try:
                step, what = coro.send, (yield future)
            except asyncio.CancelledError as cancelled:
                step, what = coro.throw, cancelled
                if self.flag:
                    self.flag, what = False, KeyboardInterrupt()
                    if hasattr(self.task, "uncancel"):
                        self.task.uncancel()

    async def guard(self, coro):
        if signal.getsignal(signal.SIGINT) in (signal.SIG_DFL, signal.SIG_IGN,
                                               signal.default_int_handler):
            self.arm()
        self.asked, self.flag, self.running = 0, False, True
        try:
            return await self.drive(coro)
        finally:
            self.running = False


# ---- the agent ----

class Driver:
    def __init__(self, sock, cells=None):
        self.sock, self.pid, self.cells = sock, os.getpid(), cells
        self.streams = Streams()
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        self.interrupts = Interrupts(self.loop)
        self.waiter = None
        os.register_at_fork(after_in_child=self.forked)

    def forked(self):
        """A copy of us hears nothing and must not seem to be alive."""
        try:
            os.close(SOCKET)
        except OSError:
            pass

    def receive(self):
        """The code of the next cell; its outputs are 1 and 2 then."""
        fds = array.array("i")
        message, extra, _, _ = self.sock.recvmsg(
            16, socket.CMSG_SPACE(3 * fds.itemsize))
        for _, _, b in extra:
            fds.frombytes(b[:len(b) - len(b) % fds.itemsize])
        if not message:
            os._exit(0)  # the agent let go of us
        # A cell that closed 0, 1 or 2 made these numbers free.
        out, err, code = (
            fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3) if fd < 3 else fd
            for fd in fds)
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.close(out)
        os.close(err)
        with open(code, "rb") as f:
            f.seek(0)
            return f.read().decode("utf-8", "replace")

    def readable(self):
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(None)

    async def wait(self):
        while True:
            self.waiter = self.loop.create_future()
            try:
                await self.waiter
                return
            except asyncio.CancelledError:
                pass  # a cell cancelled the task it ran in, and left

    async def cell(self, code):
        self.streams.fresh()
        try:
            await self.interrupts.guard(self.cells.run(code))
        except BaseException:  # the machinery's own; the cell's are shown
            import traceback
            traceback.print_exc()
        if os.getpid() != self.pid:
            os._exit(0)  # a fork that ran to the end of the cell

    async def serve(self):
        self.interrupts.task = asyncio.current_task()
        self.loop.add_reader(self.sock, self.readable)
        self.sock.send(b"H" + self.cells.kind.encode())
        while True:
            await self.wait()
            await self.cell(self.receive())
            self.sock.send(b"D")

    def run(self):
        self.streams.fresh()
        self.cells = self.cells or make_cells()
        task = self.loop.create_task(self.serve())
        while not task.done():
            try:
                self.loop.run_until_complete(task)
            except (KeyboardInterrupt, SystemExit, RuntimeError):
                if self.loop.is_closed():
                    break  # else: of some other task, or loop.stop()
            except BaseException:  # the loop itself, robbed of its files
                break
        os._exit(70)


def serve(sock, cells=None):
    """Cells for the agent behind this socket; doesn't return."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # until there is a cell
    was = sock.detach()
    os.dup2(was, SOCKET, False)
    os.close(was)
    sock = socket.socket(fileno=SOCKET)
    sock.setblocking(True)
    sys.argv = [""]
    unbuffer_c()
    Driver(sock, cells).run()


def rehearse(cells):
    """Before copies are made: what the first cells would load, once."""
    kept = os.dup(1), os.dup(2)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    Streams().fresh()
    for code in ("1+1", "print(1)", "1/0", "import os, sys, json"):
        asyncio.run(cells.run(code))
    cells.forget()
    for fd, target in zip(kept, (1, 2)):
        os.dup2(fd, target)
        os.close(fd)
    os.close(null)


if __name__ == "hutch_cell_run":  # as the agent starts it
    serve(socket.socket(fileno=3))
