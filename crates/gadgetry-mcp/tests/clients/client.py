"""The client of the Python SDK against our server; prints what it sees as one JSON object.

Arguments: the revision (`legacy` or `auto`), then the URL of a server, or a program with its arguments.
"""

import asyncio
import json
import sys

from mcp import Client, MCPError, StdioServerParameters, types


async def main():
    mode, target = sys.argv[1], sys.argv[2]
    server = target
    if not target.startswith("http"):
        server = StdioServerParameters(command=target, args=sys.argv[3:])
    questions = []

    async def elicit(context, params):
        questions.append(params.message.splitlines()[0])
        return types.ElicitResult(action="accept", content={"approve": len(questions) == 1})

    seen = {}
    async with Client(server, mode=mode, elicitation_callback=elicit) as client:
        seen["protocol"] = client.protocol_version
        tools = (await client.list_tools()).tools
        seen["tools"] = [tool.name for tool in tools]

        async def call(name, **arguments):
            result = await client.call_tool(name, arguments)
            return [result.is_error, [block.model_dump(by_alias=True, exclude_none=True) for block in result.content]]

        seen["add"] = await call("Add", a=2, b=3)
        seen["fail"] = await call("Fail")
        seen["wrong"] = await call("Add", a="x", b=1)
        seen["picture"] = await call("Picture")
        progress = []

        async def report(done, total, message):
            progress.append(message)

        await client.call_tool("Steps", {"count": 2}, progress_callback=report)
        seen["progress"] = progress
        try:
            await client.call_tool("Nothing", {})
        except MCPError as error:
            seen["unknown"] = error.error.message
        seen["approved"] = await call("Write", file="/dev/null")
        seen["denied"] = await call("Write", file="/dev/null")
        seen["questions"] = questions
        prompts = (await client.list_prompts()).prompts
        seen["prompts"] = [[prompt.name, prompt.description] for prompt in prompts]
        prompt = await client.get_prompt("greet", {"arguments": "Ada"})
        seen["prompt"] = prompt.messages[0].content.text
    print(json.dumps(seen))


asyncio.run(main())
