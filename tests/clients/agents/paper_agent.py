"""The agent of paper as a worker in a sandbox: hutch-worker(7), by hand.

The text of the last message is a script when it begins with "[": what a
worker's line holds besides its run, and {"wait":MS}.  Any other text is echoed
in words.  With metadata {"paper":NAME} that member of the request is said.
"""
import json
import sys
import threading

LOCK = threading.Lock()
CANCELS = {}


def say(line):
    with LOCK:
        sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
        sys.stdout.flush()


def asked(request):
    messages = request["input"]
    for part in messages[-1]["content"] if messages else ():
        if isinstance(part.get("text"), str):
            return part["text"]
    return ""


def script_of(request):
    what = (request.get("metadata") or {}).get("paper")
    if what:
        return [{"text": json.dumps(request.get(what))}]
    text = asked(request)
    if text.startswith("["):
        return json.loads(text)
    return [{"text": "You said:"}] + [{"text": f" {w}"} for w in text.split()]


def answer(number, request, canceled):
    for step in script_of(request):
        if "wait" in step:
            canceled.wait(step["wait"] / 1000)
        elif not canceled.is_set():
            say({"run": number, **step})
            if step.get("op") == "end":
                return
        if canceled.is_set():
            break
    say({"run": number, "op": "end", "status":
         "canceled" if canceled.is_set() else "completed"})


def main():
    for line in sys.stdin:
        ask = json.loads(line)
        number = ask.get("run")
        if ask["op"] == "init":
            say({"op": "ready", "protocol": 1, "framework": "text"})
        elif ask["op"] == "query":
            CANCELS[number] = threading.Event()
            threading.Thread(target=answer, daemon=True, args=(
                number, ask["request"], CANCELS[number])).start()
        elif ask["op"] == "cancel" and number in CANCELS:
            CANCELS.pop(number).set()
        elif ask["op"] == "shutdown":
            break


main()
