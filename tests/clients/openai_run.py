"""The doors in OpenAI's words before the clients of others; openai.t runs it.

    openai_run.py OLDER NODE MODULES
OLDER: a Python with an older client; NODE: the program; MODULES: its packages.
"""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
import tap                                              # noqa: E402
import openai_python                                    # noqa: E402,F401
import openai_streams                                   # noqa: E402
from tap import BUILD, equal, test, true                # noqa: E402

OLDER, NODE, MODULES = sys.argv[1:4]


@test
def streams(_):
    """Scripted runs: each event by the published types and facts"""
    failed = []
    openai_streams.main(
        lambda name, ok, why="": ok or failed.append(f"{name}: {why}"))
    equal(failed, [])


@test
def older(url):
    """The same by an older release of the Python client"""
    done = subprocess.run(
        [OLDER, os.path.join(HERE, "openai_older.py"), url],
        capture_output=True, text=True, timeout=240, check=False)
    true(done.returncode == 0, done.stdout + done.stderr)


def node(name):
    def one(url):
        done = subprocess.run(
            [NODE, os.path.join(HERE, "openai_node.mjs"), name, MODULES, url],
            capture_output=True, text=True, timeout=120, check=False)
        true(done.returncode == 0, done.stdout + done.stderr)
    one.__name__ = "node_" + name
    one.__doc__ = f"npm {name}"
    return test(one)


for package in ("openai6", "openai7", "ai", "langchain"):
    node(package)


def main():
    with tempfile.TemporaryDirectory() as state:
        server = subprocess.Popen(
            [os.path.join(BUILD, "tests/api/agents_try"), "-d", state],
            stdout=subprocess.PIPE, text=True)
        try:
            port = int(server.stdout.readline().split()[1])
            return tap.run(f"http://127.0.0.1:{port}/v1")
        finally:
            server.terminate()
            server.wait(20)


if __name__ == "__main__":
    sys.exit(main())
