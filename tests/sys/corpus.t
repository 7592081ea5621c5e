#!/usr/bin/env python3
"""corpus: OCI layouts, honest and hostile, through the importer.

Each is imported into a daemon of our own, exported and compared by
tests/corpus/judge, which also sees whether anything outside the destination has
changed.  HUTCH_UNPACK: another command for it, with {layout}, {ref} and {dest};
"bare" is the fetcher without a daemon, unconfined and with small bounds.
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from daemon import BUILD, Daemon, need_root  # noqa: E402

CORPUS = os.path.join(HERE, "..", "corpus")
CASES = 58
BARE = f"{BUILD}/tests/sys/fetchtry {BUILD}/hutch-fetch {{layout}} {{ref}} {{dest}}"


def through(daemon):
    hutch = f"{BUILD}/hutch --root {daemon.root} image"
    return (f"{hutch} import -q {{layout}} {{ref}} && "
            f"{hutch} export -q {{ref}} {{dest}}")


def judge(unpack):
    """Sanitised builds and busy machines take their time."""
    with tempfile.TemporaryDirectory() as work:
        report = os.path.join(work, "report.json")
        subprocess.run([sys.executable, os.path.join(CORPUS, "judge"), "run",
                        CORPUS, unpack, "--json", report, "--timeout", "200"],
                       stdout=subprocess.DEVNULL, timeout=1200)
        with open(report, encoding="utf-8") as f:
            return json.load(f)


def tell(results):
    print(f"1..{len(results) + 1}")
    failed = 0
    for i, (name, r) in enumerate(results.items(), 1):
        print(f"{'ok' if r['ok'] else 'not ok'} {i} - {name}")
        if not r["ok"]:
            failed += 1
            print("# " + " | ".join(r["why"]))
            print("# " + r["out"].strip().replace("\n", "\n# "))
    whole = len(results) == CASES
    print(f"{'ok' if whole else 'not ok'} {len(results) + 1} - all of them")
    return 0 if whole and failed == 0 else 1


def main():
    need_root()
    unpack = os.environ.get("HUTCH_UNPACK")
    if unpack:
        return tell(judge(BARE if unpack == "bare" else unpack))
    daemon = Daemon(front=f"{BUILD}/hutch-front")
    try:
        daemon.start()
        daemon.wait_log("serving")
        return tell(judge(through(daemon)))
    finally:
        daemon.clean()


if __name__ == "__main__":
    sys.exit(main())
