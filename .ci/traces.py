#!/usr/bin/env python3
"""One trace through programs of others: a producer and a host that each trace with OpenTelemetry's own SDK.

    python3 .ci/traces.py --bin target/release/mcpl-sidecar

The producer is on the SDK for Python, the host on the one for Node (without Node on Python's too); each has its own
propagator, which reads and writes `params._meta`. The sidecar between them exports to a small collector. What they
need is installed into a temporary folder.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from others import PATIENCE, Process, install
from world import free_port

HERE = pathlib.Path(__file__).resolve().parent
FROM_PYPI = ["opentelemetry-sdk==1.45.2", "opentelemetry-proto==1.45.2"]
FROM_NPM = [
    "@opentelemetry/api@1.9.1",
    "@opentelemetry/core@2.12.1",
    "@opentelemetry/sdk-trace-node@2.12.1",
]
STATE = "vendor=of-the-first,other=1"


def first(trace, sampled=True):
    """The headers of who began a trace, before either peer."""
    return {
        "traceparent": f"00-{trace * 16}-{'ab' * 8}-0{int(sampled)}",
        "tracestate": STATE,
        "baggage": f"tenant=blue{trace}",
    }


class Peer(Process):
    """A peer, which is given orders."""

    def __init__(self, command, log):
        super().__init__(command, log)
        # Lines that nobody wanted yet; spans as they were told.
        self.seen, self.told = [], []

    def ask(self, method, params, begun=None):
        order = {"ask": method, "params": params}
        if begun:
            order["from"] = begun
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        asked = self.wait(lambda line: line.get("asked"))
        assert "error" not in asked["answer"], asked
        return asked

    def wait(self, wanted):
        """The first line so far, or from now on, of which something is wanted."""
        place = 0
        while True:
            if place == len(self.seen):
                line = self.lines.get(timeout=PATIENCE)
                if line is None:
                    raise RuntimeError(f"it ended: {pathlib.Path(self.log.name).read_text()}")
                self.seen.append(line)
                self.told += [line[name] for name in ("asked", "served") if name in line]
            if found := wanted(self.seen[place]):
                del self.seen[place]
                return found
            place += 1

    def served(self, method):
        return self.wait(lambda line: (it := line.get("served")) and it["method"] == method and it)

    def spans(self):
        self.process.stdin.close()
        return self.wait(lambda line: line.get("spans"))


class Collector(Peer):
    """Spans of the sidecar, by trace."""

    def of(self, trace, count):
        """So many spans of a trace, and no more, as far as they have come."""
        return [self.wait(lambda line: (it := line.get("kept")) and it["trace"] == trace and it) for _ in range(count)]

    def left(self, trace):
        """Spans of a trace that nobody has asked for."""
        while not self.lines.empty():
            self.seen.append(self.lines.get())
        return [it for line in self.seen if (it := line.get("kept")) and it["trace"] == trace]


def one(spans, kind, name):
    found = [span for span in spans if (span["kind"], span["name"]) == (kind, name)]
    assert len(found) == 1, (kind, name, spans)
    return found[0]


def event(ident, text, **coalesce):
    content = [{"type": "text", "text": text}]
    return {
        "featureSet": "doc",
        "eventId": ident,
        "timestamp": "2026-01-01T00:00:00Z",
        "coalesce": coalesce,
        "payload": {"content": content},
    }


def arrived(served, trace):
    """What came with a context came with all of it."""
    assert served["trace"] == trace * 16 and served["sampled"], served
    assert served["state"] == STATE and served["baggage"] == {"tenant": f"blue{trace}"}, served


class Run:
    """One session; each method is one check."""

    def __init__(self, producer, host, collector):
        self.producer, self.host, self.collector = producer, host, collector

    def introduce(self):
        mcpl = {
            "version": "0.5",
            "pushEvents": True,
            "inferenceLifecycle": True,
            "featureSets": True,
            "contextHooks": {"beforeInference": True},
            "channels": {"register": True, "publish": True, "incoming": True, "lifecycle": True},
        }
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {"experimental": {"mcpl": mcpl}},
            "clientInfo": {"name": "h", "version": "1"},
        }
        self.host.ask("initialize", hello)
        capabilities = [
            "pushEvents",
            "channels.register",
            "channels.incoming",
            "channels.lifecycle",
            "inferenceLifecycle",
            "contextHooks.beforeInference.observe",
        ]
        self.host.ask("featureSets/update", {"effectiveCapabilities": capabilities, "enabled": ["doc"]})
        channel = {"id": "chat", "type": "t", "label": "chat", "direction": "bidirectional"}
        self.producer.ask("channels/register", {"channels": [channel]})

    def assemble(self):
        """What is held is released."""
        hook = {"inferenceId": "i", "conversationId": "c", "turnIndex": 0, "userMessage": None}
        self.host.ask("context/beforeInference", hook)

    def a_held_and_folded_push(self):
        asked = []
        for trace, text in (("a1", "one"), ("a2", "two")):
            event_params = event(f"push-{text}", text, key="folded", initial=True)
            asked.append(self.producer.ask("push/event", event_params, first(trace)))
        self.assemble()
        served = self.host.served("push/event")
        assert served["params"]["payload"]["content"][0]["text"] == "two"
        arrived(served, "a2")
        folded, newest = self.collector.of("a1" * 16, 1), self.collector.of("a2" * 16, 2)
        begun = one(folded, "SERVER", "push/event")
        server, client = one(newest, "SERVER", "push/event"), one(newest, "CLIENT", "push/event")
        assert begun["parent"] == asked[0]["span"] and server["parent"] == asked[1]["span"]
        assert client["parent"] == server["span"] and served["parent"] == client["span"]
        links = [["a1" * 16, begun["span"]], ["a2" * 16, server["span"]]]
        assert client["links"] == links, client
        assert client["state"] == STATE, client

    def a_channel_message(self):
        message = {
            "channelId": "chat",
            "messageId": "m1",
            "eventId": "m1",
            "author": {"id": "u", "name": "U"},
            "timestamp": "2026-01-01T00:00:00Z",
            "coalesce": {"key": "m1", "initial": True},
            "content": [{"type": "text", "text": "hello"}],
        }
        asked = self.producer.ask("channels/incoming", {"messages": [message]}, first("b1"))
        self.assemble()
        served = self.host.served("channels/incoming")
        arrived(served, "b1")
        spans = self.collector.of("b1" * 16, 2)
        server, client = one(spans, "SERVER", "channels/incoming"), one(spans, "CLIENT", "channels/incoming")
        assert server["parent"] == asked["span"] and client["parent"] == server["span"]
        assert served["parent"] == client["span"] and client["links"] == []

    def a_render(self):
        notice = event("notice", "FALLBACK", key="rendered", initial=True, deferred=True)
        asked = self.producer.ask("push/event", notice, first("c1"))
        self.assemble()
        rendered, served = self.producer.served("push/render"), self.host.served("push/event")
        assert served["params"]["payload"]["content"][0]["text"] == "RENDERED", served
        for it in (rendered, served):
            arrived(it, "c1")
        spans = self.collector.of("c1" * 16, 3)
        server, render = one(spans, "SERVER", "push/event"), one(spans, "CLIENT", "push/render")
        client = one(spans, "CLIENT", "push/event")
        assert server["parent"] == asked["span"]
        assert render["parent"] == client["parent"] == server["span"]
        assert rendered["parent"] == render["span"]
        assert served["parent"] == client["span"]

    def a_request_that_passes(self):
        for sender, receiver, method, trace in (
            (self.host, self.producer, "tools/call", "d1"),
            (self.producer, self.host, "sampling/createMessage", "d2"),
        ):
            asked = sender.ask(method, {"name": "t"}, first(trace))
            served = receiver.served(method)
            arrived(served, trace)
            spans = self.collector.of(trace * 16, 2)
            name = "tools/call t" if method == "tools/call" else method
            server, client = one(spans, "SERVER", name), one(spans, "CLIENT", name)
            # Its bytes are kept, so the receiver's span is a child of the sender's, beside ours.
            assert server["parent"] == asked["span"] and client["parent"] == server["span"]
            assert served["parent"] == asked["span"]

    def what_is_not_sampled(self):
        left_out = first("e1", sampled=False)
        self.producer.ask("push/event", event("left-1", "one", key="left", initial=True), left_out)
        self.producer.ask("push/event", event("left-2", "two", key="left"), left_out)
        self.assemble()
        served = self.host.served("push/event")
        assert served["trace"] == "e1" * 16 and not served["sampled"], served
        assert served["state"] == STATE and served["baggage"] == {"tenant": "bluee1"}, served
        self.host.ask("tools/call", {"name": "t"}, left_out)
        assert not self.producer.served("tools/call")["sampled"]
        # A later trace is here: what there was of this one would be too.
        self.host.ask("tools/call", {"name": "t"}, first("e2"))
        self.collector.of("e2" * 16, 2)
        assert self.collector.left("e1" * 16) == []

    def what_the_sdks_kept(self):
        """Their own spans, which know their parents as they were told; of what is not sampled none."""
        for peer, count in ((self.producer, 8), (self.host, 6)):
            kept = peer.spans()
            ours = [span for span in kept if span["trace"] in {trace * 16 for trace in TRACES}]
            assert len(ours) == count, ours
            told = {it["span"]: it["parent"] for it in peer.told}
            for span in ours:
                assert told[span["span"]] == span["parent"], (span, told)
            assert not [span for span in kept if span["trace"] == "e1" * 16]


TRACES = ("a1", "a2", "b1", "c1", "d1", "d2", "e2")
CHECKS = [
    Run.a_held_and_folded_push,
    Run.a_channel_message,
    Run.a_render,
    Run.a_request_that_passes,
    Run.what_is_not_sampled,
    Run.what_the_sdks_kept,
]


def commands(folder, node):
    """The commands of a producer, a host and a collector."""
    python, modules = install(folder, FROM_PYPI, FROM_NPM if node else [])
    peer = [python, HERE / "traces/peer.py"]
    if not node:
        return [*peer, "listen"], [*peer, "connect"], [python, HERE / "traces/collector.py"]
    # A module is looked for from the file's own folder upwards.
    shutil.copy(HERE / "traces/host.js", modules / "host.js")
    host = ["node", modules / "host.js", "connect"]
    return [*peer, "listen"], host, [python, HERE / "traces/collector.py"]


def checked(binary, folder, node):
    """How many checks hold; stops at the first that does not."""
    produce, host_on, collect = commands(folder, node)
    producer, collector = Peer(produce, folder / "producer.log"), Collector(collect, folder / "collector.log")
    there, here = producer.wait(lambda line: line.get("port")), free_port()
    port = collector.wait(lambda line: line.get("port"))
    (folder / "sidecar.toml").write_text(
        f"""
state_dir = "state"
[telemetry]
otlp_endpoint = "http://127.0.0.1:{port}"
[[producer]]
name = "main"
listen = "tcp://127.0.0.1:{here}"
connect = "tcp://127.0.0.1:{there}"
[producer.host]
policy_wait_ms = 0
[producer.coalesce]
quiet_ms = 60000
max_hold_ms = 600000
"""
    )
    log = open(folder / "sidecar.log", "w")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    environment["OTEL_BSP_SCHEDULE_DELAY"] = "50"
    command = [binary, "run", "--config", folder / "sidecar.toml"]
    sidecar = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log, cwd=folder, env=environment)
    try:
        wait_for_log(folder / "sidecar.log", "listening", sidecar)
        run = Run(producer, Peer([*host_on, str(here)], folder / "host.log"), collector)
        run.introduce()
        for check in CHECKS:
            check(run)
            print(f"ok: {check.__name__.replace('_', ' ')}")
    except BaseException:
        for name in ("sidecar", "host", "producer", "collector"):
            text = folder / f"{name}.log"
            print(f"--- {name}\n{text.read_text() if text.exists() else ''}", file=sys.stderr)
        raise
    finally:
        sidecar.terminate()
        sidecar.wait(PATIENCE)
        for it in (producer, collector):
            it.end()
        log.close()
    return len(CHECKS)


def wait_for_log(log, words, sidecar):
    """A connection that only tried would be a host's."""
    end = time.monotonic() + PATIENCE
    while words not in log.read_text():
        if sidecar.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"the sidecar does not say {words!r}")
        time.sleep(0.02)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--bin", required=True, type=pathlib.Path)
    binary = arguments.parse_args().bin.resolve()
    node = all(shutil.which(needed) for needed in ("node", "npm"))
    print(f"the host is on OpenTelemetry's SDK for {'Node' if node else 'Python'}")
    with tempfile.TemporaryDirectory() as folder:
        passed = checked(binary, pathlib.Path(folder), node)
    print(f"{passed} passed, 0 failed")


if __name__ == "__main__":
    main()
