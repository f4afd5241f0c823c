#!/usr/bin/env python3
"""What a message costs on its way through the sidecar, against a plain byte relay and no relay at all.

One run on one machine, whole processes: for stdio and for TCP a direct connection, `socat` and the sidecar in
pass-through are measured one after the other, again and again, so that what else the machine does falls on all
of them alike. Printed are medians with their ranges, and ratios of medians to `socat`.

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
]
LIMIT_S = 120  # of one measurement


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=Path, help="the mcpl-sidecar to measure")
    parser.add_argument("--load", type=Path, help="relay_load (default: beside --bin)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--latency", type=int, default=3000, help="round trips a round")
    parser.add_argument("--messages", type=int, default=60000, help="messages a round")
    parser.add_argument("--size", type=int, default=700)
    parser.add_argument("--only", choices=["stdio", "tcp"])
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
        command = [str(word) for word in [self.given.load, "drive", *options, *target]]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT_S, env=self.environment, check=False
        )
        if done.returncode:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        return json.loads(done.stdout)

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
        config = self.directory / "sidecar.toml"
        config.write_text(
            f'state_dir = "state-run"\n\n[[producer]]\nname = "echo"\n'
            f'listen = "tcp://127.0.0.1:{ours}"\nconnect = "tcp://127.0.0.1:{echo}"\n'
        )
        sidecar = self.start(self.given.bin, "run", "--config", config)
        wait_for(ours, sidecar)
        paths["sidecar"] = lambda: self.drive("tcp", f"127.0.0.1:{ours}", pid=sidecar.pid)
        return paths


def shown(values):
    middle = statistics.median(values)
    if not middle:
        return "-"
    digits = 0 if middle >= 100 else 2 if middle < 10 else 1
    return f"{middle:.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def table(transport, results):
    names = list(results)
    print(f"\n{transport}: medians of {len(results['sidecar'])} rounds (range)\n")
    print("| " + " | ".join(["", *names, "sidecar / socat", "sidecar / direct"]) + " |")
    print("|" + "---|" * (len(names) + 3))
    medians = {}
    for field, title, _ in MEASURES:
        columns = {name: [one[field] for one in results[name]] for name in names}
        middle = {name: statistics.median(values) for name, values in columns.items()}
        medians[field] = middle
        row = [title] + [shown(columns[name]) for name in names]
        for base in ("socat", "direct"):
            row.append(f"{middle['sidecar'] / middle[base]:.2f}" if middle.get(base) and middle["sidecar"] else "-")
        print("| " + " | ".join(row) + " |")
    return medians


def main():
    given = arguments()
    if not shutil.which("socat"):
        print("socat is not installed: compared with a direct connection only")
    medians = {}
    with tempfile.TemporaryDirectory(prefix="relay-bench-") as directory:
        for transport in ["stdio", "tcp"]:
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
