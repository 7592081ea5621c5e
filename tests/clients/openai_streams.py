"""Scripted runs through run_try: each event and body against the types of the
openai package, its own accumulator, and the facts of Open Responses' schema.

Prints TAP lines by check(); openai.t runs it.
"""
import json
import os
import subprocess

from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from openai._types import omit
from pydantic import TypeAdapter

BUILD = os.environ.get("HUTCH_BUILD", "build")
EVENT = TypeAdapter(ResponseStreamEvent)

# What Open Responses requires of each, and what each must be.
STRING, INT, BOOL, NUM = (str,), (int,), (bool,), (int, float)
NULL = type(None)
RESPONSE = {
    "id": STRING, "object": STRING, "created_at": INT,
    "completed_at": (int, NULL), "status": STRING,
    "incomplete_details": (dict, NULL), "model": STRING,
    "previous_response_id": (str, NULL), "instructions": (str, list, NULL),
    "output": (list,), "error": (dict, NULL), "tools": (list,),
    "tool_choice": (str, dict), "truncation": STRING,
    "parallel_tool_calls": BOOL, "text": (dict,), "top_p": NUM,
    "presence_penalty": NUM, "frequency_penalty": NUM, "top_logprobs": INT,
    "temperature": NUM, "reasoning": (dict, NULL), "user": (str, NULL),
    "usage": (dict, NULL), "max_output_tokens": (int, NULL),
    "max_tool_calls": (int, NULL), "store": BOOL, "background": BOOL,
    "service_tier": STRING, "metadata": (dict,),
    "safety_identifier": (str, NULL), "prompt_cache_key": (str, NULL),
}
ITEM = {
    "message": {"id": STRING, "status": STRING, "role": STRING,
                "content": (list,)},
    "function_call": {"id": STRING, "call_id": STRING, "name": STRING,
                      "arguments": STRING, "status": STRING},
    "function_call_output": {"id": STRING, "call_id": STRING,
                             "output": (str, list), "status": STRING},
    "reasoning": {"id": STRING, "summary": (list,)},
}
PART = {
    "output_text": {"text": STRING, "annotations": (list,)},
    "reasoning_text": {"text": STRING},
    "refusal": {"refusal": STRING},
}
PLACE = {"item_id": STRING, "output_index": INT}
EVENTS = {
    "response.output_item.added": {"output_index": INT, "item": (dict,)},
    "response.output_item.done": {"output_index": INT, "item": (dict,)},
    "response.content_part.added": {**PLACE, "content_index": INT,
                                    "part": (dict,)},
    "response.content_part.done": {**PLACE, "content_index": INT,
                                   "part": (dict,)},
    "response.output_text.delta": {**PLACE, "content_index": INT,
                                   "delta": STRING, "logprobs": (list,)},
    "response.output_text.done": {**PLACE, "content_index": INT,
                                  "text": STRING, "logprobs": (list,)},
    "response.refusal.delta": {**PLACE, "content_index": INT,
                               "delta": STRING},
    "response.refusal.done": {**PLACE, "content_index": INT,
                              "refusal": STRING},
    "response.function_call_arguments.delta": {**PLACE, "delta": STRING},
    "response.function_call_arguments.done": {**PLACE, "arguments": STRING},
}
LIVES = ("response.created", "response.queued", "response.in_progress",
         "response.completed", "response.failed", "response.incomplete")


def has(what, thing, rules):
    for name, kinds in rules.items():
        assert name in thing, f"{what} has no {name}"
        assert type(thing[name]) in kinds, \
            f"{what}.{name} is {thing[name]!r}"


def open_item(item):
    if item["type"] in ITEM:
        has(item["type"], item, ITEM[item["type"]])
    for part in item.get("content", ()):
        has(part["type"], part, PART[part["type"]])


def open_response(r):
    has("response", r, RESPONSE)
    for item in r["output"]:
        open_item(item)
    if r["usage"] is not None:
        has("usage", r["usage"], {
            "input_tokens": INT, "output_tokens": INT, "total_tokens": INT,
            "input_tokens_details": (dict,),
            "output_tokens_details": (dict,)})
    if r["error"] is not None:
        has("error", r["error"], {"code": STRING, "message": STRING})


def open_event(e):
    if e["type"] in LIVES:
        open_response(e["response"])
    else:
        has(e["type"], e, EVENTS.get(e["type"], PLACE))
        if "item" in e:
            open_item(e["item"])
        if "part" in e:
            has("part", e["part"], PART[e["part"]["type"]])


def blocks(text):
    for block in text.split("\n\n"):
        name = data = None
        for line in block.split("\n"):
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                data = line[6:]
        if data is not None:
            yield name, data


def run(kind, lines, request=None):
    text = "".join(x if isinstance(x, str) else json.dumps({"run": 1, **x}) +
                   "\n" for x in lines)
    out = subprocess.run(
        [f"{BUILD}/tests/clients/run_try", kind, json.dumps(request or {})],
        input=text, capture_output=True, text=True, timeout=60, check=True)
    stream, _, whole = out.stdout.rpartition("\n\n")
    return list(blocks(stream)), json.loads(whole)


def order(events):
    """Every item and part is begun once, ended once, and told in between."""
    items, parts = {}, {}
    for e in events:
        at, kind = e.get("output_index"), e["type"]
        if kind == "response.output_item.added":
            assert at == len(items), f"output_index {at}"
            items[at] = e["item"]["id"]
        elif at is not None:
            assert items[at] is not None, f"{kind} after the item's end"
            if "item_id" in e:
                assert e["item_id"] == items[at], e
        if kind == "response.output_item.done":
            assert e["item"]["id"] == items[at]
            assert e["item"].get("status") != "in_progress"
            items[at] = None
            assert all(v == "done" for (i, _), v in parts.items() if i == at)
        if "content_index" in e:
            place = (at, e["content_index"])
            if kind == "response.content_part.added":
                assert place not in parts
                assert place[1] == sum(i == at for i, _ in parts)
                parts[place] = "open"
            assert parts[place] == "open", f"{kind} of no open part"
            if kind == "response.content_part.done":
                parts[place] = "done"
    assert all(v is None for v in items.values()), "items left open"


def deltas(events):
    """What was added by deltas is what the end says."""
    text = {}
    for e in events:
        place = (e.get("output_index"), e.get("content_index"))
        if e["type"].endswith(".delta"):
            text[place] = text.get(place, "") + e["delta"]
        elif e["type"].endswith(("_text.done", "refusal.done",
                                 "arguments.done")):
            whole = e.get("text", e.get("refusal", e.get("arguments")))
            assert text.get(place, "") == whole, e


def responses(lines, kind="responses", request=None, replaced=False):
    raw, whole = run(kind, lines, request)
    events = []
    state = ResponseStreamState(input_tools=omit, text_format=omit)
    for n, (name, data) in enumerate(raw):
        e = json.loads(data)
        assert e["sequence_number"] == n and e["type"] == name, (n, name)
        open_event(e)
        state.handle_event(EVENT.validate_json(data, strict=True))
        events.append(e)
    order(events)
    if not replaced:
        deltas(events)
    end = events[-1]["response"]
    assert end == whole.pop("response") == whole
    Response.model_validate(whole, strict=True)
    assert not any(e["type"] in LIVES[3:] for e in events[:-1])
    return events, whole


def chat(lines):
    raw, whole = run("chat", lines)
    assert raw[-1] == (None, "[DONE]")
    chunks = [ChatCompletionChunk.model_validate_json(d, strict=True)
              for _, d in raw[:-1] if not d.startswith('{"error"')]
    if "error" not in whole:
        ChatCompletion.model_validate(whole, strict=True)
    return chunks, whole, raw


def message(name, kind, **more):
    return {"object": "message", "id": name, "type": kind, **more}


def data(name, /, **members):
    return {"object": "content", "msg_id": name, "type": "data",
            "data": members}


def ended(name, status="completed"):
    return {"object": "message", "id": name, "status": status}


END = {"op": "end", "status": "completed"}


def text_run(check):
    events, whole = responses(
        [{"text": "Hello"}, {"text": ", world"},
         {"op": "usage", "usage": {"prompt_tokens": 5, "completion_tokens": 3,
                                   "prompt_tokens_details":
                                       {"cached_tokens": 2}}}, END])
    check("text: the standard's order",
          [e["type"].removeprefix("response.") for e in events] == [
              "created", "in_progress", "output_item.added",
              "content_part.added", "output_text.delta", "output_text.delta",
              "output_text.done", "content_part.done", "output_item.done",
              "completed"])
    check("text: the whole", Response.model_validate(whole).output_text ==
          "Hello, world")
    check("usage in the standard's shape",
          whole["usage"]["input_tokens"] == 5 and
          whole["usage"]["total_tokens"] == 8 and
          whole["usage"]["input_tokens_details"]["cached_tokens"] == 2)
    check("created_at is an integer", isinstance(whole["created_at"], int) and
          isinstance(whole["completed_at"], int))


def tool_run(check):
    lines = [
        message("r", "reasoning"),
        {"object": "content", "msg_id": "r", "delta": True, "text": "hm"},
        {"text": "Let me check."}, ended("r"),
        message("c", "plugin_call"),
        data("c", call_id="c1", name="w", arguments=""),
        data("c", call_id="c1", name="w", arguments="{\"l"),
        data("c", call_id="c1", name="w", arguments="{\"l\": \"é\\\"\"}"),
        ended("c"),
        message("o", "plugin_call_output", role="tool"),
        data("o", call_id="c1", name="w", output=""),
        data("o", call_id="c1", name="w", output="\"sunny\""), ended("o"),
        {"text": " Sunny."}, END]
    events, whole = responses(lines)
    kinds = [i["type"] for i in whole["output"]]
    check("tools: reasoning, message, call and its output are items",
          kinds == ["reasoning", "message", "function_call",
                    "function_call_output"] or
          kinds == ["reasoning", "message", "function_call",
                    "function_call_output", "message"], kinds)
    call, output = whole["output"][2:4]
    check("tools: ids match, arguments whole",
          call["call_id"] == output["call_id"] == "c1" and
          json.loads(call["arguments"]) == {"l": "é\""} and
          output["output"] == "\"sunny\"")
    check("tools: arguments come in pieces",
          [e["delta"] for e in events if e["type"] ==
           "response.function_call_arguments.delta"] ==
          ["{\"l", "\": \"é\\\"\"}"])


def mcp_run(check):
    _, whole = responses([
        message("t", "mcp_list_tools"),
        data("t", id="x", server_label=None, error=None,
             tools=[{"name": "a"}, {"name": "b", "input_schema": {},
                                    "annotations": {}}, 3]),
        ended("t"), message("m", "mcp_call"),
        data("m", call_id="1", name="f", arguments="{}", server_label=None),
        ended("m"), message("n", "mcp_call"),
        data("n", call_id="2", name="g", arguments="", server_label="s"),
        ended("n"),
        message("o", "mcp_call_output", role="tool"),
        data("o", call_id="1", name="f", output="one"), ended("o"),
        message("p", "mcp_call_output", role="tool"),
        data("p", call_id="none", name="f", output="alone"), ended("p"),
        message("q", "mcp_approval_request"),
        data("q", id="ask_1", name="f", arguments="{}", server_label="s"),
        ended("q"), END])
    kinds = [i["type"] for i in whole["output"]]
    check("mcp: its items", kinds == [
        "mcp_list_tools", "mcp_call", "mcp_call", "function_call_output",
        "mcp_approval_request"], kinds)
    check("mcp: what came back is in the call", [
        i["output"] for i in whole["output"][1:3]] == ["one", None])
    check("mcp: a request for approval has the agent's id",
          whole["output"][4]["id"] == "ask_1")


def media_run(check):
    def part(**members):
        return {"object": "content", "msg_id": "m", "status": "completed",
                **members}
    png = "data:image/png;base64,AAAA"
    _, whole = responses([
        message("m", "message"), part(type="image", image_url=png),
        part(type="image", image_url="http://x/y"),
        part(type="file", file_id="f1", filename="a.txt"),
        part(type="file", file_data="QUJD"),
        part(type="audio", data="QUJD", format="mp3"),
        part(type="video", video_url="http://x/v"),
        part(type="data", data={"k": "v\"\n"}),
        part(type="refusal", refusal="no"), ended("m"),
        message("e", "error", code="X", message="bad"), ended("e"),
        message("x", "a2ui_response"), data("x", ui=1), ended("x"),
        message("h", "heartbeat"), ended("h"), END])
    first = whole["output"][0]
    check("media: nothing is lost", [p.get("text", p.get("refusal"))
                                     for p in first["content"]] == [
        "![image](http://x/y)", "a.txt",
        "[file](data:application/octet-stream;base64,QUJD)",
        "[audio](data:audio/mp3;base64,QUJD)", "[video](http://x/v)",
        "{\"k\":\"v\\\"\\n\"}", "no"], first["content"])
    check("media: a picture is an item", whole["output"][1]["type"] ==
          "image_generation_call" and whole["output"][1]["result"] == "AAAA")
    check("an error and an unknown type are messages",
          [i["content"][0]["text"] for i in whole["output"][2:]] ==
          ["bad", "{\"ui\":1}"])


def end_runs(check):
    half = [{"text": "Partial"}, message("c", "mcp_call"),
            data("c", call_id="1", name="f", arguments="{", server_label="s")]
    events, whole = responses(half + [
        {"op": "end", "status": "failed",
         "error": {"code": "AGENT_ERROR", "message": "boom \"é\""}}])
    check("failed: the cause, and open items closed",
          events[-1]["type"] == "response.failed" and
          whole["error"]["code"] == "server_error" and
          whole["error"]["message"] == "boom \"é\"" and
          {i["status"] for i in whole["output"]} == {"incomplete"})
    events, whole = responses(half + ["!\n"])
    check("canceled: an end of its own",
          events[-1]["type"] == "response.incomplete" and
          whole["status"] == "cancelled")
    events, whole = responses(half + [
        {"op": "end", "status": "incomplete",
         "error": {"code": "max_output_tokens", "message": "full"}}])
    check("incomplete", whole["status"] == "incomplete" and
          events[-1]["type"] == "response.incomplete")
    events, whole = responses([{"text": "x"}, END], "background")
    check("background: queued first",
          [e["type"] for e in events[:3]] == [
              "response.created", "response.queued", "response.in_progress"]
          and events[0]["response"]["status"] == "queued")
    _, whole = responses([END])
    check("an empty answer", whole["output"] == [] and
          whole["status"] == "completed")
    responses([{"object": "content", "msg_id": "m", "text": "abc"},
               {"object": "content", "msg_id": "m", "text": "xyz"},
               {"object": "content", "msg_id": "m", "text": "xyz and more",
                "status": "completed"}, END], replaced=True)
    check("a text that is replaced", True)


def echo_run(check):
    asked = {
        "instructions": "be kind", "temperature": 0.5, "top_p": 0.25,
        "max_output_tokens": 9, "metadata": {"a": "b"}, "user": "u",
        "tools": [{"type": "function", "name": "f", "parameters": {}}],
        "tool_choice": {"type": "function", "name": "f"},
        "reasoning": {"effort": "low", "summary": "auto"},
        "text": {"verbosity": "low"}, "store": False, "conversation": "c1",
        "parallel_tool_calls": False, "truncation": "auto",
        "prompt_cache_key": "k", "safety_identifier": "s",
        "max_tool_calls": 3, "service_tier": "flex"}
    _, whole = responses([{"text": "x"}, END], request=asked)
    same = [k for k, v in asked.items()
            if k not in ("tools", "text", "conversation") and whole[k] != v]
    check("the request is repeated", same == [] and
          whole["conversation"] == {"id": "c1"} and
          whole["tools"][0]["strict"] is False, same)


def chat_runs(check):
    chunks, whole, _ = chat([
        message("r", "reasoning"),
        {"object": "content", "msg_id": "r", "delta": True, "text": "hm"},
        ended("r"), {"text": "Hello"}, {"text": ", world"},
        {"op": "usage", "usage": {"input_tokens": 5, "output_tokens": 3}},
        END])
    text = "".join(c.choices[0].delta.content or "" for c in chunks
                   if c.choices)
    check("chat: text, role first, usage last",
          text == "Hello, world" and
          chunks[0].choices[0].delta.role == "assistant" and
          chunks[-1].usage.total_tokens == 8 and
          [c.choices[0].finish_reason for c in chunks if c.choices][-1] ==
          "stop" and whole["choices"][0]["message"]["content"] == text and
          whole["choices"][0]["message"]["reasoning_content"] == "hm")
    chunks, whole, _ = chat([
        message("c", "plugin_call"),
        data("c", call_id="1", name="own", arguments="{}"), ended("c"),
        message("o", "plugin_call_output", role="tool"),
        data("o", call_id="1", name="own", output="x"), ended("o"),
        message("f", "function_call"),
        data("f", call_id="2", name="theirs", arguments="{\"a"),
        data("f", call_id="2", name="theirs", arguments="{\"a\":1}"),
        ended("f"), message("g", "plugin_call"),
        data("g", call_id="3", name="open", arguments="{}"), ended("g"),
        END])
    calls = {}
    for c in chunks:
        for t in (c.choices[0].delta.tool_calls or ()) if c.choices else ():
            one = calls.setdefault(t.index, [None, None, ""])
            one[0], one[1] = t.id or one[0], t.function.name or one[1]
            one[2] += t.function.arguments
    check("chat: calls that the client is to make, and no others",
          calls == {0: ["2", "theirs", "{\"a\":1}"], 1: ["3", "open", "{}"]}
          and whole["choices"][0]["finish_reason"] == "tool_calls" and
          [t["id"] for t in whole["choices"][0]["message"]["tool_calls"]] ==
          ["2", "3"], calls)
    _, whole, raw = chat([{"text": "a"}, {
        "op": "end", "status": "failed",
        "error": {"code": "X", "message": "boom"}}])
    check("chat: a failure is an error",
          json.loads(raw[-2][1])["error"]["message"] == "boom" ==
          whole["error"]["message"])


def main(check):
    for part in (text_run, tool_run, mcp_run, media_run, end_runs, echo_run,
                 chat_runs):
        try:
            part(check)
        except Exception as e:  # pylint: disable=broad-except
            check(f"{part.__name__}: {type(e).__name__}", False, str(e))


if __name__ == "__main__":
    def say(name, ok, why=""):
        print("ok" if ok else "not ok", "-", name)
        if not ok:
            print("#", str(why).replace("\n", "\n# "))
    main(say)
