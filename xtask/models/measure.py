"""`cargo xtask bench models`: how a small model calls tools through the gateway, next to its server's own native tools.

A gateway for each arm, one llama.cpp with one thread for all, temperature 0. An arm is a table of the gateway's rules, so a new
rule is a new row of ARMS; one that this gateway does not know is skipped. `--arm 'NAME: RULES'` adds one, such as
`--arm 'plain: markers = "plain"'`.

`--base` measures a model that only completes text as well, on the cases whose parameters are at most three scalars. The gateway
recognises it, too.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import bfcl

MAX_TOKENS = 150

# name, tool_choice, rules of the gateway (TOML), or None for the server's own tools. By default the gateway recognises the server and the
# size of the model, so it sends a grammar and two worked turns, and calls are JSON.
JSON = 'form = "json"\n'
BLOCKS = 'form = "block"\n'
BARE = "examples = 0\n"
FREE = 'constrain = "off"\n'
PLAIN = 'markers = "plain"\n'

ARMS = [
    ("required", "required", ""),
    ("auto", "auto", ""),
    ("required, blocks", "required", BLOCKS),
    ("auto, blocks", "auto", BLOCKS),
    ("required, blocks, plain markers", "required", BLOCKS + PLAIN),
    ("required, no grammar", "required", FREE),
    ("required, no examples", "required", BARE),
    ("required, blocks, no examples", "required", BLOCKS + BARE),
    ("required, neither", "required", BARE + FREE),
    ("native required", "required", None),
    ("native auto", "auto", None),
]

# The arms of a model that only completes text.
BASE = [
    ("base, required", "required", ""),
    ("base, auto", "auto", ""),
    ("base, required, json", "required", JSON),
    ("base, auto, json", "auto", JSON),
    ("base, required, no grammar", "required", FREE),
    ("base, required, no examples", "required", BARE),
]

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Returns the weather of a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "The city"}},
            "required": ["city"],
        },
    },
}


def main():
    bfcl.check()
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--launcher", nargs=2, required=True, metavar=("PYTHON", "PROGRAM"))
    options.add_argument("--model", required=True)
    options.add_argument("--base", help="the file of a model that only completes text")
    options.add_argument("--gateway", required=True)
    options.add_argument("--data", required=True)
    options.add_argument("--category", default="simple_python")
    options.add_argument("--cases", default="0-99", help="such as 0-99, or 5-95:10 for each tenth")
    options.add_argument("--arms", help="names of arms, with semicolons between them; all by default. Those of --base begin with 'base'")
    options.add_argument("--arm", action="append", default=[], help="NAME: RULES; both choices are run")
    options.add_argument("--times", type=int, default=20, help="cases whose time a token is measured")
    options.add_argument("--show", action="store_true", help="print the calls of each case")
    given = options.parse_args()

    arms = ARMS + (BASE if given.base else [])
    for text in given.arm:
        name, _, rules = text.partition(":")
        arms += [(f"{choice}, {name.strip()}", choice, rules.strip()) for choice in ("required", "auto")]
    if given.arms is not None:
        wanted = [it.strip() for it in given.arms.split(";")]
        unknown = set(wanted) - {name for name, *_ in arms}
        if unknown:
            sys.exit(f"unknown arms: {', '.join(sorted(unknown))}; there are: {'; '.join(it[0] for it in arms)}")
        arms = [it for it in arms if it[0] in wanted]
    cases = bfcl.cases(given.data, given.category, numbers(given.cases))

    of_base = [it for it in arms if it[0].startswith("base")]
    arms = [it for it in arms if it not in of_base]
    rows = {}
    if of_base:
        with Llama(given.launcher, given.base) as llama:
            few = [case for case in cases if bfcl.has_few_scalars(case)]
            table(llama, given, given.base, of_base, few, rows)
    sizes, ratio = {}, None
    if arms:
        with Llama(given.launcher, given.model) as llama:
            table(llama, given, given.model, arms, cases, rows)
            sizes, recorded = costs(llama, given)
            ratio = time_a_token(llama, recorded)
    bars(rows, sizes, ratio)


def table(llama, given, model, arms, cases, rows):
    """Measures arms of a model, and adds their rows."""
    print(f"### {os.path.basename(model)}, BFCL {given.category} {given.cases}: {len(cases)} cases\n")
    print("| arm | calls | valid | right function | right | tokens in / out | s a case |")
    print("|---|--:|--:|--:|--:|--:|--:|", flush=True)
    for name, choice, rules in arms:
        try:
            rows[name] = run(llama, given, name, choice, rules, cases)
        except Refused as why:
            print(f"| {name} | skipped: {why} | | | | | |", flush=True)
    print(flush=True)


def numbers(text):
    text, _, step = text.partition(":")
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1, int(step or 1))


class Refused(Exception):
    """The gateway does not know a rule."""


class Process:
    """A program that runs within a `with`."""

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class Llama(Process):
    def __init__(self, launcher, model):
        command = [*launcher, model, "--context", "8192", "--slots", "1", "--threads", "1"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            sys.exit("llama.cpp does not start")

    def __enter__(self):
        return self

    def tokens(self, text):
        return len(post(f"{self.url}/tokenize", {"content": text})["tokens"])

    def prompt(self, messages):
        return post(f"{self.url}/apply-template", {"messages": messages})["prompt"]


class Gateway(Process):
    """`gadgetry serve` before a server, with rules."""

    def __init__(self, program, upstream, rules):
        self.folder = tempfile.TemporaryDirectory()
        config = os.path.join(self.folder.name, "gateway.toml")
        with open(config, "w") as file:
            file.write(f'[rules]\n{rules}\n[[upstream]]\nname = "llama"\nurl = "{upstream}/v1"\n')
        self.process = subprocess.Popen(
            [program, "serve", "--config", config, "--listen", "127.0.0.1:0"],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "RUST_LOG": "error"},
        )
        said = []
        for line in self.process.stderr:
            said.append(line.strip())
            if line.startswith("serving http://"):
                self.url = line.split()[1].removesuffix("/v1")
                break
        else:
            self.process.wait()
            self.folder.cleanup()
            # The end of the message lists all rules.
            raise Refused(" ".join(said).split(", expected")[0])
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        super().__exit__(*error)
        self.folder.cleanup()


class Recorder:
    """An upstream that keeps its requests, and answers each with one word."""

    def __init__(self):
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                recorder.requests.append(json.loads(body))
                chunk = {"choices": [{"index": 0, "delta": {"content": "Yes."}, "finish_reason": "stop"}]}
                answer = f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def do_GET(self):
                # Nothing is recognised here.
                self.send_response(404)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.requests = []
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def post(url, body, timeout=600):
    data = json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        return json.load(answer)


def run(llama, given, name, choice, rules, cases):
    """Measures an arm, and prints its row."""
    total = dict.fromkeys(("calls", "valid", "function", "right", "in", "out", "answered", "seconds"), 0)
    server = Gateway(given.gateway, llama.url, rules) if rules is not None else None
    try:
        for at, case in enumerate(cases):
            print(f"\r{name}: {at + 1}/{len(cases)}", end="", file=sys.stderr, flush=True)
            body = {
                "model": "smollm2",
                "messages": case.messages,
                "tools": [case.tool],
                "tool_choice": choice,
                "temperature": 0,
                "max_tokens": MAX_TOKENS,
            }
            began = time.monotonic()
            try:
                reply = post(f"{(server or llama).url}/v1/chat/completions", body)
            except urllib.error.HTTPError as error:
                # The gateway says that the model has not called a tool, which it had to.
                reply = {"error": error.read().decode(errors="replace")}
            total["seconds"] += time.monotonic() - began
            message = (reply.get("choices") or [{}])[0].get("message") or {}
            calls = message.get("tool_calls") or []
            usage = reply.get("usage") or {}
            total["answered"] += bool(usage)
            total["in"] += usage.get("prompt_tokens", 0)
            total["out"] += usage.get("completion_tokens", 0)
            read = [(call["function"]["name"], parsed(call["function"]["arguments"])) for call in calls]
            schema = case.tool["function"]["parameters"]
            fits = [it == case.name and arguments is not None and bfcl.is_valid(arguments, schema) for it, arguments in read]
            total["calls"] += bool(read)
            total["valid"] += bool(read) and all(fits)
            total["function"] += bool(read) and all(it == case.name for it, _ in read)
            is_right = len(read) == 1 and bfcl.is_right(case, *read[0])
            total["right"] += is_right
            if given.show:
                said = read or message.get("content") or reply.get("error")
                print(f"\n  {'right' if is_right else 'wrong'} {case.id}: {said!r}", file=sys.stderr)
    finally:
        print("\r\033[K", end="", file=sys.stderr)
        if server:
            server.__exit__()
    count = len(cases)
    row = {key: 100 * total[key] / count for key in ("calls", "valid", "function", "right")}
    # An error has no numbers of tokens.
    row.update({key: total[key] / max(total["answered"], 1) for key in ("in", "out")})
    row["seconds"] = total["seconds"] / count
    print(
        f"| {name} | {row['calls']:.0f} % | {row['valid']:.0f} % | {row['function']:.0f} % | {row['right']:.0f} % "
        f"| {row['in']:.0f} / {row['out']:.0f} | {row['seconds']:.1f} |",
        flush=True,
    )
    return row


def parsed(arguments):
    try:
        return json.loads(arguments)
    except ValueError:
        return None


def costs(llama, given):
    """Tokens of a prompt with one tool, and of a call in each form; requests with a grammar, a case each.

    The recorder says nothing about itself, so the rules are those that follow from the server of a small model."""
    recorder = Recorder()
    question = {"role": "user", "content": "What is the weather in Paris?"}
    call = {"name": "get_weather", "arguments": '{"city": "Paris"}'}
    body = {"model": "smollm2", "messages": [question], "tools": [WEATHER]}
    history = [
        question,
        {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "type": "function", "function": call}]},
        {"role": "tool", "tool_call_id": "a", "content": "18 degrees"},
    ]
    sizes = {}
    for form in ("json", "block"):
        for examples in (0, 2):
            rules = f'form = "{form}"\nexamples = {examples}\n'
            with Gateway(given.gateway, recorder.url, rules) as gateway:
                first = sent(gateway, recorder, body)["messages"]
                sizes[form, examples] = llama.tokens(llama.prompt(first))
                messages = sent(gateway, recorder, {**body, "messages": history})["messages"]
        # The last one: a worked turn has the same tool.
        written = [it["content"] for it in messages if it["role"] == "assistant"]
        sizes[form] = llama.tokens(written[-1])
    recorded = []
    with Gateway(given.gateway, recorder.url, JSON + 'examples = 2\nconstrain = "llama-cpp"\n') as gateway:
        for case in bfcl.cases(given.data, given.category, range(given.times)):
            request = {**body, "messages": case.messages, "tools": [case.tool], "tool_choice": "required"}
            recorded.append(sent(gateway, recorder, request))
    return sizes, recorded


def sent(gateway, recorder, body):
    """What the gateway sends for a request, before it corrects anything."""
    recorder.requests.clear()
    try:
        post(f"{gateway.url}/v1/chat/completions", body)
    except urllib.error.HTTPError:
        # No call, though one is required.
        pass
    return recorder.requests[0]


def time_a_token(llama, recorded):
    """Time a token with the gateway's grammar, as a multiple of that without, in turn for each case."""
    spent = {True: [0.0, 0], False: [0.0, 0]}
    for request in recorded:
        for has_grammar in (True, False, False, True):
            body = {"messages": request["messages"], "temperature": 0, "max_tokens": 64, "ignore_eos": not has_grammar}
            if has_grammar:
                body["grammar"] = request.get("grammar")
            if has_grammar and body["grammar"] is None:
                return None
            timings = post(f"{llama.url}/v1/chat/completions", body)["timings"]
            spent[has_grammar][0] += timings["predicted_ms"]
            spent[has_grammar][1] += timings["predicted_n"]
    if not (spent[True][1] and spent[False][1]):
        return None
    rates = [ms / count for ms, count in (spent[True], spent[False])]
    return rates[0] / rates[1]


def bars(rows, sizes, ratio):
    """The table of the bars."""
    of = lambda name, key: rows[name][key] if name in rows else None
    best = lambda key, names: max((rows[it][key] for it in names), default=None)
    gateway = [it for it in rows if not it.startswith(("native", "base"))]
    required = [it for it in gateway if it.startswith("required")]
    blocks = [it for it in required if "blocks" in it]
    native = [it for it in rows if it.startswith("native")]
    with_grammar = [it for it in rows if it.startswith("base") and "no grammar" not in it]
    has_base = any(it.startswith("base") for it in rows)
    table = [
        ("gateway, `required`, default: calls", of("required", "calls"), 100, "%"),
        ("gateway, `required`, default: schema-valid", of("required", "valid"), 100, "%"),
        ("all values right, the best form", best("right", required), 62, "%"),
        ("the same as blocks", best("right", blocks), 55, "%"),
        ("gateway, `auto`, default: calls", of("auto", "calls"), 85, "%"),
        ("gateway, `auto`, default: right", of("auto", "right"), 50, "%"),
        ("llama.cpp's native tools: right", best("right", native), None, "%"),
        ("tokens of a one-tool prompt without examples", sizes.get(("json", 0)), -300, ""),
        ("the same with two", sizes.get(("json", 2)), -420, ""),
        ("the same two as blocks: without", sizes.get(("block", 0)), -300, ""),
        ("with two", sizes.get(("block", 2)), -420, ""),
        ("output tokens of a one-parameter call", sizes.get("json"), -32, ""),
        ("the same as a block", sizes.get("block"), -32, ""),
        ("time a token with grammar ÷ without", ratio, -1.05, ""),
    ]
    if has_base:
        base = ("a base model, at most three scalars: right", best("right", with_grammar), 40, "%")
        table = [it for it in table if it[1] is not None] + [base]
    print("\n| what | measured | bar | |\n|---|--:|--:|---|")
    for what, value, bar, unit in table:
        shown = "–" if value is None else f"{value:.2f}" if unit == "" and value < 10 else f"{value:.0f} {unit}".strip()
        if bar is None:
            print(f"| {what} | {shown} | shown | |")
            continue
        is_most = bar < 0
        wanted = f"{'≤' if is_most else '≥'} {abs(bar)} {unit}".strip()
        has = value is not None and (value <= -bar if is_most else value >= bar)
        print(f"| {what} | {shown} | {wanted} | {'PASS' if has else '' if value is None else 'missed'} |")


if __name__ == "__main__":
    main()
