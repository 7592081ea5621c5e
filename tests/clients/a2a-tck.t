#!/usr/bin/env python3
"""A2A's Technology Compatibility Kit, what is mandatory in it.

It is in no registry: HUTCH_A2A_TCK names a checkout.  Two runs, for it wants
an agent that knows its callers for some tests, and none of the things that
come with that for others.  Left out is one test that calls a function of the
kit with arguments that this function does not take.
"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from doors import SCRIPTS, Doors, Run, python  # noqa: E402

KIT = os.environ.get("HUTCH_A2A_TCK")
if not KIT:
    print("1..0 # SKIP HUTCH_A2A_TCK names no checkout of the kit")
    sys.exit(0)
BROKEN = "test_push_notification_not_supported_error_32003_enhanced"
KNOWN = ("test_extended_card_access_controls",
         "test_extended_agent_card_response_format",
         "test_sensitive_information_protection")


def mandatory(run, url, which, **env):
    command = [
        python("a2a-tck"), "-m", "pytest", "-v", "--tb=line", "tests/mandatory",
        "--sut-url", url, "--test-scope", "all", "-p", "no:cacheprovider",
        "-p", "tck_names", "-k", which, "-m",
        "mandatory or mandatory_jsonrpc or mandatory_protocol"]
    done = subprocess.run(
        command, cwd=KIT, text=True, stdout=subprocess.PIPE, timeout=300,
        stderr=subprocess.STDOUT, env={
            **os.environ, "PYTHONPATH": SCRIPTS, "PYTHONDONTWRITEBYTECODE": "1",
            **env})
    found = re.findall(r"^(\S+::\S+.*) (PASSED|FAILED|ERROR|SKIPPED)",
                       done.stdout, re.M)
    for name, how in found:
        run.say(how in ("PASSED", "SKIPPED"), name.split("mandatory/")[1]
                + (" # SKIP" if how == "SKIPPED" else ""))
    if not found or done.returncode:
        for line in done.stdout.splitlines()[-40:]:
            print("# " + line)
    run.say(bool(found), "it has run")


run, doors = Run(), Doors("-w")
mandatory(run, doors.url, f"not ({' or '.join(KNOWN + (BROKEN,))})")
run.say(doors.close(), "the doors ended well")
doors = Doors("-w", "-s", "bearer_token=sesame", "-s", "hosts=agents.example")
mandatory(run, doors.url.replace("127.0.0.1", "agents.example"),
          " or ".join(KNOWN), A2A_AUTH_TYPE="bearer", A2A_AUTH_TOKEN="sesame")
sys.exit(run.end(doors))
