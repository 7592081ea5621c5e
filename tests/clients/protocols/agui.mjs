// @ag-ui/client: HttpAgent, whose pipeline verifies the order of events.
import { HttpAgent } from "@ag-ui/client";
import { check, checked, same } from "./say.mjs";

const url = process.argv[2] + "/ag-ui";
const agent = new HttpAgent({ url, threadId: "T" });
let n = 0;
async function run(script, input = {}) {
  const content = typeof script === "string" ? script : JSON.stringify(script);
  const seen = { events: [], errors: [] };
  agent.messages = [...agent.messages,
    { id: `u${++n}`, role: "user", content }];
  const got = await agent.runAgent({ runId: `r${n}`, ...input }, {
    onEvent: ({ event }) => void seen.events.push(event),
    onRunFailed: ({ error }) => void seen.errors.push(String(error)),
  });
  return { ...seen, messages: got.newMessages };
}

await checked("text", async () => {
  const { messages, errors } = await run("hello there");
  same("nothing is refused", errors, []);
  same("a message", messages.map((m) => [m.role, m.content]),
    [["assistant", "You said: hello there"]]);
});
await checked("tools", async () => {
  const { messages, errors } = await run([
    { text: "See:" },
    { object: "message", id: "a", type: "plugin_call" },
    { object: "content", msg_id: "a", type: "data", status: "completed",
      data: { call_id: "c1", name: "f", arguments: "{\"a\": 1}" } },
    { object: "message", id: "a", status: "completed" },
    { object: "message", id: "b", type: "function_call" },
    { object: "content", msg_id: "b", type: "data", status: "completed",
      data: { call_id: "c2", name: "g", arguments: "" } },
    { object: "message", id: "b", status: "completed" },
    { object: "message", id: "o", type: "plugin_call_output" },
    { object: "content", msg_id: "o", type: "data", status: "completed",
      data: { call_id: "c1", name: "f", output: "42" } },
    { object: "message", id: "r", type: "reasoning" },
    { object: "content", msg_id: "r", delta: true, text: "hm" },
    { text: "42" },
  ], { tools: [{ name: "f", description: "d", parameters: {} }] });
  same("nothing is refused", errors, []);
  same("calls belong to one message", messages[0].toolCalls.map((c) =>
    [c.id, c.function.name, c.function.arguments]),
  [["c1", "f", "{\"a\": 1}"], ["c2", "g", "{}"]]);
  same("roles", messages.map((m) => m.role),
    ["assistant", "tool", "reasoning", "assistant"]);
});
await checked("a history with tools goes back", async () => {
  const { messages, errors } = await run("and now?");
  same("nothing is refused", errors, []);
  same("an answer", messages.at(-1).content, "You said: and now?");
});
await checked("failure", async () => {
  const { events } = await run([{ text: "half" }, { op: "end",
    status: "failed", error: { code: "X", message: "boom" } }]);
  same("the end", [events.at(-1).type, events.at(-1).message],
    ["RUN_ERROR", "boom"]);
});
await checked("a reader that leaves", async () => {
  const running = run([{ text: "a" }, { wait: 20000 }]);
  setTimeout(() => agent.abortRun(), 200);
  const { events } = await running;
  check("it is over at once", events.at(-1).type !== "RUN_FINISHED");
});
