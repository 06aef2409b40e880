"""Between asyncio and the native part: who waits for whom, and in which thread functions run."""

from __future__ import annotations

import atexit
import contextvars
import inspect
import queue
import threading
from collections import abc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from . import _gadgetry

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

Outcome = tuple[str, str]
"""What a function has returned: a word for what it is (`result`, `complete`, `human`, `error`), and its text."""

Done = Callable[[str, str], None]


def running_loop() -> asyncio.AbstractEventLoop:
    """Returns the loop that runs in this thread. Raises `RuntimeError` if none does."""
    # Importing asyncio takes longer than this package. Who has a loop has imported it.
    import asyncio

    return asyncio.get_running_loop()


class Waiter:
    """A future, and the loop that it belongs to."""

    __slots__ = ("future", "loop")

    def __init__(self) -> None:
        self.loop = running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()


async def wait(start: Callable[[Waiter], _gadgetry.Work]) -> Any:
    """Starts work of the native part, and waits for its end. When the task is cancelled, the work is dropped."""
    waiter = Waiter()
    work = start(waiter)
    try:
        return await waiter.future
    finally:
        work.cancel()


def resolve(future: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
    """Gives a future its result, unless its task was cancelled meanwhile."""
    if future.done():
        return
    if error is None:
        future.set_result(value)
    elif isinstance(error, StopIteration):
        # A future cannot hold it.
        future.set_exception(RuntimeError(f"StopIteration: {error}"))
    else:
        future.set_exception(error)


class Coroutine:
    """A coroutine function at work in a loop, on behalf of a thread of the native part."""

    __slots__ = ("_arguments", "_context", "_done", "_function", "_is_cancelled", "_loop", "_task")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        context: contextvars.Context,
        function: Callable[..., abc.Coroutine[Any, Any, Outcome]],
        arguments: tuple[Any, ...],
        done: Done,
    ) -> None:
        self._loop = loop
        self._context = context.copy()
        self._function = function
        self._arguments = arguments
        self._done = done
        self._is_cancelled = False
        self._task: asyncio.Task[Outcome] | None = None
        loop.call_soon_threadsafe(self._begin)

    def _begin(self) -> None:
        if self._is_cancelled:
            finish(self._done, ("error", "cancelled"))
            return
        try:
            coroutine = self._function(*self._arguments)
            self._task = self._loop.create_task(coroutine, context=self._context)
        except BaseException as error:
            finish(self._done, ("error", describe(error)))
            raise
        self._task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[Outcome]) -> None:
        if task.cancelled():
            finish(self._done, ("error", "Gadget execution was cancelled"))
            return
        error = task.exception()
        finish(self._done, task.result() if error is None else ("error", describe(error)))

    def cancel(self) -> None:
        """Cancels it, from any thread."""
        self._is_cancelled = True
        try:
            self._loop.call_soon_threadsafe(self._cancel)
        except RuntimeError:
            pass  # The loop is closed, and has cancelled its tasks.

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()


class Threaded:
    """A function at work in a thread."""

    __slots__ = ("_arguments", "_context", "_done", "_function", "_is_cancelled")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        context: contextvars.Context,
        function: Callable[..., Outcome],
        arguments: tuple[Any, ...],
        done: Done,
    ) -> None:
        self._context = context.copy()
        self._function = function
        self._arguments = arguments
        self._done = done
        self._is_cancelled = False
        _pool.submit(self)

    def run(self) -> None:
        """Runs it in this thread."""
        if self._is_cancelled:
            finish(self._done, ("error", "cancelled"))
            return
        try:
            outcome = self._context.run(self._function, *self._arguments)
        except BaseException as error:  # noqa: BLE001: the model reads it, and the thread lives on
            outcome = ("error", describe(error))
        finish(self._done, outcome)

    def cancel(self) -> None:
        """Cancels it if it has not begun: nothing can stop a function in its thread."""
        self._is_cancelled = True


async def in_thread(function: Callable[[], Any]) -> Any:
    """Runs a function in a thread of the pool, with the context variables of the caller. Awaits the coroutine that it may return."""
    waiter = Waiter()
    # The coroutine has the variables that the function has set.
    context = contextvars.copy_context()

    def work() -> Outcome:
        value, failed = None, None
        try:
            value = context.run(function)
        except BaseException as error:  # noqa: BLE001: the one who waits raises it
            failed = error
        waiter.loop.call_soon_threadsafe(resolve, waiter.future, value, failed)
        return "result", ""

    threaded = Threaded(waiter.loop, context, work, (), lambda kind, text: None)
    try:
        value = await waiter.future
    finally:
        threaded.cancel()
    if inspect.iscoroutine(value):
        return await waiter.loop.create_task(value, context=context)
    return await value if inspect.isawaitable(value) else value


class _Pool:
    """Threads for functions, started when none is idle. They are daemons: a function that hangs keeps no program from its end."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._work: queue.SimpleQueue[Threaded] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)

    def submit(self, work: Threaded) -> None:
        """Runs `work` soon. The number of threads is limited by that of gadgets that run at the same time."""
        self._work.put(work)
        if not self._idle.acquire(blocking=False):
            threading.Thread(target=self._serve, args=(self._work, self._idle), name="gadgetry", daemon=True).start()

    @staticmethod
    def _serve(work: queue.SimpleQueue[Threaded], idle: threading.Semaphore) -> None:
        while True:
            item = work.get()
            item.run()
            del item
            idle.release()

    def after_fork(self) -> None:
        """The threads are those of the parent."""
        self._reset()


_pool = _Pool()

try:
    from os import register_at_fork
except ImportError:
    pass
else:
    register_at_fork(after_in_child=_pool.after_fork)

atexit.register(_gadgetry.close)


def finish(done: Done, outcome: Outcome) -> None:
    """Gives the native part a result, whatever it is: without one, the run would wait for it without end."""
    try:
        kind, text = outcome
        try:
            done(kind, text)
        except UnicodeEncodeError:
            # Surrogates, as in the name of a file that is not UTF-8.
            done(kind, text.encode("utf-8", "backslashreplace").decode())
    except BaseException as error:  # noqa: BLE001: it is the result
        text = describe(error).encode("utf-8", "backslashreplace").decode()
        done("error", text)


def describe(error: BaseException) -> str:
    """The text of an exception for a model: its class and its words, if it has any."""
    try:
        text = str(error)
    except BaseException:  # noqa: BLE001: a model can do without them
        text = ""
    name = type(error).__name__
    return f"{name}: {text}" if text else name


def run_sync(make: Callable[[], abc.Coroutine[Any, Any, T]]) -> T:
    """Runs a coroutine to its end. Where a loop runs already, as in a notebook, it runs in a thread of its own."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(make())
    return _in_thread(make)


def _in_thread(make: Callable[[], abc.Coroutine[Any, Any, T]]) -> T:
    import asyncio

    result: list[T] = []
    failed: list[BaseException] = []
    begun = threading.Event()
    finished = threading.Event()
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []

    async def main() -> T:
        task = asyncio.current_task()
        assert task is not None
        running.append((asyncio.get_running_loop(), task))
        begun.set()
        return await make()

    context = contextvars.copy_context()

    def work() -> None:
        try:
            result.append(context.run(asyncio.run, main()))
        except BaseException as error:  # noqa: BLE001: it is raised in the thread of the caller
            failed.append(error)
        finally:
            finished.set()

    thread = threading.Thread(target=work, name="gadgetry-sync", daemon=True)
    try:
        # Inside, because Ctrl-C may come before it returns.
        thread.start()
        # Not `join`: up to Python 3.12, one that was interrupted takes the thread for ended.
        finished.wait()
    except BaseException:
        # Ctrl-C: the run ends before the exception reaches the caller.
        if begun.wait(1):
            loop, task = running[0]
            loop.call_soon_threadsafe(task.cancel)
            finished.wait(5)
        raise
    if failed:
        raise failed[0]
    return result[0]
