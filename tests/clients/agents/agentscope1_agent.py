"""The shape of AgentScope Runtime's README, with a model by its URL."""
import os

from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.memory import InMemoryMemory
from agentscope.message import TextBlock
from agentscope.model import OpenAIChatModel
from agentscope.pipeline import stream_printing_messages
from agentscope.tool import Toolkit, ToolResponse
from hutch_agent import AgentApp, AgentRequest, Session

agent_app = AgentApp(app_name="Friday", app_description="A helpful assistant")


@agent_app.init
async def init_func(self):
    self.session = Session(self.app)


def get_weather(city: str) -> ToolResponse:
    """The weather.

    Args:
        city (str): where
    """
    return ToolResponse(content=[TextBlock(type="text", text=f"Sunny {city}")])


def broken() -> ToolResponse:
    """Fails."""
    raise ValueError("no luck")


@agent_app.query(framework="agentscope")
async def query_func(self, msgs, request: AgentRequest = None, **kwargs):
    toolkit = Toolkit()
    toolkit.register_tool_function(get_weather)
    toolkit.register_tool_function(broken)
    agent = ReActAgent(
        name="Friday",
        model=OpenAIChatModel("scripted", api_key="none", stream=True,
                              client_kwargs={"base_url": os.environ["MODEL"]}),
        sys_prompt="You're a helpful assistant named Friday.",
        toolkit=toolkit, memory=InMemoryMemory(),
        formatter=OpenAIChatFormatter(), parallel_tool_calls=True)
    agent.set_console_output_enabled(enabled=False)
    if request.keep:
        await self.session.load_session_state(
            session_id=request.session_id, user_id=request.user_id,
            agent=agent)
    async for msg, last in stream_printing_messages(
            agents=[agent], coroutine_task=agent(msgs)):
        yield msg, last
    if request.keep:
        await self.session.save_session_state(
            session_id=request.session_id, user_id=request.user_id,
            agent=agent)


agent_app.run(host="127.0.0.1", port=8090)
