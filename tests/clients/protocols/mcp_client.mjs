// @modelcontextprotocol/sdk: streamable HTTP.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Transport } from
  "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { check, checked, failure, same } from "./say.mjs";

const url = new URL(process.argv[2] + "/mcp");

await checked("a session", async () => {
  const client = new Client({ name: "test", version: "1" });
  const transport = new Transport(url);
  await client.connect(transport);
  check("has an id", transport.sessionId);
  await client.ping();
  const { tools } = await client.listTools();
  check("the agent is a tool", tools.some((t) => t.name === "paper"));
  const steps = [];
  const r = await client.callTool({ name: "paper",
    arguments: { message: "hello you" } }, undefined,
  { onprogress: (p) => steps.push(p.progress) });
  same("its answer", r.content, [{ type: "text", text: "You said: hello you" }]);
  same("progress", steps, [1]);
  same("an unknown tool", (await failure(client.callTool({ name: "none",
    arguments: {} }))).code, -32602);
  const stop = new AbortController();
  const slow = client.callTool({ name: "paper", arguments: {
    message: JSON.stringify([{ wait: 20000 }]) } }, undefined,
  { signal: stop.signal });
  setTimeout(() => stop.abort(), 200);
  check("a call can be given up", await failure(slow));
  await transport.terminateSession();
  check("an ended session is gone", await failure(client.ping()));
  await client.close();
});
