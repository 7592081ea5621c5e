#!/usr/bin/env python3
"""A2A by its own clients: a2a-sdk and @a2a-js/sdk, protocols 0.3 and 1.0."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from doors import Doors, Run  # noqa: E402

doors, run = Doors(), Run()
run.python("a2a-0.3", "a2a_old.py", doors.url)
run.python("a2a-1", "a2a_new.py", doors.url)
run.node("a2a_old.mjs", doors.url)
run.node("a2a_new.mjs", doors.url)
sys.exit(run.end(doors))
