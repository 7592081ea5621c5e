"""The events of AgentScope 2's reply_stream, and its messages."""
from ..errors import AgentError
from ..stream import Call, Output
from ..wire import plain, spaced
from . import inputs, media

USAGE = ("input_tokens", "output_tokens", "cache_input_tokens",
         "cache_creation_input_tokens")


class EventAdapter:
    def __init__(self, stream):
        self.stream = stream
        self.open = {}      # id of a block or a call -> message
        self.texts = {}     # ... -> its arguments, output or data so far
        self.kinds = {}     # id of a data block -> (media type, name)
        self.used = dict.fromkeys(USAGE, 0)
        self.uses = False

    def feed(self, event):
        kind = str(getattr(event, "type", ""))
        if not kind or not hasattr(event, "id"):
            raise TypeError("an AgentScope handler yields (Msg, last) or "
                            f"events, not {type(event).__name__}")
        take = getattr(self, "_" + kind.rsplit(".", 1)[-1].lower(), None)
        if take is not None:
            take(event)

    def _begin(self, e, type):
        if e.block_id not in self.open:
            self.open[e.block_id] = self.stream.message(type, "assistant")
        return self.open[e.block_id]

    def _text_block_start(self, e):
        self._begin(e, "message")

    def _text_block_delta(self, e):
        self._begin(e, "message").text(e.delta)

    def _text_block_end(self, e):
        m = self._begin(e, "message")
        text = getattr(e, "text", None)
        if text is not None:
            m.growing = None
            m.part({"type": "text", "text": text}, 0)
        m.close()

    def _thinking_block_start(self, e):
        self._begin(e, "reasoning")

    def _thinking_block_delta(self, e):
        self._begin(e, "reasoning").text(e.delta)

    def _thinking_block_end(self, e):
        self._begin(e, "reasoning").close()

    def _data_block_start(self, e):
        self.kinds[e.block_id] = (e.media_type, getattr(e, "name", None))

    def _data_block_delta(self, e):
        kept = self.texts.setdefault(e.block_id, [None, ""])
        if e.url is not None:
            kept[0] = str(e.url)
        else:
            kept[1] += e.data or ""
        self.kinds.setdefault(e.block_id, (e.media_type, None))

    def _data_block_end(self, e):
        url, data = self.texts.pop(e.block_id, (None, ""))
        media_type, name = self.kinds.pop(e.block_id, (None, None))
        if url or data:
            m = self.stream.message("message", "assistant")
            m.part(media.by_type(media_type, url, data, name))
            m.close()

    def _tool_call_start(self, e):
        self.open[e.tool_call_id] = call = Call(
            self.stream, e.tool_call_id, e.tool_call_name)
        self.texts[e.tool_call_id] = ""
        call.arguments("")

    def _tool_call_delta(self, e):
        if e.tool_call_id in self.open:
            self.texts[e.tool_call_id] += e.delta
            self.open[e.tool_call_id].arguments(self.texts[e.tool_call_id])

    def _tool_call_end(self, e):
        call = self.open.pop(e.tool_call_id, None)
        if call is not None:
            call.close()

    def _result(self, e):
        key = ("output", e.tool_call_id)
        if key not in self.open:
            self.open[key] = Output(self.stream, e.tool_call_id,
                                    getattr(e, "tool_call_name", ""))
            self.texts[key] = []
        return self.open[key], self.texts[key]

    def _tool_result_start(self, e):
        self._result(e)

    def _tool_result_text_delta(self, e):
        output, blocks = self._result(e)
        if blocks and blocks[-1]["type"] == "text":
            blocks[-1]["text"] += e.delta
        else:
            blocks.append({"type": "text", "text": e.delta})
        output.more(spaced(blocks))

    def _tool_result_data_delta(self, e):
        output, blocks = self._result(e)
        source = ({"type": "url", "url": str(e.url)} if e.url is not None else
                  {"type": "base64", "data": e.data})
        source["media_type"] = e.media_type
        blocks.append({"type": "data", "source": source})
        output.more(spaced(blocks))

    def _tool_result_end(self, e):
        output, _ = self._result(e)
        state = str(getattr(e, "state", "") or "success").rsplit(".", 1)[-1]
        output.close(metadata=None if state.lower() == "success"
                     else {"status": state.lower()})
        self.open.pop(("output", e.tool_call_id))

    def _model_call_end(self, e):
        self.uses = True
        for name in USAGE:
            self.used[name] += getattr(e, name, 0) or 0

    def _require_user_confirm(self, e):
        for call in getattr(e, "tool_calls", None) or []:
            d = plain(call)
            m = self.stream.message("mcp_approval_request", "assistant")
            m.part({"type": "data", "data": {
                "id": d.get("id"), "arguments": d.get("input") or "{}",
                "name": d.get("name"), "server_label": ""}})
            m.close()

    def _reply_end(self, e):
        if str(getattr(e, "finished_reason", "")).endswith("error"):
            error = plain(getattr(e, "error", None)) or {}
            raise AgentError(error.get("code") or "AGENT_ERROR",
                             error.get("message") or "the reply failed")

    def finish(self):
        for m in self.open.values():
            m.close()
        if self.uses:
            self.stream.usage({k: v for k, v in self.used.items()
                               if v or not k.startswith("cache")})


def messages2(input, hooks, made):
    found = []
    for message in input:
        if message.get("type") in hooks:
            found.append(hooks[message["type"]](message))
            continue
        role = message.get("role")
        for turn in inputs.turns([message]):
            if not isinstance(turn, inputs.Said):
                role = "assistant"
        role = {"tool": "assistant", "developer": "system",
                None: "assistant"}.get(role, role)
        found.append(made.Msg(
            name=message.get("name") or role, role=role,
            content=[b for turn in inputs.turns([message])
                     for b in _blocks(turn, role, made)]))
    return found


def _blocks(turn, role, made):
    if isinstance(turn, inputs.Called):
        return [made.ToolCallBlock(id=turn.id, name=turn.name,
                                   input=spaced(turn.arguments),
                                   state="finished")]
    if isinstance(turn, inputs.Gave):
        return [made.ToolResultBlock(id=turn.id, name=turn.name,
                                     output=inputs.output_text(turn.output),
                                     state="success")]
    if isinstance(turn, inputs.Thought):
        return [made.ThinkingBlock(thinking=turn.text)]
    return [b for b in (_block(p, role, made) for p in turn.parts) if b]


def _block(p, role, made):
    text = inputs.text_of(p)
    if text is not None:
        return made.TextBlock(text=text)
    url = media.url_of(p)
    if not url or role == "system":
        return None
    found = media.split(url)
    if found:
        source = made.Base64Source(media_type=found[0], data=found[1])
    else:
        source = made.URLSource(url=url, media_type=media.media_type_of(
            url, f"{p['type']}/*"))
    return made.DataBlock(source=source, name=p.get("filename"))
