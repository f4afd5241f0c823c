#!/usr/bin/env python3
"""Runs the lines of examples/container/Dockerfile in plain folders, where there is no container engine.

    container.py build     the build stage: leaves the program in the target folder, as `cargo build` does
    container.py image     the last stage, from what `build` left: whether the image works

A stage is a folder; a word of a RUN line that is an absolute path is meant below it. What stands in for an engine:
the base images are this machine, caches are the target folder and cargo's own. Anything else that the file may hold
and this cannot do is an error, not left out.
"""

import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
HERE = REPOSITORY / "examples/container"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")).resolve()
BUILT = TARGET / "container"


class Stage:
    """One FROM and what follows it."""

    def __init__(self, base, name):
        self.base, self.name, self.lines = base, name, []
        self.env, self.workdir, self.user = {}, "/", None
        self.healthcheck, self.entrypoint, self.cmd, self.stop, self.volumes = None, [], [], None, []


def wrong(why):
    sys.exit(f"{HERE / 'Dockerfile'}: {why}")


def stages():
    """The file, read: its arguments filled in, its continued lines joined."""
    text = re.sub(r"(?m)^\s*#.*\n", "", (HERE / "Dockerfile").read_text())
    args, found = {}, []
    for line in re.sub(r"\\\n", "", text).splitlines():
        if not line.strip():
            continue
        word, rest = line.split(None, 1)
        if word == "ARG":
            name, value = rest.split("=", 1)
            args[name] = value
        elif word == "FROM":
            base, *name = re.sub(r"\$\{(\w+)\}", lambda it: args[it[1]], rest).split(" AS ")
            found.append(Stage(base, name[0] if name else None))
        elif not found:
            wrong(f"{word} before FROM")
        else:
            read(found[-1], word, rest)
    version = re.search(r'rust-version = "(.+)"', (REPOSITORY / "Cargo.toml").read_text())[1]
    numbers = lambda it: [int(part) for part in it.split(".")]
    if numbers(args["RUST"]) < numbers(version):
        wrong(f"RUST is {args['RUST']}, and Cargo.toml asks for {version}")
    return found


def read(stage, word, rest):
    if word in ("RUN", "COPY"):
        stage.lines.append((word, rest, stage.workdir))
    elif word == "ENV":
        stage.env.update(pair.split("=", 1) for pair in shlex.split(rest))
    elif word == "WORKDIR":
        stage.workdir = rest
    elif word == "USER":
        stage.user = rest
    elif word == "STOPSIGNAL":
        stage.stop = rest
    elif word == "VOLUME":
        stage.volumes.append(rest)
    elif word == "HEALTHCHECK":
        stage.healthcheck = json.loads(rest.split(" CMD ", 1)[1])
    elif word in ("ENTRYPOINT", "CMD"):
        setattr(stage, word.lower(), json.loads(rest))
    else:
        wrong(f"{word} is not known to {Path(__file__).name}")


def below(root, path):
    return root / path.lstrip("/")


def ignored():
    """Whether a path of the context is left out, by the .dockerignore beside the file."""
    lines = (HERE / "Dockerfile.dockerignore").read_text().splitlines()
    patterns = [line for line in lines if line and not line.startswith("#")]
    if odd := [it for it in patterns if it.startswith("!") or not it.startswith(("/", "**/"))]:
        wrong(f"the .dockerignore has patterns that {Path(__file__).name} does not know: {odd}")

    def leave(folder, names):
        inside = Path(folder).relative_to(REPOSITORY)
        return [
            name
            for name in names
            for pattern in patterns
            if (fnmatch.fnmatch(name, pattern[3:]) if pattern.startswith("**/") else f"/{inside / name}" == pattern)
        ]

    return leave


def copy(stage, roots, root, rest, workdir):
    words = rest.split()
    source_root = None
    while words[0].startswith("--"):
        option, value = words.pop(0).split("=", 1)
        if option != "--from":
            wrong(f"COPY {option} is not known to {Path(__file__).name}")
        source_root = roots[value]
    *sources, to = words
    target = below(root, os.path.join(workdir, to))
    for source in sources:
        if source_root is None:
            shutil.copytree(REPOSITORY / source, target, ignore=ignored(), dirs_exist_ok=True, symlinks=True)
            continue
        there = below(source_root, source)
        if not there.exists() and not Path(source).exists():
            wrong(f"COPY {rest}: the stage has no {source}")
        target.parent.mkdir(parents=True, exist_ok=True)
        # What the stage did not make comes from its base image.
        shutil.copy2(there if there.exists() else source, target)


def run(root, env, rest, workdir):
    rest = re.sub(r"--mount=type=cache,target=\S+", "", rest).strip()
    print(f"RUN {re.sub(r' +', ' ', rest)}", flush=True)
    words = re.split(r"(\s+)", rest)
    mapped = "".join(str(below(root, word)) if word.startswith("/") else word for word in words)
    subprocess.run(["sh", "-ec", mapped], cwd=below(root, workdir), env={**os.environ, **env}, check=True)


def carry_out(stage, roots, root, env):
    root.mkdir(parents=True, exist_ok=True)
    for word, rest, workdir in stage.lines:
        below(root, workdir).mkdir(parents=True, exist_ok=True)
        if word == "COPY":
            copy(stage, roots, root, rest, workdir)
        else:
            run(root, env, rest, workdir)


def build():
    stage = stages()[0]
    # Emptied, but not moved: cargo knows a package by its folder, and times are copied with the files.
    shutil.rmtree(BUILT, ignore_errors=True)
    carry_out(stage, {}, BUILT, {**stage.env, "CARGO_TARGET_DIR": str(TARGET)})
    if not (below(BUILT, stage.workdir) / ".cargo/config.toml").is_file():
        wrong("the build does not see .cargo/config.toml: the journal would be compiled to sync more than it must")


def image():
    if os.geteuid() != 0:
        print("NOT RUN: the last stage of the Dockerfile gives files away, which takes root")
        return
    first, last = stages()
    # Short: a socket's path may have 107 bytes.
    with tempfile.TemporaryDirectory(prefix="image-") as folder:
        root = Path(folder)
        root.chmod(0o755)
        carry_out(last, {first.name: BUILT}, root, {})
        try_out(last, root)


def try_out(stage, root):
    user = re.fullmatch(r"([1-9]\d*):([1-9]\d*)", stage.user or "")
    if not user:
        wrong("USER is no pair of numbers other than 0: Kubernetes cannot tell that it is not root")
    ids = {"user": int(user[1]), "group": int(user[2]), "extra_groups": []}
    [volume] = stage.volumes
    state = below(root, volume)

    def here(word):
        return str(below(root, word)) if word.startswith("/") else word.replace(f"'{volume}", f"'{state}")

    made = state.stat()
    if (made.st_mode & 0o777, made.st_uid) != (0o700, ids["user"]):
        wrong(f"the volume is {made.st_mode & 0o777:o} of {made.st_uid}")
    config = below(root, stage.cmd[stage.cmd.index("--config") + 1])
    config.parent.mkdir(parents=True)
    config.write_text(re.sub(r"0\.0\.0\.0:\d+", f"127.0.0.1:{free_port()}", (HERE / "sidecar.toml").read_text()))
    env = {"PATH": os.environ["PATH"], **{name: here(value) for name, value in stage.env.items()}}
    program = [here(word) for word in stage.entrypoint]
    roots = below(root, "/etc/ssl/certs/ca-certificates.crt").read_text()
    if "BEGIN CERTIFICATE" not in roots:
        wrong("the image has no certificates to verify others against")

    def asked(*words):
        return subprocess.run([*words], env=env, **ids, check=True, capture_output=True, text=True).stdout

    print(asked(*program, "--version").strip())
    asked(*program, "check", "--config", str(config))
    if not shutil.which("perl"):
        print("NOT RUN: the health check is perl, and this machine has none")
        return
    healthy = lambda: subprocess.run(list(map(here, stage.healthcheck)), env=env, **ids, timeout=5).returncode
    if healthy() != 1:
        wrong("HEALTHCHECK finds health where nothing runs")
    with open(root / "log", "w+") as log, subprocess.Popen(
        program + list(map(here, stage.cmd)), env=env, **ids, stdin=subprocess.DEVNULL, stderr=log
    ) as running:
        try:
            end = time.monotonic() + 15
            while running.poll() is None and healthy() != 0:
                if time.monotonic() > end:
                    wrong("HEALTHCHECK does not find the running program")
                time.sleep(0.05)
            if running.poll() is not None:
                wrong(f"the program ended: {(root / 'log').read_text()}")
            if not (state / "journal.db").exists():
                wrong("the journal does not lie in the volume")
            subprocess.run(["kill", f"-{stage.stop.removeprefix('SIG')}", str(running.pid)], check=True)
            if code := running.wait(15):
                wrong(f"it ended with {code} on STOPSIGNAL")
        finally:
            running.kill()
    if healthy() != 1:
        wrong("HEALTHCHECK finds health where nothing runs any more")
    print(f"it runs as {stage.user}, is found healthy, keeps its state in {volume} and ends on {stage.stop}")


def free_port():
    import socket

    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


if __name__ == "__main__":
    {"build": build, "image": image}[sys.argv[1]]()
