"""A model's server for tests: OpenAI's chat completions, by a script.

What the last user message begins with decides: see SCRIPT.  With
    python3 modelserver.py
it prints its port and serves until its input ends.
"""
import http.server
import json
import sys
import threading
import time

USAGE = {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}


def text_of(message):
    content = message.get("content")
    if isinstance(content, list):
        return "".join(p.get("text") or "" for p in content
                       if isinstance(p, dict))
    return content or ""


def call(number, name, arguments):
    return {"id": f"call_{number}", "type": "function", "function": {
        "name": name, "arguments": arguments}}


def say(*pieces, thought=()):
    return {"pieces": pieces, "thought": thought, "calls": []}


def weather(messages, answered):
    if answered:
        return say("It is ", answered[-1], ".")
    return {"pieces": ["Let me ", "check."], "thought": [],
            "calls": [call(1, "get_weather", '{"city": "北京"}')]}


def both(messages, answered):
    if len(answered) >= 2:
        return say("Both ", "done.")
    return {"pieces": [], "thought": [],
            "calls": [call(1, "get_weather", '{"city": "Rome"}'),
                      call(2, "get_weather", '{"city": "Oslo"}')]}


def broken(messages, answered):
    if answered:
        return say("It failed: ", answered[-1][:40])
    return {"pieces": [], "thought": [],
            "calls": [call(1, "broken", "{}")]}


SCRIPT = {
    "hello": lambda m, a: say("Hello", ", ", "world", "! é世😀"),
    "think": lambda m, a: say("It is ", "42.", thought=("Hmm", ", yes")),
    "weather": weather,
    "both": both,
    "broken": broken,
    "dump": lambda m, a: say(json.dumps(m, ensure_ascii=False)),
    "users": lambda m, a: say(" | ".join(
        text_of(x) for x in m if x.get("role") == "user")),
}


def answer(messages):
    """What to say to these messages; the outputs of tools since the last
    user's decide how far the script is."""
    last = max((i for i, m in enumerate(messages)
                if m.get("role") == "user"), default=-1)
    text = ""
    for m in reversed(messages[:last + 1]):     # some send a part a message
        text = text_of(m)
        if text or m.get("role") != "user":
            break
    word = (text.split() or [""])[0]
    answered = [text_of(m) for m in messages[last + 1:]
                if m.get("role") == "tool"]
    if word in ("fail", "slow"):
        return word
    return SCRIPT.get(word, SCRIPT["hello"])(messages, answered)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_GET(self):
        self.reply(200, {"object": "list", "data": [
            {"id": "scripted", "object": "model"}]})

    def reply(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        size = int(self.headers.get("content-length") or 0)
        asked = json.loads(self.rfile.read(size))
        what = answer(asked.get("messages") or [])
        if what == "fail":
            self.reply(400, {"error": {"message": "scripted failure",
                                       "type": "invalid_request_error"}})
        elif asked.get("stream"):
            self.stream(asked, what)
        else:
            self.whole(what if what != "slow" else say("slow"))

    def whole(self, what):
        message = {"role": "assistant",
                   "content": "".join(what["pieces"]) or None}
        if what["thought"]:
            message["reasoning_content"] = "".join(what["thought"])
        if what["calls"]:
            message["tool_calls"] = what["calls"]
        self.reply(200, {
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1,
            "model": "scripted", "usage": USAGE, "choices": [{
                "index": 0, "message": message, "finish_reason":
                "tool_calls" if what["calls"] else "stop"}]})

    def stream(self, asked, what):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            for delta, reason in self.deltas(what):
                self.chunk([{"index": 0, "delta": delta,
                             "finish_reason": reason}])
            if (asked.get("stream_options") or {}).get("include_usage"):
                self.chunk([], USAGE)
            self.wfile.write(b"data: [DONE]\n\n")
        except OSError:
            self.server.left.set()

    def chunk(self, choices, usage=None):
        said = {"id": "chatcmpl-1", "object": "chat.completion.chunk",
                "created": 1, "model": "scripted", "choices": choices}
        if usage:
            said["usage"] = usage
        self.wfile.write(b"data: " + json.dumps(said).encode() + b"\n\n")
        self.wfile.flush()

    @staticmethod
    def deltas(what):
        yield {"role": "assistant", "content": ""}, None
        if what == "slow":
            for i in range(600):
                yield {"content": f"{i} "}, None
                time.sleep(0.05)
            yield {}, "stop"
            return
        for piece in what["thought"]:
            yield {"reasoning_content": piece}, None
        for piece in what["pieces"]:
            yield {"content": piece}, None
        for i, c in enumerate(what["calls"]):
            text = c["function"]["arguments"]
            yield {"tool_calls": [{**c, "index": i, "function": {
                **c["function"], "arguments": ""}}]}, None
            for piece in (text[:5], text[5:]):
                if piece:
                    yield {"tool_calls": [{"index": i, "function": {
                        "arguments": piece}}]}, None
        yield {}, "tool_calls" if what["calls"] else "stop"


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.left = threading.Event()   # somebody left amid a stream
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        threading.Thread(target=self.serve_forever, daemon=True).start()


if __name__ == "__main__":
    print(Server().server_address[1], flush=True)
    sys.stdin.read()
