"""What came in, taken apart the same way for every framework.

    for item in turns(input): one of
        Said(message, role, parts)          text and media
        Thought(message, text)
        Called(message, id, name, arguments)        arguments: a dict
        Gave(message, id, name, output)             output: str, list or dict
"""
import collections
import json

Said = collections.namedtuple("Said", "message role parts")
Thought = collections.namedtuple("Thought", "message text")
Called = collections.namedtuple("Called", "message id name arguments")
Gave = collections.namedtuple("Gave", "message id name output")

CALLS = ("plugin_call", "function_call", "mcp_call", "component_call")
OUTPUTS = tuple(c + "_output" for c in CALLS)


def parts_of(message):
    return [p for p in message.get("content") or [] if isinstance(p, dict)]


def text_of(part):
    """The text of a part of any type, or None."""
    kind = part.get("type") or "text"
    if kind in ("text", "refusal"):
        return part.get(kind) or part.get("text") or ""
    if kind == "data":
        return json.dumps(part.get("data"), ensure_ascii=False)
    return None


def plain_text(parts):
    return "".join(t for t in map(text_of, parts) if t)


def object_of(value):
    """A tool's arguments as a dict, whatever came."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def output_of(value):
    """A tool's output: what a JSON string says, for ours are JSON."""
    if isinstance(value, str):
        try:
            made = json.loads(value)
        except ValueError:
            return value
        return made if isinstance(made, (str, list, dict)) else value
    return value if isinstance(value, (list, dict)) else ""


def output_text(output):
    """An output as text, for frameworks whose outputs are only that."""
    if isinstance(output, str):
        return output
    if isinstance(output, list) and output and all(
            isinstance(b, dict) and isinstance(b.get("text"), str)
            for b in output):
        return "".join(b["text"] for b in output)
    return json.dumps(output, ensure_ascii=False)


def turns(input):
    for message in input:
        kind = message.get("type") or "message"
        datas = [p.get("data") for p in parts_of(message)
                 if isinstance(p.get("data"), dict)]
        if kind in CALLS:
            for d in _whole(datas, "arguments"):
                yield Called(message, str(d.get("call_id") or ""),
                             d.get("name") or "", object_of(d["arguments"]))
        elif kind in OUTPUTS:
            for d in _whole(datas, "output"):
                yield Gave(message, str(d.get("call_id") or ""),
                           d.get("name") or "", output_of(d["output"]))
        elif kind == "reasoning":
            yield Thought(message, plain_text(parts_of(message)))
        else:
            yield Said(message, message.get("role"), parts_of(message))


def _whole(datas, member):
    """One of each call: of parts of the same call the last that says it."""
    calls = {}
    for d in datas:
        call = calls.setdefault(d.get("call_id"), {member: None})
        call.update((k, v) for k, v in d.items() if v not in (None, ""))
    return calls.values()


INTERRUPTED = "The call was interrupted: it has no output."


def call_ids(message):
    return [str(p["data"].get("call_id") or "") for p in parts_of(message)
            if isinstance(p.get("data"), dict)]


def paired(input):
    """input as models take it: no output without a call before it, and no
    call without an output once something else has been said.

    A session that was stopped amid a call, or begins amid one, has such.
    """
    answered = {i for m in input if m.get("type") in OUTPUTS
                for i in call_ids(m)}
    found, called = [], {}      # id -> (type, name), without output so far
    everything = set()
    for message in input:
        kind = message.get("type") or "message"
        if kind in OUTPUTS:
            known = [p for p in parts_of(message)
                     if isinstance(p.get("data"), dict) and
                     str(p["data"].get("call_id") or "") in everything]
            if not known:
                continue
            if len(known) != len(parts_of(message)):
                message = type(message)({**message, "content": known})
            for i in call_ids(message):
                called.pop(i, None)
        elif kind in CALLS:
            for p in parts_of(message):
                if isinstance(p.get("data"), dict):
                    i = str(p["data"].get("call_id") or "")
                    everything.add(i)
                    called[i] = (kind, p["data"].get("name") or "")
        elif kind == "message":
            found += [_closing(i, *called.pop(i), type(message))
                      for i in list(called) if i not in answered]
        found.append(message)
    return found


def _closing(call_id, kind, name, Message):
    return Message({"type": kind + "_output", "role": "tool", "content": [
        {"type": "data", "data": {"call_id": call_id, "name": name,
                                  "output": json.dumps(INTERRUPTED)}}]})
