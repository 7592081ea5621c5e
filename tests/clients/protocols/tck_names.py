"""A plug-in of pytest: agents.example is this machine.  The kit takes an agent
whose card names a loopback address for one that gives secrets away."""
import socket

_resolve = socket.getaddrinfo


def _ours(host, *args, **more):
    if host in ("agents.example", b"agents.example"):
        host = "127.0.0.1"
    return _resolve(host, *args, **more)


socket.getaddrinfo = _ours
