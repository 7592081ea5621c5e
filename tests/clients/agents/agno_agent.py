import os

from agno.agent import Agent
from agno.models.openai.like import OpenAILike
from hutch_agent import AgentApp

app = AgentApp(app_name="agno")


def get_weather(city: str) -> str:
    """The weather.

    Args:
        city: where
    """
    return f"Sunny {city}"


def broken() -> str:
    """Fails."""
    raise ValueError("no luck")


@app.query(framework="agno")
async def query(self, msgs, request=None, **kwargs):
    agent = Agent(model=OpenAILike(id="scripted", api_key="none",
                                   base_url=os.environ["MODEL"]),
                  tools=[get_weather, broken], telemetry=False)
    if request.mode == "whole":
        yield await agent.arun(msgs)
        return
    async for event in agent.arun(msgs, stream=True, stream_events=True):
        yield event
