"""A server made with the Python SDK: over stdio, or over HTTP on the port in its arguments."""

import sys

from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel, Field

server = MCPServer("peer")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers"""
    return a + b


@server.tool()
def fail() -> str:
    """Always fails"""
    raise ValueError("as documented")


@server.tool()
async def steps(count: int, context: Context) -> str:
    """Reports progress"""
    for step in range(count):
        await context.report_progress(step + 1, count, f"step {step + 1}")
    return "done"


@server.tool(structured_output=False)
def huge() -> str:
    """Answers with more than is read"""
    return "x" * (17 << 20)


class Order(BaseModel):
    size: int = Field(ge=1, le=9, description="Pieces")
    express: bool
    note: str = "none"


@server.tool()
async def order(context: Context) -> str:
    """Asks the user"""
    result = await context.elicit("What shall it be?", Order)
    return f"{result.action} {getattr(result, 'data', None)}"


@server.tool()
async def grow(context: Context) -> str:
    """Adds a tool"""

    def grown() -> str:
        """Is new"""
        return "new"

    server.add_tool(grown)
    await context.notify_tools_changed()
    return "grown"


@server.resource("note://today")
def note() -> str:
    """A note"""
    return "buy milk"


if len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
    server.run("stdio")
