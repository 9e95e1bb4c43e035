"""
An attribute that is computed when first asked for and kept on its instance.

`functools.cached_property` does that under a lock that all instances share, up to Python 3.11: a child
forked while another thread computes one waits for it for ever. Here two threads may compute the same
value twice, which costs less than the lock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Self, TypeVar, overload

H = TypeVar("H")
T = TypeVar("T")


class cached(Generic[H, T]):  # noqa: N801  a decorator, named as the built-in ones are
    """A method without arguments that becomes an attribute; its class must have a `__dict__`."""

    def __init__(self, make: Callable[[H], T]) -> None:
        self._make = make
        self._name = make.__name__
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, holder: None, owner: type) -> Self: ...
    @overload
    def __get__(self, holder: H, owner: type) -> T: ...
    def __get__(self, holder: H | None, owner: type) -> T | Self:
        if holder is None:
            return self
        value = self._make(holder)
        vars(holder)[self._name] = value  # found before this descriptor from now on
        return value
