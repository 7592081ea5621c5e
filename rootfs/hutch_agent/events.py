"""Events that a handler may yield, whatever its framework, beside its items.

    yield events.reasoning("The user wants ...")
    yield events.call("call_1", "weather", {"city": "Rome"})
    yield events.output("call_1", "weather", "Sunny")
    yield "It is sunny."

Each is a list of lines of hutch-worker(7) without their run.
"""
import itertools

from .wire import spaced

_ids = itertools.count(1)


class Events(list):
    """What stream.event takes, in order."""


def _message(type, part, role=None, delta=False):
    name = f"e{next(_ids)}"
    start = {"object": "message", "id": name, "type": type}
    if role:
        start["role"] = role
    content = {"object": "content", "msg_id": name, "index": 0, **part}
    content.update({"delta": True} if delta else {"status": "completed"})
    return Events([start, content, {"object": "message", "id": name,
                                    "status": "completed"}])


def reasoning(text):
    return _message("reasoning", {"type": "text", "text": text})


def message(text):
    """A message of its own, apart from the running answer."""
    return _message("message", {"type": "text", "text": text})


def call(call_id, name, arguments, kind="plugin_call"):
    if not isinstance(arguments, str):
        arguments = spaced(arguments)
    return _message(kind, {"type": "data", "data": {
        "call_id": call_id, "name": name, "arguments": arguments}})


def output(call_id, name, value, kind="plugin_call_output"):
    if not isinstance(value, str):
        value = spaced(value)
    return _message(kind, {"type": "data", "data": {
        "call_id": call_id, "name": name, "output": value}}, "tool")


def image(url):
    return _message("message", {"type": "image", "image_url": url})


def audio(data, format=None):
    return _message("message", {"type": "audio", "data": data,
                                "format": format})


def video(url):
    return _message("message", {"type": "video", "video_url": url})


def file(url=None, name=None, data=None, id=None):
    return _message("message", {"type": "file", "file_url": url, "file_id": id,
                                "filename": name, "file_data": data})


def data(value):
    if not isinstance(value, dict):
        value = {"value": value}
    return _message("message", {"type": "data", "data": value})


def refusal(text):
    return _message("message", {"type": "refusal", "refusal": text})


def usage(input_tokens, output_tokens, **more):
    """What the run has used so far in all."""
    return Events([{"op": "usage", "usage": {
        "input_tokens": input_tokens, "output_tokens": output_tokens,
        **more}}])
