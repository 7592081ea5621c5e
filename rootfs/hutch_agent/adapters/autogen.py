"""AutoGen AgentChat: messages and events of run_stream, or their result."""
from ..wire import plain, spaced
from . import inputs, media
from .lane import Lane
from .native import Native, is_event
from .usage import total

MARK = "hutch_input"    # in the metadata of what came in: it is no answer
USAGE = {"prompt_tokens": "input_tokens",
         "completion_tokens": "output_tokens"}


class Adapter:
    text = None

    def __init__(self, stream, runner=None):
        self.stream = stream
        self.lanes = {}     # source -> Speaker
        self.seen = set()   # ids of messages
        self.usages = []
        self.native = Native(stream)

    def feed(self, item):
        if item is None:
            return
        if isinstance(item, str):
            self.stream.text(item)
            return
        if hasattr(item, "messages") and hasattr(item, "stop_reason"):
            for message in item.messages:
                self.feed(message)
            return
        if hasattr(item, "chat_message"):       # a Response
            for message in item.inner_messages or []:
                self.feed(message)
            item = item.chat_message
        if is_event(item):      # as AgentScope Runtime's handlers yield
            self.native.feed(item)
            return
        if not hasattr(item, "source") or not hasattr(item, "content"):
            raise TypeError("an AutoGen handler yields messages and events, "
                            f"not {type(item).__name__}")
        key = getattr(item, "id", None)
        kind = str(getattr(item, "type", type(item).__name__))
        if key is not None:
            if key in self.seen:
                return
            self.seen.add(key)
        if item.source in ("user", "system") or MARK in (
                getattr(item, "metadata", None) or {}):
            return      # the task is no answer
        lane = self.lanes.get(item.source)
        if lane is None:
            lane = self.lanes[item.source] = Speaker(self.stream, item.source)
        usage = _usage(getattr(item, "models_usage", None))
        if usage:
            self.usages.append(usage)
        take = getattr(lane, "_" + kind, None)
        if take is not None:
            take(item, usage)
        elif not kind.endswith("Event"):    # any message has a text
            lane.whole(_text(item), usage)

    def finish(self):
        for lane in self.lanes.values():
            lane.close()
        self.stream.end_text()
        self.stream.usage(total(self.usages))


class Speaker(Lane):
    """Methods by the names of AutoGen's types."""

    def __init__(self, stream, source):
        super().__init__(stream)
        self.metadata = {"original_name": source}
        self.streamed = ""      # what came in chunks, of this message
        self.thinking = False
        self.thought = ""

    def _ModelClientStreamingChunkEvent(self, e, usage):
        """Some clients put thoughts between tags."""
        text = e.content or ""
        if not self.streamed and not self.thought and \
                text.lstrip().startswith("<think>"):
            self.thinking = True
            text = text.lstrip()[7:]
        if self.thinking:
            thought, tag, text = text.partition("</think>")
            self.thought += thought
            self.think(thought)
            if not tag:
                return
            self.thinking = False
            text = text.lstrip("\n")
        if not self.streamed and not text.strip():
            return
        self.streamed += text
        self.text(text)

    def _ThoughtEvent(self, e, usage):
        content = (e.content or "").strip()
        if self.thought.strip() == content:
            return      # it came in chunks
        if self.streamed.strip() == content:
            self.end()      # it came as text, beside a call
            self._forget()
        else:
            self.think(e.content)

    def _forget(self):
        self.streamed, self.thought, self.thinking = "", "", False

    def whole(self, text, usage):
        """A message that may have come in chunks already."""
        if not self.streamed:
            self.text(text)
        self.end(usage)
        self._forget()

    def _TextMessage(self, m, usage):
        self.whole(m.content, usage)

    def _StructuredMessage(self, m, usage):
        self.whole(spaced(plain(m.content)), usage)

    def _MultiModalMessage(self, m, usage):
        for part in m.content:
            if isinstance(part, str):
                self.text(part)
            else:
                self.part(media.part("image", _image(part)))
        self.end(usage)
        self._forget()

    def _ToolCallRequestEvent(self, e, usage):
        self.end()
        self._forget()
        for c in e.content:
            self.call(c.id, c.name).whole(c.arguments or "{}")

    def _ToolCallExecutionEvent(self, e, usage):
        for r in e.content:
            self.output(r.call_id, getattr(r, "name", None), r.content or "",
                        error=bool(getattr(r, "is_error", False)))

    def _CodeGenerationEvent(self, e, usage):
        self._forget()
        self.end()

    def _CodeExecutionEvent(self, e, usage):
        """Code that the agent wrote and ran: a call and its output."""
        result = e.result
        key = f"code_{len(self.calls) + 1}"
        self.call(key, "execute_code").whole("{}")
        self.output(key, None, getattr(result, "output", None) or str(result),
                    error=bool(getattr(result, "exit_code", 0)))


def _text(item):
    make = getattr(item, "to_text", None)
    return make() if callable(make) else str(item.content)


def _usage(usage):
    usage = plain(usage)
    if not isinstance(usage, dict):
        return None
    usage = {USAGE.get(k, k): v for k, v in usage.items()}
    return usage if any(usage.values()) else None


def _image(image):
    url = getattr(image, "data_uri", None)
    return url or media.data_url(image.to_base64(), "image/png")


# What comes in.

def messages(input, hooks=None):
    from autogen_agentchat.messages import MultiModalMessage, TextMessage
    found = []
    for message in input:
        hook = (hooks or {}).get(message.get("type"))
        if hook is not None:
            found.append(hook(message))
            continue
        for turn in inputs.turns([message]):
            # Calls and thoughts are an agent's own affair in AutoGen: it has
            # no message of them to be given.
            if not isinstance(turn, inputs.Said):
                continue
            source = message.get("name") or turn.role or "assistant"
            content = _content(turn.parts)
            made = TextMessage if isinstance(content, str) \
                else MultiModalMessage
            found.append(made(content=content, source=source,
                              metadata={MARK: "true"}))
    return found


def _content(parts):
    if all(inputs.text_of(p) is not None for p in parts):
        return inputs.plain_text(parts)
    from autogen_core import Image
    content = []
    for p in parts:
        text, url = inputs.text_of(p), media.url_of(p)
        if text is not None:
            content.append(text)
        elif url and p["type"] == "image" and url.startswith("data:image/"):
            content.append(Image.from_uri(url))
        elif url:
            content.append(url)     # which the agent may fetch or not
    return content
