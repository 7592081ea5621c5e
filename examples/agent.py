"""An agent without a model, to try what hutch does around an agent.

    hutch agent run examples/agent.py

It answers a word at a time and remembers its sessions.  What it understands:

    slow [N]    count to N, one a second: something to stop; then slow again
                goes on where it was stopped
    run CODE    run Python in a sandbox of the session's own
    forget      forget this session
"""
import asyncio

from hutch_agent import AgentApp, Message, events

app = AgentApp(app_name="Echo",
               app_description="Says again what you say, and remembers it")


@app.query(framework="text")
async def query(self, request):
    text = request.text.strip()
    word, _, rest = text.partition(" ")
    earlier = [m.get_text_content() or "" for m in await app.history.list()
               if m.role == "user"]
    await app.history.append(Message(role="user", content=text))
    said = []
    try:
        async for item in COMMANDS.get(word, echo)(text, rest, earlier):
            if isinstance(item, str):
                said.append(item)
            yield item
    finally:    # also when it is stopped: the session keeps what was said
        if word != "forget" and said:
            await app.history.append(
                Message(role="assistant", content="".join(said)))


async def echo(text, rest, earlier):
    for piece in f"You said: {text}".split(" "):
        yield piece + " "
        await asyncio.sleep(0.02)
    if earlier:
        yield (f"\nYou have said {len(earlier)} things before; "
               f"the last was: {earlier[-1]}")


async def slow(text, rest, earlier):
    last = int(rest) if rest.isdigit() else 60
    at = await app.state.load("count", default=0)
    at = at if at < last else 0
    try:
        while at < last:
            at += 1
            yield f"{at} "
            await asyncio.sleep(1)
    finally:
        await app.state.save(at, "count")


async def run(text, rest, earlier):
    yield events.call("call_1", "run_ipython_cell", {"code": rest})
    box, = await app.sandbox.connect("base")
    result = await box.run_ipython_cell(rest)
    yield events.output("call_1", "run_ipython_cell", result)
    yield "Done."


async def forget(text, rest, earlier):
    await app.history.clear()
    await app.state.delete("count")
    yield "I have forgotten this session."


COMMANDS = {"slow": slow, "run": run, "forget": forget}


@app.endpoint("/count", methods=["GET"])
async def count(session_id: str, user_id: str):
    """How far this session has counted."""
    return {"count": await app.state.load("count", 0, session_id, user_id)}


app.run(host="127.0.0.1", port=8090)
