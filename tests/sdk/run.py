#!/usr/bin/env python3
"""Every test of this folder, a line of TAP each."""
import os
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)


class Tap(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.n, self.bad = 0, 0

    def startTest(self, test):
        super().startTest(test)
        self.from_ = time.monotonic()

    def say(self, ok, test, more="", why=""):
        self.n += 1
        self.bad += not ok
        took = time.monotonic() - self.from_
        print(f"{'ok' if ok else 'not ok'} {self.n} - {test.id()}: "
              f"{test.shortDescription()} ({took:.1f} s){more}", flush=True)
        for line in why.splitlines():
            print("# " + line[:300], flush=True)

    def addSuccess(self, test):
        self.say(True, test)

    def addSkip(self, test, reason):
        self.say(True, test, f" # SKIP {reason}")

    def addFailure(self, test, err):
        self.say(False, test, why=self._exc_info_to_string(err, test))

    def addError(self, test, err):
        if not hasattr(self, "from_"):
            self.from_ = time.monotonic()
        self.say(False, test, why=self._exc_info_to_string(err, test))


def main():
    loader = unittest.defaultTestLoader
    if len(sys.argv) > 1:
        suite = loader.loadTestsFromNames(sys.argv[1:])
    else:
        suite = loader.discover(HERE)
    print(f"1..{suite.countTestCases()}", flush=True)
    result = Tap()
    suite.run(result)
    return 1 if result.bad else 0


if __name__ == "__main__":
    sys.exit(main())
