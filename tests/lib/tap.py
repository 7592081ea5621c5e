"""Tests that print TAP: a function each, in the order of the file."""
import os
import sys
import traceback

BUILD = os.environ.get("HUTCH_BUILD", ".")


def _sanitised():
    """AddressSanitizer keeps what was freed: sizes are not the program's."""
    try:
        with open(os.path.join(BUILD, "config.log"), errors="replace") as f:
            return "--enable-asan" in f.read(4096)
    except OSError:
        return False


SANITISED = _sanitised()
tests = []


def test(fn):
    tests.append(fn)
    return fn


def skip_all(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


class Skip(Exception):
    pass


def equal(got, want, what=""):
    if got != want:
        raise AssertionError(f"{what + ': ' if what else ''}"
                             f"got {got!r}, want {want!r}")


def true(value, what):
    if not value:
        raise AssertionError(what)


def run(*args):
    """args are given to every test.  Exits 1 when one fails."""
    only = os.environ.get("TEST_ONLY")
    chosen = [t for t in tests if not only or only in t.__name__]
    print(f"1..{len(chosen)}", flush=True)
    failed = 0
    for i, t in enumerate(chosen, 1):
        name = (t.__doc__ or t.__name__).split("\n")[0]
        try:
            t(*args)
            print(f"ok {i} - {name}", flush=True)
        except Skip as e:
            print(f"ok {i} - {name} # SKIP {e}", flush=True)
        except Exception:  # a test's failure, whatever it is
            failed += 1
            print(f"not ok {i} - {name}")
            for line in traceback.format_exc().splitlines():
                print("# " + line)
            sys.stdout.flush()
    return 1 if failed else 0
