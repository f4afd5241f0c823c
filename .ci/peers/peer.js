// A host and a producer on the `ws` of npm. See ../peers.py, which starts them; it has the same two in Python.
'use strict';
const { WebSocket, WebSocketServer } = require('ws');

const [role, address, token] = process.argv.slice(2);
const say = (what) => process.stdout.write(JSON.stringify(what) + '\n');
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// One end of a session: requests both ways under ids that both sides use.
class End {
  constructor(socket, answer) {
    this.socket = socket;
    this.waiting = new Map();
    this.next = 0;
    this.pongs = [];
    this.closed = new Promise((done) => socket.on('close', (code, reason) => done([code, reason.toString()])));
    socket.on('pong', (data) => this.pongs.push(data.toString()));
    socket.on('message', async (data, isBinary) => {
      if (isBinary) throw new Error('a binary message came');
      const message = JSON.parse(data.toString());
      if (message.method === undefined) {
        this.waiting.get(message.id)?.(message);
        this.waiting.delete(message.id);
        return;
      }
      const result = await answer(this, message);
      if (message.id !== undefined && result !== undefined) {
        const text = JSON.stringify({ jsonrpc: '2.0', id: message.id, result });
        if (message.method === 'test/fragments') await this.inParts(text);
        else socket.send(text);
      }
    });
  }

  ask(method, params, inParts = false) {
    const id = this.next++;
    const text = JSON.stringify({ jsonrpc: '2.0', id, method, params });
    const answer = new Promise((done) => this.waiting.set(id, done));
    if (inParts) this.inParts(text);
    else this.socket.send(text);
    return answer;
  }

  // Five fragments, one of them empty, cut without regard for characters, with a ping after each.
  async inParts(text) {
    const bytes = Buffer.from(text);
    const cuts = [0, 7, 7, Math.floor(bytes.length / 2), bytes.length - 1, bytes.length];
    for (let n = 0; n + 1 < cuts.length; n += 1) {
      const last = n + 2 === cuts.length;
      this.socket.send(bytes.subarray(cuts[n], cuts[n + 1]), { fin: last, binary: false });
      if (!last) this.socket.ping(`between ${n}`);
    }
  }

  notify(method, params) {
    this.socket.send(JSON.stringify({ jsonrpc: '2.0', method, params }));
  }
}

const producerAnswers = async (end, message) => {
  const { method, params } = message;
  if (method === 'initialize') {
    const mcpl = { version: '0.5', pushEvents: true, featureSets: { doc: { description: 'd', uses: ['pushEvents'] } } };
    return {
      protocolVersion: params.protocolVersion,
      capabilities: { experimental: { mcpl } },
      serverInfo: { name: 'node', version: '1' },
    };
  }
  if (method === 'test/sample') {
    const answer = await end.ask('sampling/createMessage', { maxTokens: 5, messages: [], say: params.say });
    return answer.result;
  }
  if (method === 'test/big') return { text: 'y'.repeat(params.bytes), got: params.text.length };
  if (method === 'test/ping') {
    end.socket.ping('are you there');
    for (let n = 0; n < 200 && !end.pongs.includes('are you there'); n += 1) await sleep(10);
    return { pongs: end.pongs };
  }
  if (method === 'test/push') {
    const answers = [];
    for (const [n, text] of params.texts.entries()) {
      const event = {
        featureSet: 'doc', eventId: `${params.run}-${n}`, timestamp: '2026-01-01T00:00:00Z', coalesce: { key: params.run },
        payload: { content: [{ type: 'text', text }] },
      };
      answers.push((await end.ask('push/event', event)).result);
    }
    return { answers };
  }
  if (method === 'test/close') {
    end.socket.close(params.code, params.reason);
    return undefined;
  }
  if (method === 'featureSets/update') return { accepted: true };
  return { echo: params };
};

function produce() {
  const handleProtocols = (offered) => (offered.has('mcpl') ? 'mcpl' : false);
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols, maxPayload: 0 });
  server.on('listening', () => say({ port: server.address().port }));
  server.on('connection', async (socket, request) => {
    say({ asked: request.url, protocol: socket.protocol, authorization: request.headers.authorization ?? null });
    const end = new End(socket, producerAnswers);
    say({ closed: await end.closed });
  });
}

const check = (is, what) => {
  if (!is) throw new Error(what);
};

async function host() {
  const protocols = ['mcpl', `mcpl.bearer.${Buffer.from(token).toString('base64url')}`];
  const socket = new WebSocket(address, protocols, { maxPayload: 0 });
  await new Promise((done, failed) => socket.on('open', done).on('error', failed));
  check(socket.protocol === 'mcpl', `the subprotocol is ${socket.protocol}`);
  check(socket.extensions === '', `extensions: ${socket.extensions}`);
  const given = [];
  const end = new End(socket, async (_, { method, params }) => {
    if (method === 'sampling/createMessage') return { role: 'assistant', said: params.say };
    if (method === 'push/event') given.push(params.payload.content[0].text);
    return { accepted: true };
  });
  const run = `node-${process.pid}`;
  await drive(end, given, run);
  end.socket.send(Buffer.from('{"jsonrpc":"2.0","id":"never","method":"test/echo"}'), { binary: true });
  check((await end.ask('test/after', { n: 1 })).result.echo.n === 1, 'after a binary message');
  socket.ping('anyone');
  for (let n = 0; n < 200 && !end.pongs.includes('anyone'); n += 1) await sleep(10);
  check(end.pongs.includes('anyone'), 'our ping is answered');
  if (process.argv[5] === 'producer-closes') {
    end.notify('test/close', { code: 4404, reason: 'gone \u{1f30d}' });
    say({ closed: await end.closed });
  } else {
    socket.close(4001, 'bye');
    await end.closed;
    say({ closed: null });
  }
}

async function drive(end, given, run) {
  const mcpl = { version: '0.5', pushEvents: true, inferenceLifecycle: true, contextHooks: { beforeInference: true } };
  const hello = await end.ask('initialize', {
    protocolVersion: '2025-06-18', capabilities: { experimental: { mcpl } }, clientInfo: { name: 'n', version: '1' },
  });
  check(hello.result.serverInfo !== undefined, 'initialize');
  end.notify('notifications/initialized');
  const capabilities = ['pushEvents', 'contextHooks.beforeInference.observe', 'inferenceLifecycle'];
  await end.ask('featureSets/update', { effectiveCapabilities: capabilities, enabled: ['doc'] });
  const many = await Promise.all([...Array(200).keys()].map((n) => end.ask('test/echo', { n, t: 'é—取🎉' })));
  many.forEach((answer, n) => check(answer.result.echo.n === n && answer.result.echo.t === 'é—取🎉', `echo ${n}`));
  const samples = await Promise.all([...Array(20).keys()].map((n) => end.ask('test/sample', { say: n })));
  samples.forEach((answer, n) => check(answer.result.said === n, `sample ${n}`));
  const big = await end.ask('test/big', { bytes: 6 << 20, text: 'x'.repeat(5 << 20) });
  check(big.result.text.length === 6 << 20 && big.result.got === 5 << 20, 'big messages');
  const parts = await end.ask('test/fragments', { t: 'in parts: é—取🎉' }, true);
  check(parts.result.echo.t === 'in parts: é—取🎉', 'fragments');
  const pinged = await end.ask('test/ping', {});
  check(pinged.result.pongs.includes('are you there'), `the producer's ping: ${pinged.result.pongs}`);
  const pushed = await end.ask('test/push', { run, texts: ['one', 'two', 'three'] });
  check(pushed.result.answers.every((answer) => answer.accepted), `pushes: ${JSON.stringify(pushed)}`);
  await end.ask('context/beforeInference', { inferenceId: 'i', conversationId: 'c', turnIndex: 0, userMessage: null });
  for (let n = 0; n < 200 && !given.includes('three'); n += 1) await sleep(10);
  check(JSON.stringify(given) === '["three"]', `what was folded: ${given}`);
}

if (role === 'producer') produce();
else {
  host().then(() => process.exit(0), (error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  });
}
