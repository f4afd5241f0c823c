"""A producer, or a host, that traces with OpenTelemetry's SDK for Python. See ../traces.py, which starts it; host.js
is the same in Node.

    peer.py listen          prints the port; one connection
    peer.py connect PORT

Each line of stdin is an order, `{"ask": method, "params": {}, "from": {headers}}`: a span under what the headers of
somebody before carry, whose context the request takes along. Each request that is served is printed with the span it
got, and at the end of stdin all spans that the SDK kept.
"""

import asyncio
import json
import sys

from opentelemetry import baggage, trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

KEPT = InMemorySpanExporter()
PROVIDER = TracerProvider()
PROVIDER.add_span_processor(SimpleSpanProcessor(KEPT))
TRACER = PROVIDER.get_tracer("peer")
PROPAGATOR = CompositePropagator([TraceContextTextMapPropagator(), W3CBaggagePropagator()])


def say(what):
    print(json.dumps(what), flush=True)


def told(span, context):
    own, parent = span.get_span_context(), trace.get_current_span(context).get_span_context()
    return {
        "trace": f"{own.trace_id:032x}",
        "span": f"{own.span_id:016x}",
        "parent": f"{parent.span_id:016x}" if parent.is_valid else "",
        "sampled": own.trace_flags.sampled,
        "state": own.trace_state.to_header(),
        "baggage": dict(baggage.get_all(context)),
    }


def answer(method, params):
    if method == "initialize":
        sets = {"doc": {"description": "d", "uses": ["pushEvents"]}}
        mcpl = {"version": "0.5", "pushEvents": {"render": True}, "channels": True, "featureSets": sets}
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"experimental": {"mcpl": mcpl}},
            "serverInfo": {"name": "peer", "version": "1"},
        }
    if method == "push/render":
        return {"content": [{"type": "text", "text": "RENDERED"}]}
    if method == "context/beforeInference":
        return {"featureSet": "doc", "contextInjections": []}
    if method == "channels/incoming":
        return {"results": [{"messageId": it["messageId"], "accepted": True} for it in params["messages"]]}
    if method == "channels/register":
        return {"results": [{"id": it["id"], "accepted": True} for it in params["channels"]]}
    return {"accepted": True}


class Peer:
    def __init__(self, reader, writer):
        self.reader, self.writer, self.waiting = reader, writer, {}

    def send(self, message):
        self.writer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def listen(self):
        async for line in self.reader:
            message = json.loads(line)
            if "method" not in message:
                self.waiting.pop(message["id"]).set_result(message)
            elif "id" in message:
                self.serve(message["id"], message["method"], message.get("params") or {})

    def serve(self, ident, method, params):
        context = PROPAGATOR.extract(params.get("_meta") or {})
        with TRACER.start_as_current_span(f"serve {method}", context, SpanKind.SERVER) as span:
            say({"served": {"method": method, "params": params, **told(span, context)}})
            self.send({"id": ident, "result": answer(method, params)})

    async def ask(self, order):
        method, params = order["ask"], dict(order["params"])
        context = PROPAGATOR.extract(order.get("from") or {})
        with TRACER.start_as_current_span(f"ask {method}", context, SpanKind.CLIENT) as span:
            if "from" in order:
                params["_meta"] = {}
                PROPAGATOR.inject(params["_meta"], trace.set_span_in_context(span, context))
            ident = f"peer-{len(self.waiting)}-{told(span, context)['span']}"
            done = self.waiting[ident] = asyncio.get_running_loop().create_future()
            self.send({"id": ident, "method": method, "params": params})
            say({"asked": {"answer": await done, **told(span, context)}})


def kept(span):
    own, parent = span.get_span_context(), span.parent
    return {
        "name": span.name,
        "trace": f"{own.trace_id:032x}",
        "span": f"{own.span_id:016x}",
        "parent": f"{parent.span_id:016x}" if parent else "",
    }


async def run(reader, writer):
    peer = Peer(reader, writer)
    listening = asyncio.create_task(peer.listen())
    orders = asyncio.StreamReader()
    pipe = lambda: asyncio.StreamReaderProtocol(orders)
    await asyncio.get_running_loop().connect_read_pipe(pipe, sys.stdin)
    async for line in orders:
        await peer.ask(json.loads(line))
    say({"spans": [kept(span) for span in KEPT.get_finished_spans()]})
    listening.cancel()
    writer.close()


async def main():
    if sys.argv[1] == "connect":
        return await run(*await asyncio.open_connection("127.0.0.1", int(sys.argv[2])))
    came = asyncio.get_running_loop().create_future()
    server = await asyncio.start_server(lambda *ends: came.done() or came.set_result(ends), "127.0.0.1", 0)
    say({"port": server.sockets[0].getsockname()[1]})
    await run(*await came)


asyncio.run(main())
