#!/usr/bin/env python3
"""WebSocket peers that are not ours: PyPI's `websockets` and npm's `ws`, each as host and as producer.

    python3 .ci/peers.py --bin target/release/mcpl-sidecar

What they need is installed into a temporary folder. Each of the four pairs goes through the same: requests at once in
both directions, sampling, messages of megabytes, fragments with pings between them, a binary message, a token in each
form, a fold, and a close with a code that the other side is told.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from others import PATIENCE, Process, install, wait_for
from world import free_port

HERE = pathlib.Path(__file__).resolve().parent
TOKEN = "of-the-host"
WEBSOCKETS = "websockets==17.4"
WS = "ws@8.23.0"


def commands(folder):
    """The commands that run a peer, by name."""
    python, node = install(folder, [WEBSOCKETS], [WS])
    # A module is looked for from the file's own folder upwards.
    shutil.copy(HERE / "peers/peer.js", node / "peer.js")
    return {"python": [python, HERE / "peers/peer.py"], "node": ["node", node / "peer.js"]}


def session(binary, peers, host_kind, producer_kind, ending, folder):
    folder.mkdir()
    producer = Process([*peers[producer_kind], "producer"], folder / "producer.log")
    there, here = producer.next("port"), free_port()
    for name, token in (("host.token", TOKEN), ("producer.token", "of-the-producer")):
        (folder / name).write_text(token + "\n")
        (folder / name).chmod(0o600)
    (folder / "sidecar.toml").write_text(
        f"""
state_dir = "state"
[[producer]]
name = "main"
listen = "ws://127.0.0.1:{here}/host"
connect = "ws://127.0.0.1:{there}/producer?world=%41bc"
[producer.listen_auth]
token_file = "host.token"
[producer.connect_auth]
token_file = "producer.token"
token_as = "{'header' if producer_kind == 'python' else 'query'}"
[producer.coalesce]
quiet_ms = 60000
max_hold_ms = 600000
"""
    )
    log = open(folder / "sidecar.log", "w")
    command = [binary, "run", "--config", folder / "sidecar.toml"]
    sidecar = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log, cwd=folder)
    try:
        wait_for(here, sidecar)
        address = f"ws://127.0.0.1:{here}/host"
        command = [*peers[host_kind], "host", address, TOKEN, ending]
        host = Process(command, folder / "host.log")
        closed = host.next("closed")
        assert host.process.wait(PATIENCE) == 0
        asked = producer.next("authorization") if producer_kind == "python" else producer.next("asked")
        expected = {
            "python": "Bearer of-the-producer",
            "node": "/producer?world=%41bc&token=of-the-producer",
        }
        assert asked == expected[producer_kind], asked
        heard = producer.next("closed")
        if ending == "producer-closes":
            assert closed == [4404, "gone \U0001f30d"], f"the host was told {closed}"
        else:
            assert heard == [4001, "bye"], f"the producer was told {heard}"
    except BaseException:
        log.flush()
        for name in ("sidecar", "host", "producer"):
            text = folder / f"{name}.log"
            print(f"--- {name}\n{text.read_text() if text.exists() else ''}", file=sys.stderr)
        raise
    finally:
        producer.end()
        sidecar.terminate()
        sidecar.wait(PATIENCE)
        log.close()
    said = (folder / "sidecar.log").read_text()
    assert sidecar.returncode == 0 and "of-the-" not in said, said


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--bin", required=True, type=pathlib.Path)
    binary = arguments.parse_args().bin.resolve()
    for needed in ("node", "npm"):
        if shutil.which(needed) is None:
            sys.exit(f"{needed} is missing: install Node.js 18 or later")
    passed = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        peers = commands(folder)
        for host_kind in peers:
            for producer_kind in peers:
                for ending in ("host-closes", "producer-closes"):
                    name = f"{host_kind}-{producer_kind}-{ending}"
                    began = time.monotonic()
                    session(binary, peers, host_kind, producer_kind, ending, folder / name)
                    print(f"ok: host {host_kind}, producer {producer_kind}, {ending} ({time.monotonic() - began:.1f} s)")
                    passed += 1
    print(f"{passed} passed, 0 failed")


if __name__ == "__main__":
    main()
