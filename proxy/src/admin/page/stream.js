// A reader of /v1/stream: the rules of the cursor, and coming back.
//
// Exact duplicates are skipped, a gap is rejected and mended by a snapshot, the cursor is advanced after an event was
// applied. A cursor of another run, or one that is too old, is answered with a snapshot by the sidecar itself.

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5000;

/** The observations as far as they are known: where to go on from. */
export class Cursor {
  constructor(tail = 0) {
    this.stream = null;
    this.after = null;
    this.tail = tail;
    this.parts = [];
  }

  /** What to ask to go on. */
  wanted() {
    return { subscribe: { stream: this.stream ?? "journal", after: this.after, tail: this.tail } };
  }

  /** What to ask when an event is missing. */
  anew() {
    this.after = null;
    return this.wanted();
  }

  /** Takes a message; false: events are missing. `on` is told what is new. */
  take(message, on) {
    if (message.subscribed && message.subscribed.stream !== "notices") {
      const { stream, after } = message.subscribed;
      if (after !== null) this.at(stream, after);
    } else if (message.snapshot) {
      const { stream, lastSequence, part, isLast, occurrences } = message.snapshot;
      if (part === 0) this.parts = [];
      this.parts.push(...occurrences);
      if (isLast) {
        const all = this.parts;
        this.parts = [];
        on.snapshot(all, stream !== this.stream);
        this.at(stream, lastSequence);
      }
    } else if (message["event.batch"]) {
      return this.batch(message["event.batch"], on);
    }
    return true;
  }

  at(stream, after) {
    this.stream = stream;
    this.after = after;
  }

  batch({ stream, reason, events }, on) {
    if (stream !== this.stream || this.after === null) return false;
    for (const event of events) {
      if (event.seq <= this.after) continue;
      if (event.seq !== this.after + 1) return false;
      on.event(event, reason);
      this.after = event.seq;
    }
    on.caughtUp?.();
    return true;
  }
}

/** Keeps a cursor at the end of the stream, whatever happens to the connection. */
export class Reader {
  /** `ask()` is awaited before each connection: it says "ok", "token" or "gone". */
  constructor({ url, cursor, ask, token, on }) {
    Object.assign(this, { url, cursor, ask, token, on });
    this.pause = FIRST_PAUSE_MS;
    this.socket = null;
    this.timer = null;
  }

  async start() {
    clearTimeout(this.timer);
    this.on.link("wait");
    const answer = await this.ask();
    if (answer === "token") return this.on.link("token");
    if (answer !== "ok") return this.later();
    const token = this.token();
    const protocols = token ? ["mcpl", `mcpl.bearer.${base64url(token)}`] : ["mcpl"];
    const socket = new WebSocket(this.url, protocols);
    this.socket = socket;
    socket.onopen = () => {
      this.pause = FIRST_PAUSE_MS;
      this.on.link("live");
      this.say(this.cursor.wanted());
      this.say({ subscribe: { stream: "notices" } });
    };
    socket.onmessage = ({ data }) => this.heard(JSON.parse(data));
    socket.onclose = () => {
      if (this.socket === socket) this.later();
    };
  }

  heard(message) {
    if (message["event.notify"]) return this.on.notice(message["event.notify"]);
    if (message.error) {
      this.on.fault(message.error);
      // The subscription is over: it is made again when the journal may be read.
      if (message.error.stream) setTimeout(() => this.say(this.cursor.anew()), LONGEST_PAUSE_MS);
      return;
    }
    if (!this.cursor.take(message, this.on)) this.say(this.cursor.anew());
  }

  say(message) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  later() {
    this.socket = null;
    this.on.link("gone", this.pause);
    this.timer = setTimeout(() => this.start(), this.pause);
    this.pause = Math.min(2 * this.pause, LONGEST_PAUSE_MS);
  }
}

/** Base64 for names of subprotocols: URL alphabet, no padding, of the UTF-8 bytes. */
export function base64url(text) {
  const bytes = new TextEncoder().encode(text);
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
