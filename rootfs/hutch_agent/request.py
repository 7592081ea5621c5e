"""What comes in: a request, its messages and their parts.

Records are dicts whose members are attributes too, so that code written for
AgentScope Runtime's models finds request.session_id, message.content,
part.text and model_dump(); a member that is not there is None.
"""
import json


class Record(dict):
    # What a subclass has when nobody has said it.
    DEFAULTS = {}

    def __init__(self, *args, **members):
        super().__init__(*args, **members)
        for name, value in self.DEFAULTS.items():
            if name not in self:
                self[name] = value() if callable(value) else value

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self.get(name)

    def __setattr__(self, name, value):
        self[name] = value

    def __delattr__(self, name):
        self.pop(name, None)

    def model_dump(self, mode="python", include=None, exclude=None,
                   exclude_none=False, **_):
        return {k: v for k, v in _bare(self).items()
                if not (exclude and k in exclude) and
                (include is None or k in include) and
                not (exclude_none and v is None)}

    def model_dump_json(self, **kw):
        indent = kw.pop("indent", None)
        return json.dumps(self.model_dump(**kw), ensure_ascii=False,
                          indent=indent,
                          separators=None if indent else (",", ":"))

    def model_copy(self, update=None, deep=False):
        copy = json.loads(json.dumps(self)) if deep else dict(self)
        return type(self)(**{**copy, **(update or {})})

    dict = model_dump

    @classmethod
    def model_validate(cls, value):
        if isinstance(value, cls):
            return value
        return cls(**value)


def _bare(value):
    if isinstance(value, dict):
        return {k: _bare(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_bare(v) for v in value]
    return value


def _list(value):
    return value if isinstance(value, (list, tuple)) else []


class Content(Record):
    DEFAULTS = {"type": "text", "object": "content", "delta": False}


class Message(Record):
    DEFAULTS = {"type": "message", "object": "message", "status": "created",
                "role": None, "content": list}

    def __init__(self, *args, **members):
        super().__init__(*args, **members)
        content = self["content"]
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        self["content"] = [
            p if isinstance(p, Content) else Content(p)
            for p in _list(content) if isinstance(p, dict)]

    def get_text_content(self):
        """The text of its parts, or None if it has none."""
        texts = [p["text"] for p in self["content"]
                 if p["type"] == "text" and p.get("text")]
        return "".join(texts) or None

    def get_image_content(self):
        return [p["image_url"] for p in self["content"]
                if p["type"] == "image" and p.get("image_url")]


class AgentRequest(Record):
    DEFAULTS = {"input": list, "stream": True, "session_id": None,
                "user_id": None}

    def __init__(self, *args, **members):
        super().__init__(*args, **members)
        given = self["input"]
        if isinstance(given, str):
            given = [{"role": "user", "content": given}]
        self["input"] = [m if isinstance(m, Message) else Message(m)
                         for m in _list(given) if isinstance(m, dict)]

    @property
    def news(self):
        """input without what the host has kept of the conversation."""
        kept = self.get("history")
        kept = kept if isinstance(kept, int) and kept > 0 else 0
        return self["input"][kept:]

    @property
    def text(self):
        """The text of the last message."""
        for message in reversed(self["input"]):
            return message.get_text_content() or ""
        return ""


class AgentResponse(Record):
    """The answer as far as a handler may set it: usage, so far."""
    DEFAULTS = {"object": "response", "status": "in_progress", "usage": None,
                "output": list, "error": None}
