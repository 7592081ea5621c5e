"""ag-ui-protocol's own models against every event of every kind of run."""
import json
import sys

import httpx
from ag_ui.core import Event, EventType, RunAgentInput, UserMessage
from pydantic import TypeAdapter
from say import check, same

URL = sys.argv[1] + "/ag-ui"
EVENT = TypeAdapter(Event)
PAIRS = {
    EventType.TEXT_MESSAGE_START: (EventType.TEXT_MESSAGE_END, "message_id"),
    EventType.TOOL_CALL_START: (EventType.TOOL_CALL_END, "tool_call_id"),
    EventType.REASONING_START: (EventType.REASONING_END, "message_id"),
    EventType.REASONING_MESSAGE_START: (EventType.REASONING_MESSAGE_END,
                                        "message_id")}


def run(script, what):
    text = script if isinstance(script, str) else json.dumps(script)
    body = RunAgentInput(
        thread_id="T", run_id="R", state={}, tools=[], context=[],
        forwarded_props={}, messages=[UserMessage(id="1", content=text)])
    events = []
    with httpx.stream("POST", URL, timeout=20, json=body.model_dump(
            by_alias=True, mode="json")) as r:
        same(f"{what}: type", r.headers["content-type"],
             "text/event-stream; charset=utf-8")
        for line in r.iter_lines():
            if line.startswith("data: "):
                events.append(json.loads(line[6:]))
    parsed = [EVENT.validate_python(e) for e in events]
    check(f"{what}: standard members only",
          not any(p.model_extra for p in parsed),
          [p.model_extra for p in parsed if p.model_extra])
    same(f"{what}: begins", parsed[0].type, EventType.RUN_STARTED)
    same(f"{what}: ids", (parsed[0].thread_id, parsed[0].run_id), ("T", "R"))
    ends = [i for i, p in enumerate(parsed) if p.type in
            (EventType.RUN_FINISHED, EventType.RUN_ERROR)]
    same(f"{what}: one end, at the end", ends, [len(parsed) - 1])
    opened = set()
    for p in parsed:
        if p.type in PAIRS:
            end, name = PAIRS[p.type]
            opened.add((end, getattr(p, name)))
        for end, name in PAIRS.values():
            if p.type == end:
                opened.remove((end, getattr(p, name)))
        if hasattr(p, "delta"):
            check(f"{what}: something is said", p.delta != "")
    same(f"{what}: all is closed", opened, set())
    return parsed


def said(events, kind):
    return "".join(e.delta for e in events if e.type == kind)


def call(args, **more):
    return {"object": "content", "msg_id": "c", "type": "data",
            "data": {"call_id": "c1", "name": "get", "arguments": args},
            **more}


def main():
    events = run("hello there", "text")
    same("the text", said(events, EventType.TEXT_MESSAGE_CONTENT),
         "You said: hello there")
    events = run([
        {"object": "message", "id": "r", "type": "reasoning"},
        {"object": "content", "msg_id": "r", "delta": True, "text": "hm"},
        {"text": "Let me see"},
        {"object": "message", "id": "c", "type": "plugin_call"},
        call(""), call('{"a": "x"}'), call('{"a": "xyz"}'),
        {"object": "message", "id": "c", "status": "completed"},
        {"object": "message", "id": "o", "type": "plugin_call_output"},
        {"object": "content", "msg_id": "o", "type": "data",
         "data": {"call_id": "c1", "name": "get", "output": "\u2028!"},
         "status": "completed"},
        {"text": ": done"},
        {"object": "content", "msg_id": "p", "type": "image",
         "image_url": "data:image/png;base64,AAAA", "status": "completed"},
        {"object": "message", "id": "x", "type": "mcp_approval_request"},
        {"object": "content", "msg_id": "x", "type": "data",
         "data": {"id": "1", "name": "rm"}, "status": "completed"}], "all")
    same("arguments", said(events, EventType.TOOL_CALL_ARGS), '{"a": "xyz"}')
    same("reasoning", said(events, EventType.REASONING_MESSAGE_CONTENT), "hm")
    same("result", [e.content for e in events
                    if e.type == EventType.TOOL_CALL_RESULT], ["\u2028!"])
    same("the rest", [e.name for e in events if e.type == EventType.CUSTOM],
         ["image", "mcp_approval_request"])
    events = run([{"text": "half"}, call('{"a'),
                  {"op": "end", "status": "failed",
                   "error": {"code": "X", "message": "boom"}}], "failure")
    same("its reason", (events[-1].message, events[-1].code), ("boom", "X"))
    events = run([{"text": "half"}, {"op": "end", "status": "canceled"}],
                 "cancel")
    same("its end", events[-1].result, "agent run canceled")
    r = httpx.post(URL, json={"runId": "R"})
    same("a request that lacks something", (
        r.status_code, r.json()["detail"][0]["loc"]),
        (422, ["body", "threadId"]))


main()
