"""What a client's script says: one check a line, and whether it held."""
import traceback


def check(what, ok, more=""):
    print(f"{'ok' if ok else 'not ok'} {what}"
          + (f": {more!r}"[:400] if not ok else ""), flush=True)


def same(what, got, want):
    check(what, got == want, (got, want))


async def checked(what, coroutine):
    """The coroutine's checks; that it ends badly is one that fails."""
    try:
        await coroutine
    except Exception:  # whatever it is, it's the client's verdict
        check(what, False, traceback.format_exc(limit=-3))
