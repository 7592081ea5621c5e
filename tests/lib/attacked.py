"""A whole daemon with an image that has the probe, for attacks through it."""
import os
import shutil
import subprocess

import daemon
from daemon import BUILD, Daemon, make_root, need_root
from layout import of_folder
from live import hutch
from tap import equal, skip_all

PROBE = f"{BUILD}/tests/sys/probe"
TYPE = "[type base]\nnet = none\nimage = try:1\n"


def house(config, wrap=(), more=None, agent=None):
    """Started, its image imported; .clean() ends it.  more(folder) may add to
    the image."""
    need_root()
    if not os.path.exists(f"{BUILD}/hutch-front"):
        skip_all("no hutch-front here")
    daemon.TOOLS[:] = sorted({*daemon.TOOLS, "ln", "mv", "readlink", "grep",
                              "touch"})
    d = Daemon(config, front=f"{BUILD}/hutch-front", wrap=wrap)
    if agent:
        os.unlink(f"{d.libexec}/hutch-agent")
        os.symlink(agent, f"{d.libexec}/hutch-agent")
    try:
        root = make_root(f"{d.top}/image")
        shutil.copy(PROBE, f"{root}/probe")
        if more:
            more(root)
        d.start()
        d.wait_log("msg=serving")
        with open(f"{d.top}/image.tar", "wb") as f:
            f.write(of_folder(root))
        r = hutch(d, "image", "import", f"{d.top}/image.tar", "try:1")
        equal(r.returncode, 0, r.stderr)
    except BaseException:
        d.clean()
        raise
    return d


class Box:
    """A sandbox by hutch(1), over the daemon's socket."""

    def __init__(self, d, *options):
        self.d = d
        r = hutch(d, "create", *options)
        equal(r.returncode, 0, r.stderr)
        self.id = r.stdout.strip()

    def run(self, *argv):
        return hutch(self.d, "exec", self.id, "--", *argv)

    def probe(self, *words):
        """key=value lines of the probe, as a dict"""
        r = self.run("/probe", *words)
        return dict(line.split("=", 1) for line in r.stdout.splitlines()
                    if "=" in line)

    def popen(self, *argv):
        return subprocess.Popen(
            [f"{BUILD}/hutch", "--root", self.d.root, "exec", self.id, "--",
             *argv], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL, text=True)

    def end(self):
        r = hutch(self.d, "rm", self.id)
        equal(r.returncode, 0, r.stderr)
