// @a2a-js/sdk 0.3 against protocol 0.3.
import { randomUUID } from "node:crypto";
import { ClientFactory } from "a2a-old/client";
import { check, checked, failure, same } from "./say.mjs";

const url = process.argv[2];
const ask = (text, more = {}) => ({
  message: { kind: "message", messageId: randomUUID(), role: "user",
    parts: [{ kind: "text", text }], ...more },
});
const client = await new ClientFactory().createFromUrl(url);

await checked("send", async () => {
  const task = await client.sendMessage(ask("hello world"));
  same("message/send", task.artifacts[0].parts,
    [{ kind: "text", text: "You said: hello world" }]);
  const again = await client.getTask({ id: task.id });
  same("tasks/get", again.status.state, "completed");
  check("unknown", /not found/i.test(
    String(await failure(client.getTask({ id: "none" })))));
});
await checked("stream", async () => {
  let text = "", last, first;
  for await (const e of client.sendMessageStream(ask("hello world"))) {
    first ??= e;
    last = e;
    if (e.kind === "artifact-update") {
      text = e.append ? text : "";
      text += e.artifact.parts.map((p) => p.text).join("");
    }
  }
  same("a task first", first.kind, "task");
  same("text", text, "You said: hello world");
  same("the end", [last.kind, last.status.state, last.final],
    ["status-update", "completed", true]);
});
await checked("cancel", async () => {
  let last;
  const script = JSON.stringify([{ text: "a" }, { wait: 20000 }]);
  for await (const e of client.sendMessageStream(ask(script))) {
    last = e;
    if (e.kind === "artifact-update" && !e.lastChunk)
      await client.cancelTask({ id: e.taskId });
  }
  same("canceled", last.status.state, "canceled");
});
