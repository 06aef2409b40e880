#!/usr/bin/env python3
"""A scripted text model behind Chat Completions that plays the tasks of `run.py` for coding agents.

It knows nothing of tools but what the prompt says, like any text model: the markers, the tools and their parameters are read
from the system message, and how far it is, from the results in the conversation.
"""

import argparse
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BUG = "return a - b"
FIX = "return a + b"

# What the model writes to a file: text that JSON, shells, patches and the block format could each spoil. The marker is a plain
# one, so it is text where the markers have a secret in them.
NOTES = (
    "# Notes \u2014 gr\u00f6\u00dfer\n"
    "\n"
    'She said: "it\'s C:\\new\\table, 100 % ${HOME} `id` $(id)"\n'
    "\ttab, trailing spaces:  \n"
    "!!!GADGET_START:Name:id\n"
    "<<<END 0>>>\n"
    '{"a": [1, "\\u0041"]}\n'
    "\n"
    "last line\n"
)

MAX_REPLIES = 20


def text_of(message):
    """The text of a message, whose content is text or a list of parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(part.get("text") or "" for part in content if isinstance(part, dict))
    return content or ""


class Prompt:
    """What the model sees of a request."""

    def __init__(self, request):
        self.messages = request.get("messages") or []
        self.system = "\n".join(text_of(it) for it in self.messages if it.get("role") == "system")
        self.users = [text_of(it) for it in self.messages if it.get("role") == "user"]
        self.all = "\n".join(text_of(it) for it in self.messages)
        self.replies = sum(it.get("role") == "assistant" for it in self.messages)
        marker = re.search(r"^!!!GADGET_START( \w+ \w+)?:NAME$", self.system, re.M)
        self.suffix = (marker.group(1) or "") if marker else None
        self.tools = self.read_tools()
        self.results = self.read_results()
        tasks = re.findall(r"task: ([a-z-]+)", "\n".join(self.users))
        # The last: an agent that another one started may have that one's conversation before its own task.
        self.task = tasks[-1] if tasks else None

    def read_tools(self):
        """The parameters of each tool, with whether they are required, by the headings of the catalogue."""
        start, end = self.system.find("\n# Tools\n"), self.system.rfind("\n# Calling a tool\n")
        tools, name = {}, None
        for line in self.system[start:end].splitlines() if 0 <= start < end else []:
            if heading := re.fullmatch(r"## (\S+)", line):
                name = heading.group(1)
                tools[name] = {}
            elif name and (parameter := re.match(r"- (\w+) \(.*?(required|optional)", line)):
                tools[name][parameter.group(1)] = parameter.group(2) == "required"
        return tools

    def read_results(self):
        """The results of the conversation, each as (id, status, text)."""
        word = re.search(r"<<<RESULT … (\w+ \w+)>>>", self.system)
        if not word:
            return []
        word = word.group(1)
        pattern = rf"^<<<RESULT (\S+) (\S+) (\S+) {word}>>>\n(.*?)\n?^<<<END {word}>>>"
        found = re.finditer(pattern, "\n".join(self.users), re.S | re.M)
        return [(it.group(1), it.group(3), it.group(4)) for it in found]

    def result(self, call):
        """The text of the result of a call; empty if there is none."""
        return next((text for name, _, text in self.results if name == call), "")

    def folder(self):
        """The working directory that the agent names."""
        found = re.search(r"<cwd>(.*?)</cwd>|[Ww]orking directory: (\S+)", self.all)
        return (found.group(1) or found.group(2)) if found else "."

    def call(self, tool, call, *arguments):
        """A block. Values are written so that no line of them begins with a marker of this prompt."""
        names = "GADGET_START|GADGET_END|ARG"
        lines = [f"!!!GADGET_START{self.suffix}:{tool}:{call}"]
        for name, value in arguments:
            value = re.sub(rf"^(?=\\*!!!(?:{names}){self.suffix}(?!\w))", r"\\", value, flags=re.M)
            lines += [f"!!!ARG{self.suffix}:{name}", value]
        return "\n".join([*lines, f"!!!GADGET_END{self.suffix}", ""])

    def shell(self, call, command):
        """A call of the tool that runs a command, in the form of whichever there is."""
        for tool, name in [("exec_command", "cmd"), ("shell_command", "command"), ("Bash", "command")]:
            if tool in self.tools:
                return self.call(tool, call, (name, command))
        if exec_tool := self.exec_tool():
            source = f"const r = await tools.exec_command({json.dumps({'cmd': command})});\ntext(r.output ?? r);"
            return self.call(exec_tool, call, ("input", source))
        for tool in ("shell", "local_shell"):
            if tool in self.tools:
                words = enumerate(["bash", "-lc", command])
                return self.call(tool, call, *((f"command/{at}", word) for at, word in words))
        return f"There is no shell among {sorted(self.tools)}."

    def exec_tool(self):
        """Codex's tool that runs JavaScript, which calls the other tools: newer models get it instead of a shell."""
        return next((name for name in self.tools if re.fullmatch(r"(functions\.)?exec", name)), None)

    def patch(self, call, patch):
        """A call of Codex's patch tool, or of the shell, where Codex recognises the same command."""
        if "apply_patch" in self.tools:
            return self.call("apply_patch", call, ("input", patch))
        if exec_tool := self.exec_tool():
            source = f"text(await tools.apply_patch({json.dumps(patch)}));"
            return self.call(exec_tool, call, ("input", source))
        return self.shell(call, f"apply_patch <<'PATCH'\n{patch}\nPATCH")


def fix(prompt):
    """Reads two files at once, sees the test fail, edits a file and writes one, sees the test pass."""
    folder = prompt.folder()
    step = {id: None for id, _, _ in prompt.results}
    unread = [(id, name) for id, name in (("r1", "add.py"), ("r2", "test_add.py")) if id not in step]
    if unread:
        # Where several calls are not wanted, only the first is made, and the second is left for the next reply.
        if "Read" in prompt.tools:
            calls = [prompt.call("Read", id, ("file_path", f"{folder}/{name}")) for id, name in unread]
        else:
            calls = [prompt.shell(id, f"cat {name}") for id, name in unread]
        return "I will read both files.\n\n" + "".join(calls)
    if BUG not in prompt.result("r1") or "add(2, 3)" not in prompt.result("r2"):
        return "Failed: the files did not come."
    if "t1" not in step:
        return "The sign looks wrong; the test should show it.\n\n" + prompt.shell("t1", "python3 test_add.py")
    if "AssertionError" not in prompt.result("t1"):
        return "Failed: the test did not fail."
    if "e1" not in step:
        return edit(prompt, folder)
    if "w1" not in step:
        return write(prompt, folder)
    if "t2" not in step:
        return prompt.shell("t2", "python3 test_add.py && cat NOTES.md")
    if "all tests pass" not in prompt.result("t2"):
        return "Failed: the test does not pass."
    return "Done."


def edit(prompt, folder):
    if "Edit" in prompt.tools:
        old = f"def add(a, b):\n    {BUG}"
        new = f"def add(a, b):\n    # Adds.\n    {FIX}"
        return prompt.call("Edit", "e1", ("file_path", f"{folder}/add.py"), ("old_string", old), ("new_string", new))
    lines = ["*** Begin Patch", "*** Update File: add.py", "@@", " def add(a, b):"]
    lines += [f"-    {BUG}", "+    # Adds.", f"+    {FIX}", "*** End Patch"]
    return prompt.patch("e1", "\n".join(lines))


def write(prompt, folder):
    if "Write" in prompt.tools:
        return prompt.call("Write", "w1", ("file_path", f"{folder}/NOTES.md"), ("content", NOTES))
    lines = ["*** Begin Patch", "*** Add File: NOTES.md", *(f"+{line}" for line in NOTES.splitlines()), "*** End Patch"]
    return prompt.patch("w1", "\n".join(lines))


def deferred(prompt):
    """Loads a tool that Claude Code names without its schema, and calls it."""
    step = {id: None for id, _, _ in prompt.results}
    if "s1" not in step:
        # What the prompt calls optional is left out.
        more = [("max_results", "1")] if prompt.tools.get("ToolSearch", {}).get("max_results") else []
        return prompt.call("ToolSearch", "s1", ("query", "select:TaskStop"), *more)
    if "c1" not in step:
        if "TaskStop" not in prompt.tools:
            return "Failed: the tool that was searched is not offered."
        return prompt.call("TaskStop", "c1", ("task_id", "none"))
    return "Done."


def agents(prompt):
    """Lets another agent answer a question: a tool of a namespace in Codex."""
    step = {id: None for id, _, _ in prompt.results}
    question = "task: answer. Say what nine times six is."
    if "a1" not in step:
        if "Agent" in prompt.tools:
            arguments = [("description", "Answer a question"), ("prompt", question), ("run_in_background", "false")]
            return prompt.call("Agent", "a1", *arguments)
        name = next((name for name in prompt.tools if name.endswith("spawn_agent")), "spawn_agent")
        arguments = [("message", question)]
        if "task_name" in prompt.tools.get(name, []):
            arguments.append(("task_name", "nine"))
        return prompt.call(name, "a1", *arguments)
    if "Fifty-four" in prompt.all:
        return "Done."
    name = next((name for name in prompt.tools if name.endswith("wait_agent")), None)
    if name is None or "a3" in step:
        return "Failed: no answer of the other agent."
    arguments = [("timeout_ms", "10000")]
    if agent := re.search(r'"agent_id":\s*"([^"]+)"', prompt.result("a1")):
        arguments.append(("targets/0", agent.group(1)))
    return prompt.call(name, "a3" if "a2" in step else "a2", *arguments)


def think(prompt):
    """Thinks in tags, as many local models do, before it calls a tool."""
    if not prompt.results:
        return "<think>\nHm, nine times six.\n</think>\nLet me see.\n" + prompt.shell("k1", "echo $((9 * 6))")
    return "Done." if "54" in prompt.result("k1") else "Failed: no result."


def repair(prompt):
    """Leaves out what a call needs; the gateway asks for a correction, of which the agent knows nothing."""
    if prompt.result("k1") and "Invalid parameters" not in prompt.result("k1"):
        return "Done." if prompt.replies == 1 else "Failed: the agent has seen the invalid call."
    if "Invalid parameters" in prompt.result("k1"):
        return prompt.shell("k1", "echo fifty-four")
    return prompt.call("Bash" if "Bash" in prompt.tools else "exec_command", "k1")


def image(prompt):
    """Looks at an image: it must come back as one."""
    if not prompt.results:
        path = f"{prompt.folder()}/dot.png"
        if "Read" in prompt.tools:
            return prompt.call("Read", "i1", ("file_path", path))
        return prompt.call("view_image", "i1", ("path", path))
    contents = [it.get("content") for it in prompt.messages]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    return "Done." if any(part.get("type") == "image_url" for part in parts) else "Failed: no image came."


def again(prompt):
    """The second task of a conversation: the first one's results must be there."""
    return "Done." if prompt.result("t2") else "Failed: the conversation was not carried on."


def mcp(prompt):
    """Calls a tool of an MCP server that the agent runs."""
    name = next((name for name in prompt.tools if name.endswith("multiply")), None)
    if prompt.result("m1"):
        return "Done." if "54" in prompt.result("m1") else "Failed: no result."
    if name is not None:
        return prompt.call(name, "m1", ("a", "6"), ("b", "9"))
    if "ToolSearch" in prompt.tools and not prompt.results:
        return prompt.call("ToolSearch", "s1", ("query", "select:mcp__demo__multiply"), ("max_results", "1"))
    return f"Failed: no tool of the MCP server among {sorted(prompt.tools)}."


def search(prompt):
    """Searches the web, for which Claude Code asks the model in a request of its own."""
    if prompt.result("q1"):
        return "Done." if "Fifty-four." in prompt.result("q1") else "Failed: no answer."
    if "WebSearch" in prompt.tools:
        return prompt.call("WebSearch", "q1", ("query", "nine times six"))
    return prompt.call("ToolSearch", "s1", ("query", "select:WebSearch"), ("max_results", "1"))


def compact(prompt):
    """Runs a command, then sums the conversation up where the agent asks for it."""
    if re.search(r"(?i)handoff summary|detailed summary", prompt.users[-1]):
        return "Summary: the command was run."
    if "Summary: the command was run." in prompt.all:
        return "Done."
    if prompt.results:
        return "Failed: nobody asked for a summary."
    return prompt.shell("k1", "echo fifty-four")


TASKS = {
    "fix": fix,
    "again": again,
    "deferred": deferred,
    "agents": agents,
    "think": think,
    "repair": repair,
    "image": image,
    "mcp": mcp,
    "search": search,
    "compact": compact,
    "answer": lambda _: "Fifty-four.",
    "busy": lambda _: "Done.",
    "cut": lambda _: "Done, but this is longer than what comes before the connection breaks.\n\nDone.",
}

# What goes wrong with the first requests of a task: a status, or a stream that breaks off.
TROUBLES = {"busy": [429, 503], "cut": ["cut"]}


def reply_to(prompt):
    if prompt.task is None:
        # A side request, such as one for a title.
        return "Fifty-four."
    if prompt.replies > MAX_REPLIES:
        return "Failed: too many turns."
    return TASKS.get(prompt.task, lambda _: "Failed: unknown task.")(prompt)


def usage_of(prompt):
    """Tokens. Those of a conversation to be compacted are many, so that the agent does so."""
    is_full = prompt.task == "compact" and prompt.suffix is not None and "Summary: the command" not in prompt.all
    count = 100_000 if is_full else 1000
    return {"prompt_tokens": count, "completion_tokens": 50, "total_tokens": count + 50}


def frames(text, model, usage):
    """The events of a reply, with a few characters in each."""
    def event(choices, **fields):
        chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": choices}
        chunk |= fields
        return f"data: {json.dumps(chunk)}\n\n"

    def delta(value, reason=None):
        return event([{"index": 0, "delta": value, "finish_reason": reason}])

    yield delta({"role": "assistant", "content": ""})
    for at in range(0, len(text), 7):
        yield delta({"content": text[at : at + 7]})
    yield delta({}, "stop")
    yield event([], usage=usage)
    yield "data: [DONE]\n\n"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    log_path = None
    lock = threading.Lock()
    troubles = {}

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            request = json.loads(body)
            prompt = Prompt(request)
            text, usage = reply_to(prompt), usage_of(prompt)
            entry = {"task": prompt.task, "tools": sorted(prompt.tools), "request": request, "reply": text}
        except Exception as error:  # A defect here must show as an answer of the agent, not as a server that is away.
            request, text, usage = {}, f"Failed: {error!r}", None
            entry = {"body": body.decode("utf-8", "replace"), "reply": text}
        if self.log_path:
            with self.lock, open(self.log_path, "a", encoding="utf-8") as log:
                log.write(json.dumps(entry) + "\n")
        model = request.get("model") or "scripted"
        trouble = self.trouble(entry.get("task"))
        if isinstance(trouble, int):
            self.send("application/json", json.dumps({"error": {"message": "busy"}}), trouble)
        elif trouble and request.get("stream"):
            # Fewer bytes than announced: the client sees a connection that breaks off.
            self.send("text/event-stream", "".join(list(frames(text, model, usage))[:4]), missing=100)
        elif request.get("stream"):
            self.send("text/event-stream", "".join(frames(text, model, usage)))
        else:
            message = {"role": "assistant", "content": text}
            choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
            self.send("application/json", json.dumps({"id": "chatcmpl-1", "model": model, "choices": choices, "usage": usage}))

    def do_GET(self):
        self.send("application/json", json.dumps({"object": "list", "data": [{"id": "scripted", "object": "model"}]}))

    def trouble(self, task):
        """What goes wrong with this request."""
        with self.lock:
            left = self.troubles.setdefault(task, list(TROUBLES.get(task, [])))
            return left.pop(0) if left else None

    def send(self, kind, text, status=200, missing=0):
        data = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data) + missing))
        if status != 200:
            self.send_header("retry-after", "1")
        self.close_connection = self.close_connection or missing > 0
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def serve(port=0, log=None):
    """A server on a free port, which runs in a thread of its own."""
    Handler.log_path = log
    Handler.troubles = {}
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", help="file that gets every request and reply, one JSON object a line")
    options = parser.parse_args()
    running = serve(options.port, options.log)
    print(f"http://127.0.0.1:{running.server_address[1]}/v1", flush=True)
    threading.Event().wait()
