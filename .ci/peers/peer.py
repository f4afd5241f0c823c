"""A host and a producer on PyPI's `websockets`. See ../peers.py, which starts them; peer.js is the same in Node."""

import asyncio
import json
import os
import sys

from websockets.asyncio.client import connect
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed


def say(what):
    print(json.dumps(what), flush=True)


class End:
    """One end of a session: requests both ways under ids that both sides use."""

    def __init__(self, socket, answer):
        self.socket, self.answer = socket, answer
        self.waiting, self.next, self.tasks = {}, 0, set()

    async def listen(self):
        """Until the end; how it was closed."""
        try:
            async for text in self.socket:
                assert isinstance(text, str), "a binary message came"
                message = json.loads(text)
                if "method" in message:
                    task = asyncio.create_task(self.serve(message))
                    self.tasks.add(task)
                    task.add_done_callback(self.tasks.discard)
                else:
                    self.waiting.pop(message["id"]).set_result(message)
        except ConnectionClosed:
            pass
        return [self.socket.close_code, self.socket.close_reason]

    async def serve(self, message):
        result = await self.answer(self, message)
        if "id" in message and result is not None:
            text = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}, ensure_ascii=False)
            await self.socket.send(self.parts(text) if message["method"] == "test/fragments" else text)

    async def ask(self, method, params, in_parts=False):
        ident, self.next = self.next, self.next + 1
        text = json.dumps({"jsonrpc": "2.0", "id": ident, "method": method, "params": params}, ensure_ascii=False)
        answer = self.waiting[ident] = asyncio.get_running_loop().create_future()
        await self.socket.send(self.parts(text) if in_parts else text)
        return await answer

    async def parts(self, text):
        """Fragments, one of them empty, with a ping after each."""
        cuts = [0, 7, 7, len(text) // 2, len(text) - 1, len(text)]
        for start, end in zip(cuts, cuts[1:]):
            yield text[start:end]
            await self.socket.ping()

    async def notify(self, method, params=None):
        await self.socket.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params or {}}))


async def producer_answers(end, message):
    method, params = message["method"], message.get("params") or {}
    if method == "initialize":
        sets = {"doc": {"description": "d", "uses": ["pushEvents"]}}
        mcpl = {"version": "0.5", "pushEvents": True, "featureSets": sets}
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"experimental": {"mcpl": mcpl}},
            "serverInfo": {"name": "python", "version": "1"},
        }
    if method == "test/sample":
        wanted = {"maxTokens": 5, "messages": [], "say": params["say"]}
        return (await end.ask("sampling/createMessage", wanted))["result"]
    if method == "test/big":
        return {"text": "y" * params["bytes"], "got": len(params["text"])}
    if method == "test/ping":
        await asyncio.wait_for(await end.socket.ping("are you there"), 2)
        return {"pongs": ["are you there"]}
    if method == "test/push":
        answers = []
        for n, text in enumerate(params["texts"]):
            event = {
                "featureSet": "doc",
                "eventId": f"{params['run']}-{n}",
                "timestamp": "2026-01-01T00:00:00Z",
                "coalesce": {"key": params["run"]},
                "payload": {"content": [{"type": "text", "text": text}]},
            }
            answers.append((await end.ask("push/event", event))["result"])
        return {"answers": answers}
    if method == "test/close":
        await end.socket.close(params["code"], params["reason"])
        return None
    if method == "featureSets/update":
        return {"accepted": True}
    return {"echo": params}


async def produce():
    async def session(socket):
        asked = socket.request
        authorization = asked.headers.get("authorization")
        say({"asked": asked.path, "protocol": socket.subprotocol, "authorization": authorization})
        say({"closed": await End(socket, producer_answers).listen()})

    choose = lambda _, offered: "mcpl" if "mcpl" in offered else None
    async with serve(session, "127.0.0.1", 0, max_size=None, select_subprotocol=choose) as server:
        say({"port": server.sockets[0].getsockname()[1]})
        await asyncio.Future()


async def host(address, token, ending):
    given = []

    async def answer(_, message):
        if message["method"] == "sampling/createMessage":
            return {"role": "assistant", "said": message["params"]["say"]}
        if message["method"] == "push/event":
            given.append(message["params"]["payload"]["content"][0]["text"])
        return {"accepted": True}

    # The token in a header here, in a subprotocol in Node.
    headers = {"authorization": f"Bearer {token}"}
    async with connect(address, subprotocols=["mcpl"], additional_headers=headers, max_size=None) as socket:
        assert socket.subprotocol == "mcpl", socket.subprotocol
        assert "sec-websocket-extensions" not in socket.response.headers, "an extension is used"
        end = End(socket, answer)
        ended = asyncio.create_task(end.listen())
        await drive(end, given, f"python-{os.getpid()}")
        await socket.send(b'{"jsonrpc":"2.0","id":"never","method":"test/echo"}')
        assert (await end.ask("test/after", {"n": 1}))["result"]["echo"] == {"n": 1}
        await asyncio.wait_for(await socket.ping("anyone"), 2)
        if ending == "producer-closes":
            await end.notify("test/close", {"code": 4404, "reason": "gone \U0001f30d"})
            say({"closed": await ended})
        else:
            await socket.close(4001, "bye")
            await ended
            say({"closed": None})


async def drive(end, given, run):
    mcpl = {"version": "0.5", "pushEvents": True, "inferenceLifecycle": True, "contextHooks": {"beforeInference": True}}
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {"experimental": {"mcpl": mcpl}},
        "clientInfo": {"name": "p", "version": "1"},
    }
    assert "serverInfo" in (await end.ask("initialize", hello))["result"]
    await end.notify("notifications/initialized")
    capabilities = ["pushEvents", "contextHooks.beforeInference.observe", "inferenceLifecycle"]
    await end.ask("featureSets/update", {"effectiveCapabilities": capabilities, "enabled": ["doc"]})
    many = await asyncio.gather(*(end.ask("test/echo", {"n": n, "t": "é—取🎉"}) for n in range(200)))
    assert [answer["result"]["echo"] for answer in many] == [{"n": n, "t": "é—取🎉"} for n in range(200)]
    samples = await asyncio.gather(*(end.ask("test/sample", {"say": n}) for n in range(20)))
    assert [answer["result"]["said"] for answer in samples] == list(range(20))
    big = (await end.ask("test/big", {"bytes": 6 << 20, "text": "x" * (5 << 20)}))["result"]
    assert (len(big["text"]), big["got"]) == (6 << 20, 5 << 20)
    parts = await end.ask("test/fragments", {"t": "in parts: é—取🎉"}, in_parts=True)
    assert parts["result"]["echo"] == {"t": "in parts: é—取🎉"}, parts
    pinged = await end.ask("test/ping", {})
    assert "are you there" in pinged["result"]["pongs"], pinged
    pushed = await end.ask("test/push", {"run": run, "texts": ["one", "two", "three"]})
    assert all(answer["accepted"] for answer in pushed["result"]["answers"]), pushed
    assembled = {"inferenceId": "i", "conversationId": "c", "turnIndex": 0, "userMessage": None}
    await end.ask("context/beforeInference", assembled)
    for _ in range(200):
        if "three" in given:
            break
        await asyncio.sleep(0.01)
    assert given == ["three"], given


if sys.argv[1] == "producer":
    asyncio.run(produce())
else:
    asyncio.run(asyncio.wait_for(host(*sys.argv[2:5]), 30))
