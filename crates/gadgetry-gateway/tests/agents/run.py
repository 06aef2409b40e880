#!/usr/bin/env python3
"""Lets coding agents do small tasks through the gateway, with a scripted text model behind it.

    npm install --prefix DIR @openai/codex@0.169.0 @anthropic-ai/claude-code@2.1.330
    python3 crates/gadgetry-gateway/tests/agents/run.py target/debug/gadgetry --bin DIR/node_modules/.bin

Claude Code needs Node 22 to install without a warning, but its program is a binary that needs none. Nothing but the gateway is
reached: no account, no other network. Prints one line for each case; the exit code is 1 if one failed.
An agent that is not installed is skipped, unless it is asked for by --only.
"""

import argparse
import base64
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import NamedTuple

sys.dont_write_bytecode = True

import model  # noqa: E402
from recorder import Recorder  # noqa: E402

TIMEOUT = 120

# One white pixel.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2FAAAAABJRU5ErkJggg=="

TEST = """\
from add import add

assert add(2, 3) == 5, "AssertionError: add(2, 3) is not 5"
print("all tests pass")
"""

HERE = Path(__file__).resolve().parent
MCP_SERVER = str(HERE / "mcp_server.py")


def codex(program, prompt, url, env, name, *more):
    """`codex exec`; the Responses API is the only one that it speaks."""
    provider = "model_providers.gadgetry"
    settings = ["model_provider=gadgetry", f"{provider}.name=gadgetry", f"{provider}.base_url={url}/v1"]
    settings.append(f"{provider}.wire_api=responses")
    command = [program, "exec"]
    if "resume" in more:
        command += ["resume", "--last"]
    command += ["--skip-git-repo-check", "-m", name]
    if "resume" in more:
        settings.append("sandbox_mode=danger-full-access")
    else:
        command += ["--sandbox", "danger-full-access"]
    if "mcp" in more:
        settings += [f"mcp_servers.demo.command={sys.executable}", f"mcp_servers.demo.args={json.dumps([MCP_SERVER])}"]
    if "compact" in more:
        settings.append("model_auto_compact_token_limit=50000")
    for setting in settings:
        command += ["-c", setting]
    return [*command, prompt]


def claude(program, prompt, url, env, name, *more):
    env |= {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "any",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        # As root it refuses to skip permissions without this.
        "IS_SANDBOX": "1",
    }
    command = [program, "-p", prompt, "--dangerously-skip-permissions", "--model", name]
    if "resume" in more:
        command.append("--continue")
    if "no-tool-search" in more:
        env["ENABLE_TOOL_SEARCH"] = "false"
    if "mcp" in more:
        servers = {"demo": {"command": sys.executable, "args": [MCP_SERVER]}}
        command += ["--mcp-config", json.dumps({"mcpServers": servers}), "--strict-mcp-config"]
    return command


class Case(NamedTuple):
    name: str
    agent: object
    model: str
    task: str
    more: tuple = ()


# Codex offers its patch tool only to some models that it knows, and one that runs JavaScript to others.
CASES = [
    Case("codex", codex, "scripted", "fix"),
    Case("codex-again", codex, "scripted", "again", ("resume",)),
    Case("codex-patch", codex, "gpt-5.5", "fix"),
    Case("codex-exec", codex, "gpt-6.1-sol", "fix"),
    Case("codex-agents", codex, "scripted", "agents"),
    Case("codex-exec-agents", codex, "gpt-6.1-sol", "agents"),
    Case("codex-think", codex, "scripted", "think"),
    Case("codex-repair", codex, "scripted", "repair"),
    Case("codex-image", codex, "scripted", "image"),
    Case("codex-mcp", codex, "scripted", "mcp", ("mcp",)),
    Case("codex-busy", codex, "scripted", "busy"),
    Case("codex-cut", codex, "scripted", "cut"),
    Case("codex-compact", codex, "scripted", "compact", ("compact",)),
    Case("claude", claude, "claude-opus-5-5", "fix"),
    Case("claude-again", claude, "claude-opus-5-5", "again", ("resume",)),
    Case("claude-other-name", claude, "scripted", "fix"),
    Case("claude-deferred", claude, "claude-opus-5-5", "deferred"),
    Case("claude-agents", claude, "claude-opus-5-5", "agents"),
    Case("claude-think", claude, "claude-opus-5-5", "think"),
    Case("claude-repair", claude, "claude-opus-5-5", "repair"),
    Case("claude-image", claude, "claude-opus-5-5", "image"),
    Case("claude-mcp", claude, "claude-opus-5-5", "mcp", ("mcp",)),
    Case("claude-mcp-offered", claude, "claude-opus-5-5", "mcp", ("mcp", "no-tool-search")),
    Case("claude-busy", claude, "claude-opus-5-5", "busy"),
    Case("claude-cut", claude, "claude-opus-5-5", "cut"),
    Case("claude-search", claude, "claude-opus-5-5", "search"),
]


class Gateway:
    """The gateway's process, and its address."""

    def __init__(self, binary, upstream, log):
        command = [binary, "serve", "--upstream", upstream, "--listen", "127.0.0.1:0", "-v"]
        env = {"PATH": os.environ.get("PATH", ""), "GADGETRY_LOG": "debug"}
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env)
        self.port = None
        with open(log, "w", encoding="utf-8") as file:
            for line in self.process.stderr:
                file.write(line)
                if found := re.search(r"http://127\.0\.0\.1:(\d+)/v1 with", line):
                    self.port = int(found.group(1))
                    break
        if self.port is None:
            raise SystemExit(f"the gateway did not start: see {log}")
        threading.Thread(target=self.drain, args=(log,), daemon=True).start()

    def drain(self, log):
        with open(log, "a", encoding="utf-8") as file:
            for line in self.process.stderr:
                file.write(line)
                file.flush()

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()


def run(command, folder, env, log):
    """The agent's output; it is stopped with all its children after a time."""
    with open(log, "w", encoding="utf-8") as file:
        process = subprocess.Popen(
            command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=file,
            text=True, start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            return output, f"no end after {TIMEOUT} s"
    return output, None if process.returncode == 0 else f"exit code {process.returncode}"


def play(case, program, gateway, scratch):
    """Plays a case; the reason of its failure, or None, and the recorder."""
    scratch = scratch / (case.agent.__name__ if "resume" in case.more else case.name)
    folder, home = scratch / "work", scratch / "home"
    if "resume" in case.more and not folder.exists():
        raise SystemExit(f"{case.name} goes on from the case {case.agent.__name__}: --only has to match both")
    if "resume" not in case.more:
        folder.mkdir(parents=True)
        home.mkdir()
        (folder / "add.py").write_text(f"def add(a, b):\n    {model.BUG}\n")
        (folder / "test_add.py").write_text(TEST)
        (folder / "dot.png").write_bytes(base64.b64decode(PNG))
    model.Handler.troubles = {}
    recorder = Recorder(gateway.port, scratch / f"{case.task}.jsonl")
    env = {"PATH": os.environ.get("PATH", ""), "HOME": str(home), "LANG": "C.UTF-8", "TERM": "dumb"}
    prompt = f"task: {case.task}. Fix what makes test_add.py fail, and write NOTES.md."
    command = case.agent(program, prompt, recorder.url, env, case.model, *case.more)
    output, reason = run(command, folder, env, scratch / f"{case.task}-stderr.txt")
    (scratch / f"{case.task}-stdout.txt").write_text(output)
    # A task in which the upstream fails may show failures; the agent has to get over them.
    failures = [] if case.task in model.TROUBLES else recorder.failures()
    reason = reason or next(iter(failures), None)
    if output.strip().splitlines()[-1:] != ["Done."]:
        reason = f"{reason or ''} the answer is {output.strip()[-300:]!r}".strip()
    if reason is None and case.task == "fix":
        reason = wrong_files(folder)
    recorder.server.shutdown()
    return reason, recorder


def wrong_files(folder):
    """What is wrong with the files that the agent changed."""
    if (folder / "add.py").read_text() != f"def add(a, b):\n    # Adds.\n    {model.FIX}\n":
        return f"add.py is {(folder / 'add.py').read_text()!r}"
    notes = folder / "NOTES.md"
    if not notes.exists():
        return "there is no NOTES.md"
    # The last line break of a value belongs to the block format.
    if notes.read_text().rstrip("\n") != model.NOTES.rstrip("\n"):
        return f"NOTES.md is {notes.read_text()!r}"
    test = subprocess.run([sys.executable, "test_add.py"], cwd=folder, capture_output=True, text=True)
    return None if test.returncode == 0 else f"the test fails: {test.stderr}"


class Stripper:
    """Takes prose and what differs between runs out of a body: long texts become one character, ids become numbers."""

    VOLATILE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16,}")

    def __init__(self, scratch):
        self.scratch, self.seen = str(scratch), {}

    def strip(self, value, key=None):
        if isinstance(value, dict):
            return {name: self.strip(it, name) for name, it in value.items()}
        if isinstance(value, list):
            return [self.strip(it, key) for it in value]
        if not isinstance(value, str):
            return value
        if len(value) > 80 or key == "description":
            return "\u2026"
        value = value.replace(self.scratch, "")
        return self.VOLATILE.sub(lambda found: str(self.seen.setdefault(found.group(0), len(self.seen) + 1)), value)


# The cases of which a request is kept: its file, what it has to contain, and which of those it is.
FIXTURES = {
    "codex-patch": ("codex-request.json", '"custom_tool_call_output"', -1),
    "codex-exec-agents": ("codex-agent-request.json", '"agent_message"', 0),
    "claude": ("claude-code-request.json", '"tool_result"', -1),
}


def save_fixture(case, recorder, folder, scratch):
    name, needle, which = FIXTURES[case.name]
    bodies = [json.loads(it["body"]) for it in recorder.exchanges if needle in it["body"]]
    if bodies:
        body = Stripper(scratch / case.name).strip(bodies[which])
        (folder / name).write_text(json.dumps(body, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gateway", help="the binary `gadgetry`")
    parser.add_argument("--bin", help="folder with the agents' programs; else those on the PATH")
    parser.add_argument("--only", help="a pattern that names of cases match")
    parser.add_argument("--keep", help="folder for logs, which stays")
    parser.add_argument("--fixtures", help="folder for request bodies without prose")
    options = parser.parse_args()

    scratch = Path(options.keep or tempfile.mkdtemp(prefix="gadgetry-agents-")).resolve()
    scratch.mkdir(parents=True, exist_ok=True)
    server = model.serve(log=scratch / "model.jsonl")
    gateway = Gateway(options.gateway, f"http://127.0.0.1:{server.server_address[1]}/v1", scratch / "gateway.txt")
    has_failed = False
    try:
        for case in CASES:
            name, agent = case.name, case.agent
            if options.only and not re.fullmatch(options.only, name):
                continue
            program = shutil.which(agent.__name__, path=options.bin)
            if program is None:
                has_failed |= bool(options.only)
                print(f"{'FAIL' if options.only else 'skip'} {name}: {agent.__name__} is not installed", flush=True)
                continue
            reason, recorder = play(case, program, gateway, scratch)
            has_failed |= reason is not None
            print(f"FAIL {name}: {reason}" if reason else f"ok {name}", flush=True)
            for warning in recorder.warnings():
                print(f"  warning: {warning}")
            if options.fixtures and name in FIXTURES:
                save_fixture(case, recorder, Path(options.fixtures), scratch)
    finally:
        gateway.stop()
        if not options.keep and not has_failed:
            shutil.rmtree(scratch, ignore_errors=True)
    if has_failed:
        print(f"logs: {scratch}")
    return int(has_failed)


if __name__ == "__main__":
    sys.exit(main())
