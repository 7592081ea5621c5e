"""Sessions: SandboxService, tokens, idleness and its end, limits, the pool."""
import unittest

import requests
from agentscope_runtime.engine.services.sandbox import SandboxService
from agentscope_runtime.sandbox import BaseSandbox, BaseSandboxAsync

from house import house, texts, until


class Service(unittest.IsolatedAsyncioTestCase):
    async def test_service(self):
        """connect makes, finds again, releases; stop drains"""
        house.start()
        service = SandboxService(base_url=house.url)
        await service.start()
        box = service.connect("s1", "u1", ["base"])[0]
        r = box.call_tool("run_ipython_cell", {"code": "a=1"})
        self.assertIs(r["isError"], False)
        again = service.connect("s1", "u1", ["base"])
        self.assertEqual([b.sandbox_id for b in again], [box.sandbox_id])
        self.assertIsInstance(again[0], BaseSandbox)
        r = again[0].call_tool("run_ipython_cell", {"code": "print(a)"})
        self.assertEqual(texts(r), [("stdout", "1\n")])
        two = service.connect("s2", None, ["base", "base"])
        self.assertEqual(len({b.sandbox_id for b in two}), 2)
        self.assertEqual(sorted(service.manager_api.list_session_keys()),
                         ["s1_u1", "s2"])
        self.assertIs(service.release("s1", "u1"), True)
        self.assertEqual(service.manager_api.get_session_mapping("s1_u1"), [])
        api = service.manager_api
        await service.stop()
        self.assertEqual(api.list_session_keys(), [])
        self.assertEqual(api.get_info(two[0].sandbox_id)["state"], "released")


class Token(unittest.IsolatedAsyncioTestCase):
    async def test_token(self):
        """with a token: the right one works everywhere, others are told"""
        house.start(BEARER_TOKEN="s3cret")
        with BaseSandbox(base_url=house.url, bearer_token="s3cret") as box:
            self.assertEqual(texts(box.run_shell_command("echo x"))[0],
                             ("stdout", "x\n"))
            box.fs.write("f", b"1")
            self.assertEqual(box.fs.read("f"), "1")
            for token, words in ((None, "Authentication required"),
                                 ("wrong", "Invalid authentication")):
                other = BaseSandbox(base_url=house.url, bearer_token=token,
                                    sandbox_id=box.sandbox_id)
                other.start()
                self.assertIn(f"Server Detail: {words}", other.get_info())
                with self.assertRaises(requests.exceptions.HTTPError) as e:
                    other.fs.read("f")
                self.assertEqual(e.exception.response.status_code, 401)
        async with BaseSandboxAsync(base_url=house.url,
                                    bearer_token="s3cret") as box:
            await box.fs.write_async("f", b"2")
            self.assertEqual(await box.fs.read_async("f"), "2")
            self.assertEqual((await box.get_info_async())["state"], "running")
        r = requests.post(house.url + "/cleanup", json={}, timeout=10)
        self.assertEqual((r.status_code, r.headers["www-authenticate"]),
                         (401, "Bearer"))
        self.assertEqual(requests.get(house.url + "/health",
                                      timeout=10).status_code, 200)


class Idle(unittest.TestCase):
    def test_reap_and_restore(self):
        """an idle session is reaped; its old id works on, with its files"""
        house.start(HEARTBEAT_TIMEOUT="2", WATCHER_SCAN_INTERVAL="1")
        with BaseSandbox(base_url=house.url) as box:
            name, api = box.sandbox_id, box.manager_api
            box.fs.write("dir/file", "kept")
            box.run_ipython_cell("x = 1")
            until(lambda: box.get_info()["state"] == "recycled", "its reaping")
            info = box.get_info()
            self.assertEqual(info["recycle_reason"], "heartbeat_timeout")
            self.assertIsNotNone(info["recycled_at"])
            self.assertIsNone(api.get_status(name))
            self.assertEqual(texts(box.run_shell_command("cat dir/file")),
                             [("stdout", "kept"), ("returncode", "0")])
            info = box.get_info()
            self.assertEqual(info["state"], "running")
            self.assertNotEqual(info["container_name"], name)
            self.assertEqual(api.get_session_mapping(
                info["session_ctx_id"]), [info["container_name"]])
            self.assertEqual(texts(box.run_ipython_cell("'x' in dir()")),
                             [("stdout", "Out[1]: False\n")])
            until(lambda: box.get_info()["state"] == "recycled", "the second")
            self.assertEqual(box.fs.read("dir/file"), "kept")
        self.assertEqual(api.get_info(name)["state"], "released")

    def test_busy_is_not_idle(self):
        """a call longer than the heartbeat keeps its sandbox"""
        house.start(HEARTBEAT_TIMEOUT="2", WATCHER_SCAN_INTERVAL="1")
        with BaseSandbox(base_url=house.url) as box:
            r = box.run_shell_command("sleep 5; echo done")
            self.assertEqual(texts(r), [("stdout", "done\n"),
                                        ("returncode", "0")])
            self.assertEqual(box.get_info()["container_name"],
                             box.sandbox_id)


class Limits(unittest.TestCase):
    def test_instances(self):
        """beyond the limit there is no sandbox; one less, and there is"""
        house.start(MAX_SANDBOX_INSTANCES="2")
        boxes = [BaseSandbox(base_url=house.url) for _ in range(3)]
        boxes[0].start()
        boxes[1].start()
        with self.assertRaisesRegex(RuntimeError, "No sandbox available"):
            boxes[2].start()
        boxes[0].close()
        boxes[2].start()
        boxes[1].close()
        boxes[2].close()

    def test_timeout(self):
        """at the timeout a call is answered, and its work goes on"""
        house.start(RUNTIME_SANDBOX_TIMEOUT="5")
        with BaseSandbox(base_url=house.url) as box:
            r = box.run_shell_command("echo early; sleep 6; echo late >f")
            self.assertTrue(r["isError"])
            self.assertEqual(texts(r)[0], ("stdout", "early\n"))
            self.assertIn("goes on", texts(r)[1][1])
            until(lambda: box.fs.exists("f"), "the work's end")
            r = box.run_ipython_cell("import time\nprint('c')\ntime.sleep(6)\n"
                                     "y = 9")
            self.assertTrue(r["isError"])
            self.assertEqual(texts(r)[0], ("stdout", "c\n"))
            self.assertEqual(box.get_info()["timeout"], 5)

    def test_pool(self):
        """a pool of warm sandboxes is used and filled again"""
        house.start(POOL_SIZE="2")
        warm = 'hutch_sandboxes{state="warm"} 2'

        def metrics():
            return requests.get(house.url + "/metrics", timeout=10).text
        until(lambda: warm in metrics(), "two warm ones")
        with BaseSandbox(base_url=house.url) as box:
            self.assertEqual(texts(box.run_ipython_cell("1")),
                             [("stdout", "Out[1]: 1\n")])
            self.assertIsNotNone(box.get_info()["session_ctx_id"])
            until(lambda: warm in metrics(), "filled again")


if __name__ == "__main__":
    unittest.main()
