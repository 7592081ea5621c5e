"""Which AgentApp the scripted agents of this folder use, and their port.

OURS=1: hutch_agent's; else the real one of agentscope_runtime, which is a
server by itself when its file is run with a port, and is driven by
hutch_agent's worker when that loads it.
"""
import os
import sys

if os.environ.get("OURS"):
    from hutch_agent import AgentApp
else:
    from agentscope_runtime.engine.app import AgentApp


def app(name):
    return AgentApp(app_name=name, app_description="scripted")


def serve(agent):
    agent.run(host="127.0.0.1", port=int(sys.argv[1])
              if len(sys.argv) > 1 else 0)


def word(request):
    """Of the request's last message: a dict's or a model's."""
    text = request.input[-1].content[0].text
    return text.split()[0] if text else ""
