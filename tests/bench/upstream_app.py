"""The script of sayer.c, by upstream's own server, as fast as it goes."""
import asyncio
import sys
import time

import uvicorn
from agentscope_runtime.engine.app import AgentApp
from agentscope_runtime.engine.runner import Runner


class Say(Runner):
    def __init__(self):
        super().__init__()
        self.framework_type = "text"

    async def query_handler(self, request=None, **kwargs):
        _, n, gap, pad = request.input[-1].content[0].text.split()
        gap, pad, due = int(gap) / 1e6, "x" * int(pad), time.monotonic()
        for _ in range(int(n)):
            yield f"t{time.monotonic_ns()} {pad}"
            if gap:
                due += gap
                await asyncio.sleep(max(0, due - time.monotonic()))

    async def init_handler(self, *args, **kwargs):
        pass

    async def shutdown_handler(self, *args, **kwargs):
        pass


app = AgentApp(app_name="say", app_description="", runner=Say())
if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), loop="uvloop",
                http="httptools", access_log=False, log_level="warning")
