"""The script of sayer.c, by hutch_agent's worker."""
import asyncio
import time

from hutch_agent import AgentApp

app = AgentApp(app_name="say")


@app.query(framework="text")
async def query(self, request=None, **kwargs):
    _, n, gap, pad = request.input[-1].content[0].text.split()
    gap, pad, due = int(gap) / 1e6, "x" * int(pad), time.monotonic()
    for _ in range(int(n)):
        yield f"t{time.monotonic_ns()} {pad}"
        if gap:
            due += gap
            await asyncio.sleep(max(0, due - time.monotonic()))
