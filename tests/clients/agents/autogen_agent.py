import os

from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient
from hutch_agent import AgentApp

app = AgentApp(app_name="autogen")


async def get_weather(city: str) -> str:
    """The weather."""
    return f"Sunny {city}"


async def broken() -> str:
    """Fails."""
    raise ValueError("no luck")


@app.query(framework="autogen")
async def query(self, msgs, request=None, **kwargs):
    client = OpenAIChatCompletionClient(
        model="scripted", api_key="none", base_url=os.environ["MODEL"],
        include_name_in_message=False, max_retries=0, model_info={
            "vision": True, "function_calling": True, "json_output": True,
            "family": "unknown", "structured_output": True})
    agent = AssistantAgent(
        "friday", client, tools=[get_weather, broken],
        reflect_on_tool_use=True, max_tool_iterations=3,
        model_client_stream=request.mode != "whole")
    if request.mode == "result":
        yield await agent.run(task=msgs)
        return
    async for item in agent.run_stream(task=msgs):
        yield item
