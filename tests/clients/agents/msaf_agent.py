import os

from agent_framework import Agent
from agent_framework.openai import OpenAIChatCompletionClient
from hutch_agent import AgentApp

app = AgentApp(app_name="msaf")


def get_weather(city: str) -> str:
    """The weather."""
    return f"Sunny {city}"


def broken() -> str:
    """Fails."""
    raise ValueError("no luck")


@app.query(framework="ms_agent_framework")
async def query(self, msgs, request=None, **kwargs):
    agent = Agent(OpenAIChatCompletionClient(
        "scripted", api_key="none", base_url=os.environ["MODEL"]),
        "You are helpful.", tools=[get_weather, broken])
    if request.mode == "whole":
        yield await agent.run(msgs)
        return
    async for update in agent.run(msgs, stream=True):
        yield update
