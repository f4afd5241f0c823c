#!/usr/bin/env python3
"""Plays recorded sessions through the program and compares every line that comes out.

    python3 .ci/replay.py --bin target/release/mcpl-sidecar FOLDER

FOLDER holds *.jsonl, one session each: a JSON object a line with `t` (seconds), `dir` (h2s host to server,
s2h server to host; others are skipped) and `msg` (the message, or {"_raw": text} for a line that is no JSON).
Each message is written as compact JSON in the recorded member order by the side that said it, over TCP, and must
come out at the other side as the same line, but for what the contract adds: eventCoalescing and eventAdmission in
initialize (section 4.2), and the refusal members in answers to events (sections 8.1, 8.2). Lines that are no JSON
must not come out. Standard library only; every wait is bounded; exit 1 on the first difference of any session.
"""
import argparse
import glob
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

WAIT = 5.0
LANES = ("push/event", "channels/incoming")
REFUSAL = ("refusal", "retryable", "retryAfterMs", "limitBytes")
CODES = {-32030: (-32000, -32603), -32031: (-32000, -32603)}


class Difference(Exception):
    pass


def dumps(message):
    return json.dumps(message, ensure_ascii=False, separators=(",", ":"))


class End:
    """One side's connection: whole lines, bounded waits."""

    def __init__(self, sock):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(WAIT)
        self.sock, self.held = sock, b""

    def write(self, text):
        self.sock.sendall(text.encode() + b"\n")

    def line(self):
        while b"\n" not in self.held:
            try:
                part = self.sock.recv(1 << 16)
            except socket.timeout:
                raise Difference("nothing came out within %.0f s" % WAIT) from None
            if not part:
                raise Difference("the connection was ended")
            self.held += part
        line, self.held = self.held.split(b"\n", 1)
        return line.decode()

    def close(self):
        self.sock.close()


def recorded(path):
    """(direction, message) in an order in which no answer comes before its question."""
    said = []
    with open(path, encoding="utf-8") as file:
        for text in file:
            record = json.loads(text)
            if record["dir"] in ("h2s", "s2h"):
                said.append((record["dir"], record["msg"]))
    out, waiting = [], list(said)
    while waiting:
        for nth, (way, message) in enumerate(waiting):
            if not any(asks(other, way, message) for other in waiting[nth + 1:]):
                out.append(waiting.pop(nth))
                break
        else:
            raise Difference("%s: answers wait for each other" % path)
    return out


def asks(record, way, answer):
    """Whether the record is the question that this message of the other direction answers."""
    other, question = record
    return (other != way and isinstance(answer, dict) and isinstance(question, dict)
            and "method" not in answer and "id" in answer
            and "method" in question and dumps(question.get("id")) == dumps(answer["id"]))


def without_additions_of_initialize(got, sent):
    message = json.loads(got)
    try:
        of_host = sent["params"]["capabilities"]["experimental"]["mcpl"]
        mcpl = message["params"]["capabilities"]["experimental"]["mcpl"]
    except (KeyError, TypeError):
        return got
    for name in ("eventCoalescing", "eventAdmission"):
        if name not in of_host:
            mcpl.pop(name, None)
    return dumps(message)


def without_classification(got, sent):
    """The answer less what section 8 adds; a refusal that was not classified is a difference."""
    message = json.loads(got)
    if "error" in sent:
        error = message.get("error", {})
        data = error.get("data", {})
        classified(data, "the error")
        strip(data, sent["error"].get("data"))
        host = data.pop("host", None)
        if host is not None and error.get("code") in CODES and host.get("code") in CODES[error["code"]]:
            error["code"] = host["code"]
        if not data and "data" not in sent["error"]:
            del error["data"]
        return dumps(message)
    pairs = [(message.get("result"), sent.get("result"))]
    if isinstance(sent.get("result"), dict) and isinstance(sent["result"].get("results"), list):
        pairs = list(zip(message.get("result", {}).get("results", []), sent["result"]["results"]))
    for result, original in pairs:
        if isinstance(result, dict) and isinstance(original, dict) and original.get("accepted") is False:
            classified(result, "the result")
            strip(result, original)
    return dumps(message)


def classified(carrier, what):
    if not isinstance(carrier, dict) or not isinstance(carrier.get("refusal"), str):
        raise Difference("%s of a refused event carries no refusal" % what)


def strip(carrier, original):
    for name in REFUSAL:
        if not isinstance(original, dict) or name not in original:
            carrier.pop(name, None)


def compare(got, way, sent, asked):
    line = dumps(sent)
    if got == line:
        if not (asked in LANES and refused(sent)):
            return
        raise Difference("a refusal came out without its classification")
    plain = got
    if way == "h2s" and isinstance(sent, dict):
        if sent.get("method") == "initialize":
            plain = without_additions_of_initialize(got, sent)
        elif asked in LANES:
            plain = without_classification(got, sent)
    if plain != line:
        raise Difference("another line came out\n    sent: %s\n    got:  %s" % (line[:600], got[:600]))


def refused(answer):
    if "error" in answer:
        return True
    result = answer.get("result")
    if not isinstance(result, dict):
        return False
    each = result["results"] if isinstance(result.get("results"), list) else [result]
    return any(isinstance(one, dict) and one.get("accepted") is False for one in each)


def replay(binary, path):
    said = recorded(path)
    # What coalesces would be held, which is no replay; then only the classification is on.
    mode = "off" if any('"coalesce":' in dumps(message) for _, message in said) else "auto"
    with tempfile.TemporaryDirectory(prefix="mcpl-replay-") as folder:
        server = socket.create_server(("127.0.0.1", 0))
        server.settimeout(WAIT)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        config = os.path.join(folder, "sidecar.toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write('state_dir = "state"\n\n[[producer]]\nname = "recorded"\nlisten = "tcp://127.0.0.1:%d"\n'
                       'connect = "tcp://127.0.0.1:%d"\n\n[producer.coalesce]\nmode = "%s"\n'
                       % (port, server.getsockname()[1], mode))
        log = open(os.path.join(folder, "stderr.log"), "w+", encoding="utf-8", errors="replace")
        program = subprocess.Popen([binary, "run", "--config", config], stdin=subprocess.DEVNULL, stderr=log)
        try:
            return play(said, dial(port, program), server)
        except Difference:
            log.seek(0)
            print("    program's stderr ends: " + log.read()[-600:].strip().replace("\n", "\n      "))
            raise
        finally:
            program.kill()
            program.wait()
            server.close()
            log.close()


def dial(port, program):
    end = time.monotonic() + WAIT
    while True:
        try:
            return End(socket.create_connection(("127.0.0.1", port), timeout=WAIT))
        except OSError:
            if program.poll() is not None or time.monotonic() > end:
                raise Difference("the program does not listen") from None
            time.sleep(0.01)


def play(said, host, server):
    producer, count, asked = None, 0, {}
    for nth, (way, message) in enumerate(said):
        if way == "s2h" and producer is None:
            raise Difference("the server speaks first")
        noise = isinstance(message, dict) and "_raw" in message
        line = message["_raw"] if noise else dumps(message)
        (host if way == "h2s" else producer).write(line)
        if producer is None:
            try:
                producer = End(server.accept()[0])
            except socket.timeout:
                raise Difference("the producer was not dialled") from None
        if noise:
            continue
        to = producer if way == "h2s" else host
        try:
            if isinstance(message, list):
                batch(to, message)
            else:
                method = asked.pop(dumps(message.get("id")), None) if way == "h2s" and "method" not in message else None
                compare(to.line(), way, message, method)
        except Difference as why:
            raise Difference("message %d (%s): %s" % (nth + 1, way, why)) from None
        if way == "s2h" and isinstance(message, dict) and "method" in message and "id" in message:
            asked[dumps(message["id"])] = message["method"]
        count += 1
    host.close()
    producer.close()
    return count


def batch(to, message):
    """A batch comes out whole, or less its events, which come alone (section 3.3)."""
    left = [dumps(element) for element in message]
    while left:
        got = to.line()
        elements = [dumps(element) for element in json.loads(got)] if got.startswith("[") else [got]
        for element in elements:
            if element not in left:
                raise Difference("no element of the batch: %s" % got[:600])
            left.remove(element)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="the mcpl-sidecar binary")
    parser.add_argument("folder", help="folder of recorded sessions (*.jsonl)")
    arguments = parser.parse_args()
    binary = os.path.abspath(arguments.bin)
    paths = sorted(glob.glob(os.path.join(arguments.folder, "*.jsonl")))
    if not paths:
        print("no recorded session in %s" % arguments.folder, file=sys.stderr)
        return 2
    failed = lines = 0
    for path in paths:
        name = os.path.basename(path)
        try:
            count = replay(binary, path)
            lines += count
            print("same  %s (%d messages)" % (name, count), flush=True)
        except Difference as why:
            failed += 1
            print("DIFFERS  %s: %s" % (name, why), flush=True)
    print("recorded sessions: %d the same, %d differ, %d messages" % (len(paths) - failed, failed, lines))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
