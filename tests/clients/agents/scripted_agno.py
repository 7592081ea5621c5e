"""Events of Agno, by the query's first word."""
import scripted
from agno.media import Audio, Image
from agno.models.response import ToolExecution
from agno.run import agent as on
from agno.run import team

app = scripted.app("agno")


def say(text=None, thought=None, **more):
    return on.RunContentEvent(content=text, reasoning_content=thought, **more)


def tool(number=1, result=None, **more):
    return ToolExecution(tool_call_id=f"call_{number}", tool_name="f",
                         tool_args={"é": number}, result=result, **more)


HELLO = [say("Hello"), say(", world"), on.RunContentCompletedEvent()]
SCRIPT = {
    "plain": HELLO,
    "think": [say(thought="Hmm"), say(thought=", yes"), *HELLO],
    "tool": [on.ToolCallStartedEvent(tool=tool()),
             on.ToolCallCompletedEvent(tool=tool(result="Sunny")), *HELLO],
    "open": [say("Let me check."), on.ToolCallStartedEvent(tool=tool()),
             on.ToolCallCompletedEvent(tool=tool(result="Sunny")), *HELLO],
    "nocomplete": [say("never completed")],
    "error": [on.ToolCallStartedEvent(tool=tool()),
              on.ToolCallErrorEvent(tool=tool(tool_call_error=True),
                                    error="no luck"), *HELLO],
    "failed": [say("Partial"), on.RunErrorEvent(content="it broke",
                                                error_type="bad_luck")],
    "canceled": [say("Partial"), on.RunCancelledEvent(reason="x")],
    "steps": [on.ReasoningStartedEvent(),
              on.ReasoningStepEvent(reasoning_content="one"),
              on.ReasoningStepEvent(reasoning_content="one two"),
              on.ReasoningCompletedEvent(), *HELLO],
    "media": [say("See", image=Image(url="http://127.0.0.1/x.png")),
              say(response_audio=Audio(content=b"ab", transcript="spoken",
                                       mime_type="audio/pcm")),
              say(response_audio=Audio(content=b"cd", transcript=" words",
                                       mime_type="audio/pcm")),
              on.RunContentCompletedEvent(),
              on.RunCompletedEvent(images=[Image(
                  url="http://127.0.0.1/x.png")])],
    "team": [team.RunContentEvent(content="Team ", run_id="t"),
             on.RunContentEvent(content="member", run_id="m",
                                parent_run_id="t"),
             team.RunContentEvent(content="answer", run_id="t"),
             on.RunContentCompletedEvent(run_id="m", parent_run_id="t"),
             team.RunContentCompletedEvent(run_id="t"),
             team.RunCompletedEvent(content="Team answer", run_id="t")],
}


@app.query(framework="agno")
async def query(self, msgs, request=None, **kwargs):
    word = scripted.word(request)
    yield on.RunStartedEvent()
    for event in SCRIPT[word]:
        yield event
    if word != "team":
        yield on.RunCompletedEvent(content="Hello, world")


scripted.serve(app)
