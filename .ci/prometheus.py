#!/usr/bin/env python3
"""The alerts, the dashboard and /metrics against Prometheus itself.

    python3 .ci/prometheus.py --bin target/release/mcpl-sidecar

`promtool` checks and tests the rules, checks the configuration, and lints what is scraped after traffic. Then Prometheus
scrapes the running program as `examples/prometheus/prometheus.yml` says, and is asked every expression of the alerts and
of the dashboard. It fails with the first promise that does not hold.
"""

import argparse
import json
import pathlib
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

from world import PATIENCE, World, free_port, until

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"

# What the linter says of names that are right as they are: the name, what it says, and why it stays.
LINT = {}

# Expressions of the dashboard that give nothing after this traffic, and why.
NOTHING = {}

# Alerts that have something to say after this traffic. The others are silent, and that is looked at as well.
SPEAK = {
    "McplDeadLetters", "McplInDoubt", "McplRefusedInvalid", "McplRefusedUnavailable", "McplRetries", "McplDroppedLines", "McplReloadRejected",
    "McplCertificateEndsSoon", "McplHostGone",
}

# What Grafana puts in.
VARIABLES = {"$instance": ".*", "$producer": "docs|tls", "$__rate_interval": "1m", "$__interval": "1m", "$__range": "1h"}


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    return done.returncode, done.stdout + done.stderr


class Traffic:
    """Everything that a panel shows happens once a round."""

    def __init__(self, binary):
        binary = str(pathlib.Path(binary).resolve())
        tls = (
            '[producer.host]\ndedup = "none"\n'
            '[[producer]]\nname = "tls"\nlisten = "wss://127.0.0.1:{}"\nconnect = "tcp://127.0.0.1:{}"\n'
            '[producer.listen_tls]\ncert_file = "ca/localhost.crt"\nkey_file = "ca/localhost.key"\n'
        )
        self.world = World(binary, tls.format(free_port(), free_port()))
        for words in (["init"], ["issue", "--name", "localhost", "--days", "10"]):
            code, said = run(binary, "certs", *words, "--dir", "ca", cwd=self.world.folder)
            assert code == 0, said
        self.rounds = 0

    def start(self):
        self.world.start()
        self.world.session()

    def round(self):
        world = self.world
        host, producer = world.host, world.producer
        self.rounds += 1
        tag = f"r{self.rounds}"
        # What passes, both ways, and what fails.
        plain = {"featureSet": "doc", "eventId": f"{tag}-plain", "timestamp": "2026-01-01T00:00:00Z", "payload": {"content": []}}
        producer.ask("push/event", plain, host)
        host.ask("tools/call", {"name": "t", "arguments": {}}, producer)
        bad = producer.ask("push/event", {**plain, "eventId": f"{tag}-bad", "coalesce": {"key": ""}})
        assert bad["error"]["code"] == -32602, bad
        producer.stream.sendall(b"noise\n")
        # What folds, what is withdrawn, what is rendered.
        producer.push(f"{tag}-a1", f"{tag}-a", initial=True)
        producer.push(f"{tag}-a2", f"{tag}-a")
        producer.push(f"{tag}-b1", f"{tag}-b", initial=True)
        producer.push(f"{tag}-b2", f"{tag}-b", retract=True)
        producer.push(f"{tag}-n", f"{tag}-n", initial=True, deferred=True)
        # One is refused for good, one is tried again.
        host.refuse = [{"code": -32602, "message": "never"}]
        world.http("POST", "/v1/producers/docs/flush")
        producer.answer(producer.hear())
        for _ in range(2):
            host.answer(host.hear())
        host.refuse = [{"code": -32030, "message": "not now"}]
        producer.push(f"{tag}-c", f"{tag}-c", initial=True)
        world.flush(2)
        # One is handed over and never answered for, and something stays held.
        producer.push(f"{tag}-d", f"{tag}-d", initial=True)
        world.http("POST", "/v1/producers/docs/flush")
        assert host.hear()["method"] == "push/event"
        host.stream.close()
        producer.stream.close()
        until("it is in doubt", lambda: f'mcpl_in_doubt{{mcpl_producer="docs"}} {self.rounds}\n' in self.scrape())
        world.session()
        world.producer.push(f"{tag}-e", f"{tag}-e", initial=True)

    def reject(self):
        """A reload of what does not validate, then one of what does."""
        for text, said in ((self.world.configuration + "nonsense = 1\n", "rejected"), (self.world.configuration, "applied")):
            before = json.loads(self.world.http("GET", "/v1/reloads"))[said]
            self.world.configure(text)
            self.world.program.send_signal(signal.SIGHUP)
            until(f"the reload is {said}", lambda: json.loads(self.world.http("GET", "/v1/reloads"))[said] > before)

    def scrape(self):
        return self.world.http("GET", "/metrics").decode()

    def events(self):
        return sum(float(line.split()[-1]) for line in self.scrape().splitlines() if line.startswith("mcpl_events_total{"))


class Prometheus:
    """Prometheus on the folder of a world, with the examples' own configuration."""

    def __init__(self, world):
        self.port = free_port()
        folder = world.folder / "prometheus"
        folder.mkdir()
        text = (EXAMPLES / "prometheus/prometheus.yml").read_text()
        # What an operator changes in it: where, with which token; and here it has no time.
        for old, new in (
            ("127.0.0.1:9464", f"127.0.0.1:{world.admin}"),
            ("    # authorization: { credentials_file: /etc/prometheus/mcpl.token }", "    authorization: { credentials_file: ../token }"),
            ("scrape_interval: 15s", "scrape_interval: 1s"),
            ("evaluation_interval: 15s", "evaluation_interval: 1s"),
        ):
            assert text.count(old) >= 1, f"prometheus.yml has no {old!r}"
            text = text.replace(old, new)
        (folder / "prometheus.yml").write_text(text)
        (folder / "alerts.yml").write_text((EXAMPLES / "prometheus/alerts.yml").read_text())
        self.log = open(folder / "prometheus.log", "w")
        self.program = subprocess.Popen(
            ["prometheus", "--config.file=prometheus.yml", f"--web.listen-address=127.0.0.1:{self.port}", "--storage.tsdb.path=data"],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
        )
        until("Prometheus is ready", self.is_ready)

    def is_ready(self):
        assert self.program.poll() is None, pathlib.Path(self.log.name).read_text()
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=PATIENCE).status == 200
        except OSError:
            return False

    def ask(self, path, **query):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{query}: {error.read().decode()[:600]}") from None

    def samples(self, expression):
        """What it gives now, without what is no number."""
        found = self.ask("query", query=expression)["result"]
        return [it for it in found if it["value"][1] != "NaN"]

    def close(self):
        self.program.terminate()
        self.program.wait(PATIENCE)
        self.log.close()


class Checks:
    def __init__(self):
        self.done = 0

    def passed(self, what):
        self.done += 1
        print(f"ok  {what}", flush=True)

    def rules(self):
        folder = EXAMPLES / "prometheus"
        for words in (["check", "rules", "alerts.yml"], ["test", "rules", "alerts_test.yml"], ["check", "config", "prometheus.yml"]):
            code, said = run("promtool", *words, cwd=folder)
            assert code == 0, said
            self.passed("promtool " + " ".join(words))

    def lint(self, text):
        code, said = run("promtool", "check", "metrics", input=text)
        found = dict(line.split(" ", 1) for line in said.splitlines() if line)
        assert code in (0, 3), said
        assert found == {name: says for name, (says, _) in LINT.items()}, said
        self.passed(f"promtool check metrics: nothing but {len(found)} known findings in {len(text.splitlines())} lines")

    def scraped(self, prometheus):
        targets = prometheus.ask("targets")["activeTargets"]
        assert [it["labels"]["job"] for it in targets] == ["mcpl-sidecar"] and targets[0]["health"] == "up", targets
        # Types and units as Prometheus understood them.
        told = prometheus.ask("metadata")
        kinds = {name: what[0]["type"] for name, what in told.items() if name.startswith(("mcp_", "mcpl_"))}
        assert set(kinds.values()) == {"counter", "gauge", "histogram"} and len(kinds) > 30, kinds
        self.passed(f"Prometheus scrapes it as the example says: {len(kinds)} metrics")

    def dashboard(self, prometheus):
        dashboard = json.loads((EXAMPLES / "grafana/dashboard.json").read_text())
        asked = 0
        panels = [inner for panel in dashboard["panels"] for inner in [panel, *panel.get("panels", [])]]
        for panel in panels + dashboard["annotations"]["list"]:
            for target in panel.get("targets", [panel] if "expr" in panel else []):
                found = prometheus.samples(filled(target["expr"]))
                title = f"{panel.get('title', panel.get('name'))}: {target['expr']}"
                assert bool(found) != (target["expr"] in NOTHING), f"{title} gives {found}"
                asked += 1
        for variable in dashboard["templating"]["list"][1:]:
            series, label = re.fullmatch(r"label_values\((.*), (\w+)\)", filled(variable["definition"])).groups()
            values = prometheus.ask(f"label/{label}/values", **{"match[]": series})
            assert values and (label != "mcpl_producer" or values == ["docs", "tls"]), (variable["name"], values)
        self.passed(f"every expression of the dashboard gives samples: {asked}")

    def alerts(self, prometheus):
        # An alert without a wait fires of itself.
        until("the rejected reload fires", lambda: "McplReloadRejected" in {
            it["labels"]["alertname"] for it in prometheus.ask("alerts")["alerts"] if it["state"] == "firing"})
        rules = [rule for group in prometheus.ask("rules")["groups"] for rule in group["rules"]]
        for rule in rules:
            assert rule["health"] == "ok" and not rule.get("lastError"), rule
        speak = {rule["name"] for rule in rules if prometheus.samples(rule["query"])}
        assert speak == SPEAK, f"of the alerts these should speak, or not: {speak ^ SPEAK}"
        for rule in rules:
            for alert in rule["alerts"]:
                text = " ".join(alert["annotations"].values())
                assert "<no value>" not in text and "<error" not in text, text
        self.passed(f"every alert is evaluated, {len(speak)} of {len(rules)} speak after the traffic")


def filled(expression):
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    assert "$" not in expression, expression
    return expression


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    arguments = parser.parse_args()
    checks = Checks()
    checks.rules()
    traffic, prometheus = Traffic(arguments.bin), None
    try:
        traffic.start()
        traffic.round()
        checks.lint(traffic.scrape())
        prometheus = Prometheus(traffic.world)
        seen = lambda: sum(float(it["value"][1]) for it in prometheus.samples("sum(mcpl_events_total)"))
        # A histogram is there from its first duration on: what a rate sees has to come after that.
        until("Prometheus has the first round", lambda: seen() == traffic.events())
        traffic.round()
        traffic.reject()
        until("Prometheus has the second round", lambda: seen() == traffic.events())
        until("and the reload", lambda: prometheus.samples('increase(mcpl_reloads_total{mcpl_reload_result="applied"}[1m]) > 0'))
        checks.scraped(prometheus)
        checks.dashboard(prometheus)
        checks.alerts(prometheus)
    except BaseException:
        print((traffic.world.folder / "stderr.log").read_text()[-3000:], file=sys.stderr)
        raise
    finally:
        if prometheus:
            prometheus.close()
        traffic.world.close()
    print(f"{checks.done} passed, 0 failed")


if __name__ == "__main__":
    main()
