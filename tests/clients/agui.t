#!/usr/bin/env python3
"""AG-UI by its own: ag-ui-protocol's models, @ag-ui/client's HttpAgent."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from doors import Doors, Run  # noqa: E402

doors, run = Doors(), Run()
run.python("agui", "agui.py", doors.url)
run.node("agui.mjs", doors.url)
sys.exit(run.end(doors))
