"""fs.* of both classes."""
import hashlib
import io
import os
import re
import tempfile
import unittest

import httpx
import requests
from agentscope_runtime.sandbox import BaseSandbox, BaseSandboxAsync

from house import house

BLOB = bytes(range(256)) * 4097


class Sync(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.box = BaseSandbox(base_url=house.start().url)
        cls.box.start()
        cls.fs = cls.box.fs

    @classmethod
    def tearDownClass(cls):
        cls.box.close()

    def test_text(self):
        """text: written and read, line ends as upstream gives them"""
        e = self.fs.write("t/a.txt", "h\u00e9\r\nb\rc\n\U0001f600")
        self.assertEqual(list(e), ["path", "name", "type", "size",
                                   "mtime_ms"])
        self.assertEqual((e["path"], e["name"], e["type"]),
                         ("/workspace/t/a.txt", "a.txt", "file"))
        self.assertEqual(self.fs.read("t/a.txt"), "h\u00e9\nb\nc\n\U0001f600")
        self.assertEqual(self.fs.read("t/a.txt", fmt="bytes"),
                         "h\u00e9\r\nb\rc\n\U0001f600".encode())
        self.assertEqual(self.fs.write("t/empty", "")["size"], 0)
        self.assertEqual(self.fs.read("t/empty"), "")

    def test_bytes(self):
        """bytes, file objects, streams, files of this host"""
        for data in (BLOB, bytearray(BLOB), io.BytesIO(BLOB)):
            self.assertEqual(self.fs.write("b", data)["size"], len(BLOB))
            self.assertEqual(self.fs.read("b", fmt="bytes"), BLOB)
        self.assertEqual(b"".join(self.fs.read("b", fmt="stream",
                                               chunk_size=1000)), BLOB)
        self.assertEqual(self.fs.write("z", io.BytesIO(b""))["size"], 0)
        with tempfile.NamedTemporaryFile() as f:
            f.write(BLOB)
            f.flush()
            self.assertEqual(self.fs.write_from_path("w/p", f.name)["size"],
                             len(BLOB))
        self.assertEqual(self.fs.read("w/p", fmt="bytes"), BLOB)

    def test_many(self):
        """write_many: in the order of the request"""
        got = self.fs.write_many([
            {"path": "m/1", "data": b"one"},
            {"path": "m/d/2", "data": "tw\u00f6",
             "content_type": "text/plain"}])
        self.assertEqual([(e["path"], e["size"]) for e in got],
                         [("/workspace/m/1", 3), ("/workspace/m/d/2", 4)])
        self.assertEqual(self.fs.read("m/d/2"), "tw\u00f6")
        self.assertEqual(self.fs.write_many([]), [])

    def test_names(self):
        """list, exists, move, mkdir, remove"""
        self.assertIs(self.fs.mkdir("n/d"), True)
        self.assertIs(self.fs.mkdir("n/d"), False)
        self.fs.write("n/a b+\u00e9", b"1")
        self.assertEqual(
            sorted((e["name"], e["type"]) for e in self.fs.list("n")),
            [("a b+\u00e9", "file"), ("d", "dir")])
        self.fs.write("n/d/deep", b"2")
        self.assertEqual(len(self.fs.list("n", depth=2)), 3)
        self.assertEqual(len(self.fs.list("n", depth=None)), 2)
        self.assertIs(self.fs.exists("n/d/deep"), True)
        self.assertIs(self.fs.exists("n/nope"), False)
        e = self.fs.move("n/d/deep", "n/up/here")
        self.assertEqual(e["path"], "/workspace/n/up/here")
        self.assertIs(self.fs.exists("n/d/deep"), False)
        self.assertIsNone(self.fs.remove("n"))
        self.assertIs(self.fs.exists("n"), False)
        self.assertIsNone(self.fs.remove("n"))

    def test_refused(self):
        """what is refused raises with its status"""
        for status, fn in (
                (404, lambda: self.fs.read("nope")),
                (403, lambda: self.fs.read("/etc/passwd")),
                (403, lambda: self.fs.write("../x", b"")),
                (404, lambda: self.fs.list("nope")),
                (404, lambda: self.fs.move("nope", "x")),
                (409, lambda: self.fs.write("/workspace", b""))):
            with self.assertRaises(requests.exceptions.HTTPError) as e:
                fn()
            self.assertEqual(e.exception.response.status_code, status)

    def test_of_a_stranger(self):
        """fs of an unknown id fails at once"""
        box = BaseSandbox(base_url=house.url, sandbox_id="nope")
        box.start()
        with self.assertRaises(requests.exceptions.HTTPError) as e:
            box.fs.read("x")
        self.assertEqual(e.exception.response.json(),
                         {"detail": "sandbox not found: nope"})


class Endless(io.RawIOBase):
    """Bytes that never lie anywhere as a whole."""

    def __init__(self, size):
        self.piece, self.left = os.urandom(1 << 20), size
        self.digest = hashlib.sha256()

    def readable(self):
        return True

    def read(self, n=-1):
        n = min(self.left, len(self.piece), n if n > 0 else 1 << 20)
        self.left -= n
        self.digest.update(self.piece[:n])
        return self.piece[:n]


class Large(unittest.TestCase):
    MOST = 64 * 1024  # KiB

    def bounded(self):
        most = house.memory()
        self.assertLessEqual({"hutchd", "hutch-front", "hutch-agent"},
                             set(most), most)
        for name, kib in most.items():
            self.assertLess(kib, self.MOST, name)

    def test_file(self):
        """2 GiB go up and down whole, in bounded memory"""
        house.stop()
        house.start()
        with BaseSandbox(base_url=house.url) as box:
            up, down = Endless(2 << 30), hashlib.sha256()
            self.assertEqual(box.fs.write("large", up)["size"], 2 << 30)
            for piece in box.fs.read("large", fmt="stream"):
                down.update(piece)
            self.assertEqual(down.hexdigest(), up.digest.hexdigest())
            self.bounded()

    def test_output(self):
        """1 GiB of output: head, tail, and how much is missing"""
        house.stop()
        house.start()
        with BaseSandbox(base_url=house.url) as box:
            r = box.run_shell_command(
                "echo first; yes | head -c 1073741824; echo last")
            out = r["content"][0]["text"]
            self.assertTrue(out.startswith("first\ny\n"))
            self.assertTrue(out.endswith("y\nlast\n"))
            cut = int(re.search(r"(\d+) bytes left out", out).group(1))
            marker = len(re.search(r"\n\[.*left out.*\]\n", out).group(0))
            self.assertEqual(len(out) - marker + cut, 1073741824 + 11)
            self.bounded()


class Async(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        house.start()
        self.box = BaseSandboxAsync(base_url=house.url)
        await self.box.start_async()
        self.fs = self.box.fs

    async def asyncTearDown(self):
        await self.box.close_async()

    async def test_all(self):
        """every fs.*_async"""
        fs = self.fs
        e = await fs.write_async("d/a.txt", "x\r\ny")
        self.assertEqual(e["path"], "/workspace/d/a.txt")
        self.assertEqual(await fs.read_async("d/a.txt"), "x\ny")
        await fs.write_async("b", BLOB)
        self.assertEqual(await fs.read_async("b", fmt="bytes"), BLOB)
        got = b""
        async for piece in await fs.read_async("b", fmt="stream"):
            got += piece
        self.assertEqual(got, BLOB)
        await fs.write_async("o", io.BytesIO(BLOB))
        self.assertEqual(await fs.read_async("o", fmt="bytes"), BLOB)
        many = await fs.write_many_async([
            {"path": f"m/{i}", "data": b"x" * i} for i in range(50)])
        self.assertEqual([x["size"] for x in many], list(range(50)))
        self.assertEqual(len(await fs.list_async("m")), 50)
        self.assertEqual(len(await fs.list_async("", depth=2)), 55)
        self.assertIs(await fs.exists_async("m/7"), True)
        self.assertIs(await fs.mkdir_async("m/d"), True)
        self.assertIs(await fs.mkdir_async("m/d"), False)
        e = await fs.move_async("m/7", "m/d/seven")
        self.assertEqual(e["name"], "seven")
        self.assertIsNone(await fs.remove_async("m"))
        self.assertIs(await fs.exists_async("m"), False)
        with tempfile.NamedTemporaryFile() as f:
            f.write(b"local")
            f.flush()
            await fs.write_from_path_async("p", f.name)
        self.assertEqual(await fs.read_async("p"), "local")
        with self.assertRaises(httpx.HTTPStatusError) as e:
            await fs.read_async("nope")
        self.assertEqual(e.exception.response.status_code, 404)

    async def test_depth_none(self):
        """depth=None lists every level, as httpx sends it"""
        await self.fs.write_async("a/b/c/d", b"")
        got = await self.fs.list_async("", depth=None)
        self.assertEqual(sorted(e["path"] for e in got),
                         ["/workspace/a", "/workspace/a/b",
                          "/workspace/a/b/c", "/workspace/a/b/c/d"])


if __name__ == "__main__":
    unittest.main()
