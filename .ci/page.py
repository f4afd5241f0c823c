#!/usr/bin/env python3
"""The live page in headless Chromium, against the built program.

    python3 .ci/page.py --bin target/release/mcpl-sidecar [--shots DIR] [--axe axe.min.js]

A producer and a host are played here; the page is driven over WebDriver. It fails with the first promise that does
not hold. `--shots` keeps screenshots, light and dark, wide and narrow. Without `--axe` the accessibility checks are left
out. The first story is here; the others, each in a world of its own, are in `page_steps.py` and `page_line.py`.
"""

import argparse
import base64
import json
import os
import pathlib
import subprocess
import sys
import urllib.error
import urllib.request

import page_line
import page_steps
from world import PATIENCE, TOKEN, World, free_port, until


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
        for step in [Story.tell, *page_steps.STEPS, *page_line.STEPS]:
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
