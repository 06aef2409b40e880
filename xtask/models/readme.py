"""Runs the three programs of README.md as they are pasted, with a real model: readme.py GADGETRY PYTHON SDK LLAMA… MODEL.

GADGETRY is the program, PYTHON has the package, SDK has OpenAI's. The rest starts llama.cpp with the smallest model, at the addresses
that README names: that of Ollama, and that of the server behind the gateway. What such a model answers is up to it.
"""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SERVERS = {11434: "llama3.2", 8080: "any"}


def blocks(language: str) -> list[str]:
    """The code of README.md in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)


def printed(name: str, words: list[str], **options: object) -> str:
    """What a program prints, which must not be empty."""
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True, timeout=900, **options)
    print(f"{name}: {done.stdout.strip()}")
    if not done.stdout.strip():
        sys.exit(f"{name} of README.md prints nothing")
    return done.stdout


def in_rust(folder: pathlib.Path) -> None:
    """A project next to the clone, as the first block says."""
    project = folder / "mine"
    (project / "src").mkdir(parents=True)
    (folder / "gadgetry").symlink_to(ROOT)
    package = '[package]\nname = "mine"\nversion = "0.1.0"\nedition = "2024"\n\n'
    (project / "Cargo.toml").write_text(package + blocks("toml")[0])
    # The versions that are tested, and nothing from a network.
    (project / "Cargo.lock").write_text((ROOT / "Cargo.lock").read_text())
    (project / "src/main.rs").write_text(blocks("rust")[0])
    # Without what cargo has set for us, but for the folder of its packages.
    kept = lambda name: name == "CARGO_HOME" or not name.startswith("CARGO")
    environment = {name: value for name, value in os.environ.items() if kept(name)}
    words = ["cargo", "run", "--quiet", "--offline", "--target-dir", str(ROOT / "target/pasted")]
    printed("the program in Rust", words, cwd=project, env=environment)


def by_gateway(gadgetry: str, sdk: str, client: str) -> None:
    """The command that starts the gateway, and the client of OpenAI."""
    line = next(line for block in blocks("sh") for line in block.splitlines() if line.startswith("gadgetry serve"))
    words = [gadgetry, *shlex.split(line, comments=True)[1:]]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as gateway:
        try:
            print(gateway.stderr.readline().strip())
            arguments = json.loads(printed("the client of the gateway", [sdk, "-c", client]))
            if not isinstance(arguments["city"], str):
                sys.exit(f"the gateway delivered {arguments}")
        finally:
            gateway.terminate()
            gateway.stderr.read()


def main(gadgetry: str, python: str, sdk: str, *llama: str) -> None:
    client, agent = blocks("python")
    servers = []
    try:
        for port, alias in SERVERS.items():
            words = [*llama, "--port", str(port), "--alias", alias]
            server = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            servers.append(server)
            if not server.stdout.readline():
                sys.exit(f"llama.cpp does not start on port {port}; README.md names it, so it must be free")
        with tempfile.TemporaryDirectory() as folder:
            in_rust(pathlib.Path(folder))
        printed("the program in Python", [python, "-c", agent])
        by_gateway(gadgetry, sdk, client)
    finally:
        for server in servers:
            server.kill()


if __name__ == "__main__":
    main(*sys.argv[1:])
