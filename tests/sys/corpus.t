#!/usr/bin/env python3
"""corpus: OCI layouts, honest and hostile, through the importer.

Each is imported, exported and compared by tests/corpus/judge, which also sees
whether anything outside the destination has changed.  HUTCH_UNPACK: another
command for it, with {layout}, {ref} and {dest}.
"""
import json
import os
import subprocess
import sys
import tempfile

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BUILD = os.path.abspath(os.environ.get("HUTCH_BUILD", "."))
CORPUS = os.path.join(TOP, "tests", "corpus")
UNPACK = os.environ.get(
    "HUTCH_UNPACK",
    f"{BUILD}/tests/sys/fetchtry {BUILD}/hutch-fetch {{layout}} {{ref}} {{dest}}")


def main():
    if os.geteuid() != 0:
        print("1..0 # SKIP owners are set by root only")
        return 0
    with tempfile.TemporaryDirectory() as work:
        report = os.path.join(work, "report.json")
        subprocess.run([sys.executable, os.path.join(CORPUS, "judge"), "run",
                        CORPUS, UNPACK, "--json", report,
                        "--timeout", "200"],
                       stdout=subprocess.DEVNULL, timeout=1200)
        with open(report, encoding="utf-8") as f:
            results = json.load(f)
    print(f"1..{len(results) + 1}")
    failed = 0
    for i, (name, r) in enumerate(results.items(), 1):
        print(f"{'ok' if r['ok'] else 'not ok'} {i} - {name}")
        if not r["ok"]:
            failed += 1
            print("# " + " | ".join(r["why"]))
            print("# " + r["out"].strip().replace("\n", "\n# "))
    whole = len(results) == 58
    print(f"{'ok' if whole else 'not ok'} {len(results) + 1} - all of them")
    return 0 if whole and failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
