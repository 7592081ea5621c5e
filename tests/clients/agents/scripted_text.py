"""A Runner of its own, of the text framework, as AgentScope Runtime's."""
import os

import scripted

if os.environ.get("OURS"):
    from hutch_agent import Runner
else:
    from agentscope_runtime.engine.runner import Runner


class Texts(Runner):
    def __init__(self):
        super().__init__()
        self.framework_type = "text"

    async def query_handler(self, request=None, response=None, **kwargs):
        word = scripted.word(request)
        for piece in {"plain": ["Hello", ", ", "world"],
                      "none": ["a", None, "b"],
                      "boom": ["Partial"]}[word]:
            yield piece
        if word == "boom":
            raise ValueError("boom")

    async def init_handler(self, *args, **kwargs):
        self.ready = True

    async def shutdown_handler(self, *args, **kwargs):
        print("the runner is shut down")


app = scripted.AgentApp(app_name="text", runner=Texts())
scripted.serve(app)
