"""Which frameworks there are, without importing any of them."""
import importlib.util

WORKER = False  # __main__ says so: this process is run by hutch
NAMES = ("text", "agentscope", "langgraph", "agno", "ms_agent_framework",
         "autogen")


def check(name):
    if name not in NAMES:
        raise ValueError(f"framework must be one of {', '.join(NAMES)}, "
                         f"not {name!r}")


def default():
    """agentscope, as in AgentScope Runtime, if it is there."""
    return "agentscope" if installed("agentscope") else "text"


def installed(name):
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def in_worker():
    return WORKER
