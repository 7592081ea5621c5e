"""An IPython of the pinned version to test with, in a cache of our own."""
import os
import shutil
import subprocess
import sys
import tempfile

VERSION = "8.31.0"


def where():
    """A directory for PYTHONPATH, or None and why not."""
    cache = os.path.join(os.environ.get("XDG_CACHE_HOME") or
                         os.path.expanduser("~/.cache"), "hutch")
    name = "ipython-%s-py%d.%d" % (VERSION, *sys.version_info[:2])
    path = os.path.join(cache, name)
    if os.path.isdir(path):
        return path, None
    os.makedirs(cache, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as tmp:
        p = subprocess.run(
            [sys.executable, "-m", "pip", "install", "-q", "--no-input",
             "--disable-pip-version-check", "--root-user-action=ignore",
             "--target", tmp + "/t", "ipython==" + VERSION],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=300)
        if p.returncode != 0:
            last = (p.stderr.strip().splitlines() or ["pip failed"])[-1]
            return None, f"no IPython {VERSION}: {last}"
        try:
            os.rename(tmp + "/t", path)
        except OSError:  # another test was faster
            shutil.rmtree(tmp + "/t")
    return path, None
