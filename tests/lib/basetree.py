"""The base image's tree, unpacked once per version beside the image."""
import os
import shutil
import subprocess
import tarfile
import tempfile

CACHE = os.environ.get("HUTCH_CACHE", "/var/cache/hutch")


def where():
    """A directory with true owners, or None and why not."""
    image = os.path.join(CACHE, "base.tar")
    if not os.path.exists(image):
        return None, f"{image} is missing: run scripts/box-build"
    tree = os.path.join(CACHE, "base.tree")
    mark = os.path.join(tree, "usr/share/hutch/of")
    stamp = str(os.stat(image).st_mtime_ns)
    try:
        with open(mark, encoding="ascii") as f:
            if f.read() == stamp:
                return tree, None
    except OSError:
        pass
    work = tempfile.mkdtemp(prefix="base.tree-", dir=CACHE)
    os.chmod(work, 0o755)
    with tarfile.open(image) as tar:
        layer = max(tar.getmembers(), key=lambda m: m.size)
        unpack = subprocess.Popen(["tar", "-x", "-p", "--numeric-owner", "-C",
                                   work], stdin=subprocess.PIPE)
        shutil.copyfileobj(tar.extractfile(layer), unpack.stdin, 1 << 20)
        unpack.stdin.close()
        if unpack.wait() != 0:
            return None, "tar could not unpack the base image"
    with open(os.path.join(work, "usr/share/hutch/of"), "w",
              encoding="ascii") as f:
        f.write(stamp)
    shutil.rmtree(tree, ignore_errors=True)
    os.rename(work, tree)
    return tree, None
