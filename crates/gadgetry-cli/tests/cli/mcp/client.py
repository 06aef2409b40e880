"""The client of the Python SDK against `gadgetry mcp serve`; prints what it sees as one JSON object.

Arguments: the URL of the server, or a program with its arguments.
"""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters


async def main():
    target = sys.argv[1]
    if not target.startswith("http"):
        target = StdioServerParameters(command=target, args=sys.argv[2:])
    seen = {}
    async with Client(target) as client:
        seen["tools"] = [tool.name for tool in (await client.list_tools()).tools]
        for name, arguments in (("Echo", {"say": "hello"}), ("Fail", {})):
            result = await client.call_tool(name, arguments)
            seen[name.lower()] = [result.is_error, result.content[0].text]
    print(json.dumps(seen))


asyncio.run(main())
