#!/usr/bin/env python3
"""The live page in headless Chromium, against the built program.

    python3 .ci/page.py --bin target/release/mcpl-sidecar [--shots DIR] [--axe axe.min.js]

A producer and a host are played here; the page is driven over WebDriver. It fails with the first promise that does
not hold. `--shots` keeps screenshots, light and dark, wide and narrow. Without `--axe` the accessibility checks are left
out. The first story is here; the others, each in a world of its own, are in `page_steps.py`.
"""

import argparse
import base64
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import page_steps

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
    """The program on a folder of its own, between a producer and a host that are here."""

    def __init__(self, binary):
        self.binary = binary
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="mcpl-page-"))
        self.port, self.admin = free_port(), free_port()
        self.producers = socket.create_server(("127.0.0.1", 0))
        self.producers.settimeout(PATIENCE)
        (self.folder / "token").write_text(TOKEN + "\n")
        (self.folder / "sidecar.toml").write_text(
            f'state_dir = "state"\n[admin]\nlisten = "127.0.0.1:{self.admin}"\ntoken_file = "token"\n'
            f'[[producer]]\nname = "docs"\nlisten = "tcp://127.0.0.1:{self.port}"\n'
            f'connect = "tcp://127.0.0.1:{self.producers.getsockname()[1]}"\n'
            "[producer.coalesce]\nquiet_ms = 600000\nmax_hold_ms = 600000\n"
        )
        self.program = None

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


class Browser:
    """Chromium over WebDriver."""

    def __init__(self):
        self.port = free_port()
        self.driver = subprocess.Popen(["chromedriver", f"--port={self.port}", "--silent"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.session = None
        until("chromedriver listens", self.is_ready)
        # `--disable-dev-shm-usage`: containers have little there; `--no-sandbox`: nor namespaces of their own.
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1360,1200", "--hide-scrollbars"]
        options = {"args": flags}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = answer["sessionId"]

    def is_ready(self):
        try:
            return self.call("GET", "/status")["ready"]
        except OSError:
            return False

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data=data, method=method, headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path}: {error.read().decode()[:600]}") from None

    def on(self, path):
        return f"/session/{self.session}{path}"

    def open(self, url):
        self.call("POST", self.on("/url"), {"url": url})

    def run(self, script, *args):
        return self.call("POST", self.on("/execute/sync"), {"script": script, "args": list(args)})

    def run_async(self, script, *args):
        return self.call("POST", self.on("/execute/async"), {"script": script, "args": list(args)})

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def count(self, selector):
        return self.run("return document.querySelectorAll(arguments[0]).length", selector)

    def keys(self, *keys):
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("POST", self.on("/actions"), {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def write(self, text):
        self.keys(*text)

    def focus(self):
        """What has the focus, as people would name it."""
        return self.run("const e = document.activeElement; return e === document.body ? '' : (e.getAttribute('aria-label') ?? e.innerText ?? '') || e.id")

    def scheme(self, name):
        """What the page is told that people like: light or dark."""
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.call("POST", self.on("/goog/cdp/execute"), {"cmd": "Emulation.setEmulatedMedia", "params": {"features": features}})

    def wide(self, width, height=1200):
        # Below 500 px a window is not made, but what it shows is.
        params = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("POST", self.on("/goog/cdp/execute"), {"cmd": "Emulation.setDeviceMetricsOverride", "params": params})

    def shot(self, path, width=1360):
        self.wide(width)
        height = self.run("return document.documentElement.scrollHeight")
        self.wide(width, max(800, min(2600, height)))
        pathlib.Path(path).write_bytes(base64.b64decode(self.call("GET", self.on("/screenshot"))))
        self.wide(1360)

    def complaints(self):
        """What the console says of errors but for connections that were refused, which restarts bring with them."""
        log = self.call("POST", self.on("/se/log"), {"type": "browser"})
        meant = ("ERR_CONNECTION", "ERR_SOCKET_NOT_CONNECTED", "ERR_EMPTY_RESPONSE", "401", "404", "409", "412", "WebSocket connection to")
        return [entry["message"] for entry in log if entry["level"] == "SEVERE" and not any(word in entry["message"] for word in meant)]

    def close(self):
        if self.session:
            self.call("DELETE", self.on(""))
        self.driver.terminate()
        self.driver.wait(10)


ENTER, TAB, ESCAPE = "\ue007", "\ue004", "\ue00c"


class Story:
    token, patience = TOKEN, PATIENCE
    until, free_port = staticmethod(until), staticmethod(free_port)

    def __init__(self, world, browser, shots, axe):
        self.world, self.browser, self.shots, self.axe = world, browser, shots, axe
        self.done = 0

    def passed(self, what):
        self.done += 1
        print(f"ok  {what}", flush=True)

    def shot(self, name):
        """Pictures to look at; that nothing is wider than a telephone is checked with or without them."""
        self.browser.wide(390, 800)
        sizes = self.browser.run("return [document.documentElement.scrollWidth, innerWidth]")
        assert sizes[0] <= sizes[1] == 390, f"{name} is wider than a telephone: {sizes}"
        self.browser.wide(1360)
        for scheme in ("light", "dark") if self.shots else ():
            self.browser.scheme(scheme)
            for width in (390, 1360):
                self.browser.shot(pathlib.Path(self.shots) / f"{name}-{scheme}-{width}.png", width)
        self.browser.scheme("light")

    def has(self, selector, *words):
        def look():
            text = self.browser.text(selector)
            return all(word in text for word in words)
        try:
            until(f"{selector} has {words}", look)
        except AssertionError as error:
            raise AssertionError(f"{error}; it has: {self.browser.text(selector)[:800]!r}") from None

    def check_axe(self, name):
        if not self.axe:
            return
        self.browser.run(pathlib.Path(self.axe).read_text() + "; window.axe = axe")
        for scheme in ("light", "dark"):
            self.browser.scheme(scheme)
            found = self.browser.run_async(
                "const told = arguments[arguments.length - 1]; axe.run(document).then(r => told(r.violations.map(v => "
                "({id: v.id, impact: v.impact, help: v.help, nodes: v.nodes.slice(0, 3).map(n => n.html + ' ' + n.failureSummary)}))), e => told([{id: String(e), impact: 'critical'}]))")
            bad = [it for it in found if it["impact"] in ("serious", "critical")]
            assert not bad, f"{name}, {scheme}: " + json.dumps(bad, indent=1)
        self.browser.scheme("light")
        lesser = f" ({', '.join(it['id'] for it in found)})" if found else ""
        self.passed(f"axe has no serious finding, light or dark: {name}{lesser}")

    def tell(self):
        world, browser = self.world, self.browser
        browser.open(f"http://localhost:{world.admin}/")
        until("the page asks for the token", lambda: browser.run("return document.getElementById('ask').open"))
        self.check_axe("token needed")
        self.shot("token")
        browser.write("wrong")
        browser.keys(ENTER)
        self.has("#ask-said", "not the token")
        browser.write(TOKEN)
        browser.keys(ENTER)
        self.has("#link-text", "live")
        assert browser.run("return Object.keys(localStorage).length") == 0
        self.passed("the token is asked for with the keyboard, and kept in the tab only")

        self.has("#producers", "docs", "no host")
        self.has("#held-empty", "Nothing is held")
        self.check_axe("empty")
        self.shot("empty")
        world.session()
        self.has("#producers", "connected")
        self.has("#diary", "a session with")

        world.producer.push("doc-1", "a", initial=True)
        self.has("#held tbody", "doc-1", "a newer one may still take its place")
        world.producer.push("doc-2", "a")
        self.has("#held tbody", "doc-2")
        assert "doc-1" not in browser.text("#held tbody") and browser.count("#held tbody tr") == 1
        self.has("#line", "doc-1 displaced by doc-2")
        assert browser.count("#line del") == 1, "what was displaced is struck through"
        self.passed("an edit folds live: one row, and the one before it displaced on the time line")

        world.host.refuse = [{"code": -32602, "message": "never"}, {"code": -32602, "message": "never"}]
        world.producer.push("bad-1", "b", initial=True)
        world.producer.push("bad-2", "c", initial=True)
        world.flush(3)
        # The first forward is of the oldest: that one is refused.
        self.has("#needs-count", "2 to settle")
        self.has("#refusals", "invalid")
        world.producer.push("gone-1", "d", initial=True)
        world.producer.push("gone-2", "d", retract=True)
        self.has("#line", "gone-1 displaced: withdrawn by")
        struck = browser.run("return [...document.querySelectorAll('#line del')].map(it => it.innerText)")
        self.has("#line", "gone-2 withdrew gone-1")
        assert struck == ["gone-1", "doc-1"], f"what was displaced is struck through, withdrawn or not: {struck}"
        for number in range(6):
            world.producer.push(f"more-{number}", f"e{number % 4}", initial=True)
        self.has("#held-count", "4")
        self.passed("dead letters are there to be settled, withdrawn ones displaced")
        assert "SECRET" not in browser.run("return document.documentElement.outerHTML"), "no content and no key"
        self.check_axe("full")
        self.shot("full")

        self.keyboard()
        self.search()
        self.restart()
        complaints = browser.complaints()
        assert not complaints, complaints
        self.passed("the console has no complaint, of the policy neither")

    def keyboard(self):
        browser = self.browser
        browser.run("document.activeElement.blur(); window.scrollTo(0, 0)")
        seen = []
        for _ in range(40):
            browser.keys(TAB)
            seen.append(browser.focus())
            visible = browser.run("const e = document.activeElement, style = getComputedStyle(e); return e === document.body || (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2)")
            assert visible, f"the focus cannot be seen: {seen[-1]}"
            if seen[-1].startswith("Drop it"):
                break
        assert seen[0].startswith("Skip to"), seen
        assert seen[-1].startswith("Drop it"), f"no way there: {seen}"
        before = browser.count("#needs-list > li")
        browser.keys(ENTER)
        self.has("#needs-list", "Drop it for good?")
        browser.keys(ENTER)
        until("one fewer is to be settled", lambda: browser.count("#needs-list > li") == before - 1)
        self.has("#needs-said", "is dropped")
        self.has("#line", "dropped by an operator")
        self.passed("a dead letter is dropped with the keyboard alone, asked twice")

    def search(self):
        browser = self.browser
        browser.run("document.activeElement.blur()")
        browser.keys("/")
        browser.write("doc-1")
        until("the time line is narrowed", lambda: browser.count("#line li") == browser.run("return [...document.querySelectorAll('#line li')].filter(li => li.innerText.includes('doc-1')).length") > 0)
        browser.keys(ENTER)
        self.has("#found", "doc-1", "failed", "stale (stale-objective)", "not-observed", "revision", "What happened to it", "accepted", "took its place")
        assert "doc-1" in browser.focus(), browser.focus()
        self.shot("found")
        browser.keys(ESCAPE)
        browser.run("const i = document.getElementById('event-id'); i.value = ''; i.dispatchEvent(new Event('input'))")
        browser.write("more-5")
        browser.keys(ENTER)
        self.has("#found", "more-5", "durably-received", "Content is not shown here")
        assert "SECRET" not in browser.run("return document.documentElement.outerHTML"), "no content and no key, unless opted in"
        browser.keys(ESCAPE)
        browser.run("const i = document.getElementById('event-id'); i.value = ''; i.dispatchEvent(new Event('input'))")
        browser.write("never-was")
        browser.keys(ENTER)
        self.has("#found", "No such event is known")
        browser.keys(ESCAPE)
        browser.run("const i = document.getElementById('event-id'); i.value = ''; i.dispatchEvent(new Event('input'))")
        self.passed("an event is looked up by its eventId: the three facts, the revision, what happened")

    def restart(self):
        world, browser = self.world, self.browser
        rows = lambda: browser.run("return [...document.querySelectorAll('#line li')].map(li => li.dataset.key)")
        before = rows()
        world.stop()
        self.has("#alarms", "does not answer")
        self.shot("gone")
        world.start()
        self.has("#link-text", "live")
        until("the alarm is over", lambda: browser.text("#alarms") == "")
        world.session()
        world.producer.push("after-1", "z", initial=True)
        self.has("#line", "after-1")
        world.producer.push("after-2", "z")
        self.has("#line", "after-1 displaced by after-2")
        after = rows()
        assert len(set(after)) == len(after), "a row is there twice"
        assert set(before) <= set(after), f"rows are gone: {set(before) - set(after)}"
        self.has("#held-count", "5")
        self.passed("after a restart it goes on by itself: no row lost, none twice")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--shots")
    parser.add_argument("--axe")
    parser.add_argument("--only", nargs="*", help="the names of stories")
    arguments = parser.parse_args()
    binary = str(pathlib.Path(arguments.bin).resolve())
    if arguments.shots:
        os.makedirs(arguments.shots, exist_ok=True)
    passed = 0
    browser = Browser()
    try:
        for step in [Story.tell, *page_steps.STEPS]:
            if arguments.only and step.__name__ not in arguments.only:
                continue
            world = World(binary)
            try:
                if step is Story.tell:
                    world.start()
                story = Story(world, browser, arguments.shots, arguments.axe)
                step(story)
                complaints = browser.complaints()
                assert not complaints, complaints
                passed += story.done
            except BaseException:
                browser.shot("/tmp/page-failed.png")
                log = world.folder / "stderr.log"
                print(f"FAILED in {step.__name__}", log.read_text()[-3000:] if log.exists() else "", file=sys.stderr)
                raise
            finally:
                browser.open("about:blank")
                world.close()
    finally:
        browser.close()
    print(f"{passed} passed, 0 failed")


if __name__ == "__main__":
    main()
