"""The worker's own lines on standard error, which is the agent's log."""
import sys
import traceback


def say(level, text):
    try:
        sys.stderr.write(f"hutch_agent: {level}: {text}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass


def info(text):
    say("info", text)


def warning(text):
    say("warning", text)


def error(text):
    say("error", text)


def failure(text, exception):
    """With where it came from."""
    try:
        trace = "".join(traceback.format_exception(
            type(exception), exception, exception.__traceback__))
    except Exception:  # an exception that can't be printed
        trace = type(exception).__name__
    error(f"{text}: {trace.rstrip()}")
