"""The zygote: a warm interpreter whose copies become sandboxes' own.

Started by the broker in a trusted image, without privilege (isolator/zygote.h),
with hutch_cell.py beside it.  Descriptor 3 is the broker's link.  A request is
one datagram: 8 bytes of framing, the capabilities to keep, the instructions of
the seccomp filter, and four descriptors: the sandbox's first process, the
cells' socket, where to write the wait status, and the gate.

For each a copy A is forked, which reports at the gate, so that the broker can
put it into the sandbox's control groups, enters all the sandbox's namespaces
by one setns(2), and forks B: only a child is in the pid namespace.  B becomes
root of the sandbox with exactly the given capabilities, loads the filter and
serves cells.  We are its reaper: its status goes to the descriptor that came
with the request.
"""
import array
import ctypes
import os
import select
import signal
import socket
import struct
import types

LINK, CELLS = 3, 101
HEAD = struct.Struct("=HHI")      # wire/link: type, nfd, call
JOIN = struct.Struct("=QII")      # struct join_head
NEW = 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | \
    0x40000000 | 0x00020000       # cgroup uts ipc user pid net mount
SYS = {"x86_64": (126, 317), "aarch64": (91, 277)}[os.uname().machine]
SYS_CAPSET, SYS_SECCOMP = SYS
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 24, 38
PR_SET_CHILD_SUBREAPER, PR_SET_DUMPABLE, PR_CAPBSET_READ = 36, 4, 23
SECCOMP_SET_MODE_FILTER = 1
GATE_SECONDS = 10

libc = ctypes.CDLL(None, use_errno=True)


def must(result, what):
    if result < 0:
        raise OSError(ctypes.get_errno(), what)
    return result


def prctl(option, value=0):
    return libc.prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(0),
                      ctypes.c_ulong(0), ctypes.c_ulong(0))


# ---- what a copy does ----

def confine(caps, code):
    """Root of the sandbox, with these capabilities and this filter."""
    must(libc.setgroups(ctypes.c_size_t(0), None), "setgroups")
    must(libc.setresgid(0, 0, 0), "setresgid")
    must(libc.setresuid(0, 0, 0), "setresuid")
    for cap in range(64):
        if not caps >> cap & 1 and prctl(PR_CAPBSET_READ, cap) == 1:
            must(prctl(PR_CAPBSET_DROP, cap), "bounding set")
    low, high = caps & 0xffffffff, caps >> 32
    head = struct.pack("=Ii", 0x20080522, 0)
    sets = struct.pack("=6I", low, low, 0, high, high, 0)
    must(libc.syscall(SYS_CAPSET, head, sets), "capset")
    must(prctl(PR_SET_NO_NEW_PRIVS, 1), "no_new_privs")
    if code:
        space = ctypes.create_string_buffer(code, len(code))
        program = struct.pack("=H6xQ", len(code) // 8,
                              ctypes.addressof(space))
        must(libc.syscall(SYS_SECCOMP, SECCOMP_SET_MODE_FILTER, 0, program),
             "seccomp")


def settle(cells):
    """Environment and directory are the sandbox's, told by its agent."""
    told = cells.recv(1 << 17)
    if not told:
        os._exit(0)
    cwd, *env = told.split(b"\0")
    os.environb.clear()
    for pair in env:
        name, sep, value = pair.partition(b"=")
        if sep and name:
            os.environb[name] = value
    try:
        os.chdir(cwd)
    except OSError:
        os.chdir("/")
    os.umask(0o022)
    os.setsid()


def interpreter(cell, caps, code):
    confine(caps, code)
    os.dup2(cell, CELLS)
    os.closerange(LINK, CELLS)
    os.closerange(CELLS + 1, 1024)
    cells = socket.socket(fileno=CELLS)
    settle(cells)
    import random
    random.seed()
    hutch_cell.serve(cells, warm)


def passer(pidfd, cell, gate, report, caps, code):
    """A: through the gate, into the namespaces, and B."""
    os.close(LINK)
    door = socket.socket(fileno=gate)
    door.settimeout(GATE_SECONDS)
    door.send(b"h")
    if door.recv(1) != b"g":
        os._exit(1)
    door.close()
    must(libc.setns(pidfd, NEW), "setns")
    os.close(pidfd)
    pid = os.fork()
    if pid:
        os.write(report, struct.pack("=i", pid))
        os._exit(0)
    os.close(report)
    interpreter(cell, caps, code)


def guarded(act, *args):
    """A copy never returns into the zygote's loop."""
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        act(*args)
    except BaseException as error:
        os.write(2, f"<4>level=warning prog=hutch-zygote msg=\"{error}\"\n"
                 .encode())
    os._exit(71)


# ---- the zygote ----

class Zygote:
    def __init__(self):
        self.link = socket.socket(fileno=LINK)
        self.link.setblocking(True)
        self.reports = {}   # pipe from an A: the status descriptor
        self.statuses = {}  # pid of a B: the status descriptor
        self.wake, wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.poll = select.poll()
        self.poll.register(LINK, select.POLLIN)
        self.poll.register(self.wake, select.POLLIN)

    def request(self):
        fds = array.array("i")
        data, extra, _, _ = self.link.recvmsg(
            1 << 15, socket.CMSG_SPACE(4 * fds.itemsize))
        for _, _, b in extra:
            fds.frombytes(b[:len(b) - len(b) % fds.itemsize])
        if not data:
            os._exit(0)
        caps, count, _ = JOIN.unpack_from(data, HEAD.size)
        at = HEAD.size + JOIN.size
        self.start(*fds, caps, data[at:at + 8 * count])

    def start(self, pidfd, cell, status, gate, caps, code):
        get, put = os.pipe2(os.O_CLOEXEC)
        if os.fork() == 0:
            os.close(get)
            guarded(passer, pidfd, cell, gate, put, caps, code)
        for fd in (pidfd, cell, gate, put):
            os.close(fd)
        self.reports[get] = status
        self.poll.register(get, select.POLLIN)

    def report(self, pipe):
        data = os.read(pipe, 4)
        self.poll.unregister(pipe)
        os.close(pipe)
        status = self.reports.pop(pipe)
        if len(data) == 4:
            self.statuses[struct.unpack("=i", data)[0]] = status
        else:  # A has failed; its own reason is in the log
            self.tell(status, 71 << 8)

    @staticmethod
    def tell(status, value):
        try:
            os.write(status, struct.pack("=i", value))
        except OSError:
            pass
        os.close(status)

    def reap(self):
        try:
            os.read(self.wake, 512)
        except BlockingIOError:
            pass
        for pipe in list(self.reports):  # who reported before ending?
            if select.select([pipe], [], [], 0)[0]:
                self.report(pipe)
        while True:
            try:
                pid, value = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self.statuses:
                self.tell(self.statuses.pop(pid), value)

    def run(self):
        self.link.send(HEAD.pack(1, 0, 0) + b"ready")
        while True:
            for fd, _ in self.poll.poll():
                if fd == LINK:
                    self.request()
                elif fd == self.wake:
                    self.reap()
                elif fd in self.reports:
                    self.report(fd)


def load(name):
    """The module beside us, under the name that its tracebacks leave out."""
    module = types.ModuleType(name)
    with open(f"/tmp/{name}.py", encoding="utf-8") as f:
        exec(compile(f.read(), name, "exec"), module.__dict__)
    return module


prctl(PR_SET_CHILD_SUBREAPER, 1)
hutch_cell = load("hutch_cell")
warm = hutch_cell.make_cells()
hutch_cell.rehearse(warm)
Zygote().run()
