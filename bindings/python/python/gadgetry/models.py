"""Models: by name, with their options."""

from __future__ import annotations

import os
from typing import Any, Protocol, runtime_checkable

from . import _gadgetry

__all__ = ["Model", "ModelLike"]


@runtime_checkable
class HasModel(Protocol):
    """Something that has a model for agents, as `ScriptedModel` and `MockModel` do."""

    def _model(self) -> _gadgetry.Model: ...


class Model:
    """A model of a provider or of a server on this machine, such as `anthropic:claude-haiku-4-5`, `ollama:llama3.2`, or any name with
    a `base_url`.

    Keys and addresses come from the environment, as the providers' own programs read them; no request is sent before the model is
    used. Raises `ConfigError` if the name, or a key, is missing.

    ```python
    model = Model("llama3.2", base_url="http://localhost:8080/v1", temperature=0)
    ```
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        reasoning_effort: str | None = None,
        price: tuple[float, float] | None = None,
        context_window: int | None = None,
        extra: dict[str, Any] | None = None,
    ) -> None:
        """Finds the model.

        Args:
            name: `provider:model`, a shortcut such as `haiku`, or the name at `base_url`.
            base_url: The address of the server, in place of the provider's own.
            api_key: The key, in place of the environment's.
            temperature: The sampling temperature.
            max_tokens: The maximum number of tokens in a reply.
            reasoning_effort: In the provider's word; `none` turns reasoning off.
            price: US dollars for a million tokens of input and of output, for costs and budgets; known for many models.
            context_window: Tokens of a whole conversation; known for many models.
            extra: Fields that are added to the body of every request.
        """
        self._native = _gadgetry.Model.named(
            name,
            {
                "base_url": base_url,
                "api_key": api_key,
                "temperature": temperature,
                "max_tokens": max_tokens,
                "reasoning_effort": reasoning_effort,
                "price": price,
                "context_window": context_window,
                "extra": extra,
            },
        )

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._native.name

    def _model(self) -> _gadgetry.Model:
        return self._native

    def __repr__(self) -> str:
        return f"<Model {self.name}>"


ModelLike = str | HasModel
"""What an agent takes as its model: a name, a `Model`, a `ScriptedModel`, a `MockModel`."""


def native(model: ModelLike) -> _gadgetry.Model:
    """The model for the native part."""
    if isinstance(model, str):
        if model.startswith("script:"):
            return _gadgetry.Model.script_file(os.fspath(model.removeprefix("script:")))
        return _gadgetry.Model.named(model, {})
    if isinstance(model, HasModel):  # pyright: ignore[reportUnnecessaryIsInstance]
        return model._model()  # pyright: ignore[reportPrivateUsage]
    raise TypeError(f"a model is a name or a Model, not {model!r}")
