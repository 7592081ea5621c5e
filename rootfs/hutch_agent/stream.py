"""What a run says: messages and their parts, as lines of the worker protocol.

    s.text("Hello")                    more of the plain answer
    m = s.message("reasoning")         a message of its own
    m.text("Hmm")                      ... grows
    m.close(usage={...})               ... and is complete

The host makes the events of every door from these, numbers them, and closes
what a run leaves open.  Knows no framework: adapters/ call it.
"""
from .errors import AgentError
from .wire import compact, text_of

PIECE = 64 << 10      # characters of text in a line, at most
LINE = 8 << 20        # bytes of a line, at most, when the host doesn't say


class Stream:
    def __init__(self, run, line, limit=LINE):
        self.run, self.write, self.limit = run, line, limit
        self.muted = False
        self.names = 0
        self.plain = False      # a message that text() began is open
        self.text_head = '{"run":%d,"text":' % run

    def emit(self, members):
        """A line of the run; members is what stands in it besides."""
        if self.muted:
            return
        text = compact({"run": self.run, **members})
        if len(text) > self.limit // 3 and len(
                text.encode("utf-8", "replace")) >= self.limit:
            raise AgentError("EVENT_TOO_LARGE", "a part of the answer is "
                             f"larger than {self.limit} bytes")
        self.write(text)

    def text(self, text):
        if self.muted or not text:
            return
        if len(text) > PIECE:
            for i in range(0, len(text), PIECE):
                self.text(text[i:i + PIECE])
            return
        self.plain = True
        self.write(self.text_head + text_of(text) + "}")

    def end_text(self, usage=None, metadata=None):
        """The message that text() has begun is complete."""
        if self.plain:
            self.plain = False
            end = {"object": "message", "status": "completed"}
            if usage is not None:
                end["usage"] = usage
            if metadata is not None:
                end["metadata"] = metadata
            self.emit(end)

    def name(self):
        self.names += 1
        return f"m{self.names}"

    def message(self, type="message", role=None, metadata=None, usage=None):
        return Message(self, type, role, metadata, usage)

    def usage(self, usage):
        """Of the whole run."""
        if usage:
            self.emit({"op": "usage", "usage": usage})

    def event(self, members):
        """An event of the handler's own making, see events.py."""
        members = dict(members)
        members.pop("run", None)
        if members.get("object") == "message" and not members.get("status"):
            self.end_text()
        self.emit(members)

    def call(self, call_id, name, arguments, server_label=None, kind=None,
             metadata=None, usage=None):
        """A whole call of a tool."""
        Call(self, call_id, name, kind, server_label, metadata,
             usage).whole(arguments)

    def output(self, call_id, name, output, kind=None, metadata=None,
               usage=None):
        """A whole output of a tool; output is a string."""
        Output(self, call_id, name, kind, metadata, usage).whole(output)


class Message:
    def __init__(self, stream, type="message", role=None, metadata=None,
                 usage=None):
        stream.end_text()
        self.stream, self.type = stream, type
        self.id = stream.name()
        self.closed = False
        self.parts = 0
        self.growing = None     # (type, index) of the part that deltas add to
        start = {"object": "message", "id": self.id, "type": type}
        if role:
            start["role"] = role
        if metadata is not None:
            start["metadata"] = metadata
        if usage is not None:
            start["usage"] = usage
        stream.emit(start)

    def text(self, text, type="text"):
        """More text: to the part that is growing, or to a new one."""
        if not text:
            return
        if self.growing is None or self.growing[0] != type:
            self.done()
            self.growing = (type, self.parts)
            self.parts += 1
        index = self.growing[1]
        for i in range(0, len(text), PIECE):
            self.stream.emit({
                "object": "content", "msg_id": self.id, "type": type,
                "index": index, "delta": True, type: text[i:i + PIECE]})

    def done(self):
        """The part that grows is complete."""
        if self.growing is not None:
            type, index = self.growing
            self.growing = None
            self.stream.emit({"object": "content", "msg_id": self.id,
                              "type": type, "index": index,
                              "status": "completed"})

    def part(self, part, index=None, status="completed"):
        """A whole part: {"type": "image", "image_url": ...} and so on."""
        if index is None:
            self.done()
            index = self.parts
        self.parts = max(self.parts, index + 1)
        line = {"object": "content", "msg_id": self.id, "index": index, **part}
        if status:
            line["status"] = status
        self.stream.emit(line)
        return index

    def close(self, usage=None, metadata=None, status="completed"):
        if self.closed:
            return
        self.closed = True
        if status == "completed":
            self.done()
        end = {"object": "message", "id": self.id, "status": status}
        if usage is not None:
            end["usage"] = usage
        if metadata is not None:
            end["metadata"] = metadata
        self.stream.emit(end)


class _Whole(Message):
    """One part of data that has a text which may grow.

    Each line has all of it so far, so it is told anew only when it has grown
    by a good part of what it was: together not more than a few times its end.
    """

    def __init__(self, stream, type, role, metadata, usage, data, member):
        super().__init__(stream, type, role, metadata, usage)
        self.data, self.member = data, member
        self.told = -1      # length of the text when it was told last

    def grow(self, text):
        """text is all of it so far."""
        if self.closed:
            return
        if self.told < 0 and text:
            self._tell()    # announced before it says anything
        if text == self.data[self.member] and self.told >= 0:
            return
        self.data[self.member] = text
        if not 0 < self.told <= len(text) < self.told + self.told // 4 + 16:
            self._tell()

    def whole(self, text):
        """text is all of it, and it is complete."""
        self.data[self.member] = text
        self.close()

    def _tell(self, status=None):
        self.told = len(self.data[self.member])
        self.part({"type": "data", "data": self.data}, 0, status)

    def close(self, usage=None, metadata=None, status="completed"):
        if not self.closed and status == "completed":
            self._tell("completed")
        super().close(usage, metadata, status)


class Call(_Whole):
    """A call of a tool; arguments(JSON so far)."""

    def __init__(self, stream, call_id, name, kind=None, server_label=None,
                 metadata=None, usage=None):
        data = {"call_id": call_id or "", "name": name or "", "arguments": ""}
        if kind == "mcp_call":
            data = {"call_id": call_id or "", "arguments": "",
                    "name": name or "", "server_label": server_label or ""}
        super().__init__(stream, kind or "plugin_call", "assistant", metadata,
                         usage, data, "arguments")

    arguments = _Whole.grow

    def close(self, usage=None, metadata=None, status="completed"):
        if not self.data["arguments"]:
            self.data["arguments"] = "{}"
        super().close(usage, metadata, status)


class Output(_Whole):
    """What a tool has given; more(text so far)."""

    def __init__(self, stream, call_id, name, kind=None, metadata=None,
                 usage=None):
        super().__init__(stream, kind or "plugin_call_output", "tool",
                         metadata, usage, {"call_id": call_id or "",
                                           "name": name or "", "output": ""},
                         "output")

    more = _Whole.grow
