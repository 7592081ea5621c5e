"""Updates of Microsoft Agent Framework, by the query's first word."""
from agent_framework import AgentResponseUpdate, Content
from hutch_agent import AgentApp

app = AgentApp(app_name="msaf")


def up(*contents, key="m1", role="assistant", **more):
    return AgentResponseUpdate(contents=list(contents), role=role,
                               message_id=key, **more)


def text(t, **more):
    return up(Content.from_text(t), **more)


def call(call_id, name, arguments, **more):
    return up(Content.from_function_call(call_id, name, arguments=arguments),
              **more)


def usage(n, **more):
    return up(Content.from_usage({"input_token_count": n,
                                  "output_token_count": 1}), **more)


SCRIPT = {
    "plain": [text("Hello"), text(", world"), usage(5)],
    "think": [up(Content.from_text_reasoning(text="Hmm")),
              up(Content.from_text_reasoning(text=", yes")),
              text("It is 42.")],
    "tool": [text("Let me check."), call("c1", "f", '{"é": '),
             call("", "", "1}"),
             up(Content.from_function_result("c1", result="Sunny"),
                role="tool", key=None),
             text("It is ", key="m2"), text("sunny.", key="m2")],
    "mapping": [call("c1", "f", {"é": 1}), call("c2", "g", None),
                up(Content.from_function_result("c1", result={"a": [1]}),
                   role="tool"),
                up(Content.from_function_result("c2", result=None,
                                                exception="no luck"),
                   role="tool")],
    "media": [up(Content.from_uri("http://127.0.0.1/x.png",
                                  media_type="image/png"),
                 Content.from_uri("data:text/plain;base64,aGk=",
                                  media_type="text/plain"))],
    "error": [text("Partial"), up(Content.from_error(
        message="it broke", error_code="bad_luck"))],
    "mcp": [up(Content.from_mcp_server_tool_call(
        "c1", "search", server_name="srv", arguments={"q": "x"})),
        up(Content.from_mcp_server_tool_result("c1", output="found")),
        text("ok")],
    "approval": [up(Content.from_function_approval_request(
        "a1", Content.from_function_call("c1", "f", arguments="{}")))],
    "messages": [text("first"), text("second", key="m2")],
    "user": [text("echoed", role="user"), text("answer")],
}


@app.query(framework="ms_agent_framework")
async def query(self, msgs, request=None, **kwargs):
    for item in SCRIPT[request.text.split()[0]]:
        yield item
