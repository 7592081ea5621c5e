"""One module a framework, imported when an agent uses it.

Each has Adapter(stream, runner): feed(item) says what an item of the handler
means, finish() what is left at the end; text, if not None, is what a plain
string goes to.  messages(input, hooks), if there is one, makes the framework's
own messages of a request's.  hooks are a runner's type converters.
"""
