"""Handlers that yield text: str, and None for nothing."""
from ..wire import plain, spaced


class Adapter:
    def __init__(self, stream, runner=None):
        self.stream = stream
        self.text = stream.text

    def feed(self, item):
        if item is None:
            return
        if isinstance(item, tuple) and len(item) == 2 and \
                isinstance(item[1], bool):
            item = item[0]      # (text, last) as with other frameworks
        text = getattr(item, "text", item)
        if isinstance(text, bytes):
            text = text.decode("utf-8", "replace")
        if not isinstance(text, str):
            text = spaced(plain(text))
        self.stream.text(text)

    def finish(self):
        self.stream.end_text()
