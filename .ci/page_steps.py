"""What the live page is shown and asked, one world after another. `page.py` drives it; see there."""

import copy
import json
import socket
import urllib.error
import urllib.request

MARKUP = '<img src=x onerror="window.ran=1">'
ENTER, TAB, ESCAPE = "\ue007", "\ue004", "\ue00c"


def said(world, admin="", more=""):
    """The same world, whose configuration says more."""
    file = world.folder / "sidecar.toml"
    file.write_text(file.read_text().replace("[admin]\n", f"[admin]\n{admin}", 1) + more)
    return world


def enter(story, port=None):
    """The page is open, with its token."""
    world, browser = story.world, story.browser
    browser.open(f"http://localhost:{port or world.admin}/")
    story.until("the page asks for the token", lambda: browser.run("return document.getElementById('ask').open"))
    browser.write(story.token)
    browser.keys(ENTER)
    story.has("#link-text", "live")
    browser.run("const real = window.fetch; window.said = []; window.twist = null;"
                "window.fetch = (path, init) => { if (init?.method === 'POST') { window.said.push([path, init.body]);"
                " if (window.twist) init = {...init, body: init.body.replace(...window.twist)}; } return real(path, init); }")


def tab_to(story, name, within=60):
    """Goes to what is named so, with the keyboard."""
    browser = story.browser
    seen = []
    browser.run("document.activeElement.blur()")
    for _ in range(within):
        browser.keys(TAB)
        seen.append(browser.focus())
        if seen[-1].startswith(name):
            return
    raise AssertionError(f"no way to {name!r} with the keyboard: {seen}")


def look_up(story, event_id):
    browser = story.browser
    browser.run("document.activeElement.blur()")
    browser.keys("/")
    browser.run("const i = document.getElementById('event-id'); i.value = ''; i.dispatchEvent(new Event('input'))")
    browser.write(event_id)
    browser.keys(ENTER)


def look_away(story):
    story.browser.keys(ESCAPE)
    story.browser.run("const i = document.getElementById('event-id'); i.value = ''; i.dispatchEvent(new Event('input'))")


def unanswered(world, event_id):
    """One event is with a host that goes away before it answers."""
    world.producer.push(event_id, event_id, initial=True)
    world.http("POST", "/v1/producers/docs/flush")
    while world.host.hear().get("method") != "push/event":
        pass
    world.host.stream.close()
    try:
        while True:
            world.producer.answer(world.producer.hear())
    except (EOFError, OSError):
        world.producer.stream.close()


def account(world, event_id):
    return json.loads(world.http("GET", f"/v1/occurrences/{event_id}"))


def doubt(story):
    """What is in doubt is settled both ways, at the revision that is seen and at no other."""
    world, browser = story.world, story.browser
    said(world, more='[producer.host]\ndedup = "none"\n')
    world.start()
    for number in range(3):
        world.session()
        unanswered(world, f"doubt-{number}")
    enter(story)
    story.has("#needs-count", "3 to settle")
    story.has("#needs-list", "doubt-0", "in doubt", "the host never answered")
    story.has("#figures", "In doubt")
    story.check_axe("in doubt")

    before = account(world, "doubt-0")
    browser.run("window.twist = [/\"expect\":\\d+/, '\"expect\":77']")
    tab_to(story, "The host has it: doubt-0")
    browser.keys(ENTER)
    story.has("#needs-said", "doubt-0 changed since you saw it at revision", f"it is at {before['revision']} now", "Nothing was done")
    assert browser.run("return document.getElementById('needs-said').className") == "note bad"
    assert account(world, "doubt-0") == before, "nothing is changed by a word about another revision"
    assert browser.count("#needs-list > li") == 3
    story.check_axe("a conflict")
    story.shot("conflict")
    browser.run("window.twist = null; window.said = []")
    story.passed("a word about another revision is a conflict, which is said, and changes nothing")

    tab_to(story, "The host has it: doubt-0")
    browser.keys(ENTER)
    story.has("#needs-said", "doubt-0 is delivered")
    assert browser.run("return document.getElementById('needs-said').className") == "note"
    story.until("it is not there to be settled", lambda: browser.count("#needs-list > li") == 2)
    story.has("#line", "doubt-0 the host has it (settled by an operator)")
    assert account(world, "doubt-0")["delivery"] == "adapter-submitted"
    tab_to(story, "It does not: send it: doubt-1")
    browser.keys(ENTER)
    story.has("#needs-said", "doubt-1 is held")
    story.until("it is held", lambda: "doubt-1" in browser.text("#held tbody"))
    words = [(path, json.loads(body)) for path, body in browser.run("return window.said")]
    assert words == [
        ("/v1/work/docs/1/resolve", {"word": "submitted", "expect": before["revision"]}),
        ("/v1/work/docs/2/resolve", {"word": "not-submitted", "expect": before["revision"]}),
    ], f"the revision that is seen is named: {words}"
    story.shot("doubt")
    world.session()
    while True:
        message = world.host.hear()
        world.host.answer(message)
        if message.get("method") == "push/event":
            break
    assert message["params"]["eventId"] == "doubt-1", message
    story.has("#line", "doubt-1 the host has it")
    story.passed("what is in doubt is settled both ways: one is delivered, the other goes anew")

    # Refused twice: at another revision each time.
    world.host.refuse = [{"code": -32602, "message": "never"}] * 2
    world.producer.push("again", "again", initial=True)
    world.flush(1)
    revisions = []
    for _ in range(2):
        story.has("#needs-list", "again", "the host said invalid")
        revisions.append(account(world, "again")["revision"])
        browser.run("window.said = []")
        story.has("#needs-list", f"revision {revisions[-1]}")
        tab_to(story, "Send it again: again")
        browser.keys(ENTER)
        story.has("#needs-said", "again is")  # held, or with the host already
        while True:
            message = world.host.hear()
            world.host.answer(message)
            if message.get("method") == "push/event":
                break
        assert json.loads(browser.run("return window.said")[0][1]) == {"word": "again", "expect": revisions[-1]}
        story.until("it is not a dead letter at that revision", lambda: account(world, "again")["revision"] > revisions[-1] + 1)
    assert revisions[0] < revisions[1], revisions
    story.has("#line", "again the host has it")
    assert account(world, "again")["state"] == "delivered"
    story.passed("a dead letter is sent again, at the revision that is seen, until it goes")


def refused(story):
    """Refusals by kind and rates, and calls that are turned away."""
    world, browser = story.world, story.browser
    world.start()
    enter(story)
    world.session()
    answer = world.producer.ask("push/event", {"featureSet": "doc", "eventId": "odd", "timestamp": "t", "payload": {"content": "x"}, "coalesce": {"key": 7}})
    assert "error" in answer, answer
    # What there was before the page knew of it is no rate.
    story.has("#producers", "connected")
    for number in range(5):
        world.producer.push(f"rate-{number}", f"rate-{number}", initial=True)
    rate = "return parseFloat([...document.querySelectorAll('#figures .figure')].find(e => e.innerText.includes('Accepted'))?.querySelector('small')?.innerText) || 0"
    story.until("the rate is shown", lambda: browser.run(rate) > 0)
    world.producer.push("rate-5", "rate-5", initial=True)
    story.until("the rate of each producer is drawn, and said", lambda: "accepted a second now" in (browser.run("return document.querySelector('#producers .spark')?.getAttribute('aria-label')") or ""))
    story.until("the kind is counted", lambda: browser.run("return [...document.querySelectorAll('#refusals tbody tr')].map(r => [...r.cells].map(c => c.innerText))") == [["invalid", "1", "–"]])
    story.passed("refusals are counted by kind, and rates are shown")

    before = world.http("GET", "/v1/work")
    theirs = {"Authorization": f"Bearer {story.token}"}
    for path, body in [("/v1/producers/docs/flush", b""), ("/v1/work/docs/1/resolve", b'{"word": "drop"}')]:
        for headers, status in [
            ({}, 401),
            ({"Authorization": "Bearer wrong"}, 401),
            ({"Origin": f"http://localhost:{world.admin}"}, 401),
            ({**theirs, "Origin": "http://evil.example"}, 403),
            ({**theirs, "Origin": f"https://localhost:{world.admin + 1}"}, 403),
            ({**theirs, "Origin": "null"}, 403),
            ({**theirs, "Host": "evil.example"}, 421),
        ]:
            request = urllib.request.Request(f"http://127.0.0.1:{world.admin}{path}", data=body, method="POST", headers={"Host": f"localhost:{world.admin}", **headers})
            try:
                urllib.request.urlopen(request, timeout=20)
                told = 200
            except urllib.error.HTTPError as error:
                told = error.code
            assert told == status, f"{path} with {headers}: {told}, not {status}"
    request = urllib.request.Request(f"http://127.0.0.1:{world.admin}/v1/producers/docs/flush?token={story.token}", data=b"", method="POST")
    try:
        urllib.request.urlopen(request, timeout=20)
        raise AssertionError("a token in a query counts")
    except urllib.error.HTTPError as error:
        assert error.code in (400, 401), error.code
    assert world.http("GET", "/v1/work") == before, "nothing was done"
    story.passed("what changes something needs the token, and comes from no other site")


def content(story):
    """Content is there where it may be, as text; and nothing that a peer says is markup."""
    world, browser = story.world, story.browser
    said(world, admin="show_content = true\n")
    world.start()
    enter(story)
    world.session()
    odd = f"id {MARKUP}"

    def push(event_id, text):
        block = {"type": "text", "text": text}
        params = {"featureSet": "doc", "eventId": event_id, "timestamp": "t", "payload": {"content": [block]}, "coalesce": {"key": "SECRET " + event_id, "initial": True}}
        answer = world.producer.ask("push/event", params)
        assert answer.get("result", {}).get("accepted"), answer

    world.host.refuse = [{"code": -32000, "message": f"said {MARKUP}", "data": {"refusal": f"kind {MARKUP}", "retryable": False, "reason": f"why {MARKUP}"}}]
    push(odd, f"told {MARKUP} & <b>bold</b>")
    world.flush(1)
    story.has("#needs-list", odd, f"the host said kind {MARKUP}")
    story.has("#line", f"{odd} refused: kind {MARKUP}")
    story.has("#refusals", MARKUP)
    push("long", "x" * 70000)
    # Shown, and displaced by one of that name.
    world.producer.push("held-1", MARKUP, initial=True)
    world.producer.push(f"held {MARKUP}", MARKUP)
    story.has("#line", f"held-1 displaced by held {MARKUP}")
    assert "told" not in browser.run("return document.documentElement.textContent"), "only of what is looked up"
    look_up(story, odd)
    story.has("#found", odd, "rejected", "Content", f"told {MARKUP} & <b>bold</b>")
    tab_to(story, "Drop it: id")
    browser.keys(ENTER)
    story.has("#needs-list", "Drop it for good?")
    browser.keys(ENTER)
    story.has("#needs-said", f"{odd} is dropped")
    look_up(story, "long")
    story.has("#found", "journal show docs/2 --content", "at most 65536 are shown")
    assert browser.count(".sent") == 0, "what is too long is not shown in part"
    look_up(story, f"held {MARKUP}")
    story.has("#found", f"SECRET held {MARKUP}")
    story.check_axe("content shown")
    story.shot("content")
    whole = browser.run("return document.documentElement.outerHTML")
    assert "SECRET <" not in whole and "SECRET &lt;img" not in whole, "no key"
    marks = browser.run("return [[...document.querySelectorAll('img')].map(i => i.getAttribute('src')), document.querySelectorAll('.found b, .needs b, [onerror]').length, window.ran ?? 0]")
    assert marks == [["/icon.svg"], 0, 0], f"something was read as markup: {marks}"
    look_away(story)
    story.passed("content is shown as text where it may be; nothing a peer says is markup; no key is shown")


def several(story):
    """An eventId that several producers have: which one is asked."""
    world, browser = story.world, story.browser
    other = copy.copy(world)
    other.port = story.free_port()
    other.producers = socket.create_server(("127.0.0.1", 0))
    other.producers.settimeout(story.patience)
    said(world, more='[[producer]]\nname = "mail"\n' + f'listen = "tcp://127.0.0.1:{other.port}"\nconnect = "tcp://127.0.0.1:{other.producers.getsockname()[1]}"\n'
         "[producer.coalesce]\nquiet_ms = 600000\nmax_hold_ms = 600000\n")
    world.start()
    enter(story)
    world.session()
    other.session()
    world.producer.push("same", "a", initial=True)
    other.producer.push("same-0", "a", initial=True)
    other.producer.push("same", "a")
    story.has("#producers", "docs", "mail")
    story.until("both are shown", lambda: browser.text("#held tbody").count("same") == 2)
    look_up(story, "same")
    story.has("#found", "Several producers have an event of that id", "docs", "mail")
    assert browser.run("return document.activeElement.id") == "found-h"
    story.check_axe("several producers")
    story.shot("several")
    browser.keys(TAB, TAB, TAB)
    assert browser.focus() == "mail", browser.focus()
    browser.keys(ENTER)
    story.has("#found", "mail/2", "accepted")
    assert "docs/1" not in browser.text("#found"), "it is the one that was asked for"
    look_away(story)
    other.producers.close()
    story.passed("of an eventId that several producers have, one is chosen with the keyboard")


def many(story):
    """A thousand subjects: the page has some of them, and goes on."""
    world, browser = story.world, story.browser
    world.start()
    enter(story)
    world.session()
    for number in range(1000):
        world.producer.push(f"many-{number:04}", f"many-{number}", initial=True)
    story.has("#held-count", "1,000 of 1,000 subjects")
    story.has("#held-more", "and 800 more")
    story.until("the newest is on the time line", lambda: "many-0999" in browser.text("#line li"))
    count = browser.count("#held tbody tr"), browser.count("#line li")
    assert count == (200, 200), f"rows in the page: {count}"
    # A frame is drawn and a key is heard while it all changes.
    took = browser.run_async(
        "const told = arguments[arguments.length - 1], times = []; let last = performance.now();"
        "const frame = (now) => { times.push(performance.now() - last); last = performance.now();"
        " if (times.length < 60) requestAnimationFrame(frame); else told(Math.max(...times)); }; requestAnimationFrame(frame)")
    look_up(story, "many-0777")
    story.has("#found", "many-0777", "durably-received")
    story.until("what is beyond the rows is found by what is written", lambda: browser.count("#held tbody tr") == 1)
    look_away(story)
    story.until("all are there again", lambda: browser.count("#held tbody tr") == 200)
    story.shot("many")
    story.check_axe("a thousand held")
    story.passed(f"of 1,000 subjects 200 rows are in the page, and any is found (longest frame {took:.0f} ms)")


def paused(story):
    """The time line stands still while it is read, and what happened meanwhile is there after."""
    world, browser = story.world, story.browser
    world.start()
    enter(story)
    world.session()
    world.producer.push("still-0", "still", initial=True)
    story.has("#line", "still-0")
    tab_to(story, "Pause")
    browser.keys(ENTER)
    world.producer.push("still-1", "still")
    story.has("#held tbody", "still-1")
    assert "still-1" not in browser.text("#line"), "it is paused"
    assert browser.run("return document.getElementById('pause').getAttribute('aria-pressed')") == "true"
    browser.keys(ENTER)
    story.has("#line", "still-0 displaced by still-1")
    look_up(story, "never-was")
    story.has("#found", "No such event is known")
    story.has("#held-empty", "Nothing that is held fits what you look for")
    story.has("#line-empty", "Nothing that happened fits what you look for")
    story.check_axe("nothing is found")
    story.shot("nothing")
    tab_to(story, "Close")
    browser.keys(ENTER)
    story.until("it is closed", lambda: browser.run("return document.getElementById('found').hidden"))
    look_away(story)
    story.passed("the time line is paused with the keyboard, and goes on")


STEPS = [doubt, refused, content, several, many, paused]
