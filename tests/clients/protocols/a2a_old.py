"""a2a-sdk 0.3: card, send, stream, tasks, both well-known paths."""
import asyncio
import json
import sys

import httpx
from a2a.client import (A2ACardResolver, ClientConfig, ClientFactory,
                        create_text_message_object)
from a2a.types import (AgentCard, TaskArtifactUpdateEvent, TaskIdParams,
                       TaskQueryParams)
from say import check, checked, same

URL = sys.argv[1]


def text(content, context_id=None):
    message = create_text_message_object(content=content)
    message.context_id = context_id
    return message


def words(task):
    return "".join(p.root.text for a in task.artifacts or ()
                   for p in a.parts if p.root.kind == "text")


async def error(awaitable):
    try:
        await awaitable
    except Exception as e:  # whatever the client makes of it
        return e.error.code
    return None


async def plain(client, quiet):
    last, states = None, []
    async for task, update in client.send_message(text("hello big world")):
        last = task
        states.append(task.status.state.value)
    same("the pieces of a stream make the answer", words(last),
         "You said: hello big world")
    same("states", sorted(set(states), key=states.index),
         ["submitted", "working", "completed"])
    task = await client.get_task(TaskQueryParams(id=last.id))
    same("tasks/get has the same text, once", words(task), words(last))
    same("... and the context", task.context_id, last.context_id)
    same("... and what was asked", task.history[0].parts[0].root.text,
         "hello big world")
    task = await client.get_task(TaskQueryParams(id=last.id,
                                                 history_length=0))
    check("historyLength 0", not task.history)
    same("a task that is over can't be canceled",
         await error(client.cancel_task(TaskIdParams(id=last.id))), -32002)
    same("an unknown task", await error(
        client.get_task(TaskQueryParams(id="none"))), -32001)
    async for task, _ in quiet.send_message(
            text("again", context_id=last.context_id)):
        same("message/send", words(task), "You said: again")
        same("... in the context asked for", task.context_id,
             last.context_id)


async def stopped(client):
    script = json.dumps([{"text": "one "}, {"wait": 20000}, {"text": "two"}])
    follower, seen = None, []

    async def follow(task_id):
        async for task, _ in client.resubscribe(TaskIdParams(id=task_id)):
            seen.append((task.status.state.value, words(task)))

    async for task, update in client.send_message(text(script)):
        last = task
        if isinstance(update, TaskArtifactUpdateEvent) and not follower:
            follower = asyncio.create_task(follow(task.id))
            while not seen:
                await asyncio.sleep(0.01)
            gone = await client.cancel_task(TaskIdParams(id=task.id))
            same("tasks/cancel says so", gone.status.state.value, "canceled")
    same("the stream ends as canceled", last.status.state.value, "canceled")
    await asyncio.wait_for(follower, 5)
    same("who came back saw the task as it was", seen[0], ("working", "one "))
    same("... and its end", seen[-1], ("canceled", "one "))


async def later(http, card):
    quiet = ClientFactory(ClientConfig(httpx_client=http, streaming=False,
                                       polling=True)).create(card)
    script = json.dumps([{"wait": 200}, {"text": "late"}])
    async for task, _ in quiet.send_message(text(script)):
        check("not blocking: it is worked on",
              task.status.state.value in ("submitted", "working"))
    for _ in range(100):
        task = await quiet.get_task(TaskQueryParams(id=task.id))
        if task.status.state.value == "completed":
            break
        await asyncio.sleep(0.05)
    same("... and done by and by", words(task), "late")


async def main():
    async with httpx.AsyncClient(timeout=20) as http:
        card = await A2ACardResolver(http, URL).get_agent_card()
        same("the card's address is ours", card.url, URL + "/a2a")
        check("... and says that it streams", card.capabilities.streaming)
        old = (await http.get(URL + "/.well-known/agent.json")).json()
        same("the old path has the same card",
             AgentCard.model_validate(old).url, card.url)
        client = ClientFactory(ClientConfig(
            httpx_client=http, streaming=True)).create(card)
        quiet = ClientFactory(ClientConfig(
            httpx_client=http, streaming=False)).create(card)
        await checked("send and get", plain(client, quiet))
        await checked("cancel and resubscribe", stopped(client))
        await checked("poll", later(http, card))


asyncio.run(main())
