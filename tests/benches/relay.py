#!/usr/bin/env python3
"""What a message costs on its way through the sidecar, against a plain byte relay and no relay at all.

One run on one machine, whole processes: for stdio, TCP, WebSocket and WebSocket over TLS a direct connection, the
relays that are installed and the sidecar in pass-through are measured one after the other, again and again, so that
what else the machine does falls on all of them alike. Printed are medians with their ranges, and ratios of medians.

`socat` moves bytes and knows no messages; over `wss` it ends the TLS and passes on the rest. `websocat` (1.14, with
TLS) takes messages from one WebSocket and gives them to another, as the sidecar does.

    cargo build --release -p mcpl-sidecar -p mcpl-tests --bins
    tests/benches/relay.py --bin target/release/mcpl-sidecar

Round trip: a request and a reply of 700 bytes, one outstanding. Rate: 64 outstanding. First answer: from the
start of the client (stdio: of the relay) to the answer to `initialize`. Memory: of the relay, idle after
`initialize`. Processor: of the relay, a request and its reply together.
"""

import argparse
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MEASURES = [  # field, title, better when higher
    ("p50_us", "round trip p50 µs", False),
    ("p99_us", "round trip p99 µs", False),
    ("per_s", "messages/s", True),
    ("cpu_us", "processor µs", False),
    ("first_us", "first answer µs", False),
    ("idle_kib", "memory KiB", False),
    ("handshakes_per_s", "handshakes/s", True),
]
LIMIT_S = 120  # of one measurement
TRANSPORTS = ["stdio", "tcp", "ws", "wss"]
BASES = ["websocat", "socat", "direct"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=Path, help="the mcpl-sidecar to measure")
    parser.add_argument("--load", type=Path, help="relay_load (default: beside --bin)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--latency", type=int, default=3000, help="round trips a round")
    parser.add_argument("--messages", type=int, default=60000, help="messages a round")
    parser.add_argument("--size", type=int, default=700)
    parser.add_argument("--only", choices=TRANSPORTS)
    parser.add_argument("--websocat", default="websocat", help="the websocat to compare with")
    parser.add_argument("--handshakes", type=int, default=300, help="wss: connections opened a round")
    parser.add_argument("--json", action="store_true", help="the medians as JSON, for machines")
    given = parser.parse_args()
    given.bin = given.bin.resolve()
    given.load = (given.load or given.bin.parent / "relay_load").resolve()
    for program in (given.bin, given.load):
        if not os.access(program, os.X_OK):
            parser.error(f"{program} is not there; cargo build --release -p mcpl-sidecar -p mcpl-tests --bins")
    return given


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port, process):
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if process.poll() is not None:
            sys.exit(f"{process.args[0]} ended with {process.returncode} before it listened")
        try:
            # A probe that says nothing starts no session.
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.02)
    sys.exit(f"{process.args[0]} does not listen at port {port}")


class Bench:
    def __init__(self, given, directory):
        self.given = given
        self.directory = Path(directory)
        self.running = []
        self.environment = dict(os.environ, XDG_STATE_HOME=str(self.directory / "state"))

    def start(self, *command):
        process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=open(self.directory / "stderr.log", "ab"),
            env=self.environment,
            start_new_session=True,
        )
        self.running.append(process)
        return process

    def stop(self):
        for process in self.running:
            try:
                os.killpg(process.pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
        for process in self.running:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def drive(self, *target, pid=None):
        options = ["--latency", self.given.latency, "--messages", self.given.messages, "--size", self.given.size]
        if pid:
            options += ["--rss", pid]
        return self.load("drive", *options, *target)

    def load(self, *words):
        command = [str(word) for word in [self.given.load, *words]]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT_S, env=self.environment, check=False
        )
        if done.returncode:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        return json.loads(done.stdout)

    def listening(self, port, *command):
        process = self.start(*command)
        wait_for(port, process)
        return process

    def sidecar(self, listen, connect, more=""):
        config = self.directory / f"{listen.split(':')[0]}.toml"
        state = f"state-{listen.split(':')[0]}"
        config.write_text(
            f'state_dir = "{state}"\n\n[[producer]]\nname = "echo"\n'
            f'listen = "{listen}"\nconnect = "{connect}"\n{more}'
        )
        port = int(listen.rsplit(":", 1)[1].strip("/"))
        return self.listening(port, self.given.bin, "run", "--config", config)

    def stdio(self):
        load, sidecar = self.given.load, self.given.bin
        paths = {"direct": ["stdio", load, "echo"]}
        if shutil.which("socat"):
            paths["socat"] = ["stdio", "socat", "STDIO", f"EXEC:'{load}' echo"]
        paths["sidecar"] = ["stdio", sidecar, "wrap", "--", load, "echo"]
        return {name: (lambda target=target: self.drive(*target)) for name, target in paths.items()}

    def tcp(self):
        echo = free_port()
        wait_for(echo, self.start(self.given.load, "echo", f"127.0.0.1:{echo}"))
        paths = {"direct": lambda: self.drive("tcp", f"127.0.0.1:{echo}")}
        if shutil.which("socat"):
            relayed = free_port()
            to = f"TCP-LISTEN:{relayed},bind=127.0.0.1,fork,reuseaddr,nodelay"
            socat = self.start("socat", to, f"TCP:127.0.0.1:{echo},nodelay")
            wait_for(relayed, socat)
            # socat forks one process for each connection; its own figures would be those of the parent.
            paths["socat"] = lambda: self.drive("tcp", f"127.0.0.1:{relayed}")
        ours = free_port()
        sidecar = self.sidecar(f"tcp://127.0.0.1:{ours}", f"tcp://127.0.0.1:{echo}")
        paths["sidecar"] = lambda: self.drive("tcp", f"127.0.0.1:{ours}", pid=sidecar.pid)
        return paths

    def ws(self):
        echo = free_port()
        self.listening(echo, self.given.load, "echo", "ws", f"127.0.0.1:{echo}")
        paths = {"direct": lambda: self.drive("ws", f"127.0.0.1:{echo}")}
        if shutil.which("socat"):
            bytes_ = free_port()
            to = f"TCP-LISTEN:{bytes_},bind=127.0.0.1,fork,reuseaddr,nodelay"
            self.listening(bytes_, "socat", to, f"TCP:127.0.0.1:{echo},nodelay")
            paths["socat"] = lambda: self.drive("ws", f"127.0.0.1:{bytes_}")
        if shutil.which(self.given.websocat):
            messages = free_port()
            line = [self.given.websocat, "-t", f"ws-l:127.0.0.1:{messages}", f"ws://127.0.0.1:{echo}/"]
            websocat = self.listening(messages, *line)
            paths["websocat"] = lambda: self.drive("ws", f"127.0.0.1:{messages}", pid=websocat.pid)
        ours = free_port()
        sidecar = self.sidecar(f"ws://127.0.0.1:{ours}", f"ws://127.0.0.1:{echo}")
        paths["sidecar"] = lambda: self.drive("ws", f"127.0.0.1:{ours}", pid=sidecar.pid)
        return paths

    def wss(self):
        """TLS towards the client, plain WebSocket towards the echo: what a relay in front of a server does."""
        cert, key = self.directory / "leaf.crt", self.directory / "leaf.key"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
            + ["-keyout", str(key), "-out", str(cert), "-days", "2", "-subj", "/CN=localhost"]
            + ["-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE"],
            check=True,
            capture_output=True,
        )
        echo, direct = free_port(), free_port()
        self.listening(echo, self.given.load, "echo", "ws", f"127.0.0.1:{echo}")
        self.listening(direct, self.given.load, "echo", "wss", f"127.0.0.1:{direct}", cert, key)
        ports = {"direct": (direct, None)}
        if shutil.which("socat"):
            bytes_ = free_port()
            to = f"OPENSSL-LISTEN:{bytes_},bind=127.0.0.1,fork,reuseaddr,nodelay,verify=0,cert={cert},key={key}"
            self.listening(bytes_, "socat", to, f"TCP:127.0.0.1:{echo},nodelay")
            ports["socat"] = (bytes_, None)
        if shutil.which(self.given.websocat):
            messages, bundle = free_port(), self.directory / "leaf.p12"
            subprocess.run(
                ["openssl", "pkcs12", "-export", "-passout", "pass:", "-inkey", str(key), "-in", str(cert)]
                + ["-out", str(bundle)],
                check=True,
                capture_output=True,
            )
            line = [self.given.websocat, "-t", "--pkcs12-der", bundle, f"wss-l:127.0.0.1:{messages}"]
            websocat = self.listening(messages, *line, f"ws://127.0.0.1:{echo}/")
            ports["websocat"] = (messages, websocat.pid)
        ours = free_port()
        tls = f'\n[producer.listen_tls]\ncert_file = "{cert}"\nkey_file = "{key}"\n'
        sidecar = self.sidecar(f"wss://127.0.0.1:{ours}", f"ws://127.0.0.1:{echo}", tls)
        ports["sidecar"] = (ours, sidecar.pid)

        def measured(port, pid):
            figures = self.drive("wss", f"127.0.0.1:{port}", cert, pid=pid)
            shaken = self.load("shake", "--messages", self.given.handshakes, "wss", f"127.0.0.1:{port}", cert)
            return figures | shaken

        return {name: (lambda at=at: measured(*at)) for name, at in ports.items()}


def shown(values):
    middle = statistics.median(values)
    if not middle:
        return "-"
    digits = 0 if middle >= 100 else 2 if middle < 10 else 1
    return f"{middle:.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def table(transport, results):
    names = list(results)
    print(f"\n{transport}: medians of {len(results['sidecar'])} rounds (range)\n")
    bases = [base for base in BASES if base in names]
    print("| " + " | ".join(["", *names, *(f"sidecar / {base}" for base in bases)]) + " |")
    print("|" + "---|" * (len(names) + len(bases) + 1))
    medians = {}
    for field, title, _ in MEASURES:
        if field not in results["sidecar"][0]:
            continue
        columns = {name: [one[field] for one in results[name]] for name in names}
        middle = {name: statistics.median(values) for name, values in columns.items()}
        medians[field] = middle
        row = [title] + [shown(columns[name]) for name in names]
        for base in bases:
            row.append(f"{middle['sidecar'] / middle[base]:.2f}" if middle.get(base) and middle["sidecar"] else "-")
        print("| " + " | ".join(row) + " |")
    return medians


def main():
    given = arguments()
    for relay in ("socat", given.websocat):
        if not shutil.which(relay):
            print(f"{relay} is not installed: not compared with it")
    medians = {}
    with tempfile.TemporaryDirectory(prefix="relay-bench-") as directory:
        for transport in TRANSPORTS:
            if given.only not in (None, transport):
                continue
            bench = Bench(given, directory)
            try:
                paths = getattr(bench, transport)()
                results = {name: [] for name in paths}
                for round_number in range(given.rounds):
                    # Each round in the other order: who comes after whom must not matter.
                    order = list(paths)[:: 1 if round_number % 2 == 0 else -1]
                    for name in order:
                        results[name].append(paths[name]())
                medians[transport] = table(transport, results)
            finally:
                bench.stop()
    if given.json:
        print(json.dumps(medians))


if __name__ == "__main__":
    main()
