"""Microsoft Agent Framework: updates of run(stream=True), or its response."""
from ..errors import AgentError
from ..wire import plain, spaced
from . import inputs, media
from .lane import Lane

USAGE = {"input_token_count": "input_tokens",
         "output_token_count": "output_tokens",
         "total_token_count": "total_tokens"}
# Calls of tools that run at the model's side, and what their arguments are.
HOSTED = {"code_interpreter_tool": ("inputs", "outputs"),
          "image_generation_tool": ("additional_properties", "outputs"),
          "search_tool": ("arguments", "result"),
          "shell_tool": ("commands", "outputs"),
          "computer_tool": ("actions", "screenshot")}


class Adapter:
    text = None

    def __init__(self, stream, runner=None):
        self.stream, self.lane = stream, Lane(stream)
        self.message_id, self.replaces = None, False
        self.calls = {}     # id -> [Call, arguments so far]
        self.last = None    # id of the call that came last

    def feed(self, item):
        if item is None:
            return
        if isinstance(item, str):
            self.lane.text(item)
        elif hasattr(item, "contents"):
            self._update(item)
        elif hasattr(item, "messages"):     # a whole response
            for message in item.messages:
                self._update(message)
            self._use(getattr(item, "usage_details", None))
        elif hasattr(item, "data"):         # an event of a workflow
            if hasattr(item.data, "contents") or \
                    hasattr(item.data, "messages"):
                self.feed(item.data)
        elif hasattr(item, "type"):
            self._content(item)
        else:
            raise TypeError("a handler of Agent Framework yields updates, "
                            f"not {type(item).__name__}")

    def _update(self, update):
        role = getattr(update, "role", None)
        if str(getattr(role, "value", role)) in ("user", "system"):
            return      # what was said to the agent is no answer
        key = getattr(update, "message_id", None)
        if key and self.message_id and key != self.message_id:
            self._end()
        self.message_id = key or self.message_id
        self.replaces = getattr(update, "merge_mode", None) == "replace"
        for content in update.contents or []:
            self._content(content)

    def _end(self):
        self.lane.end()
        for call, _ in self.calls.values():
            call.close()
        self.last = None

    def _content(self, c):
        kind = str(getattr(c, "type", ""))
        take = getattr(self, "_" + kind, None)
        if take is not None:
            take(c)
        elif kind.endswith("_call"):
            self._hosted_call(kind[:-5], c)
        elif kind.endswith("_result"):
            self._hosted_result(kind[:-7], c)

    def _text(self, c):
        if self.replaces or getattr(c, "merge_mode", None) == "replace":
            self.lane.replace(c.text)
        else:
            self.lane.text(c.text)

    def _text_reasoning(self, c):
        self.lane.think(c.text)

    def _uri(self, c):
        self.lane.part(media.by_type(
            getattr(c, "media_type", None) or media.media_type_of(c.uri),
            url=c.uri))

    _data = _uri

    def _hosted_file(self, c):
        self.lane.part({"type": "file", "file_id": c.file_id})

    def _error(self, c):
        raise AgentError(getattr(c, "error_code", None) or "AGENT_ERROR",
                         getattr(c, "message", None) or
                         getattr(c, "error_details", None) or "?")

    def _usage(self, c):
        if getattr(c, "merge_mode", None) == "replace":
            self.lane.used = None   # this is the whole sum so far
        self._use(getattr(c, "usage_details", None) or
                  getattr(c, "details", None))

    def _use(self, usage):
        usage = plain(usage)
        if isinstance(usage, dict):
            self.lane.use({USAGE.get(k, k): v for k, v in usage.items()})

    def _function_call(self, c):
        """The first piece has id and name, later ones may have neither."""
        key = c.call_id or self.last
        if key is None:
            return
        self.last = key
        given = c.arguments
        if key not in self.calls:
            self.calls[key] = [self.lane.call(key, c.name), ""]
        entry = self.calls[key]
        if isinstance(given, str):
            if getattr(c, "merge_mode", None) == "replace":
                entry[1] = ""
            entry[1] += given
        elif given is not None:
            entry[1] = spaced(plain(given))
        entry[0].arguments(entry[1])

    def _function_result(self, c):
        items = getattr(c, "items", None) or []
        result = c.result
        if result is None and items:
            result = [self._plain(i) for i in items]
        failed = getattr(c, "exception", None) is not None
        if failed and not result:
            result = str(c.exception)
        self.lane.output(c.call_id, getattr(c, "name", None), _string(result),
                         error=failed)
        for item in items:
            if getattr(item, "type", None) in ("uri", "data"):
                self._uri(item)
        self.last = None

    @staticmethod
    def _plain(item):
        if getattr(item, "type", None) == "text":
            return {"type": "text", "text": item.text}
        return {"type": item.type, "uri": getattr(item, "uri", None)}

    def _mcp_server_tool_call(self, c):
        call = self.lane.call(c.call_id, getattr(c, "tool_name", None) or
                              c.name, "mcp_call", c.server_name)
        call.whole(c.arguments if isinstance(c.arguments, str)
                   else spaced(plain(c.arguments or {})))

    def _mcp_server_tool_result(self, c):
        self.lane.output(c.call_id, None, _string(plain(c.output)),
                         "mcp_call_output")

    def _hosted_call(self, name, c):
        given = getattr(c, HOSTED.get(name, ("arguments",))[0], None)
        key = getattr(c, "call_id", None) or getattr(c, "image_id", None)
        if key in self.lane.calls:      # told before, and now with more
            return
        self.lane.call(key, name).whole(spaced(
            {"input": plain(given)} if given else {}))

    def _hosted_result(self, name, c):
        given = getattr(c, HOSTED.get(name, ("", "output"))[1], None)
        key = getattr(c, "call_id", None) or getattr(c, "image_id", None)
        self.lane.output(key, name, _string(plain(given)))
        found = given if isinstance(given, (list, tuple)) else [given]
        for item in found:
            if getattr(item, "type", None) in ("uri", "data"):
                self._uri(item)

    def _function_approval_request(self, c):
        self._end()
        call = c.function_call
        m = self.stream.message("mcp_approval_request", "assistant")
        m.part({"type": "data", "data": {
            "id": c.id, "name": getattr(call, "name", None),
            "arguments": _string(getattr(call, "arguments", None) or {}),
            "server_label": getattr(call, "server_name", None) or ""}})
        m.close()

    def finish(self):
        self._end()
        self.lane.close()
        self.stream.usage(self.lane.used)


def _string(value):
    if value is None:
        return ""
    return value if isinstance(value, str) else spaced(plain(value))


# What comes in.

def messages(input, hooks=None):
    import agent_framework as made
    found = []
    for message in input:
        hook = (hooks or {}).get(message.get("type"))
        if hook is not None:
            found.append(hook(message))
            continue
        role = message.get("role")
        role = {"developer": "system", None: "assistant"}.get(role, role)
        metadata = message.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        for turn in inputs.turns([message]):
            if isinstance(turn, inputs.Gave):
                role = "tool"
            elif role == "tool" or not isinstance(turn, inputs.Said):
                role = "assistant"
            found.append(made.Message(
                role, _contents(turn, made),
                author_name=metadata.get("original_name") or
                message.get("name"),
                message_id=metadata.get("original_id") or message.get("id"),
                additional_properties=metadata.get("metadata")))
    return found


def _contents(turn, made):
    Content = made.Content
    if isinstance(turn, inputs.Called):
        return [Content.from_function_call(turn.id, turn.name,
                                           arguments=spaced(turn.arguments))]
    if isinstance(turn, inputs.Gave):
        return [Content.from_function_result(
            turn.id, result=inputs.output_text(turn.output))]
    if isinstance(turn, inputs.Thought):
        return [Content.from_text_reasoning(text=turn.text)]
    found = []
    for p in turn.parts:
        text = inputs.text_of(p)
        url = None if text is not None else media.url_of(p)
        if text is not None:
            found.append(Content.from_text(text))
        elif url:
            found.append(Content.from_uri(url, media_type=media.media_type_of(
                url, f"{p['type']}/*" if p["type"] != "file"
                else "application/octet-stream")))
        elif p.get("file_id"):
            found.append(Content.from_hosted_file(p["file_id"]))
    return found
