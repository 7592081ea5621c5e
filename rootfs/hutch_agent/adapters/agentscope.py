"""AgentScope: (Msg, last) of stream_printing_messages with 1.x, whose content
is all that was said so far; events of reply_stream with 2.x.
"""
from ..events import Events
from ..wire import plain, spaced
from . import inputs, media
from .agentscope2 import EventAdapter
from .native import Native, is_event
from .usage import total

MEDIA = ("image", "audio", "video", "file")


class Adapter:
    text = None

    def __init__(self, stream, runner=None):
        self.stream = stream
        self.hooks = getattr(runner, "out_type_converters", None) or {}
        self.said = {}      # id of a Msg -> Shown
        self.calls = {}     # id of a call -> Call
        self.outputs = {}
        self.last_id = None
        self.events = None
        self.native, self.hooked = Native(stream), {}

    def feed(self, item):
        if isinstance(item, tuple) and len(item) == 2:
            self.show(item[0], bool(item[1]))
        elif item is None:
            pass
        elif isinstance(item, str):
            self.stream.text(item)
        elif is_event(item):
            self.native.feed(item)
        elif hasattr(item, "content") and hasattr(item, "role"):
            self.show(item, True)
        else:
            if self.events is None:
                self.events = EventAdapter(self.stream)
            self.events.feed(item)

    def show(self, msg, last):
        if msg is None:
            return
        if isinstance(msg, str):
            self.stream.text(msg)
            return
        if isinstance(msg, (Events, dict)):
            for event in msg if isinstance(msg, Events) else [msg]:
                self.stream.event(event)
            return
        key = getattr(msg, "id", None)
        if key != self.last_id:
            self._leave(self.last_id)
            self.last_id = key
        shown = self.said.get(key)
        if shown is None:
            shown = self.said[key] = Shown(self.stream)
        usage = getattr(msg, "usage", None)
        shown.usage = plain(usage) if usage else None
        metadata = getattr(msg, "metadata", None)
        shown.metadata = plain(metadata) if metadata is not None else None
        self._blocks(shown, blocks_of(msg.content), last)

    def _blocks(self, shown, blocks, last):
        counts = {}
        for block in blocks:
            kind = block.get("type") or "text"
            n = counts[kind] = counts.get(kind, 0) + 1
            if kind in self.hooks:
                self._hooked(self.hooks[kind], shown, block, last, counts)
            elif kind == "text":
                shown.text(n, block.get("text") or "")
            elif kind == "thinking":
                shown.think(n, block.get("thinking") or "")
            elif kind in ("tool_use", "tool_call"):
                shown.complete()
                self._call(shown, block, last)
            elif kind == "tool_result":
                shown.complete()
                self._output(shown, block, last)
            elif kind != "hint":
                shown.other(kind, n, part_of(block))
        if last:
            shown.complete()

    def _leave(self, key):
        """Another Msg has begun: the one before is complete."""
        if key in self.said:
            self.said[key].complete()

    def _call(self, shown, block, last):
        key = block.get("id")
        call = self.calls.get(key)
        if call is None:
            mcp = block.get("tool_type") == "mcp"
            call = self.calls[key] = shown.begin(
                "call", key, block.get("name"), "mcp_call" if mcp else None,
                block.get("server_label"))
        if call.closed:
            return
        given = block.get("input")
        if not given and not last:
            call.arguments("")
        else:
            call.arguments(given if isinstance(given, str) and given
                           else spaced(given or {}))
        if last:
            call.close(shown.usage, shown.metadata)

    def _output(self, shown, block, last):
        key = block.get("id")
        call = self.calls.get(key)
        if call is not None:
            call.close()
        output = self.outputs.get(key)
        if output is None or (output.closed and
                              output.source is not shown):
            kind = None
            if call is not None and call.type == "mcp_call":
                kind = "mcp_call_output"
            output = self.outputs[key] = shown.begin(
                "output", key, block.get("name"), kind)
            output.source = shown
        if output.closed:
            return
        output.more(spaced(plain(block.get("output"))))
        if last:
            output.close(shown.usage, shown.metadata)

    def _hooked(self, hook, shown, block, last, counts):
        """A converter of the runner's: a generator of runtime events."""
        message = self.hooked.get(block.get("id"))
        if message is None:
            message = self.hooked[block.get("id")] = _runtime_message()
        shown.complete()
        made = hook(block, message, last, "tool_use" in counts,
                    shown.metadata, shown.usage)
        for event in _now(made) if hasattr(made, "__anext__") else made:
            self.native.feed(event)

    def finish(self):
        if self.events is not None:
            self.events.finish()
        for shown in self.said.values():
            shown.complete()
        for m in (*self.calls.values(), *self.outputs.values()):
            m.close()
        self.stream.end_text()
        self.stream.usage(total(s.usage for s in self.said.values()))


def _runtime_message():
    """What converters of AgentScope Runtime make their events with."""
    try:
        from agentscope_runtime.engine.schemas.agent_schemas import Message
    except ImportError:
        from ..request import Message
    return Message(type="message", role="assistant")


def _now(generator):
    """Items of an asynchronous generator that does not wait for anything."""
    while True:
        step = generator.__anext__()
        try:
            step.send(None)
        except StopIteration as e:
            yield e.value
        except StopAsyncIteration:
            return
        else:
            step.close()
            raise TypeError("an out_type_converter must not wait")


class Shown:
    """What was already said of a Msg: each block only grows."""

    def __init__(self, stream):
        self.stream = stream
        self.usage = self.metadata = None
        self.message = self.reasoning = None
        self.texts = {}     # (kind, n) -> what was said of it
        self.index = {}     # (kind, n) -> its part in the open message

    def begin(self, what, *args):
        from ..stream import Call, Output
        made = {"call": Call, "output": Output}[what](
            self.stream, *args, metadata=self.metadata, usage=self.usage)
        return made

    def _open(self, name, type):
        m = getattr(self, name)
        if m is None or m.closed:
            m = self.stream.message(type, "assistant", self.metadata,
                                    self.usage)
            setattr(self, name, m)
            self.index = {k: v for k, v in self.index.items()
                          if (k[0] == "thinking") != (type == "reasoning")}
        return m

    def text(self, n, text):
        if text and self.reasoning is not None:
            self.reasoning.close(self.usage, self.metadata)
        self._grow("message", ("text", n), text)

    def think(self, n, text):
        self._grow("reasoning", ("thinking", n), text)

    def _grow(self, name, key, text):
        before = self.texts.get(key, "")
        if text == before:
            return
        self.texts[key] = text
        m = self._open(name, "reasoning" if name == "reasoning" else "message")
        at = self.index.get(key)
        rest = text[len(before):] if text.startswith(before) else None
        if at is None or m.growing != ("text", at):     # a part of its own
            m.done()
            m.text(text if rest is None else rest)
            self.index[key] = m.parts - 1
        elif rest is not None:
            m.text(rest)
        else:       # said anew: in the place of what was said
            m.part({"type": "text", "text": text}, at, None)

    def other(self, kind, n, part):
        """A block that comes as a whole; told once, and anew if it grows."""
        key = (kind, n)
        if self.texts.get(key) == part:
            return
        self.texts[key] = part
        if self.reasoning is not None:
            self.reasoning.close(self.usage, self.metadata)
        m = self._open("message", "message")
        at = self.index.get(key)
        self.index[key] = m.part(part, m.parts if at is None else at, None)

    def complete(self):
        for m in (self.reasoning, self.message):
            if m is not None:
                m.close(self.usage, self.metadata)


def blocks_of(content):
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    found = []
    for block in content or []:
        if isinstance(block, str):
            block = {"type": "text", "text": block}
        elif not isinstance(block, dict):
            block = plain(block)
        if isinstance(block, dict):
            found.append(block)
    return found


def part_of(block):
    kind = block.get("type")
    source = block.get("source")
    if isinstance(source, dict) and (kind in MEDIA or kind == "data"):
        type_ = source.get("media_type")
        url = source.get("url")
        if source.get("type") == "base64" or not url:
            url = media.data_url(source.get("data") or "", type_ or {
                "image": "image/jpeg", "video": "video/mp4"}.get(kind))
        name = block.get("filename") or block.get("name")
        if kind == "data":
            kind = media.kind_of(type_ or media.media_type_of(url))
        return media.part(kind, str(url), name)
    return {"type": "data", "data": plain(block)}


# What comes in.

def messages(input, hooks=None):
    import agentscope.message as made
    if hasattr(made, "ToolUseBlock"):
        return messages1(input, hooks or {}, made.Msg)
    from .agentscope2 import messages2
    return messages2(input, hooks or {}, made)


def messages1(input, hooks, Msg):
    found = []
    for message in input:
        if message.get("type") in hooks:
            found.append(hooks[message["type"]](message))
            continue
        metadata = message.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        role = message.get("role")
        msg = Msg(metadata.get("original_name") or message.get("name") or role
                  or "assistant", blocks_in(message),
                  {"tool": "system", "developer": "system",
                   None: "assistant"}.get(role, role),
                  metadata.get("metadata"))
        original = metadata.get("original_id")
        msg.id = original or message.get("id") or msg.id
        if original and found and getattr(found[-1], "id", None) == original:
            found[-1].content = [*blocks_of(found[-1].content), *msg.content]
        else:
            found.append(msg)
    return found


def blocks_in(message):
    blocks = []
    for turn in inputs.turns([message]):
        if isinstance(turn, inputs.Called):
            blocks.append({"type": "tool_use", "id": turn.id,
                           "name": turn.name, "input": turn.arguments})
        elif isinstance(turn, inputs.Gave):
            blocks.append({"type": "tool_result", "id": turn.id,
                           "name": turn.name, "output": _output(turn.output)})
        elif isinstance(turn, inputs.Thought):
            blocks.append({"type": "thinking", "thinking": turn.text})
        else:
            blocks += [_block(p) for p in turn.parts]
    return blocks


def _block(p):
    text = inputs.text_of(p)
    if text is not None:
        return {"type": "text", "text": text}
    url = media.url_of(p)
    found = media.split(url)
    if found:
        source = {"type": "base64", "media_type": found[0], "data": found[1]}
    else:
        source = {"type": "url", "url": url or ""}
    block = {"type": p["type"], "source": source}
    if p["type"] == "file":
        block["filename"] = p.get("filename")
    return block


def _output(output):
    """As a tool's result in AgentScope: text, or a list of its blocks."""
    if isinstance(output, dict) and isinstance(output.get("content"), list):
        output = output["content"]      # an MCP result
    if isinstance(output, list):
        blocks = [_mcp(b) for b in output]
        if all(blocks):
            return blocks
    return inputs.output_text(output)


def _mcp(block):
    """A block of AgentScope, from one of it or of MCP; None of others."""
    if not isinstance(block, dict):
        return None
    kind = block.get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        return {"type": "text", "text": block["text"]}
    if kind in MEDIA and isinstance(block.get("source"), dict):
        return block
    if kind in MEDIA and isinstance(block.get("data"), str):
        return {"type": kind, "source": {
            "type": "base64", "data": block["data"],
            "media_type": block.get("mimeType") or f"{kind}/*"}}
    return None
