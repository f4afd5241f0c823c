#!/usr/bin/env python3
"""What metrics and traces cost a message that passes, in one run on one machine, interleaved.

    cargo build --release -p mcpl-sidecar -p mcpl-tests --bins
    tests/benches/telemetry.py --bin target/release/mcpl-sidecar

Over TCP with 700 bytes: no telemetry; metrics kept for `/metrics`; traces and metrics exported to a collector on this
machine that takes everything, of 1 % and of all requests. Printed are medians, with the processor time of the sidecar
a request and its reply, its exporting threads included. Then, in the same ways, events of one producer which are
folded and held: how many are accepted a second, and what one takes of the processor. Then 5,000 requests a second for
10 s, all traced: how many spans were not exported.
"""

import argparse
import http.server
import json
import os
import signal
import socket
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

from folding import fold, session
from relay import free_port

FIELDS = ("p50_us", "p99_us", "per_s", "cpu_us")


class Collector(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Run:
    """A sidecar before an echo, or before a producer that is somebody else's."""

    def __init__(self, given, environment, admin, producer=None):
        self.folder = tempfile.TemporaryDirectory(dir=given.state)
        self.port, self.admin, self.echo = free_port(), free_port(), None
        if producer is None:
            producer = free_port()
            self.echo = subprocess.Popen([given.load, "echo", f"127.0.0.1:{producer}"], stdout=subprocess.DEVNULL)
        file = Path(self.folder.name) / "sidecar.toml"
        file.write_text(
            'state_dir = "state"\n[telemetry]\nlog = "error"\n'
            + (f'[admin]\nlisten = "127.0.0.1:{self.admin}"\n' if admin else "")
            + f'[[producer]]\nname = "main"\nlisten = "tcp://127.0.0.1:{self.port}"\n'
            f'connect = "tcp://127.0.0.1:{producer}"\n'
            "[producer.coalesce]\nquiet_ms = 3600000\nmax_hold_ms = 3600000\n"
        )
        clean = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
        self.sidecar = subprocess.Popen([given.bin, "run", "--config", file], env=clean | environment)
        if self.echo:
            self.dial().close()

    def dial(self):
        for _ in range(500):
            try:
                return socket.create_connection(("127.0.0.1", self.port), 30)
            except OSError:
                time.sleep(0.02)
        raise SystemExit("the sidecar does not listen")

    def end(self, how=signal.SIGTERM):
        self.sidecar.send_signal(how)
        self.sidecar.wait(20)
        if self.echo:
            self.echo.kill()
            self.echo.wait()
        self.folder.cleanup()

    def spent_us(self):
        """What it has used of the processor, all its threads."""
        fields = Path(f"/proc/{self.sidecar.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) * 1e6 / os.sysconf("SC_CLK_TCK")


def drive(given, environment, admin):
    run = Run(given, environment, admin)
    try:
        options = ["--latency", "3000", "--messages", "60000", "--size", "700", "--rss", str(run.sidecar.pid)]
        done = subprocess.run(
            [given.load, "drive", *options, "tcp", f"127.0.0.1:{run.port}"],
            capture_output=True, text=True, timeout=200, check=True,
        )
        return json.loads(done.stdout)
    finally:
        run.end()


def held(given, environment, admin):
    """Events that are folded and held."""
    with socket.create_server(("127.0.0.1", 0)) as producers:
        run = Run(given, environment, admin, producers.getsockname()[1])
        try:
            _host, producer = session(run.dial(), producers)
            fold(producer, 0.5)
            before = run.spent_us()
            count, seconds = fold(producer, given.seconds)
            return {"per_s": count / seconds, "cpu_us": (run.spent_us() - before) / count}
        finally:
            # What is held is nobody's to wait for.
            run.end(signal.SIGKILL)


def steady(given, environment):
    """5,000 requests a second, all traced; how many spans were not exported."""
    run = Run(given, environment, True)
    try:
        with run.dial() as host:
            host.sendall(b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}\n')
            host.recv(65536)
            stop = threading.Event()

            def read():
                try:
                    while not stop.is_set() and host.recv(1 << 16):
                        pass
                except OSError:
                    pass  # it was closed

            threading.Thread(target=read, daemon=True).start()
            call = '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"t":"%s"}}}\n'
            sent, began = 0, time.monotonic()
            while (passed := time.monotonic() - began) < 10:
                due = int(passed * 5000)
                host.sendall("".join(call % (n + 1, "x" * 600) for n in range(sent, due)).encode())
                sent = due
                time.sleep(0.002)
            time.sleep(1)
            text = urllib.request.urlopen(f"http://127.0.0.1:{run.admin}/metrics").read().decode()
            stop.set()
        dropped = next(line for line in text.splitlines() if line.startswith("mcpl_telemetry_dropped_total"))
        return sent, int(float(dropped.rsplit(" ", 1)[1]))
    finally:
        run.end()


def compare(given, ways, measure, what, fields):
    found = {name: [] for name in ways}
    for _ in range(given.rounds):
        for name, way in ways.items():
            found[name].append(measure(given, *way))
    print(f"{what}, medians of {given.rounds}; in brackets to the first line")
    print("".ljust(16) + "".join(field.rjust(20) for field in fields))
    base = None
    for name, runs in found.items():
        medians = {field: statistics.median(one[field] for one in runs) for field in fields}
        base = base or medians
        print(f"{name:16}" + "".join(f"{medians[field]:12.2f} ({medians[field] / base[field]:5.2f})" for field in fields))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=Path, help="the mcpl-sidecar to measure")
    parser.add_argument("--load", type=Path, help="relay_load (default: beside --bin)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4, help="of events in a round")
    parser.add_argument("--state", type=Path, help="a folder on the disk to hold events on (default: the system's)")
    given = parser.parse_args()
    given.bin = given.bin.resolve()
    given.load = (given.load or given.bin.parent / "relay_load").resolve()
    sink = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=sink.serve_forever, daemon=True).start()
    export = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{sink.server_address[1]}",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
    }
    percent = {"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.01"}
    ways = {
        "off": ({}, False),
        "metrics": ({}, True),
        "traces of 1 %": (export | percent, True),
        "traces of all": (export, True),
    }
    compare(given, ways, drive, "requests that pass", FIELDS)
    compare(given, ways, held, "events that are folded and held", FIELDS[2:])
    sent, dropped = steady(given, export)
    print(f"at 5,000 requests/s: {sent} requests, {dropped} spans not exported")


if __name__ == "__main__":
    main()
