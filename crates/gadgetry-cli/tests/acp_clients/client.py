"""The official Python SDK as the client of an agent; prints what it sees as one JSON object.

Arguments: what it does (`task`, `files`, `terminal`, `cancel` or `kill`), the kind of its answers to requests for permission, the folder of the session, and
the agent with its arguments.
"""

import asyncio
import json
import os
import sys

from acp import PROTOCOL_VERSION, RequestError, spawn_agent_process, text_block
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    CreateTerminalResponse,
    FileSystemCapabilities,
    ReadTextFileResponse,
    RequestPermissionResponse,
    TerminalOutputResponse,
    WaitForTerminalExitResponse,
    WriteTextFileResponse,
)

SCENARIO, CHOICE, FOLDER, PROGRAM, *ARGUMENTS = sys.argv[1:]


class Editor:
    def __init__(self):
        self.updates = []
        self.permissions = []
        # What is open, with changes that are not saved.
        self.files = {os.path.join(FOLDER, "a.txt"): "one\nunsaved\n"}
        self.terminals = {}
        self.released = []
        # Set with the commands of a session, which follow everything else that an answer is about.
        self.is_whole = asyncio.Event()

    async def read_text_file(self, session_id, path, line=None, limit=None, **_):
        if path not in self.files:
            raise RequestError.resource_not_found(path)
        return ReadTextFileResponse(content=self.files[path])

    async def write_text_file(self, session_id, path, content, **_):
        self.files[path] = content
        return WriteTextFileResponse()

    async def create_terminal(self, session_id, command, args=None, env=None, cwd=None, output_byte_limit=None, **_):
        variables = dict(os.environ, **{it.name: it.value for it in env or []})
        pipes = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.STDOUT}
        process = await asyncio.create_subprocess_exec(command, *(args or []), env=variables, cwd=cwd, **pipes)
        name = f"terminal-{process.pid}"
        self.terminals[name] = (process, asyncio.create_task(process.stdout.read()))
        return CreateTerminalResponse(terminal_id=name)

    async def wait_for_terminal_exit(self, session_id, terminal_id, **_):
        process, _ = self.terminals[terminal_id]
        return WaitForTerminalExitResponse(exit_code=await process.wait())

    async def terminal_output(self, session_id, terminal_id, **_):
        _, output = self.terminals[terminal_id]
        return TerminalOutputResponse(output=(await output).decode(), truncated=False)

    async def release_terminal(self, session_id, terminal_id, **_):
        self.released.append(terminal_id)

    async def request_permission(self, session_id, tool_call, options, **_):
        call = tool_call.model_dump(by_alias=True, exclude_none=True, mode="json")
        kinds = [option.kind for option in options]
        self.permissions.append({"toolCall": call, "kinds": kinds})
        option = next(option for option in options if option.kind == CHOICE)
        outcome = AllowedOutcome(outcome="selected", option_id=option.option_id)
        return RequestPermissionResponse(outcome=outcome)

    async def session_update(self, session_id, update, **_):
        update = update.model_dump(by_alias=True, exclude_none=True, mode="json")
        self.updates.append(update)
        if update["sessionUpdate"] == "available_commands_update":
            self.is_whole.set()

    def on_connect(self, connection):
        pass


async def handshake(connection):
    has_files = SCENARIO == "files"
    files = FileSystemCapabilities(read_text_file=has_files, write_text_file=has_files)
    able = ClientCapabilities(fs=files, terminal=SCENARIO == "terminal")
    answer = await connection.initialize(protocol_version=PROTOCOL_VERSION, client_capabilities=able)
    return answer.model_dump(by_alias=True, exclude_none=True, mode="json")


async def prompt(connection, session, text):
    answer = await connection.prompt(session_id=session, prompt=[text_block(text)])
    return answer.stop_reason


async def main():
    seen = {}
    # A command of the agent writes a line to this pipe, and holds it open as long as it lives.
    alive = None
    editor = Editor()
    async with spawn_agent_process(editor, PROGRAM, *ARGUMENTS, env=os.environ) as (connection, process):
        seen["agent"] = await handshake(connection)
        new = await connection.new_session(cwd=FOLDER, mcp_servers=[])
        session = new.session_id
        seen["modes"] = [mode.id for mode in new.modes.available_modes]
        asking = asyncio.create_task(prompt(connection, session, "Do it."))
        if SCENARIO in ("cancel", "kill"):
            alive = await asyncio.to_thread(open, "alive")
            seen["up"] = await asyncio.to_thread(alive.readline)
        if SCENARIO == "cancel":
            await connection.cancel(session_id=session)
        if SCENARIO == "kill":
            process.kill()
            await process.wait()
            asking.cancel()
        else:
            seen["stop"] = await asking
    if alive:
        seen["gone"] = await asyncio.to_thread(alive.read)
    seen["updates"] = editor.updates
    seen["permissions"] = editor.permissions
    seen["files"] = list(editor.files.values())
    seen["terminals"] = list(editor.terminals)
    seen["released"] = editor.released
    if SCENARIO == "kill":
        editor = Editor()
        async with spawn_agent_process(editor, PROGRAM, *ARGUMENTS, env=os.environ) as (connection, process):
            await handshake(connection)
            listed = await connection.list_sessions(cwd=FOLDER)
            seen["listed"] = [entry.session_id == session for entry in listed.sessions]
            seen["title"] = listed.sessions[0].title
            await connection.load_session(cwd=FOLDER, session_id=session, mcp_servers=[])
            await editor.is_whole.wait()
            seen["loaded"] = list(editor.updates)
            editor.updates.clear()
            seen["stop"] = await prompt(connection, session, "Go on.")
            seen["continued"] = list(editor.updates)
            try:
                await connection.load_session(cwd=FOLDER, session_id="no-such", mcp_servers=[])
            except RequestError as error:
                seen["unknown"] = error.code
    print(json.dumps(seen))


asyncio.run(main())
