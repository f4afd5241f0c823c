"""What the live page does when its line to the sidecar is cut, or loses something. `page.py` drives it."""

import contextlib
import socket
import threading

from page_steps import account, enter, look_up


class Line:
    """Between the page and the program: it can be cut."""

    def __init__(self, to):
        self.to, self.open, self.pairs = to, True, []
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self.take, daemon=True).start()

    def take(self):
        while True:
            try:
                near, _ = self.server.accept()
            except OSError:
                return
            if not self.open:
                near.close()
                continue
            far = socket.create_connection(("127.0.0.1", self.to))
            self.pairs.append((near, far))
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self.carry, args=(a, b), daemon=True).start()

    @staticmethod
    def carry(a, b):
        try:
            while data := a.recv(65536):
                b.sendall(data)
        except OSError:
            pass
        for end in (a, b):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        self.open = False
        for near, far in self.pairs:
            for end in (near, far):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        self.pairs = []

    def mend(self):
        self.open = True

    def close(self):
        self.cut()
        self.server.close()


@contextlib.contextmanager
def over_a_line(story):
    """A session, and the page on a line of its own to it."""
    story.world.start()
    line = Line(story.world.admin)
    try:
        enter(story, line.port)
        story.world.session()
        yield line
    finally:
        line.close()


def away(story):
    """What happens while the page is away is there when it is back: each of it once."""
    world, browser = story.world, story.browser
    with over_a_line(story) as line:
        keys = "return [...document.querySelectorAll('#line li')].map(li => li.dataset.key).filter(key => key !== '')"
        number = 0
        for _ in range(3):
            world.producer.push(f"far-{number}", "far", **({"initial": True} if number == 0 else {}))
            number += 1
            story.has("#line", f"far-{number - 1}")
            line.cut()
            story.has("#link-text", "not connected")
            for _ in range(3):
                world.producer.push(f"far-{number}", "far")
                number += 1
            line.mend()
            story.has("#link-text", "live")
            story.has("#held tbody", f"far-{number - 1}")
        expected = {f"docs/{n}@1" for n in range(1, number + 1)} | {f"docs/{n}@2" for n in range(1, number)}
        story.until("every change has a row", lambda: set(browser.run(keys)) == expected)
        found = browser.run(keys)
        assert len(found) == len(expected), f"a row is there twice: {found}"
        lines = "return [...document.querySelectorAll('#diary li')].map(li => li.innerText)"
        # The diary is told a second later than what is on disk.
        story.until("a session is told", lambda: browser.run(lines))
        diary = browser.run(lines)
        assert len(diary) == 1, f"a session is told once: {diary}"
        displaced = browser.run("return document.querySelector('#held tbody tr').cells[3].innerText")
        assert displaced == str(number - 1), f"{number - 1} were displaced, the page says {displaced}"
        assert browser.count("#line del") == number - 1, "each that was displaced is struck through"
        order = [key for key in found if key.endswith("@1")]
        assert order == [f"docs/{n}@1" for n in range(number, 0, -1)], f"newest first: {order}"
        line.cut()
        story.has("#alarms", "The sidecar does not answer")
        story.check_axe("not connected")
        story.shot("away")
        look_up(story, "far-1")
        story.has("#found", "does not answer")
        line.mend()
        story.has("#link-text", "live")
        story.passed("what happened while the page was away is there once: no row lost, none twice, none counted twice")


# Loses batches of the stream, as many as it is told to.
LOSSY = """
const Real = window.WebSocket;
window.lose = 0;
window.WebSocket = class extends Real {
  set onmessage(heard) {
    super.onmessage = (event) => {
      if (window.lose > 0 && JSON.parse(event.data)['event.batch']?.events.length) { window.lose -= 1; return; }
      heard(event);
    };
  }
};
"""


def far_behind(story):
    """Very much ended while the page was away: it asks about no more of it than it has rows for."""
    world, browser = story.world, story.browser
    with over_a_line(story) as line:
        for number in range(250):
            world.producer.push(f"past-{number}", f"past-{number}", initial=True)
        story.has("#held-count", "250 of 250 subjects")
        line.cut()
        story.has("#link-text", "not connected")
        world.stop()
        world.start()
        world.session()
        world.flush(250)
        story.until("the last is delivered", lambda: account(world, "past-249")["state"] == "delivered")
        browser.run("const real = window.fetch; window.asked = 0; window.fetch = (path, init) => {"
                    " if (path.startsWith('/v1/occurrences/')) window.asked += 1; return real(path, init); }")
        line.mend()
        story.has("#link-text", "live")
        story.until("nothing is held", lambda: browser.text("#held-count") == "")
        story.has("#line", "past-249 the host has it (ended while this page was not connected)")
        asked = browser.run("return window.asked")
        assert asked == 200, f"it asked {asked} times"
        story.passed("of very much that ended while the page was away, it asks about what it has rows for")


def gap(story):
    """A batch is lost between the sidecar and the page: that is noticed, and mended."""
    world, browser = story.world, story.browser
    world.start()
    cdp = browser.on("/goog/cdp/execute")
    script = browser.call("POST", cdp, {"cmd": "Page.addScriptToEvaluateOnNewDocument", "params": {"source": LOSSY}})
    try:
        enter(story)
        world.session()
        world.producer.push("lost-0", "lost", initial=True)
        story.has("#line", "lost-0")
        for number in range(1, 4):
            browser.run("window.lose = 1")
            world.producer.push(f"lost-{number}", "lost")
            story.until("a batch was lost", lambda: browser.run("return window.lose") == 0)
            world.producer.push(f"lost-{number}-then", "lost")
            story.has("#held tbody", f"lost-{number}-then")
        count = 7
        expected = {f"docs/{n}@1" for n in range(1, count + 1)} | {f"docs/{n}@2" for n in range(1, count)}
        keys = "return [...document.querySelectorAll('#line li')].map(li => li.dataset.key)"
        story.until("every change has a row", lambda: set(browser.run(keys)) == expected)
        assert len(browser.run(keys)) == len(expected), "a row is there twice"
        held = browser.text("#held tbody")
        assert browser.count("#held tbody tr") == 1, f"only the newest is held: {held!r}"
        displaced = browser.run("return document.querySelector('#held tbody tr').cells[3].innerText")
        assert displaced == str(count - 1), f"{count - 1} were displaced, the page says {displaced}"
        story.passed("a batch that was lost is noticed, and what was in it is there once")
    finally:
        browser.call("POST", cdp, {"cmd": "Page.removeScriptToEvaluateOnNewDocument", "params": {"identifier": script["identifier"]}})


def another_run(story):
    """The sidecar is killed and started while the page is away: what ended meanwhile is not held any more."""
    world, browser = story.world, story.browser
    with over_a_line(story) as line:
        for name in ("stays", "goes"):
            world.producer.push(f"{name}-0", name, initial=True)
            world.producer.push(f"{name}-1", name)
        story.has("#line", "goes-0 displaced by goes-1")
        before = browser.run("return [...document.querySelectorAll('#line li')].map(li => li.dataset.key)")
        line.cut()
        story.has("#link-text", "not connected")
        world.stop()
        line.to = world.admin
        world.start()
        world.session()
        world.flush(2)
        story.until("both are delivered", lambda: all(account(world, f"{name}-1")["state"] == "delivered" for name in ("stays", "goes")))
        world.producer.push("stays-2", "stays", initial=True)
        line.mend()
        story.has("#link-text", "live")
        story.has("#held-count", "1 of 1 subject")
        story.has("#held tbody", "stays-2")
        story.has("#line", "goes-1 the host has it (ended while this page was not connected)", "stays-1 the host has it")
        after = browser.run("return [...document.querySelectorAll('#line li')].map(li => li.dataset.key)")
        assert len(set(after)) == len(after), f"a row is there twice: {after}"
        assert set(before) <= set(after), f"rows are gone: {set(before) - set(after)}"
        displaced = browser.run("return document.querySelector('#held tbody tr').cells[3].innerText")
        assert displaced == "–", f"nothing displaced by this run is counted: {displaced}"
        story.passed("what ended while the page was away, in another run, is told as ended")


# In the page: the rules of the cursor, each on its own.
CURSOR = """
const told = arguments[arguments.length - 1];
import('/stream.js').then(({ Cursor }) => {
  const faults = [];
  const must = (what, is) => { if (!is) faults.push(what); };
  const fresh = () => {
    const seen = [], snapshots = [], cursor = new Cursor(0);
    const on = { event: ({ seq }) => seen.push(seq), snapshot: (all, other) => snapshots.push([all.length, other]) };
    cursor.take({ subscribed: { stream: 'journal/1', after: 10 } }, on);
    return { seen, snapshots, cursor, on };
  };
  const batch = (stream, ...seqs) => ({ 'event.batch': { stream, reason: 'live', events: seqs.map((seq) => ({ seq })) } });
  {
    const { seen, cursor, on } = fresh();
    must('a batch that follows is taken', cursor.take(batch('journal/1', 11, 12), on) && seen.join() === '11,12' && cursor.after === 12);
    must('an exact repeat is skipped', cursor.take(batch('journal/1', 11, 12, 13), on) && seen.join() === '11,12,13');
    must('an empty batch is taken', cursor.take(batch('journal/1'), on) && cursor.after === 13);
  }
  {
    const { seen, cursor, on } = fresh();
    must('a gap is rejected', cursor.take(batch('journal/1', 12), on) === false && seen.length === 0 && cursor.after === 10);
    must('a gap inside a batch is rejected there', cursor.take(batch('journal/1', 11, 13), on) === false && seen.join() === '11' && cursor.after === 11);
    must('after a gap a snapshot is asked for', cursor.anew().subscribe.after === null);
    must('another stream is rejected', fresh().cursor.take(batch('journal/2', 11), on) === false);
  }
  {
    const { cursor, on } = fresh();
    const at = [];
    let failed = false;
    try { cursor.take(batch('journal/1', 11, 12), { ...on, event: ({ seq }) => { at.push(cursor.after); if (seq === 12) throw new Error(); } }); } catch { failed = true; }
    must('the cursor is advanced after an event was applied', failed && at.join() === '10,11' && cursor.after === 11);
  }
  {
    const { seen, snapshots, cursor, on } = fresh();
    const part = (part, isLast) => ({ snapshot: { stream: 'journal/2', lastSequence: 40, part, isLast, occurrences: [{}, {}] } });
    cursor.take(part(0, false), on);
    must('half a snapshot is none', snapshots.length === 0 && cursor.after === 10);
    cursor.take(part(0, false), on);
    cursor.take(part(1, true), on);
    must('a snapshot that begins again does not add up', snapshots.join() === '4,true' && cursor.after === 40 && cursor.stream === 'journal/2');
    must('it goes on after the snapshot', cursor.take(batch('journal/2', 40, 41), on) && seen.join() === '41');
    must('it asks for what it has not had', JSON.stringify(cursor.wanted()) === JSON.stringify({ subscribe: { stream: 'journal/2', after: 41, tail: 0 } }));
  }
  told(faults);
}, (error) => told([String(error)]));
"""


def cursor(story):
    """The rules of the cursor, in the client that the page uses."""
    story.world.start()
    story.browser.open(f"http://localhost:{story.world.admin}/")
    faults = story.browser.run_async(CURSOR)
    assert not faults, f"the cursor: {faults}"
    story.passed("repeats are skipped, gaps rejected, the cursor is advanced after applying, a snapshot mends")


STEPS = [away, far_behind, gap, another_run, cursor]
