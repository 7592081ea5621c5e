import os

from hutch_agent import AgentApp
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent

app = AgentApp(app_name="graph")


@tool
def get_weather(city: str) -> str:
    """The weather."""
    return f"Sunny {city}"


@tool
def broken() -> str:
    """Fails."""
    raise ValueError("no luck")


@app.init
def init(self):
    model = ChatOpenAI(model="scripted", api_key="none", stream_usage=True,
                       base_url=os.environ["MODEL"], max_retries=0)
    self.graph = create_react_agent(model, [get_weather, broken])


@app.query(framework="langgraph")
async def query(self, msgs, request=None, **kwargs):
    mode = request.mode or "pair"
    if mode == "pair":          # as AgentScope Runtime's handlers yield it
        async for chunk, meta in self.graph.astream(
                {"messages": msgs}, stream_mode="messages"):
            yield chunk, getattr(chunk, "chunk_position", "") == "last"
    elif "," in mode:
        async for item in self.graph.astream({"messages": msgs},
                                             stream_mode=mode.split(",")):
            yield item
    else:
        async for item in self.graph.astream({"messages": msgs},
                                             stream_mode=mode):
            yield item
