"""What the checks with programs of others share: installing them, and running them."""

import json
import pathlib
import queue
import socket
import subprocess
import sys
import threading
import time

PATIENCE = 45


def install(folder, from_pypi, from_npm):
    """Installs packages into `folder`, each list in one go; the Python that has the first, the folder of the second."""
    python = folder / "venv/bin/python"
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    commands = [[python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *from_pypi]]
    (folder / "node").mkdir()
    if from_npm:
        npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", folder / "node"]
        commands.append([*npm, *from_npm])
    for command in [subprocess.Popen(command) for command in commands]:
        if command.wait() != 0:
            sys.exit(f"{command.args[0]} could not install what the peers need")
    return python, folder / "node"


class Process:
    """A process whose stdout is read as JSON, a line at a time."""

    def __init__(self, command, log):
        self.log = open(log, "w")
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self.log, text=True)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def next(self, name):
        line = self.lines.get(timeout=PATIENCE)
        if line is None:
            raise RuntimeError(f"it ended, and {name!r} did not come: {pathlib.Path(self.log.name).read_text()}")
        return line[name] if name in line else self.next(name)

    def end(self):
        self.process.terminate()
        self.process.wait(PATIENCE)
        self.log.close()


def wait_for(port, sidecar):
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            if sidecar.poll() is not None or time.monotonic() > end:
                raise
            time.sleep(0.02)
