"""One speaker of a run: what he says comes one after the other.

Reasoning ends where text begins, both end where a call begins.
"""
from ..stream import Call
from .usage import total


class Lane:
    def __init__(self, stream):
        self.stream = stream
        self.message = self.reasoning = None
        self.calls = {}     # id -> Call, open or not
        self.used = None
        self.metadata = None

    def _begin(self, name, type):
        m = getattr(self, name)
        if m is None or m.closed:
            m = self.stream.message(type, "assistant", self.metadata)
            setattr(self, name, m)
        return m

    @property
    def speaking(self):
        return self.message is not None and not self.message.closed

    def text(self, text, type="text"):
        if text:
            self.end_thought()
            self._begin("message", "message").text(text, type)

    def think(self, text):
        if text:
            self._begin("reasoning", "reasoning").text(text)

    def replace(self, text):
        """text instead of what the growing text has said."""
        if self.speaking and self.message.growing is not None:
            self.message.part({"type": "text", "text": text},
                              self.message.growing[1], None)
        else:
            self.text(text)

    def part(self, part):
        self.end_thought()
        self._begin("message", "message").part(part)

    def end_thought(self):
        if self.reasoning is not None:
            self.reasoning.close()

    def end(self, usage=None):
        """What is being said is complete; calls are not."""
        self.end_thought()
        if self.message is not None:
            self.message.close(usage=usage)

    def call(self, call_id, name, kind=None, label=None):
        """A call begins."""
        self.end()
        call = Call(self.stream, call_id, name, kind, label)
        if call_id:
            self.calls[call_id] = call
        return call

    def output(self, call_id, name, output, kind=None, error=False):
        """Of a tool; its call is complete."""
        self.end()
        call = self.calls.get(call_id)
        if call is not None:
            call.close()
            name = name or call.data["name"]
            if call.type != "plugin_call":
                kind = kind or call.type + "_output"
        self.stream.output(call_id, name, output, kind,
                           {"status": "error"} if error else None)

    def use(self, usage):
        if usage:
            self.used = total([self.used, usage])

    def close(self):
        self.end()
        for call in self.calls.values():
            call.close()
