"""A producer, a host and the program between them, for checks that need more than cargo: `page.py`, `prometheus.py`."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request

PATIENCE = 20.0
TOKEN = "hush-7731"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(what, look, patience=PATIENCE):
    """Waits until `look` gives something, and gives it on."""
    end = time.monotonic() + patience
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"it does not come to that: {what}")
        time.sleep(0.03)


class Peer:
    """One end of a session, which answers what it is asked as it is told to."""

    def __init__(self, stream):
        self.stream = stream
        self.stream.settimeout(PATIENCE)
        self.read = b""
        self.number = 0
        self.refuse = []

    def say(self, message):
        self.stream.sendall(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def hear(self):
        while b"\n" not in self.read:
            more = self.stream.recv(65536)
            if not more:
                raise EOFError
            self.read += more
        line, self.read = self.read.split(b"\n", 1)
        return json.loads(line)

    def answer(self, message):
        method, ident = message.get("method"), message.get("id")
        if method is None or ident is None:
            return
        if method == "initialize":
            mcpl = {"version": "0.5", "pushEvents": True, "featureSets": {"doc": {"description": "", "uses": ["pushEvents"]}}}
            result = {"protocolVersion": "2024-11-05", "capabilities": {"experimental": {"mcpl": mcpl}}, "serverInfo": {"name": "p", "version": "1"}}
        elif method == "push/render":
            result = {"content": [{"type": "text", "text": "RENDERED"}]}
        elif method == "push/event" and self.refuse:
            self.say({"id": ident, "error": self.refuse.pop(0)})
            return
        else:
            result = {"accepted": True}
        self.say({"id": ident, "result": result})

    def ask(self, method, params, other=None):
        """Asks, and waits for the answer; `other` answers meanwhile what comes to it."""
        self.number += 1
        ident = f"t{self.number}"
        self.say({"id": ident, "method": method, "params": params})
        if other is not None:
            other.answer(other.hear())
        while True:
            message = self.hear()
            if message.get("id") == ident and "method" not in message:
                return message
            self.answer(message)

    def push(self, event_id, key, **coalesce):
        params = {
            "featureSet": "doc", "eventId": event_id, "timestamp": "2026-01-01T00:00:00Z",
            "payload": {"content": [{"type": "text", "text": "SECRET " + event_id}]},
            "coalesce": {"key": "SECRET " + key, **coalesce},
        }
        answer = self.ask("push/event", params)
        assert answer.get("result", {}).get("accepted"), answer
        return answer


class World:
    """The program on a folder of its own, between a producer and a host that are here.

    `more` is added at the end of the configuration, in the table of the producer.
    """

    def __init__(self, binary, more=""):
        self.binary = binary
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="mcpl-ci-"))
        self.port, self.admin = free_port(), free_port()
        self.producers = socket.create_server(("127.0.0.1", 0))
        self.producers.settimeout(PATIENCE)
        (self.folder / "token").write_text(TOKEN + "\n")
        self.configuration = (
            f'state_dir = "state"\n[admin]\nlisten = "127.0.0.1:{self.admin}"\ntoken_file = "token"\n'
            f'[[producer]]\nname = "docs"\nlisten = "tcp://127.0.0.1:{self.port}"\n'
            f'connect = "tcp://127.0.0.1:{self.producers.getsockname()[1]}"\n'
            "[producer.coalesce]\nquiet_ms = 600000\nmax_hold_ms = 600000\n" + more
        )
        self.configure(self.configuration)
        self.program = None

    def configure(self, text):
        (self.folder / "sidecar.toml").write_text(text)

    def start(self):
        self.log = open(self.folder / "stderr.log", "a")
        self.program = subprocess.Popen(
            [self.binary, "run", "--config", "sidecar.toml"], cwd=self.folder, stderr=self.log,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env={**os.environ, "HOME": str(self.folder)},
        )
        until("the program listens", self.listens)

    def listens(self):
        assert self.program.poll() is None, (self.folder / "stderr.log").read_text()
        try:
            socket.create_connection(("127.0.0.1", self.admin), 1).close()
            return True
        except OSError:
            return False

    def session(self):
        stream = until("the program takes hosts", self.dial)
        self.host = Peer(stream)
        mcpl = {"version": "0.5", "pushEvents": True, "featureSets": True, "inferenceLifecycle": True, "contextHooks": {"beforeInference": True}}
        self.host.say({"id": 0, "method": "initialize", "params": {
            "protocolVersion": "2024-11-05", "capabilities": {"experimental": {"mcpl": mcpl}}, "clientInfo": {"name": "h", "version": "1"}}})
        self.producer = Peer(self.producers.accept()[0])
        self.producer.answer(self.producer.hear())
        self.host.hear()
        self.host.say({"method": "notifications/initialized"})
        self.producer.hear()
        policy = {"enabled": ["doc"], "effectiveCapabilities": ["pushEvents", "inferenceLifecycle", "contextHooks.beforeInference.observe"]}
        self.host.ask("featureSets/update", policy, self.producer)

    def dial(self):
        try:
            return socket.create_connection(("127.0.0.1", self.port), 1)
        except OSError:
            return None

    def flush(self, forwards):
        """Everything held is given to the host, which answers as it was told to."""
        self.http("POST", "/v1/producers/docs/flush")
        for _ in range(forwards):
            self.host.answer(self.host.hear())

    def http(self, method, path):
        request = urllib.request.Request(f"http://127.0.0.1:{self.admin}{path}", method=method, headers={"Authorization": f"Bearer {TOKEN}"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.read()

    def stop(self, how=signal.SIGKILL):
        if self.program and self.program.poll() is None:
            self.program.send_signal(how)
            self.program.wait(PATIENCE)

    def close(self):
        self.stop()
        self.producers.close()
        shutil.rmtree(self.folder, ignore_errors=True)
