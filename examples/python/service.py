"""A client of the service that repeats requests until the service has answered them."""

import os
import random
import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, TypeVar

import httpx

from space_service.client import AuthenticatedClient
from space_service.models import Problem
from space_service.types import UNSET, Response

T = TypeVar("T")


class RepeatingTransport(httpx.HTTPTransport):
    """Below the generated client, which raises `JSONDecodeError` for a 503 of a proxy, without its `Retry-After`."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        # Without a key, a lost response may be that of a request which has created something.
        if request.method == "POST" and "Idempotency-Key" not in request.headers:
            return super().handle_request(request)
        for attempt in count():
            pause = random.uniform(0, min(0.2 * 2 ** min(attempt, 10), 30))
            try:
                response = super().handle_request(request)
                response.read()
                if not is_temporary(response):
                    break
                retry_after = response.headers.get("Retry-After", "")
                pause += int(retry_after) if retry_after.isdigit() else 0
            except httpx.TransportError:
                pass
            time.sleep(pause)
        return response


def is_temporary(response: httpx.Response) -> bool:
    is_key_in_use = response.status_code == 409 and b"idempotency_key_in_use" in response.content
    return response.status_code == 429 or response.status_code >= 500 or is_key_in_use


def connect() -> AuthenticatedClient:
    return AuthenticatedClient(
        base_url=os.environ["SERVER_URL"],
        token=os.environ["ACCESS_TOKEN"],
        # Longer than `wait`, which has at most 25 seconds. The default is to wait forever.
        timeout=httpx.Timeout(40, connect=10),
        httpx_args={"transport": RepeatingTransport()},
    )


class ProblemError(Exception):
    """The service has rejected a request, and would reject a repetition, too."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.status} {problem.code}: {problem.detail}")
        self.status = problem.status
        self.code = problem.code


def result(response: Response[T | Problem]) -> T:
    """Returns the body of a successful response."""
    if isinstance(response.parsed, Problem):
        raise ProblemError(response.parsed)
    if response.parsed is None:
        raise RuntimeError(f"This is not a response of the service: {response.content[:200]!r}")
    return response.parsed


def pages(list_page: Callable[..., Response[T | Problem]], **parameters: Any) -> Iterator[T]:
    """Yields all pages of a list. A page without items can have a next one."""
    cursor: Any = UNSET
    while cursor is not None:
        page: Any = result(list_page(cursor=cursor, limit=100, **parameters))
        yield page
        cursor = page.next_cursor
