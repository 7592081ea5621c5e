#!/usr/bin/env python3
"""MCP by its own: both clients, and the conformance suite's server tests."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from doors import Doors, Run, node  # noqa: E402

SCENARIOS = ("server-initialize", "ping", "tools-list",
             "server-sse-multiple-streams", "dns-rebinding-protection")

doors, run = Doors(), Run()
run.python("mcp", "mcp_client.py", doors.url)
run.node("mcp_client.mjs", doors.url)
program, home = node()
suite = os.path.join(home, "node_modules", "@modelcontextprotocol",
                     "conformance", "dist", "index.js")
for scenario in SCENARIOS:
    with tempfile.TemporaryDirectory() as results:
        done = subprocess.run(
            [program, suite, "server", "--url", doors.url + "/mcp",
             "--scenario", scenario], cwd=results, text=True, timeout=60,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = re.search(r"Passed: (\d+)/(\d+), 0 failed", done.stdout)
    ok = bool(said) and said[1] == said[2] and done.returncode == 0
    run.say(ok, f"conformance: {scenario}")
    if not ok:
        print("\n".join("# " + x for x in done.stdout.splitlines()[-20:]))
sys.exit(run.end(doors))
