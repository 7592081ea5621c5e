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


class Paper:
    """The doors alone, before an agent that is a part of the program."""

    def __enter__(self):
        self.state = tempfile.TemporaryDirectory()
        self.server = subprocess.Popen(
            [os.path.join(BUILD, "tests/api/agents_try"), "-d",
             self.state.name], stdout=subprocess.PIPE, text=True)
        return int(self.server.stdout.readline().split()[1])

    def __exit__(self, kind, value, trace):
        self.server.terminate()
        self.server.wait(20)
        self.state.cleanup()


class Real:
    """The daemon, with that agent as a worker in a sandbox of it."""

    def __enter__(self):
        import agents
        import chaos
        chaos.need(chaos.IMAGE, f"{BUILD}/hutch-front")
        chaos.alone()
        self.d = chaos.House(kind="[type app]\nimage = base\nnet = none\n")
        self.d.start()
        self.d.put_image()
        with open(os.path.join(HERE, "agents/paper_agent.py"),
                  encoding="utf-8") as f:
            code = agents.tar_of(paper__py=f.read())
        got = agents.deploy(self.d, "paper", code,
                            command=["python3", "paper.py"])
        true("done" in got, got)
        return agents.agent_port(self.d)

    def __exit__(self, kind, value, trace):
        self.d.stop()
        if os.environ.get("TEST_LOG"):
            sys.stderr.write(self.d.log())
        self.d.clean()


def main():
    with (Real if os.environ.get("OPENAI_REAL") else Paper)() as port:
        return tap.run(f"http://127.0.0.1:{port}/v1")


if __name__ == "__main__":
    sys.exit(main())
