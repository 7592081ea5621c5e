"""Events of AgentScope Runtime's own, as some handlers and converters yield
them: messages and contents with status, as they are said on the wire.
"""
from ..errors import AgentError
from ..wire import plain

HEAD = ("sequence_number", "object", "status", "error", "msg_id", "delta",
        "index")


def is_event(item):
    return (getattr(item, "object", None) in ("message", "content",
                                              "response") and
            hasattr(item, "status"))


class Native:
    def __init__(self, stream):
        self.stream = stream
        self.said = {}      # id of a message -> how many parts were said
        self.begun = set()

    def feed(self, event):
        e = event if isinstance(event, dict) else plain(event)
        kind = e.get("object")
        if kind == "message":
            self._message(e)
        elif kind == "content":
            self._content(e)
        elif kind == "response" and e.get("status") == "failed":
            error = e.get("error") or {}
            raise AgentError(error.get("code") or "AGENT_ERROR",
                             error.get("message") or "the agent failed")

    def _message(self, e):
        key = str(e.get("id") or "")[:120]
        start = {"object": "message", "id": key, "type": e.get("type"),
                 "role": e.get("role") or "assistant"}
        more = {k: e[k] for k in ("usage", "metadata")
                if isinstance(e.get(k), dict)}
        if key not in self.begun:
            self.begun.add(key)
            self.stream.end_text()
            self.stream.emit({**start, **more})
        if e.get("status") in ("created", "in_progress", "queued", None):
            return
        for i, part in enumerate(e.get("content") or []):
            if i >= self.said.get(key, 0) and isinstance(part, dict):
                self._part(key, i, part, "completed")
        self.stream.emit({"object": "message", "id": key,
                          "status": e["status"], **more})

    def _content(self, e):
        key = str(e.get("msg_id") or "")[:120]
        self.begun.add(key)
        index = e.get("index")
        if not isinstance(index, int):
            index = self.said.get(key, 0)
        self._part(key, index, e, e.get("status"))

    def _part(self, key, index, part, status):
        self.said[key] = max(self.said.get(key, 0), index + 1)
        line = {"object": "content", "msg_id": key, "index": index}
        line.update((k, v) for k, v in part.items()
                    if k not in HEAD and v is not None)
        # Only text grows; of anything else a delta is what it was so far.
        if part.get("delta") is True and part.get("type") in ("text",
                                                              "refusal"):
            line["delta"] = True
        if status == "completed":
            line["status"] = "completed"
        self.stream.emit(line)
