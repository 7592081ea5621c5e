"""Agno: the events of an agent's, a team's or a workflow's run, or its output.
"""
import asyncio
import base64

from ..errors import AgentError
from ..wire import plain, spaced
from . import inputs, media
from .lane import Lane
from .usage import total

USAGE = ("input_tokens", "output_tokens", "total_tokens", "reasoning_tokens",
         "cache_read_tokens", "cache_write_tokens")


class Adapter:
    text = None

    def __init__(self, stream, runner=None):
        self.stream = stream
        self.runs = {}      # id of a run -> Run
        self.events = {name[4:]: getattr(self, name) for name in dir(self)
                       if name.startswith("_on_")}

    def feed(self, item):
        if item is None:
            return
        if isinstance(item, str):
            self.stream.text(item)
            return
        name = getattr(item, "event", None)
        key = getattr(item, "run_id", None)
        run = self.runs.get(key)
        if run is None:
            run = self.runs[key] = Run(self.stream)
            run.inner = bool(getattr(item, "parent_run_id", None))
        if isinstance(name, str) and name:
            for whose in ("Team", "Workflow"):
                if name.startswith(whose) and name != whose:
                    name = name[len(whose):]
                    name = {"Completed": "RunCompleted", "Error": "RunError",
                            "Cancelled": "RunCancelled"}.get(name, name)
            take = self.events.get(name)
            if take is not None:
                take(run, item)
        elif hasattr(item, "content") and hasattr(item, "messages"):
            self._output(run, item)
        else:
            raise TypeError("an Agno handler yields events of a run, not "
                            f"{type(item).__name__}")

    def _on_RunContent(self, run, e):
        run.think_delta(getattr(e, "reasoning_content", None))
        self._say(run, getattr(e, "content", None))
        run.media("image", getattr(e, "image", None))
        run.sound(getattr(e, "response_audio", None))

    def _say(self, run, content):
        if content is None or content == "":
            return
        run.said = True
        run.lane.text(content if isinstance(content, str)
                      else spaced(plain(content)))

    def _on_RunContentCompleted(self, run, e):
        run.end_sound()
        run.lane.end()

    def _on_ReasoningContentDelta(self, run, e):
        run.think_delta(getattr(e, "reasoning_content", None))

    def _on_ReasoningStep(self, run, e):
        if not run.thought:     # else it was told as it came
            text = getattr(e, "reasoning_content", None)
            if text and text != run.step:
                new = text[len(run.step):] if text.startswith(run.step) \
                    else text
                run.step = text
                run.lane.think(new)

    def _on_ReasoningCompleted(self, run, e):
        run.lane.end_thought()

    def _on_ToolCallStarted(self, run, e):
        tool = e.tool
        if tool is None:
            return
        run.end_sound()
        call = run.lane.call(tool.tool_call_id, tool.tool_name)
        call.whole(spaced(plain(tool.tool_args or {})))

    def _on_ToolCallCompleted(self, run, e):
        tool = e.tool
        if tool is None:
            return
        run.done.add(tool.tool_call_id)
        result = tool.result
        if result is None:
            result = getattr(e, "content", None)
        run.lane.output(tool.tool_call_id, tool.tool_name, _json(result),
                        error=bool(getattr(tool, "tool_call_error", False)))
        for kind, name in (("image", "images"), ("video", "videos"),
                           ("audio", "audio"), ("file", "files")):
            run.media(kind, getattr(e, name, None))
        run.lane.end()

    def _on_ToolCallError(self, run, e):
        tool = e.tool
        if tool is not None and tool.tool_call_id not in run.done:
            run.done.add(tool.tool_call_id)
            run.lane.output(tool.tool_call_id, tool.tool_name,
                            _json(e.error or tool.result), error=True)

    def _on_RunCompleted(self, run, e):
        if not run.said:        # it was not streamed
            run.think_delta(None if run.thought else
                            getattr(e, "reasoning_content", None))
            self._say(run, getattr(e, "content", None))
        run.end_sound()
        for kind, name in (("image", "images"), ("video", "videos"),
                           ("audio", "audio"), ("file", "files")):
            run.media(kind, getattr(e, name, None))
        run.usage = _usage(getattr(e, "metrics", None)) or run.usage
        run.close()

    def _on_ModelRequestCompleted(self, run, e):
        run.requests.append(_usage(e))

    def _on_RunPaused(self, run, e):
        """People are asked whether these calls may be made."""
        run.lane.end()
        for tool in getattr(e, "tools", None) or []:
            if getattr(tool, "requires_confirmation", False):
                m = self.stream.message("mcp_approval_request", "assistant")
                m.part({"type": "data", "data": {
                    "id": tool.tool_call_id, "name": tool.tool_name,
                    "arguments": spaced(plain(tool.tool_args or {})),
                    "server_label": ""}})
                m.close()

    def _on_RunError(self, run, e):
        if not run.inner:       # else the run above says what it means
            raise AgentError(getattr(e, "error_type", None) or "AGENT_ERROR",
                             _text(getattr(e, "content", None)))

    def _on_RunCancelled(self, run, e):
        if not run.inner:
            raise asyncio.CancelledError

    def _output(self, run, out):
        """The whole outcome, of a run that was not streamed."""
        if run.closed or run.said or run.lane.calls:
            return
        status = str(getattr(getattr(out, "status", None), "value", ""))
        if status.upper() == "ERROR":
            raise AgentError("AGENT_ERROR", _text(out.content))
        for tool in getattr(out, "tools", None) or []:
            call = run.lane.call(tool.tool_call_id, tool.tool_name)
            call.whole(spaced(plain(tool.tool_args or {})))
            run.lane.output(tool.tool_call_id, tool.tool_name,
                            _json(tool.result),
                            error=bool(tool.tool_call_error))
        self._on_RunCompleted(run, out)

    def finish(self):
        for run in self.runs.values():
            run.close()
        self.stream.end_text()
        self.stream.usage(total(r.usage or total(r.requests)
                                for r in self.runs.values() if not r.inner))


class Run:
    def __init__(self, stream):
        self.lane = Lane(stream)
        self.inner = self.said = self.thought = self.closed = False
        self.step = ""
        self.usage, self.requests = None, []
        self.done = set()       # ids of calls whose output was told
        self.shown = set()
        self.heard, self.format = b"", None

    def think_delta(self, text):
        if text:
            self.thought = True
            self.lane.think(text)

    def media(self, kind, things):
        """Images and so on, each once."""
        for thing in things if isinstance(things, (list, tuple)) else [things]:
            url = _url(thing, kind)
            key = (kind, url)
            if url and key not in self.shown:
                self.shown.add(key)
                self.lane.part(media.part(
                    kind, url, getattr(thing, "filename", None) or
                    getattr(thing, "name", None),
                    getattr(thing, "format", None)))

    def sound(self, audio):
        """Spoken text comes in pieces, its words beside it."""
        if audio is None:
            return
        if getattr(audio, "transcript", None):
            self.said = True
            self.lane.text(audio.transcript)
        content = getattr(audio, "content", None)
        if isinstance(content, (bytes, str)) and content:
            self.heard += _bytes(content)
            self.format = (getattr(audio, "mime_type", None) or
                           f"audio/{getattr(audio, 'format', None) or 'wav'}")

    def end_sound(self):
        if self.heard:
            data = base64.b64encode(self.heard).decode()
            self.heard = b""
            self.lane.part(media.part("audio",
                                      media.data_url(data, self.format)))

    def close(self):
        self.closed = True
        self.end_sound()
        self.lane.close()


def _bytes(content):
    """Agno's content is raw bytes, or their base64."""
    try:
        return base64.b64decode(content, validate=True)
    except ValueError:
        return content if isinstance(content, bytes) else content.encode()


TYPES = {"image": "image/png", "audio": "audio/wav", "video": "video/mp4",
         "file": "application/octet-stream"}


def _url(thing, kind):
    if thing is None:
        return None
    if getattr(thing, "url", None):
        return str(thing.url)
    content = getattr(thing, "content", None)
    if not isinstance(content, (bytes, str)) or not content:
        return None
    type_ = getattr(thing, "mime_type", None)
    if not type_ and getattr(thing, "format", None) and kind != "file":
        type_ = f"{kind}/{thing.format}"
    data = base64.b64encode(_bytes(content)).decode()
    return media.data_url(data, type_ or TYPES[kind])


def _text(value):
    if value is None:
        return ""
    return value if isinstance(value, str) else spaced(plain(value))


def _json(value):
    """An output: JSON also of a text, as with AgentScope Runtime."""
    return spaced(plain(value)) if value is not None else ""


def _usage(metrics):
    if metrics is None:
        return None
    found = {name: getattr(metrics, name, None) for name in USAGE}
    return {k: v for k, v in found.items() if v}


# What comes in: messages as OpenAI has them, which Agno takes as they are.

def messages(input, hooks=None):
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
                found.append({"role": "tool", "tool_call_id": turn.id,
                              "name": turn.name,
                              "content": inputs.output_text(turn.output)})
            elif isinstance(turn, inputs.Called):
                if not (found and isinstance(found[-1], dict) and
                        found[-1].get("role") == "assistant"):
                    found.append({"role": "assistant", "content": None})
                found[-1].setdefault("tool_calls", []).append({
                    "id": turn.id, "type": "function", "function": {
                        "name": turn.name,
                        "arguments": spaced(turn.arguments)}})
            else:
                role = {"tool": "system", "developer": "system",
                        None: "assistant"}.get(turn.role, turn.role)
                found.append({"role": role, "content": [
                    b for b in map(_block, turn.parts) if b]})
            if thought and found and isinstance(found[-1], dict) and \
                    found[-1].get("role") == "assistant":
                found[-1]["reasoning_content"], thought = thought, None
    return found


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
    if p["type"] == "audio" and found:
        return {"type": "input_audio", "input_audio": {
            "data": found[1], "format": p.get("format") or
            found[0].rsplit("/", 1)[-1]}}
    if p["type"] == "file" and found:
        return {"type": "file", "file": {"file_data": url,
                                         "filename": p.get("filename")}}
    return {"type": "text", "text": url}
