// The clients of JavaScript, unmodified, before the doors: one of them, by
// name.  openai_node.mjs NAME MODULES URL; exits 1 when something differs.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const [name, modules, baseURL] = process.argv.slice(2)
const load = async (what) => {
  const path = createRequire(modules + '/x.mjs').resolve(what)
  return import(pathToFileURL(path).href)
}
const script = (...steps) => JSON.stringify(steps)
const data = { call_id: 'c1', name: 'weather', arguments: '{"city":"Rome"}' }
const CALL = [
  { object: 'message', id: 'c', type: 'function_call' },
  { object: 'content', msg_id: 'c', type: 'data', data },
  { object: 'message', id: 'c', status: 'completed' }]
const THOUGHT = [
  { object: 'message', id: 'r', type: 'reasoning' },
  { object: 'content', msg_id: 'r', delta: true, text: 'hm' },
  { object: 'message', id: 'r', status: 'completed' }]
const USED = { op: 'usage', usage: { input_tokens: 5, output_tokens: 3 } }
const SAY = script(...THOUGHT, { text: 'Hel' }, { text: 'lo' }, USED)

async function openai(version) {
  const { default: OpenAI, BadRequestError } = await load(version)
  const client = new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 })
  const model = 'm'

  const whole = await client.responses.create({ model, input: SAY })
  assert.equal(whole.output_text, 'Hello')
  assert.equal(whole.usage.total_tokens, 8)

  const types = []
  for await (const e of await client.responses.create(
    { model, input: SAY, stream: true })) {
    assert.equal(e.sequence_number, types.length)
    types.push(e.type)
  }
  assert.equal(types.at(-1), 'response.completed')

  const stream = client.responses.stream({ model, input: SAY })
  let text = ''
  stream.on('response.output_text.delta', (e) => { text += e.delta })
  const final = await stream.finalResponse()
  assert.equal(text, 'Hello')
  assert.equal(final.output_text, 'Hello')

  const call = await client.responses.stream(
    { model, input: script(...CALL) }).finalResponse()
  assert.equal(call.output[0].name, 'weather')
  assert.deepEqual(JSON.parse(call.output[0].arguments), { city: 'Rome' })
  const next = await client.responses.create({
    model, previous_response_id: call.id, metadata: { paper: 'input' },
    input: [{ type: 'function_call_output', call_id: 'c1', output: 'ok' }] })
  assert.deepEqual(JSON.parse(next.output_text).map((m) => m.type),
    ['message', 'function_call', 'function_call_output'])

  let job = await client.responses.create(
    { model, background: true, input: script({ wait: 50 }, { text: 'ok' }) })
  while (['queued', 'in_progress'].includes(job.status)) {
    await new Promise((done) => setTimeout(done, 20))
    job = await client.responses.retrieve(job.id)
  }
  assert.equal(job.output_text, 'ok')
  const again = []
  for await (const e of await client.responses.retrieve(
    job.id, { stream: true, starting_after: 1 })) again.push(e)
  assert.equal(again[0].sequence_number, 2)
  assert.equal(again.at(-1).type, 'response.completed')
  job = await client.responses.create(
    { model, background: true, input: script({ wait: 60000 }) })
  assert.equal((await client.responses.cancel(job.id)).status, 'cancelled')
  const items = await client.responses.inputItems.list(job.id)
  assert.equal(items.data[0].role, 'user')
  await client.responses.delete(job.id)

  const messages = [{ role: 'user', content: SAY }]
  const chat = await client.chat.completions.create({ model, messages })
  assert.equal(chat.choices[0].message.content, 'Hello')
  const chunks = client.chat.completions.stream({ model, messages })
  assert.equal(await chunks.finalContent(), 'Hello')
  const asked = []
  const runner = client.chat.completions.runTools({
    model, messages: [{ role: 'user', content: script(...CALL) }],
    tools: [{ type: 'function', function: {
      name: 'weather', parameters: { type: 'object', properties: {} },
      parse: JSON.parse,
      function: (args) => { asked.push(args); return 'sunny' } } }] },
  { maxChatCompletions: 1 })
  await runner.done()
  assert.deepEqual(asked, [{ city: 'Rome' }])

  await assert.rejects(client.responses.create({ model, input: 3 }), (e) =>
    e instanceof BadRequestError && e.param === 'input')
  const names = []
  for await (const m of client.models.list()) names.push(m.id)
  assert.deepEqual(names, ['paper'])
}

async function ai() {
  const { createOpenAI } = await load('@ai-sdk/openai')
  const { generateText, streamText, jsonSchema, tool } = await load('ai')
  const provider = createOpenAI({ baseURL, apiKey: 'none' })
  for (const model of [provider.responses('m'), provider.chat('m')]) {
    const whole = await generateText({ model, prompt: SAY, maxRetries: 0 })
    assert.equal(whole.text, 'Hello')
    assert.equal(whole.usage.inputTokens, 5)
    const live = streamText({ model, prompt: SAY, maxRetries: 0,
      onError: ({ error }) => { throw error } })
    let text = ''
    for await (const piece of live.textStream) text += piece
    assert.equal(text, 'Hello')
    for (const make of [generateText, streamText]) {
      const result = await make({ model, prompt: script(...CALL),
        maxRetries: 0, tools: { weather: tool({
          inputSchema: jsonSchema({ type: 'object', properties: {} }) }) } })
      const [call] = await result.toolCalls
      assert.equal(call.toolName, 'weather')
      assert.deepEqual(call.input, { city: 'Rome' })
    }
  }
}

async function langchain() {
  const { ChatOpenAI } = await load('@langchain/openai')
  for (const useResponsesApi of [true, false]) {
    const model = new ChatOpenAI({ model: 'm', apiKey: 'none', maxRetries: 0,
      useResponsesApi, configuration: { baseURL } })
    const whole = await model.invoke(SAY)
    assert.equal(whole.text, 'Hello')
    let text = ''
    for await (const piece of await model.stream(SAY)) text += piece.text
    assert.equal(text, 'Hello')
    const called = await model.invoke(script(...CALL))
    assert.deepEqual(called.tool_calls[0].args, { city: 'Rome' })
  }
}

await ({ openai6: () => openai('openai6'), openai7: () => openai('openai7'),
  ai, langchain })[name]()
