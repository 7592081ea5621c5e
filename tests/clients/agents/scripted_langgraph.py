"""Messages of LangChain, by the query's first word."""
import scripted
from langchain_core.messages import (AIMessage, AIMessageChunk, HumanMessage,
                                     ToolMessage)

app = scripted.app("langgraph")


def chunk(content="", key="r1", last=False, **more):
    if last:
        more["chunk_position"] = "last"
    return AIMessageChunk(content=content, id=key, **more), last


def piece(args, call=None, index=0, key="r1"):
    return chunk(key=key, tool_call_chunks=[{
        "name": "f" if call else None, "args": args, "id": call,
        "index": index}])


def gave(call, content, **more):
    return ToolMessage(content=content, tool_call_id=call, name="f",
                       id="t" + call, **more), True


def used(n):
    return {"input_tokens": n, "output_tokens": 1, "total_tokens": n + 1}


SCRIPT = {
    "plain": [chunk("Hello"), chunk(", "), chunk("world"), chunk(last=True)],
    "tool": [piece("", "c1"), piece('{"é": '), piece('"北京"}'),
             chunk(last=True), gave("c1", "Sunny, 25°C"),
             chunk("It is ", "r2"), chunk("sunny.", "r2", True)],
    "tools": [piece('{"i": 1}', "c1"), chunk(last=True), gave("c1", "r1"),
              piece('{"i": 2}', "c2", key="r2"), chunk(key="r2", last=True),
              gave("c2", "r2"), chunk("done", "r3", True)],
    "both": [piece('{"i": ', "c1"), piece('{"i": ', "c2", 1), piece("1}"),
             piece("2}", index=1), chunk(last=True),
             gave("c2", "r2"), gave("c1", "r1", status="error")],
    "whole": [(AIMessage(content="", id="a1", tool_calls=[
        {"name": "f", "args": {"é": 1}, "id": "c1"},
        {"name": "g", "args": {}, "id": "c2"}]), True),
        gave("c1", [{"type": "text", "text": "r"}]),
        (AIMessage(content="done", id="a2"), True)],
    "parts": [chunk([{"type": "thinking", "thinking": "Hmm", "index": 0}]),
              chunk([{"type": "text", "text": "list ", "index": 1}]),
              chunk([{"type": "text", "text": "content", "index": 1}]),
              chunk([{"type": "image", "base64": "aGk=",
                      "mime_type": "image/png"}]), chunk(last=True)],
    "reasoning": [chunk(additional_kwargs={"reasoning_content": "Hmm"}),
                  chunk(additional_kwargs={"reasoning_content": ", yes"}),
                  chunk("It is 42."), chunk(last=True)],
    "human": [(HumanMessage(content="echoed", id="h1"), True),
              (AIMessage(content="answer", id="a1"), True)],
    "usage": [chunk("a", usage_metadata=used(3)), chunk(last=True),
              chunk("b", "r2", True, usage_metadata=used(5))],
}


@app.query(framework="langgraph")
async def query(self, msgs, request=None, **kwargs):
    for item in SCRIPT[scripted.word(request)]:
        yield item


scripted.serve(app)
