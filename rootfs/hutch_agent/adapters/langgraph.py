"""LangGraph: what a graph streams, in any of its modes.

    (message, last)         as AgentScope Runtime's handlers yield it
    (message, metadata)     stream_mode="messages", as it comes
    (mode, item), (namespace, mode, item)       several modes, subgraphs
    {node: update}, {"messages": [...]}         updates, values
"""
from ..wire import plain, spaced
from . import inputs, media
from .lane import Lane
from .usage import total

MODES = ("messages", "updates", "values", "custom", "debug", "checkpoints",
         "tasks", "events")
AI = ("ai", "AIMessageChunk", "assistant")


class Adapter:
    text = None

    def __init__(self, stream, runner=None):
        self.stream = stream
        self.said = {}      # id of a message -> Said
        self.calls = {}     # id of a call -> Call
        self.whole = set()  # ids of messages that were told as a whole
        self.began = False

    def feed(self, item):
        if item is None:
            return
        if isinstance(item, str):
            self.stream.text(item)
        elif isinstance(item, dict):
            self._dict(item)
        elif isinstance(item, tuple):
            self._tuple(item)
        else:
            self._message(item, None)

    def _tuple(self, item):
        if len(item) == 3:      # with the namespace of a subgraph
            item = item[1:]
        if len(item) != 2:
            raise TypeError("a LangGraph handler yields what a graph streams, "
                            f"not a tuple of {len(item)}")
        first, second = item
        if isinstance(first, str) and first in MODES:
            self._mode(first, second)
        elif isinstance(first, tuple):      # (namespace, item)
            self.feed(second)
        elif isinstance(first, (str, dict)):
            self.feed(first)
        else:
            self._message(first, second)

    def _mode(self, mode, item):
        if mode == "messages":
            self._tuple(item)
        elif mode in ("updates", "values"):
            self._dict(item)
        elif mode == "custom":
            if isinstance(item, str):
                self.stream.text(item)
            elif isinstance(item, dict) and "object" in item:
                self.stream.event(item)
            else:
                self._data(item)

    def _dict(self, item):
        """Values, or updates by the names of nodes."""
        if isinstance(item.get("messages"), list):
            if not self.began:      # what the graph was started with
                self.began = True
                self.whole.update(_id(m) for m in item["messages"])
                return
            updates = [item]
        else:
            updates = list(item.values())
        for name, update in zip(item, updates):
            if name == "__interrupt__":
                for i in update or ():
                    self._data({"interrupt": plain(getattr(i, "value", i)),
                                "id": getattr(i, "id", None)})
                continue
            found = update.get("messages") if isinstance(update, dict) else None
            for m in found if isinstance(found, list) else [found]:
                if m is not None and not isinstance(m, (dict, tuple)):
                    self._whole(m)

    def _data(self, value):
        m = self.stream.message("message", "assistant")
        m.part({"type": "data", "data": plain(value) if isinstance(value, dict)
                else {"value": plain(value)}})
        m.close()

    def _whole(self, m):
        """A message that may have been streamed already."""
        key = _id(m)
        if key in self.whole or (key is not None and key in self.said):
            return
        self._message(m, True)

    def _message(self, m, second):
        kind = getattr(m, "type", None)
        if kind == "tool":
            self._tool(m)
        elif kind in AI or (kind is None and hasattr(m, "content")):
            self._ai(m, second)
        elif kind is None:
            raise TypeError("a LangGraph handler yields messages, not "
                            f"{type(m).__name__}")
        # What people and the system have said is no answer.

    def _ai(self, m, second):
        key = _id(m)
        if key in self.whole:
            return
        chunk = type(m).__name__.endswith("Chunk")
        if not hasattr(m, "chunk_position") and key not in self.said:
            self._close_others()    # no sign of its end will come
        said = self.said.get(key)
        if said is None:
            said = self.said[key] = Said(self)
        said.content(getattr(m, "content", ""))
        more = getattr(m, "additional_kwargs", None) or {}
        if isinstance(more.get("reasoning_content"), str) and \
                not said.reasoned:
            said.think(more["reasoning_content"])
        said.use(plain(getattr(m, "usage_metadata", None)))
        if chunk:
            for c in getattr(m, "tool_call_chunks", None) or []:
                said.call_chunk(c)
        else:
            for c in getattr(m, "tool_calls", None) or []:
                said.whole_call(c)
        last = (second is True or not chunk or
                getattr(m, "chunk_position", None) == "last")
        if last:
            said.close()
            if key is None:
                self.said[f"said {len(self.said)}"] = self.said.pop(key)
            elif not chunk:
                self.whole.add(key)

    def _close_others(self):
        for said in self.said.values():
            said.close()

    def _tool(self, m):
        key = _id(m)
        if key in self.whole:
            return
        if key is not None:
            self.whole.add(key)
        call = self.calls.get(m.tool_call_id)
        if call is not None:
            call.said.close()
        content = m.content
        if not isinstance(content, str):
            content = spaced(plain(content))
        status = getattr(m, "status", None)
        self.stream.output(
            m.tool_call_id, getattr(m, "name", None) or
            (call.data["name"] if call else None), content,
            metadata={"status": status} if status == "error" else None)

    def finish(self):
        self._close_others()
        self.stream.end_text()
        self.stream.usage(total(s.used for s in self.said.values()))


class Said(Lane):
    """A message of the model as far as it came."""

    def __init__(self, adapter):
        super().__init__(adapter.stream)
        self.adapter = adapter
        self.open = {}      # index of a call's chunks -> Call
        self.reasoned = False

    def content(self, content):
        self.reasoned = False
        if isinstance(content, str):
            self.text(content)
            return
        for block in content or []:
            if isinstance(block, str):
                self.text(block)
            elif isinstance(block, dict):
                self._block(block)

    def _block(self, block):
        kind = block.get("type")
        if kind in ("text", "output_text", None):
            self.text(block.get("text") or "")
        elif kind in ("thinking", "reasoning", "reasoning_content"):
            self.reasoned = True
            self.think(_thought(block))
        elif kind == "refusal":
            self.text(block.get("refusal") or "", "refusal")
        else:
            part = _part(kind, block)
            if part:
                self.part(part)

    def call_chunk(self, c):
        key = c.get("index")
        if key is None:
            key = c.get("id") or (list(self.open) or [0])[-1]
        call = self.open.get(key)
        new = c.get("id")
        if call is None or (new and call.data["call_id"] and
                            new != call.data["call_id"]):
            if call is not None:
                call.close()
            call = self._announce(new, c.get("name"))
            self.open[key] = call
            call.raw = ""
        call.raw += c.get("args") or ""
        call.arguments(call.raw)

    def _announce(self, call_id, name):
        call = self.call(call_id, name)
        call.said = self
        if call_id:
            self.adapter.calls[call_id] = call
        return call

    def whole_call(self, c):
        self._announce(c.get("id"), c.get("name")).whole(
            spaced(plain(c.get("args") or {})))

    def close(self):
        self.end(self.used)
        calls, self.open = self.open, {}
        for call in calls.values():
            call.close()


def _id(m):
    return getattr(m, "id", None)


def _thought(block):
    for name in ("thinking", "reasoning", "text"):
        if isinstance(block.get(name), str):
            return block[name]
    value = block.get("reasoning_content")
    if isinstance(value, dict):
        return value.get("text") or ""
    if isinstance(value, str):
        return value
    return "".join(s.get("text") or "" for s in block.get("summary") or []
                   if isinstance(s, dict))


def _part(kind, block):
    """Of a block of media; None of others, which have nothing to show."""
    if kind in ("image_url", "input_image"):
        url = block.get("image_url")
        return media.part("image", url["url"] if isinstance(url, dict)
                          else url)
    if kind not in ("image", "audio", "video", "file"):
        return None
    type_ = block.get("mime_type")
    source = block.get("source")
    if isinstance(source, dict):    # Anthropic's form
        type_ = type_ or source.get("media_type")
        data, url = source.get("data"), source.get("url")
    else:
        data, url = block.get("base64") or block.get("data"), block.get("url")
    if url is None and data is None:
        return None
    return media.part(kind, url or media.data_url(data, type_),
                      block.get("filename") or block.get("name"))


# What comes in.

def messages(input, hooks=None):
    from langchain_core.messages import (AIMessage, HumanMessage,
                                         SystemMessage, ToolMessage)
    kinds = {"user": HumanMessage, "assistant": AIMessage, None: AIMessage,
             "system": SystemMessage, "developer": SystemMessage,
             "tool": SystemMessage}
    found, thought = [], None
    for message in input:
        hook = (hooks or {}).get(message.get("type"))
        if hook is not None:
            found.append(hook(message))
            continue
        for turn in inputs.turns([message]):
            if isinstance(turn, inputs.Thought):
                thought = turn.text
            elif isinstance(turn, inputs.Gave):
                found.append(ToolMessage(
                    content=inputs.output_text(turn.output),
                    tool_call_id=turn.id, name=turn.name or None))
            elif isinstance(turn, inputs.Called):
                call = {"name": turn.name, "args": turn.arguments,
                        "id": turn.id, "type": "tool_call"}
                if found and type(found[-1]) is AIMessage:
                    found[-1].tool_calls.append(call)
                else:
                    found.append(AIMessage(content="", tool_calls=[call]))
            else:
                made = kinds.get(turn.role, HumanMessage)
                found.append(made(content=_content(turn.parts)))
            if thought and found and type(found[-1]) is AIMessage:
                found[-1].additional_kwargs["reasoning_content"] = thought
                thought = None
    return found


def _content(parts):
    """Text as a string; with media a list of LangChain's blocks."""
    if all(inputs.text_of(p) is not None for p in parts):
        return inputs.plain_text(parts)
    return [b for b in map(_block, parts) if b]


def _block(p):
    text = inputs.text_of(p)
    if text is not None:
        return {"type": "text", "text": text}
    url = media.url_of(p)
    if not url:
        return None
    if p["type"] == "image":
        return {"type": "image_url", "image_url": {"url": url}}
    found = media.split(url)
    block = {"type": p["type"]}
    if found:
        block.update(base64=found[1], mime_type=found[0])
    else:
        block["url"] = url
    if p.get("filename"):
        block["filename"] = p["filename"]
    return block
