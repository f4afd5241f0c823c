// A host that traces with OpenTelemetry's SDK for Node. See ../traces.py, which starts it; peer.py is the same in
// Python, and says what is read and printed.

const net = require("node:net");
const readline = require("node:readline");
const { context, propagation, trace, SpanKind, TraceFlags, ROOT_CONTEXT } = require("@opentelemetry/api");
const { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } = require("@opentelemetry/core");
const { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } = require("@opentelemetry/sdk-trace-node");

const kept = new InMemorySpanExporter();
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(kept)] });
provider.register({
  propagator: new CompositePropagator({ propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()] }),
});
const tracer = trace.getTracer("host");

const say = (what) => console.log(JSON.stringify(what));

function told(span, ctx) {
  const own = span.spanContext();
  const baggage = propagation.getBaggage(ctx);
  return {
    trace: own.traceId,
    span: own.spanId,
    parent: (trace.getSpanContext(ctx) || { spanId: "" }).spanId,
    sampled: (own.traceFlags & TraceFlags.SAMPLED) !== 0,
    state: own.traceState ? own.traceState.serialize() : "",
    baggage: Object.fromEntries((baggage ? baggage.getAllEntries() : []).map(([name, { value }]) => [name, value])),
  };
}

function answer(method, params) {
  if (method === "channels/incoming")
    return { results: params.messages.map(({ messageId }) => ({ messageId, accepted: true })) };
  if (method === "channels/register") return { results: params.channels.map(({ id }) => ({ id, accepted: true })) };
  return { accepted: true };
}

const socket = net.connect(Number(process.argv[3]), "127.0.0.1");
const waiting = new Map();
const send = (message) => socket.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");

readline.createInterface({ input: socket }).on("line", (line) => {
  const message = JSON.parse(line);
  if (message.method === undefined) {
    waiting.get(message.id)(message);
    waiting.delete(message.id);
  } else if (message.id !== undefined) {
    const { method, params = {} } = message;
    const ctx = propagation.extract(ROOT_CONTEXT, params._meta || {});
    const span = tracer.startSpan(`serve ${method}`, { kind: SpanKind.SERVER }, ctx);
    say({ served: { method, params, ...told(span, ctx) } });
    send({ id: message.id, result: answer(method, params) });
    span.end();
  }
});

async function ask({ ask: method, params, from }) {
  const ctx = propagation.extract(ROOT_CONTEXT, from || {});
  const span = tracer.startSpan(`ask ${method}`, { kind: SpanKind.CLIENT }, ctx);
  const own = trace.setSpan(ctx, span);
  const meta = {};
  if (from) propagation.inject(own, meta);
  const id = `host-${span.spanContext().spanId}`;
  const done = new Promise((resolve) => waiting.set(id, resolve));
  send({ id, method, params: from ? { ...params, _meta: meta } : params });
  const answer = await done;
  say({ asked: { answer, ...told(span, ctx) } });
  span.end();
}

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) await ask(JSON.parse(line));
  const spans = kept.getFinishedSpans().map((span) => ({
    name: span.name,
    trace: span.spanContext().traceId,
    span: span.spanContext().spanId,
    parent: span.parentSpanContext ? span.parentSpanContext.spanId : "",
  }));
  say({ spans });
  socket.end();
}

main();
