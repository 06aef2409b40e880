"""An agent as a node of LangGraph: the graph keeps the conversation, the node answers its last message.

    pip install langgraph
    MODEL=ollama:llama3.2 python langgraph_node.py "What is the weather in Paris?"
"""

import asyncio
import os
import sys
from typing import Annotated

from langchain_core.messages import AIMessage, HumanMessage, convert_to_openai_messages
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import StreamWriter

from gadgetry import Agent, Conversation, gadget


@gadget(timeout=10)
async def weather(city: Annotated[str, "City name, like Paris"]) -> str:
    """Get the weather for a city."""
    return f"{city}: 21 degrees"


agent = Agent(os.environ.get("MODEL", "ollama:llama3.2"), gadgets=[weather], system="Be brief.")


async def answer(state: MessagesState, writer: StreamWriter) -> dict[str, list[AIMessage]]:
    """Answers the last message. The text is streamed as the graph's `custom` events."""
    *before, last = convert_to_openai_messages(state["messages"])
    talk = Conversation.from_messages(before)
    async with agent.stream(last["content"], conversation=talk) as run:
        async for text in run.texts():
            writer(text)
        result = await run.result()
    return {"messages": [AIMessage(result.text)]}


graph = StateGraph(MessagesState)
graph.add_node("answer", answer)
graph.add_edge(START, "answer")
graph.add_edge("answer", END)
app = graph.compile(checkpointer=InMemorySaver())


async def main(prompts: list[str]) -> None:
    for prompt in prompts:
        news: MessagesState = {"messages": [HumanMessage(prompt)]}
        async for text in app.astream(news, {"configurable": {"thread_id": "1"}}, stream_mode="custom"):
            print(text, end="", flush=True)
        print()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
