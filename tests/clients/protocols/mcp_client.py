"""mcp, the protocol's own client, in each of its ways to connect."""
import asyncio
import json
import sys

from mcp import Client, MCPError
from say import check, checked, same

URL = sys.argv[1] + "/mcp"


async def one(mode, version):
    async with Client(URL, mode=mode) as c:
        same(f"{mode}: version", c.protocol_version, version)
        tools = (await c.list_tools()).tools
        check(f"{mode}: the agent is a tool",
              "paper" in [t.name for t in tools])
        steps = []

        async def progress(done, total, text):
            steps.append((done, text))

        r = await c.call_tool("paper", {"message": "hello you"},
                              progress_callback=progress)
        same(f"{mode}: its answer", [x.text for x in r.content],
             ["You said: hello you"])
        check(f"{mode}: is no error", not r.is_error)
        same(f"{mode}: progress", steps, [(1.0, "message")])
        script = [{"object": "content", "msg_id": "p", "type": "image",
                   "image_url": "data:image/png;base64,AAAA",
                   "status": "completed"},
                  {"text": "half"},
                  {"op": "end", "status": "failed",
                   "error": {"code": "X", "message": "boom"}}]
        r = await c.call_tool("paper", {"message": json.dumps(script)})
        same(f"{mode}: a failure", ([x.type for x in r.content], r.is_error),
             (["image", "text", "text"], True))
        same(f"{mode}: says why", r.content[-1].text, "failed: boom")
        try:
            await c.call_tool("none", {})
            check(f"{mode}: an unknown tool", False)
        except MCPError as e:
            same(f"{mode}: an unknown tool", e.error.code, -32602)


async def main():
    for mode, version in (("legacy", "2025-11-25"), ("auto", "2026-07-28"),
                          ("2026-07-28", "2026-07-28")):
        await checked(mode, one(mode, version))


asyncio.run(main())
