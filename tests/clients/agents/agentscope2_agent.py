import os

from agentscope.agent import Agent, InjectionConfig
from agentscope.credential import OpenAICredential
from agentscope.model import OpenAIChatModel
from agentscope.permission import PermissionBehavior, PermissionDecision
from agentscope.tool import FunctionTool, Toolkit
from agentscope.state import AgentState
from hutch_agent import AgentApp

app = AgentApp(app_name="two")
ALLOW = PermissionDecision(behavior=PermissionBehavior.ALLOW, message="yes")


def get_weather(city: str) -> str:
    """The weather.

    Args:
        city: where
    """
    return f"Sunny {city}"


def broken() -> str:
    """Fails."""
    raise ValueError("no luck")


@app.query(framework="agentscope")
async def query(self, msgs, request=None, **kwargs):
    agent = Agent(
        "Friday", "You are helpful.",
        OpenAIChatModel(OpenAICredential(api_key="none",
                                         base_url=os.environ["MODEL"]),
                        "scripted", max_retries=0),
        Toolkit([FunctionTool(get_weather, permission=ALLOW),
                 FunctionTool(broken, permission=ALLOW)]),
        # What was said before; an agent takes only what is new as its input.
        state=AgentState(context=msgs[:-1]),
        injection_config=InjectionConfig(inject_runtime_state=False))
    async for event in agent.reply_stream(msgs[-1]):
        yield event
