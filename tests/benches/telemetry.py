#!/usr/bin/env python3
"""What metrics and traces cost a message that passes, in one run on one machine, interleaved.

    cargo build --release -p mcpl-sidecar -p mcpl-tests --bins
    tests/benches/telemetry.py --bin target/release/mcpl-sidecar

Over TCP with 700 bytes: no telemetry; metrics kept for `/metrics`; traces and metrics exported to a collector on this
machine that takes everything, of 1 % and of all requests. Printed are medians, with the processor time of the sidecar
a request and its reply, its exporting threads included. Then 5,000 requests a second for 10 s, all traced: how many
spans were not exported.
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
    """A sidecar before an echo."""

    def __init__(self, given, environment, admin):
        self.folder = tempfile.TemporaryDirectory()
        echo, self.port, self.admin = free_port(), free_port(), free_port()
        self.echo = subprocess.Popen([given.load, "echo", f"127.0.0.1:{echo}"], stdout=subprocess.DEVNULL)
        file = Path(self.folder.name) / "sidecar.toml"
        file.write_text(
            'state_dir = "state"\n[telemetry]\nlog = "error"\n'
            + (f'[admin]\nlisten = "127.0.0.1:{self.admin}"\n' if admin else "")
            + f'[[producer]]\nname = "main"\nlisten = "tcp://127.0.0.1:{self.port}"\n'
            f'connect = "tcp://127.0.0.1:{echo}"\n'
        )
        clean = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
        self.sidecar = subprocess.Popen([given.bin, "run", "--config", file], env=clean | environment)
        self.dial().close()

    def dial(self):
        for _ in range(500):
            try:
                return socket.create_connection(("127.0.0.1", self.port), 30)
            except OSError:
                time.sleep(0.02)
        raise SystemExit("the sidecar does not listen")

    def end(self):
        self.sidecar.send_signal(signal.SIGTERM)
        self.sidecar.wait(20)
        self.echo.kill()
        self.echo.wait()
        self.folder.cleanup()


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=Path, help="the mcpl-sidecar to measure")
    parser.add_argument("--load", type=Path, help="relay_load (default: beside --bin)")
    parser.add_argument("--rounds", type=int, default=5)
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
    found = {name: [] for name in ways}
    for _ in range(given.rounds):
        for name, way in ways.items():
            found[name].append(drive(given, *way))
    print("".ljust(16) + "".join(field.rjust(12) for field in FIELDS) + "   p50 / off")
    base = statistics.median(one["p50_us"] for one in found["off"])
    for name, runs in found.items():
        medians = {field: statistics.median(one[field] for one in runs) for field in FIELDS}
        cells = "".join(f"{medians[field]:12.2f}" for field in FIELDS)
        print(f"{name:16}{cells}{medians['p50_us'] / base:12.2f}")
    sent, dropped = steady(given, export)
    print(f"at 5,000 requests/s: {sent} requests, {dropped} spans not exported")


if __name__ == "__main__":
    main()
