"""openai_older.py URL: the tests of openai_python alone, and the streams."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
os.environ.pop("TEST_ONLY", None)
import tap                                              # noqa: E402
import openai_python                                    # noqa: E402,F401
import openai_streams                                   # noqa: E402


@tap.test
def streams(_):
    """Scripted runs"""
    openai_streams.main(lambda name, ok, why="": tap.true(ok, (name, why)))


sys.exit(tap.run(sys.argv[1]))
