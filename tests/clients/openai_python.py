"""The openai package of Python, unmodified, against the doors.

Types are validated strictly.  The agent is the one of paper (agents_try): it
says what the text of the last message tells it to.
"""
import asyncio
import json
import time
import urllib.request

import openai
from openai import AsyncOpenAI, OpenAI
from tap import equal, test, true

CALL = {"call_id": "c1", "name": "weather", "arguments": "{\"city\": \"Rome\"}"}


def script(*steps):
    return json.dumps(steps)


def message(name, kind, **more):
    return {"object": "message", "id": name, "type": kind, **more}


def data(name, /, **members):
    return {"object": "content", "msg_id": name, "type": "data",
            "data": members}


def ended(name):
    return {"object": "message", "id": name, "status": "completed"}


CALLS = [message("c", "function_call"), data("c", **CALL), ended("c")]
SLOW = [{"text": "one"}, {"wait": 100}, {"text": " two"}, {"wait": 60000},
        {"text": " three"}]
USED = {"op": "usage", "usage": {"input_tokens": 5, "output_tokens": 3}}


def client(kind, url, **more):
    return kind(base_url=url, api_key="none", max_retries=0, timeout=20,
                _strict_response_validation=True, **more)


def shown(c, **more):
    """What the agent gets of this request: its input."""
    r = c.responses.create(model="m", metadata={"paper": "input"}, **more)
    return r, json.loads(r.output_text)


def texts(messages):
    return [(m["role"], m["content"][0].get("text")) for m in messages]


def status_of(fn):
    try:
        fn()
    except openai.APIStatusError as e:
        return e.status_code, e.param, e.code
    return 200, None, None


def wait_for(c, name, *states):
    for _ in range(200):
        r = c.responses.retrieve(name)
        if r.status in states:
            return r
        time.sleep(0.02)
    raise AssertionError(f"{name} is {r.status}")


def setting(url):
    return url, client(OpenAI, url)


@test
def whole(url):
    """Responses, not streamed, and upstream's copy of it"""
    _, c = setting(url)
    r = c.responses.create(model="m", input=script({"text": "Hello"},
                                                   {"text": " é\u2028"}, USED))
    equal((r.output_text, r.status, r.model), ("Hello é\u2028", "completed",
                                               "m"))
    equal(r.usage.total_tokens, 8)
    equal(r.response["output"][0]["content"][0]["text"], r.output_text)
    true(r.created_at <= time.time() + 1, "created_at")


@test
def streamed(url):
    """Responses, streamed: every event, and the client's accumulator"""
    _, c = setting(url)
    ask = {"model": "m", "input": script({"text": "Hel"}, {"text": "lo"})}
    events = list(c.responses.create(stream=True, **ask))
    equal([e.sequence_number for e in events], list(range(len(events))))
    equal([e.type for e in events][-1], "response.completed")
    with c.responses.stream(**ask) as s:
        text = "".join(e.delta for e in s
                       if e.type == "response.output_text.delta")
        equal((text, s.get_final_response().output_text), ("Hello", "Hello"))


@test
def asynchronous(url):
    """The same by the asynchronous client, forty at once"""
    async def one(c, n):
        r = await c.responses.create(model="m", input=f"number {n}")
        text = ""
        async for e in await c.responses.create(
                model="m", stream=True, input=f"number {n}"):
            if e.type == "response.output_text.delta":
                text += e.delta
        async with c.responses.stream(model="m", input=f"number {n}") as s:
            final = await s.get_final_response()
        equal({r.output_text, text, final.output_text},
              {f"You said: number {n}"})

    async def all_of_them():
        async with client(AsyncOpenAI, url) as c:
            await asyncio.gather(*(one(c, n) for n in range(40)))
    asyncio.run(all_of_them())


@test
def tools(url):
    """A client's tool: the call, its answer, and what the agent sees of both"""
    _, c = setting(url)
    tool = {"type": "function", "name": "weather", "strict": True,
            "parameters": {"type": "object", "properties": {}}}
    r = c.responses.create(model="m", input=script(*CALLS), tools=[tool])
    call = r.output[0]
    equal((call.type, call.call_id, json.loads(call.arguments)),
          ("function_call", "c1", {"city": "Rome"}))
    equal(r.tools[0].name, "weather")
    answer = [{"type": "function_call_output", "call_id": "c1",
               "output": "sunny"}]
    _, seen = shown(c, previous_response_id=r.id, input=answer)
    equal([m["type"] for m in seen], ["message", "function_call",
                                      "function_call_output"])
    equal(seen[2]["content"][0]["data"],
          {"call_id": "c1", "name": "weather", "output": "sunny"})


@test
def agent_tools(url):
    """The agent's own tools: a call, what came back, both in both answers"""
    _, c = setting(url)
    steps = script(
        {"text": "Let me see."}, message("c", "plugin_call"),
        data("c", call_id="1", name="f", arguments=""),
        data("c", call_id="1", name="f", arguments="{}"), ended("c"),
        message("o", "plugin_call_output", role="tool"),
        data("o", call_id="1", name="f", output="\"r\""), ended("o"),
        message("m", "mcp_call"),
        data("m", call_id="2", name="g", arguments="{}", server_label="s"),
        ended("m"), message("p", "mcp_call_output", role="tool"),
        data("p", call_id="2", name="g", output="x"), ended("p"))
    with c.responses.stream(model="m", input=steps) as s:
        list(s)
        final = s.get_final_response()
    flat = c.responses.create(model="m", input=steps)
    for r in (final, flat):
        kinds = [i.type for i in r.output]
        equal(kinds, ["message", "function_call", "function_call_output",
                      "mcp_call"])
        equal(r.output[1].call_id, r.output[2].call_id)
        equal(r.output[3].output, "x")


@test
def previous(url):
    """previous_response_id: all that was said stands before what is new"""
    _, c = setting(url)
    one = c.responses.create(model="m", input="first", instructions="be kind")
    two = c.responses.create(model="m", input="second",
                             previous_response_id=one.id)
    three, seen = shown(c, previous_response_id=two.id, input="third",
                        instructions="be brief")
    equal(texts(seen), [
        ("system", "be brief"), ("user", "first"),
        ("assistant", "You said: first"), ("user", "second"),
        ("assistant", "You said: second"), ("user", "third")])
    equal(three.previous_response_id, two.id)
    equal(status_of(lambda: c.responses.create(
        model="m", input="x", previous_response_id="resp_none"))[:2],
        (400, "previous_response_id"))


@test
def at_once(url):
    """The next turn 200 times, each as soon as the last one has ended"""
    _, c = setting(url)
    before = None
    for n in range(200):
        with c.responses.stream(model="m", input=f"{n}", **(
                {"previous_response_id": before} if before and n % 20
                else {})) as s:
            for e in s:
                if e.type == "response.completed":
                    before = e.response.id


@test
def conversation(url):
    """conversation: its id is the session, its past is there"""
    _, c = setting(url)
    name = f"conv_{time.time()}"
    r = c.responses.create(model="m", input="first", conversation=name)
    equal(r.conversation.id, name)
    _, seen = shown(c, input="second", conversation={"id": name})
    equal(texts(seen), [("user", "first"), ("assistant", "You said: first"),
                        ("user", "second")])
    equal(status_of(lambda: c.responses.create(
        model="m", input="x", conversation=name,
        previous_response_id=r.id))[0], 400)


@test
def orphans(url):
    """A call that was cut short is not in the history"""
    _, c = setting(url)
    s = c.responses.create(model="m", stream=True, input=script(
        {"text": "a"}, *CALLS, {"wait": 60000}))
    name = None
    for e in s:
        name = name or e.response.id
        if e.type == "response.output_item.done":
            break
    s.close()
    wait_for(c, name, "cancelled")
    _, seen = shown(c, previous_response_id=name, input="again")
    equal([m["type"] for m in seen], ["message"] * 3)


@test
def stored(url):
    """retrieve, input_items with pages, delete; store=False is not kept"""
    _, c = setting(url)
    items = [{"role": "user", "content": f"m{i}"} for i in range(5)]
    r = c.responses.create(model="m", input=items)
    again = c.responses.retrieve(r.id)
    equal(again.output_text, r.output_text)
    page = c.responses.input_items.list(r.id, limit=2, order="asc")
    equal([i.content[0].text for i in page.data], ["m0", "m1"])
    true(page.has_more, "has_more")
    equal([i.content[0].text for i in c.responses.input_items.list(
        r.id, limit=2)], ["m4", "m3", "m2", "m1", "m0"])
    c.responses.delete(r.id)
    equal(status_of(lambda: c.responses.retrieve(r.id))[0], 404)
    equal(status_of(lambda: c.responses.delete(r.id))[0], 404)
    r = c.responses.create(model="m", input="x", store=False)
    equal((r.store, status_of(lambda: c.responses.retrieve(r.id))[0]),
          (False, 404))


@test
def references(url):
    """item_reference: the item itself is given to the agent"""
    _, c = setting(url)
    r = c.responses.create(model="m", input="first")
    _, seen = shown(c, input=[
        {"type": "item_reference", "id": r.output[0].id},
        {"role": "user", "content": "and?"}])
    equal(texts(seen), [("assistant", "You said: first"), ("user", "and?")])
    equal(status_of(lambda: c.responses.create(model="m", input=[
        {"type": "item_reference", "id": "msg_none"}]))[:2],
        (400, "input[0]"))


@test
def background(url):
    """background: queued, polled, done though nobody waits"""
    _, c = setting(url)
    r = c.responses.create(model="m", background=True, input=script(
        {"wait": 100}, {"text": "done"}))
    true(r.status in ("queued", "in_progress"), r.status)
    equal(wait_for(c, r.id, "completed").output_text, "done")
    equal(c.responses.retrieve(r.id).background, True)


@test
def resumed(url):
    """background: a stream that was left is read on from its number"""
    _, c = setting(url)
    steps = [x for n in range(20) for x in ({"text": f"{n} "}, {"wait": 10})]
    s = c.responses.create(model="m", background=True, stream=True,
                           input=script(*steps))
    seen = []
    for e in s:
        seen.append(e)
        if e.sequence_number == 8:
            break
    s.close()
    name = seen[0].response.id
    rest = list(c.responses.retrieve(name, stream=True, starting_after=8))
    equal([e.sequence_number for e in seen + rest],
          list(range(len(seen) + len(rest))))
    text = "".join(e.delta for e in seen + rest
                   if e.type == "response.output_text.delta")
    equal((text, rest[-1].response.output_text), (text, text))
    equal(len(list(c.responses.retrieve(name, stream=True))),
          len(seen) + len(rest))
    equal(status_of(lambda: c.responses.retrieve(
        c.responses.create(model="m", input="x").id, stream=True))[0], 400)


@test
def canceled(url):
    """cancel: the run ends, its reader gets an end, twice is no fault"""
    _, c = setting(url)
    s = c.responses.create(model="m", background=True, stream=True,
                           input=script(*SLOW))
    events = []
    for e in s:
        events.append(e)
        if e.type == "response.output_text.delta" and e.delta == " two":
            equal(c.responses.cancel(events[0].response.id).status,
                  "cancelled")
    equal((events[-1].type, events[-1].response.status),
          ("response.incomplete", "cancelled"))
    again = c.responses.cancel(events[0].response.id)
    equal((again.status, again.output_text), ("cancelled", "one two"))


@test
def left(url):
    """A reader who leaves: the run is canceled, streamed or not"""
    _, c = setting(url)
    s = c.responses.create(model="m", stream=True, input=script(*SLOW))
    name = next(iter(s)).response.id
    s.close()
    wait_for(c, name, "cancelled")
    name = f"mine_{time.time()}"
    try:
        c.with_options(timeout=0.3).responses.create(
            model="m", input=script(*SLOW), extra_body={"id": name})
    except openai.APITimeoutError:
        pass
    wait_for(c, name, "cancelled")


@test
def failures(url):
    """An agent that fails: a failed response, streamed or not"""
    _, c = setting(url)
    bad = script({"text": "a"}, {"op": "end", "status": "failed", "error": {
        "code": "X", "message": "boom"}})
    r = c.responses.create(model="m", input=bad)
    equal((r.status, r.error.message, r.output[0].status),
          ("failed", "boom", "incomplete"))
    *_, last = c.responses.create(model="m", input=bad, stream=True)
    equal((last.type, last.response.error.message),
          ("response.failed", "boom"))
    equal(status_of(lambda: c.chat.completions.create(
        model="m", messages=[{"role": "user", "content": bad}]))[0], 500)


@test
def refused(url):
    """Faults of a request are 400 with the parameter's name"""
    _, c = setting(url)

    def post(path, body):
        req = urllib.request.Request(url + path, data=body, headers={
            "content-type": "application/json"})
        try:
            with urllib.request.urlopen(req, timeout=10) as r:
                return r.status, None
        except urllib.error.HTTPError as e:
            return e.code, json.load(e)["error"]["code"]
    for more, param in (({"temperature": 9}, "temperature"),
                        ({"temperature": "hot"}, "temperature"),
                        ({"input": 3}, "input"),
                        ({"tools": [{"type": "function"}]}, "tools[0].name"),
                        ({"metadata": {"a": 1}}, "metadata.a")):
        equal(status_of(lambda m=more: c.responses.create(
            **{"model": "m", "input": "x", **m}))[:2], (400, param))
    equal(status_of(lambda: c.chat.completions.create(
        model="m", messages=[]))[:2], (400, "messages"))
    for path in ("/responses", "/chat/completions"):
        equal(post(path, b"{"), (400, "invalid_json"))
        equal(post(path, b"[]"), (400, "invalid_json"))
        equal(post(path, b"\xff{}"), (400, "invalid_json"))
    equal(status_of(lambda: c.models.retrieve("none"))[0], 404)


@test
def models(url):
    """The agents are models, also below their names and at upstream's place"""
    root = url.removesuffix("/v1")
    for base in (url, root + "/compatible-mode/v1",
                 root + "/agents/paper/v1",
                 root + "/agents/paper/compatible-mode/v1"):
        c = client(OpenAI, base)
        equal([m.id for m in c.models.list()], ["paper"])
        equal(c.models.retrieve("paper").object, "model")
        r = c.responses.create(model="paper", input="hi")
        equal((r.model, r.output_text), ("paper", "You said: hi"))
        equal(c.responses.retrieve(r.id).id, r.id)
    equal(status_of(lambda: client(
        OpenAI, root + "/agents/none/v1").responses.create(
            model="m", input="x"))[0], 404)


@test
def chat(url):
    """Chat completions: whole, streamed, by the client's accumulator"""
    _, c = setting(url)
    ask = {"model": "m", "messages": [
        {"role": "developer", "content": "be"},
        {"role": "user", "content": [{"type": "text", "text": script(
            {"text": "Hel"}, {"text": "lo"}, USED)}]}]}
    r = c.chat.completions.create(**ask)
    equal((r.choices[0].message.content, r.choices[0].finish_reason,
           r.usage.prompt_tokens), ("Hello", "stop", 5))
    chunks = list(c.chat.completions.create(
        stream=True, stream_options={"include_usage": True}, **ask))
    equal("".join(k.choices[0].delta.content or "" for k in chunks
                  if k.choices), "Hello")
    equal(chunks[-1].usage.total_tokens, 8)
    with c.chat.completions.stream(**ask) as s:
        list(s)
        equal(s.get_final_completion().choices[0].message.content, "Hello")


@test
def chat_tools(url):
    """Chat completions: tool_calls, and their answers given back"""
    _, c = setting(url)
    tool = {"type": "function", "function": {"name": "weather",
                                             "parameters": {}}}
    first = {"role": "user", "content": script(*CALLS)}
    for stream in (False, True):
        if stream:
            with c.chat.completions.stream(model="m", messages=[first],
                                           tools=[tool]) as s:
                list(s)
                r = s.get_final_completion()
        else:
            r = c.chat.completions.create(model="m", messages=[first],
                                          tools=[tool])
        equal(r.choices[0].finish_reason, "tool_calls")
        call = r.choices[0].message.tool_calls[0]
        equal((call.id, call.function.name, json.loads(
            call.function.arguments)), ("c1", "weather", {"city": "Rome"}))
    r = c.chat.completions.create(
        model="m", metadata={"paper": "input"}, messages=[
            first, r.choices[0].message.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": "c1", "content": "sunny"}])
    seen = json.loads(r.choices[0].message.content)
    kinds = [m["type"] for m in seen]
    true(kinds[-2:] == ["function_call", "function_call_output"], kinds)
    equal(seen[-1]["content"][0]["data"]["name"], "weather")


@test
def chat_ends(url):
    """Chat completions: a failure in a stream is told, a length as such"""
    _, c = setting(url)

    def stream(*steps):
        return list(c.chat.completions.create(model="m", stream=True, messages=[
            {"role": "user", "content": script(*steps)}]))
    try:
        stream({"text": "a"}, {"op": "end", "status": "failed", "error": {
            "code": "X", "message": "boom"}})
        raise AssertionError("a failure that nobody was told of")
    except openai.APIError as e:
        equal(e.message, "boom")
    equal(stream({"text": "a"}, {"op": "end", "status": "incomplete"})[-1]
          .choices[0].finish_reason, "length")
