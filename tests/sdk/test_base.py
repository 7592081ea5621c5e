"""BaseSandbox and BaseSandboxAsync, as their users use them."""
import asyncio
import re
import threading
import unittest

from agentscope_runtime.sandbox import BaseSandbox, BaseSandboxAsync

from house import house, texts, until


class Sync(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        house.start()

    def test_life(self):
        """with: a sandbox is there, and gone afterwards"""
        with BaseSandbox(base_url=house.url) as box:
            name = box.sandbox_id
            self.assertTrue(name.startswith("runtime_sandbox_container_"))
            info = box.get_info()
            self.assertEqual(info["container_name"], name)
            self.assertEqual(info["state"], "running")
            self.assertIn("runtime-sandbox-base", info["version"])
        with BaseSandbox(base_url=house.url, sandbox_id=name) as again:
            self.assertEqual(again.get_info()["state"], "released")

    def test_list_tools(self):
        """list_tools: generic, with both tools"""
        with BaseSandbox(base_url=house.url) as box:
            tools = box.list_tools()
            self.assertEqual(list(tools), ["generic"])
            self.assertEqual(sorted(tools["generic"]),
                             ["run_ipython_cell", "run_shell_command"])
            self.assertEqual(box.list_tools("generic"), tools)
            self.assertEqual(box.list_tools("zzz"), {"zzz": {}})

    def test_shell(self):
        """run_shell_command: streams apart, status last"""
        with BaseSandbox(base_url=house.url) as box:
            r = box.run_shell_command("echo a; echo b >&2; exit 2")
            self.assertEqual(r, {
                "meta": None, "isError": True, "content": [
                    {"type": "text", "text": t, "annotations": None,
                     "description": d} for t, d in (
                        ("a\n", "stdout"), ("b\n", "stderr"),
                        ("2", "returncode"))]})
            r = box.run_shell_command("pwd; id -un; python3 -c 'print(6*7)'")
            self.assertEqual(texts(r), [("stdout", "/workspace\nroot\n42\n"),
                                        ("returncode", "0")])
            self.assertFalse(r["isError"])
            r = box.run_shell_command("")
            self.assertTrue(r["isError"])
            self.assertIn("Command is required", r["content"][0]["text"])

    def test_cells(self):
        """run_ipython_cell: state, errors and rich values, as upstream"""
        cells = (
            ("print(1)", "1\n", False),
            ("1+1", "Out[1]: 2\n", False),
            ("x = 5", "", False),
            ("print(x)\nx * 2", "5\nOut[1]: 10\n", False),
            ("1\n2", "Out[1]: 2\n", False),
            ('"a";', "Out[1]: 'a'\n", False),
            ("None", "", False),
            ("display(1, 'a')", "1\n'a'\n", False),
            ("!echo hi; echo e >&2", "hi\r\ne\r\n", False),
            ("await __import__('asyncio').sleep(0, 7)", "Out[1]: 7\n", False),
            ("%%bash\necho there", "there\n", False),
            ("# nothing", "", False),
        )
        with BaseSandbox(base_url=house.url) as box:
            for code, out, error in cells:
                r = box.run_ipython_cell(code)
                self.assertEqual((texts(r), r["isError"]),
                                 ([("stdout", out)], error), code)
            r = box.run_ipython_cell("1/0")
            self.assertFalse(r["isError"])
            plain = re.sub("\x1b\\[[0-9;]*m", "", r["content"][0]["text"])
            self.assertIn("Cell In[1], line 1\n", plain)
            self.assertTrue(plain.endswith(
                "ZeroDivisionError: division by zero\n"), plain)
            r = box.run_ipython_cell(
                "import sys; print('o'); print('e', file=sys.stderr)")
            self.assertEqual((texts(r), r["isError"]),
                             ([("stdout", "o\n"), ("stderr", "e\n")], True))
            r = box.run_ipython_cell("")
            self.assertTrue(r["isError"])
            self.assertIn("Code is required", r["content"][0]["text"])

    def test_interpreter_dies(self):
        """an interpreter that ends fails its cell only; the next one works"""
        with BaseSandbox(base_url=house.url) as box:
            box.run_ipython_cell("kept = 1")
            box.run_shell_command("echo here >file")
            r = box.run_ipython_cell("import os; os._exit(3)")
            self.assertTrue(r["isError"])
            self.assertIn("3", r["content"][-1]["text"])
            r = box.run_ipython_cell("print(open('file').read(), "
                                     "'kept' in dir())")
            self.assertEqual(texts(r), [("stdout", "here\n False\n")])

    def test_call_tool(self):
        """call_tool by name; an unknown one is an error that names it"""
        with BaseSandbox(base_url=house.url) as box:
            r = box.call_tool("run_ipython_cell", {"code": "a=1"})
            self.assertFalse(r["isError"])
            r = box.call_tool("run_ipython_cell", {"code": "print(a)"})
            self.assertEqual(texts(r), [("stdout", "1\n")])
            self.assertIs(r["isError"], False)
            r = box.call_tool("browser_navigate", {"url": "x"})
            self.assertTrue(r["isError"])
            self.assertIn("browser_navigate", r["content"][0]["text"])
            r = box.add_mcp_servers({"mcpServers": {"time": {
                "command": "uvx", "args": ["mcp-server-time"]}}})
            self.assertTrue(r["isError"])
            self.assertIn("time", r["content"][0]["text"])

    def test_concurrent(self):
        """cells side by side keep their output; shell calls don't wait"""
        with BaseSandbox(base_url=house.url) as box:
            got = {}

            def cell(i):
                got[i] = texts(box.run_ipython_cell(
                    f"import time\nfor _ in range(5):\n"
                    f"    print('cell {i}'); time.sleep(0.02)"))
            threads = [threading.Thread(target=cell, args=(i,))
                       for i in range(6)]
            for t in threads:
                t.start()
            self.assertEqual(texts(box.run_shell_command("echo free"))[0],
                             ("stdout", "free\n"))
            for t in threads:
                t.join()
            self.assertEqual(got, {i: [("stdout", f"cell {i}\n" * 5)]
                                   for i in range(6)})

    def test_types_to_come(self):
        """a type that can't be made says so, as the SDK has it"""
        from agentscope_runtime.sandbox import (BrowserSandbox, GuiSandbox,
                                                MobileSandbox)
        for cls in (BrowserSandbox, GuiSandbox, MobileSandbox):
            with self.assertRaisesRegex(RuntimeError, "No sandbox available"):
                cls(base_url=house.url).start()

    def test_error_strings(self):
        """errors come as the texts that callers look for"""
        box = BaseSandbox(base_url=house.url, sandbox_id="nope")
        box.start()
        self.assertEqual(
            box.get_info().split(" | ")[1],
            "Server Detail: Error in get_info: No container found with id: "
            "nope.")
        self.assertTrue(box.list_tools().startswith("Error: HTTP 500 Error:"))
        with BaseSandbox(base_url=house.url) as real:
            gone = real.sandbox_id
        box = BaseSandbox(base_url=house.url, sandbox_id=gone)
        box.start()
        self.assertIn(gone, str(box.run_shell_command("echo x")))

    def test_desktop_url(self):
        """desktop_url is built, though base has no desktop to show"""
        from agentscope_runtime.sandbox import GuiSandbox
        with BaseSandbox(base_url=house.url) as box:
            gui = GuiSandbox(base_url=house.url, sandbox_id=box.sandbox_id)
            gui.start()
            token = box.get_info()["runtime_token"]
            self.assertEqual(
                gui.desktop_url,
                f"{house.url}/desktop/{box.sandbox_id}/vnc/vnc_relay.html"
                f"?password={token}")


class Async(unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls):
        house.start()

    async def test_life(self):
        """async with: tools, record, end"""
        async with BaseSandboxAsync(base_url=house.url) as box:
            name = box.sandbox_id
            info = await box.get_info_async()
            self.assertEqual((info["container_name"], info["sandbox_type"]),
                             (name, "base_async"))
            self.assertEqual(box.get_info(), info)
            tools = await box.list_tools_async()
            self.assertEqual(list(tools), ["generic"])
            r = await box.run_ipython_cell("x = 2\nx + 3")
            self.assertEqual(texts(r), [("stdout", "Out[1]: 5\n")])
            r = await box.run_shell_command("echo $((6*7)); exit 4")
            self.assertEqual((texts(r), r["isError"]),
                             ([("stdout", "42\n"), ("returncode", "4")],
                              False))
            r = await box.call_tool_async("run_ipython_cell",
                                          {"code": "print(x)"})
            self.assertEqual(texts(r), [("stdout", "2\n")])
            r = await box.run_shell_command("")
            self.assertTrue(r["isError"])
            r = await box.call_tool_async("nope", {})
            self.assertIn("nope", r["content"][0]["text"])
            r = await box.add_mcp_servers_async({"mcpServers": {}})
            self.assertEqual(r, "OK")
        again = BaseSandboxAsync(base_url=house.url, sandbox_id=name)
        await again.start_async()
        info = await again.get_info_async()
        self.assertEqual(info["state"], "released")

    async def test_positional(self):
        """the positional forms of the async manager calls work"""
        async with BaseSandboxAsync(base_url=house.url) as box:
            api, name = box.manager_api, box.sandbox_id
            self.assertEqual(await api.get_status_async(name), "running")
            self.assertEqual((await api.get_info_async(name))
                             ["container_name"], name)
            other = await api.create_async("base", None)
            self.assertTrue(other.startswith("runtime_sandbox_container_"))
            pooled = await api.create_from_pool_async(
                "base", {"session_ctx_id": "positional"})
            self.assertEqual(await api.get_session_mapping_async(
                "positional"), [pooled])
            self.assertIs(await api.stop_async(other), True)
            self.assertEqual(await api.get_status_async(other), "exited")
            self.assertIs(await api.start_async(other), True)
            self.assertEqual(await api.get_status_async(other), "running")
            for sandbox in (other, pooled):
                self.assertIs(await api.release_async(sandbox), True)

    async def test_gather(self):
        """calls of one loop run side by side"""
        async with BaseSandboxAsync(base_url=house.url) as box:
            await box.run_ipython_cell("import time")
            loop = asyncio.get_running_loop()
            start = loop.time()
            r = await asyncio.gather(
                box.run_shell_command("sleep 2; echo a"),
                box.run_shell_command("sleep 2; echo b"),
                box.run_ipython_cell("time.sleep(2)\nprint('c')"))
            self.assertLess(loop.time() - start, 5)
            self.assertEqual([texts(x)[0][1] for x in r],
                             ["a\n", "b\n", "c\n"])


class StopStart(unittest.TestCase):
    def test_stop_start(self):
        """stop and start keep the workspace, the id and the token"""
        house.start()
        with BaseSandbox(base_url=house.url) as box:
            api, name = box.manager_api, box.sandbox_id
            token = box.get_info()["runtime_token"]
            box.run_shell_command("echo kept >file")
            self.assertIs(api.stop(name), True)
            self.assertEqual(api.get_status(name), "exited")
            self.assertIs(api.start(name), True)
            until(lambda: api.get_status(name) == "running", "it runs")
            self.assertEqual(texts(box.run_shell_command("cat file")),
                             [("stdout", "kept\n"), ("returncode", "0")])
            self.assertEqual(box.get_info()["runtime_token"], token)
        self.assertIs(api.stop("nope"), False)
        self.assertIs(api.start("nope"), False)
        self.assertIs(api.release("nope"), True)
        self.assertIsNone(api.get_status("nope"))


if __name__ == "__main__":
    unittest.main()
