"""a2a-sdk 1: the same agent by protocol 1.0."""
import asyncio
import json
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as t
from a2a.utils import errors
from say import check, checked, same

URL = sys.argv[1]


def ask(words, **where):
    return t.SendMessageRequest(message=t.Message(
        message_id=str(uuid.uuid4()), role=t.ROLE_USER,
        parts=[t.Part(text=words)], **where))


async def error(awaitable):
    try:
        await awaitable
    except errors.A2AError as e:
        return type(e)
    return None


async def drained(stream):
    return [e async for e in stream]


def joined(events):
    return "".join(p.text for e in events if e.HasField("artifact_update")
                   for p in e.artifact_update.artifact.parts)


async def plain(client):
    events = await drained(client.send_message(ask("hello big world")))
    check("a task comes first", events[0].HasField("task"))
    task = events[0].task
    same("the pieces make the answer", joined(events),
         "You said: hello big world")
    same("the last one completes it", events[-1].status_update.status.state,
         t.TASK_STATE_COMPLETED)
    have = await client.get_task(t.GetTaskRequest(id=task.id))
    same("GetTask", have.artifacts[0].parts[0].text, joined(events))
    same("... in the same context", have.context_id, task.context_id)
    same("CancelTask of what is over", await error(client.cancel_task(
        t.CancelTaskRequest(id=task.id))), errors.TaskNotCancelableError)
    same("GetTask of nothing", await error(client.get_task(
        t.GetTaskRequest(id="none"))), errors.TaskNotFoundError)
    same("SubscribeToTask of what is over", await error(drained(
        client.subscribe(t.SubscribeToTaskRequest(id=task.id)))),
        errors.UnsupportedOperationError)
    same("a message to what is over", await error(drained(
        client.send_message(ask("more", task_id=task.id)))),
        errors.UnsupportedOperationError)
    same("no push notifications, and that is said", await error(
        client.create_task_push_notification_config(
            t.TaskPushNotificationConfig(task_id=task.id,
                                         url="http://h/"))),
        errors.PushNotificationNotSupportedError)
    return task


async def lists(client, task):
    page = await client.list_tasks(t.ListTasksRequest(
        context_id=task.context_id, include_artifacts=True))
    same("ListTasks of a context", [x.id for x in page.tasks], [task.id])
    check("... with artifacts", len(page.tasks[0].artifacts) == 1)
    for _ in range(2):
        await drained(client.send_message(ask(
            "x", context_id=task.context_id)))
    page = await client.list_tasks(t.ListTasksRequest(
        context_id=task.context_id, page_size=2))
    same("a page", (len(page.tasks), page.total_size), (2, 3))
    check("... without artifacts", not page.tasks[0].artifacts)
    rest = await client.list_tasks(t.ListTasksRequest(
        context_id=task.context_id, page_size=2,
        page_token=page.next_page_token))
    same("... and the rest", ([x.id for x in rest.tasks],
                              rest.next_page_token), ([task.id], ""))


async def asked_back(client):
    script = json.dumps([
        {"object": "content", "msg_id": "q", "text": "Which one?",
         "status": "completed"},
        {"object": "message", "id": "q", "status": "completed",
         "metadata": {"input_required": True}}])
    events = await drained(client.send_message(ask(script)))
    task = events[0].task
    same("a question leaves the task open",
         events[-1].status_update.status.state, t.TASK_STATE_INPUT_REQUIRED)
    events = await drained(client.send_message(ask("that", task_id=task.id)))
    same("the answer goes on with the task", events[0].task.id, task.id)
    same("... in its context", events[0].task.context_id, task.context_id)
    have = await client.get_task(t.GetTaskRequest(id=task.id))
    same("... which knows both", [m.parts[0].text for m in have.history],
         [script, "that"])
    same("... and has both answers", len(have.artifacts), 2)


async def stopped(client):
    script = json.dumps([{"text": "one "}, {"wait": 20000}])
    seen, follower = [], None

    async def follow(task_id):
        async for e in client.subscribe(
                t.SubscribeToTaskRequest(id=task_id)):
            seen.append(e)

    async for e in client.send_message(ask(script)):
        last = e
        if e.HasField("artifact_update") and not follower:
            task_id = e.artifact_update.task_id
            follower = asyncio.create_task(follow(task_id))
            while not seen:
                await asyncio.sleep(0.01)
            await client.cancel_task(t.CancelTaskRequest(id=task_id))
    same("canceled", last.status_update.status.state, t.TASK_STATE_CANCELED)
    await asyncio.wait_for(follower, 5)
    check("who subscribed got the task first", seen[0].HasField("task"))
    same("... with what was said", seen[0].task.artifacts[0].parts[0].text,
         "one ")
    same("... and its end", seen[-1].status_update.status.state,
         t.TASK_STATE_CANCELED)


async def main():
    async with httpx.AsyncClient(timeout=20) as http:
        card = await A2ACardResolver(http, URL).get_agent_card()
        same("the card has 1.0 first",
             card.supported_interfaces[0].protocol_version, "1.0")
        client = ClientFactory(ClientConfig(
            httpx_client=http, streaming=True)).create(card)
        quiet = ClientFactory(ClientConfig(
            httpx_client=http, streaming=False)).create(card)
        task = await plain(client)
        await checked("list", lists(client, task))
        await checked("input required", asked_back(client))
        await checked("cancel and subscribe", stopped(client))
        whole = await drained(quiet.send_message(ask("all at once")))
        same("SendMessage", whole[0].task.artifacts[0].parts[0].text,
             "You said: all at once")


asyncio.run(main())
