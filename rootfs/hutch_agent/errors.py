"""What went wrong, as code and message of a run's end."""


class AgentError(Exception):
    """Ends a run with a code and a message of the agent's own."""

    def __init__(self, code="AGENT_ERROR", message=""):
        super().__init__(message or code)
        self.code, self.message = str(code), str(message or code)


class ServiceError(AgentError):
    """The host refused or could not do what was asked of it."""


class Conflict(ServiceError):
    """A state was saved by somebody else in between, or is locked by one."""


def describe(error):
    """{"code", "message"} of any exception.

    Those of agentscope_runtime have a code and a message, as ours do.
    """
    code = getattr(error, "code", None)
    message = getattr(error, "message", None)
    if isinstance(code, str) and isinstance(message, str) and code:
        if isinstance(error, AgentError) or hasattr(error, "details"):
            return {"code": _clean(code), "message": _clean(message)}
    try:
        text = str(error)
    except Exception:  # whose text fails as well
        text = "?"
    return {"code": "AGENT_UNKNOWN_ERROR",
            "message": _clean("Unknown agent error: "
                              f"{type(error).__name__}: {text}")}


def _clean(text):
    """Of a length that somebody reads, and without NUL."""
    if len(text) > 4000:
        text = text[:2000] + " ... " + text[-1900:]
    return text.replace("\0", "\ufffd")
