"""A producer whose edits are folded as fast as they are answered, and a host that grants them and is given none."""

import json
import time

SUBJECTS = 256
WAITING = 512  # unanswered at most
HEAD = '{"jsonrpc":"2.0","id":%d,"method":"push/event","params":{"featureSet":"doc","eventId":"e%d",'
REST = (
    '"timestamp":"2026-01-01T00:00:00Z","coalesce":{"key":"k%d","initial":true},'
    '"payload":{"content":[{"type":"text","text":"' + "x" * 400 + '"}]}}}\n'
)


class Lines:
    """One end of a session."""

    def __init__(self, stream):
        self.stream, self.rest = stream, b""

    def say(self, message):
        self.stream.sendall(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def hear(self):
        while b"\n" not in self.rest:
            more = self.stream.recv(1 << 16)
            if not more:
                raise SystemExit("the sidecar closed the connection")
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)


def session(host, producers):
    """Both ends of a session in which events are accepted."""
    host = Lines(host)
    mcpl = {"version": "0.5", "pushEvents": True, "featureSets": True}
    hello = {"protocolVersion": "2024-11-05", "capabilities": {"experimental": {"mcpl": mcpl}}}
    host.say({"id": 0, "method": "initialize", "params": hello | {"clientInfo": {"name": "h", "version": "1"}}})
    producer = Lines(producers.accept()[0])
    asked = producer.hear()
    offer = {"version": "0.5", "pushEvents": True, "featureSets": {"doc": {"description": "", "uses": ["pushEvents"]}}}
    answer = {"protocolVersion": "2024-11-05", "capabilities": {"experimental": {"mcpl": offer}}}
    producer.say({"id": asked["id"], "result": answer | {"serverInfo": {"name": "p", "version": "1"}}})
    host.hear()
    host.say({"method": "notifications/initialized"})
    producer.hear()
    policy = {"enabled": ["doc"], "effectiveCapabilities": ["pushEvents"]}
    host.say({"id": 1, "method": "featureSets/update", "params": policy})
    asked = producer.hear()
    producer.say({"id": asked["id"], "result": {"accepted": True}})
    host.hear()
    return host, producer


def fold(producer, seconds):
    """Events accepted in so many seconds, and the seconds it took in all."""
    sent = answered = 0
    began = time.monotonic()
    while True:
        over = time.monotonic() - began >= seconds
        if over and answered == sent:
            return answered, time.monotonic() - began
        due = range(sent, sent if over else answered + WAITING)
        text = "".join((HEAD % (n + 10, n)) + (REST % (n % SUBJECTS)) for n in due)
        if text:
            producer.stream.sendall(text.encode())
            sent += len(due)
        more = producer.rest + producer.stream.recv(1 << 18)
        lines, _, producer.rest = more.rpartition(b"\n")
        count = lines.count(b'"accepted":true')
        if lines and count != lines.count(b"\n") + 1:
            raise SystemExit(f"an event was answered otherwise: {lines[:300]!r}")
        answered += count
