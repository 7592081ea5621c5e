// @a2a-js/sdk 1 against protocol 1.0, and with legacyCompat against 0.3's card.
import { randomUUID } from "node:crypto";
import { Role, TaskState } from "a2a-new";
import { ClientFactory } from "a2a-new/client";
import { check, checked, failure, same } from "./say.mjs";

const url = process.argv[2];
const part = (text) => ({ content: { $case: "text", value: text },
  metadata: undefined, filename: "", mediaType: "" });
const ask = (text, more = {}) => ({
  tenant: "", configuration: undefined, metadata: undefined,
  message: { messageId: randomUUID(), contextId: "", taskId: "",
    role: Role.ROLE_USER, parts: [part(text)], metadata: undefined,
    extensions: [], referenceTaskIds: [], ...more },
});
const words = (a) => a.parts.map((p) => p.content?.value ?? "").join("");
const client = await new ClientFactory().createFromUrl(url);

await checked("send", async () => {
  const task = await client.sendMessage(ask("hello world"));
  const have = task.task ?? task;
  same("SendMessage", words(have.artifacts[0]), "You said: hello world");
  const again = await client.getTask({ tenant: "", id: have.id });
  same("GetTask", again.status.state, TaskState.TASK_STATE_COMPLETED);
  check("unknown", /not found/i.test(
    String(await failure(client.getTask({ tenant: "", id: "none" })))));
});
await checked("stream", async () => {
  let text = "", kinds = [];
  for await (const e of client.sendMessageStream(ask("hello world"))) {
    const payload = e.payload ?? e;
    const kind = payload.$case ?? Object.keys(payload)[0];
    const value = payload.value ?? payload[kind];
    kinds.push(kind);
    if (/artifact/i.test(kind)) text += words(value.artifact);
  }
  same("text", text, "You said: hello world");
  same("first and last", [kinds[0], kinds.at(-1)], ["task", "statusUpdate"]);
});
