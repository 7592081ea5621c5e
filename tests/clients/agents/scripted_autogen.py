"""Messages and events of AutoGen, by the query's first word."""
from autogen_agentchat.base import Response, TaskResult
from autogen_agentchat.messages import (HandoffMessage,
                                        ModelClientStreamingChunkEvent,
                                        MultiModalMessage, TextMessage,
                                        ThoughtEvent, ToolCallExecutionEvent,
                                        ToolCallRequestEvent,
                                        ToolCallSummaryMessage)
from autogen_core import FunctionCall, Image
from autogen_core.models import FunctionExecutionResult, RequestUsage
from hutch_agent import AgentApp
from PIL import Image as Picture

app = AgentApp(app_name="autogen")


def chunk(text, source="a"):
    return ModelClientStreamingChunkEvent(content=text, source=source)


def said(text, source="a", **more):
    return TextMessage(content=text, source=source, **more)


def asked(*numbers):
    return ToolCallRequestEvent(source="a", content=[FunctionCall(
        id=f"c{n}", name="f", arguments='{"é": %d}' % n) for n in numbers])


def gave(number, content, error=False):
    return ToolCallExecutionEvent(source="a", content=[
        FunctionExecutionResult(call_id=f"c{number}", name="f",
                                content=content, is_error=error)])


USED = RequestUsage(prompt_tokens=5, completion_tokens=3)
ANSWER = said("Hello, world", models_usage=USED)
SCRIPT = {
    "plain": [said("the task", "user"), chunk("Hello"), chunk(", world"),
              ANSWER, TaskResult(messages=[said("the task", "user"), ANSWER],
                                 stop_reason=None)],
    "whole": [TaskResult(messages=[said("the task", "user"), ANSWER],
                         stop_reason="x")],
    "response": [Response(chat_message=ANSWER, inner_messages=[
        ThoughtEvent(content="Hmm", source="a")])],
    "tags": [chunk("<think>"), chunk("Hmm"), chunk(", yes"),
             chunk("</think>"), chunk("\n"), chunk("It is 42."),
             ThoughtEvent(content="Hmm, yes", source="a"),
             said("It is 42.")],
    "tools": [chunk("Let me check."), ThoughtEvent(content="Let me check.",
                                                   source="a"),
              asked(1, 2), gave(1, "r1"), gave(2, "no luck", True),
              ToolCallSummaryMessage(content="r1\nno luck", source="a",
                                     tool_calls=[], results=[])],
    "team": [said("one", "a"), said("two", "b"),
             HandoffMessage(content="over to c", target="c", source="b"),
             chunk("th", "c"), chunk("ree", "c"), said("three", "c")],
    "image": [MultiModalMessage(source="a", content=[
        "See ", Image(Picture.new("RGB", (1, 1)))])],
}


@app.query(framework="autogen")
async def query(self, msgs, request=None, **kwargs):
    for item in SCRIPT[request.text.split()[0]]:
        yield item
