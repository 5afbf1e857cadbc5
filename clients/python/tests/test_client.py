"""What the client promises, against answers in the API's form."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tidemill import ApiError, ApiUnavailable, AsyncTidemill, RunCancelled, RunFailed, RunNotEnded, Tidemill, idempotency_key

Answer = Callable[[httpx.Request], httpx.Response]
url = "http://tidemill.test/v1"


def client(answer: Answer, **options: Any) -> Tidemill:
    return Tidemill(url, "token", transport=httpx.MockTransport(answer), **options)


def run(status: str = "Succeeded", name: str = "orders-1", **fields: Any) -> dict[str, Any]:
    ended = {"completionTime": "2026-01-01T00:00:00Z"} if status in ("Succeeded", "Failed", "Cancelled") else {}
    return {"name": name, "pipeline": "orders", "status": status, **ended, **fields}


def problem(status: int, code: str, **headers: str) -> httpx.Response:
    body = {"type": "/docs", "title": code, "status": status, "code": code, "detail": "Do this.", "details": []}
    return httpx.Response(status, json=body, headers={"X-Request-Id": "id-1", **headers})


failure = run("Failed", error={"code": "DestinationFull", "message": "Grow the volume.", "retryable": True})


def test_a_run_is_started_and_awaited() -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        if request.method == "POST":
            return httpx.Response(202, json=run("Pending"))
        return httpx.Response(200, json=run(rows=2))

    done = client(answer, account="shop").pipelines.run("orders", dates=("2026-01-01", "2026-01-02")).wait()
    start, wait = asked
    assert done["rows"] == 2
    assert start.url == "http://tidemill.test/v1/pipelines/orders/run"
    assert json.loads(start.content) == {"dates": {"start": "2026-01-01", "end": "2026-01-02"}}
    assert start.headers["Authorization"] == "Bearer token"
    assert start.headers["Tidemill-Account"] == "shop"
    assert len(start.headers["Idempotency-Key"]) > 20
    assert wait.url == "http://tidemill.test/v1/runs/orders-1?wait=60s"


def test_the_async_client_does_the_same() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=run("Pending") if request.method == "POST" else run(rows=2))

    async def load() -> object:
        async with AsyncTidemill(url, "token", transport=httpx.MockTransport(answer)) as tidemill:
            return (await (await tidemill.pipelines.run("orders")).wait())["rows"]

    assert asyncio.run(load()) == 2


def test_the_error_of_a_failed_run_has_what_to_do_and_the_end_of_its_log() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, text="disk full\n") if request.url.path.endswith("/logs") else httpx.Response(200, json=failure)

    with pytest.raises(RunFailed) as raised:
        client(answer).pipelines.run("orders").wait()
    assert str(raised.value) == (
        "Run orders-1 of Pipeline orders failed with DestinationFull: Grow the volume.\nEnd of its log:\ndisk full"
    )
    assert raised.value.retryable


def test_a_failed_run_without_a_log_still_has_its_error() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return problem(404, "NotFound") if request.url.path.endswith("/logs") else httpx.Response(200, json=failure)

    with pytest.raises(RunFailed, match="Grow the volume.$"):
        client(answer).pipelines.run("orders").wait()


def test_a_failed_run_is_told_though_the_api_goes_away_before_its_log() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/logs"):
            raise httpx.ConnectError("refused")
        return httpx.Response(200, json=failure)

    with pytest.raises(RunFailed, match="Grow the volume.$"):
        client(answer, retry_seconds=0).pipelines.run("orders").wait()


def test_a_cancelled_run_is_told_apart() -> None:
    with pytest.raises(RunCancelled):
        client(lambda _: httpx.Response(200, json=run("Cancelled"))).pipelines.run("orders").wait()


def test_waiting_ends_in_time_and_leaves_the_run() -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.method)
        return httpx.Response(200, json=run("Running"))

    with pytest.raises(RunNotEnded, match="still Running"), client(answer).pipelines.run("orders") as started:
        started.wait(timeout=0)
    assert asked == ["POST"]


@pytest.mark.parametrize(
    ("earlier", "expected"),
    [
        (["Succeeded"], ["k"]),
        (["Running"], ["k"]),
        (["Failed", "Pending"], ["k", "k attempt 2"]),
        (["Cancelled", "Failed", "Pending"], ["k", "k attempt 2", "k attempt 3"]),
        ([None, "Pending"], ["k", "k attempt 2"]),
    ],
)
def test_an_attempt_takes_up_the_run_of_an_earlier_one_unless_that_failed(earlier: list[str | None], expected: list[str]) -> None:
    keys: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        keys.append(request.headers["Idempotency-Key"])
        status = earlier[len(keys) - 1]
        return httpx.Response(202, json=run(status)) if status else problem(404, "NotFound")

    client(answer).pipelines.run("orders", idempotency_key="k", attempt=3)
    assert keys == expected


@pytest.mark.parametrize(("interruption", "cancels"), [(KeyboardInterrupt, 1), (SystemExit, 1), (ValueError, 0)])
def test_an_interrupted_block_cancels_its_run(interruption: type[BaseException], cancels: int) -> None:
    paths: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        paths.append(request.url.path)
        return httpx.Response(200, json=run("Running"))

    with pytest.raises(interruption), client(answer).pipelines.run("orders"):
        raise interruption
    assert paths.count("/v1/runs/orders-1/cancel") == cancels


def test_a_cancelled_task_of_asyncio_cancels_its_run() -> None:
    paths: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        paths.append(request.url.path)
        return httpx.Response(200, json=run("Running"))

    async def load() -> None:
        async with AsyncTidemill(url, "token", transport=httpx.MockTransport(answer)) as tidemill:
            async with await tidemill.pipelines.run("orders") as started:
                await started.wait()

    async def kill() -> None:
        task = asyncio.create_task(load())
        while not paths:
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    asyncio.run(kill())
    assert paths[-1] == "/v1/runs/orders-1/cancel"


def test_cancelling_an_ended_run_does_nothing() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return problem(409, "Conflict") if request.url.path.endswith("/cancel") else httpx.Response(200, json=run())

    client(answer).run("orders-1").cancel()


@pytest.mark.parametrize("first", [problem(503, "Unavailable"), httpx.Response(502, text="<html>"), problem(429, "RateLimited")])
def test_a_keyed_request_is_repeated_while_the_api_is_away(first: httpx.Response) -> None:
    answers = [first, httpx.Response(202, json=run("Pending"))]
    keys: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        keys.append(request.headers["Idempotency-Key"])
        return answers.pop(0)

    client(answer).pipelines.run("orders", idempotency_key="k")
    assert keys == ["k", "k"]


def test_a_request_without_a_key_is_not_repeated() -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.method)
        raise httpx.ReadTimeout("", request=request)

    with pytest.raises(ApiUnavailable, match="POST /v1/sources: ReadTimeout"):
        client(answer).sources.create({"name": "shop", "type": "Webhook"})
    assert asked == ["POST"]


def test_the_client_gives_up_in_time() -> None:
    with pytest.raises(ApiError, match="Unavailable: Do this"):
        client(lambda _: problem(503, "Unavailable", **{"Retry-After": "9"}), retry_seconds=5).runs.list()


def test_an_error_says_what_the_api_says() -> None:
    with pytest.raises(ApiError) as raised:
        client(lambda _: problem(409, "InUse")).sources.delete("shop")
    assert (raised.value.status, raised.value.code, raised.value.request_id) == (409, "InUse", "id-1")
    assert str(raised.value) == "InUse: Do this. (HTTP 409, X-Request-Id id-1)"


def test_a_name_never_leaves_its_place_in_the_path() -> None:
    paths: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        paths.append(request.url.raw_path)
        return problem(404, "NotFound")

    with pytest.raises(ApiError):
        client(answer).sources.get("../tokens?x=")
    assert paths == [b"/v1/sources/..%2Ftokens%3Fx%3D"]


def test_a_renewed_token_is_sent() -> None:
    tokens = iter(["one", "two\n"])
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["Authorization"])
        return httpx.Response(200, json={"items": []})

    with Tidemill(url, lambda: next(tokens), transport=httpx.MockTransport(answer)) as tidemill:
        tidemill.runs.list(pipeline="orders")
        tidemill.runs.list()
    assert seen == ["Bearer one", "Bearer two"]


def test_what_delays_a_request_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    answers = [problem(503, "Unavailable"), httpx.Response(200, json={"items": []})]
    client(lambda _: answers.pop(0)).runs.list()
    assert re.search(r"Unavailable: Do this\. .* Next attempt in 0\.\d s\.", caplog.text)


def test_a_page_of_something_else_is_an_error() -> None:
    with pytest.raises(ApiError, match="This is not the API's answer. HTTP 200: <html>"):
        client(lambda _: httpx.Response(200, text="<html>")).runs.list()


def test_a_url_without_a_scheme_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="must begin with https:// or http://, .*, not 'tidemill-api/v1'"):
        Tidemill("tidemill-api/v1", "token")


@pytest.mark.parametrize("token", ["", "\n", "secret\nsecret", "secrét"])
def test_a_token_that_cannot_be_sent_is_not_shown(token: str) -> None:
    with pytest.raises(ValueError, match="^The token is empty or has characters") as raised:
        Tidemill(url, lambda: token).runs.list()
    assert "secr" not in str(raised.value)


def test_a_patch_is_a_merge_patch_and_may_remove() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.headers["Content-Type"] == "application/merge-patch+json"
        assert json.loads(request.content) == {"schedule": None}
        return httpx.Response(200, json={})

    client(answer).pipelines.update("orders", {"schedule": None})


def test_keys_of_different_tasks_differ_and_fit() -> None:
    assert idempotency_key("a/b", "c") != idempotency_key("a", "b/c")
    assert idempotency_key("Käse", 1) == "K%C3%A4se/1"
    assert len(idempotency_key("x" * 1000)) == 64


def test_a_stream_gives_its_events_and_goes_on_after_the_last() -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, text=': here\n\nid: 7\nevent: accepted\ndata: {"a": 1}\n\nevent: end\ndata: {}\n\n')

    seen = list(client(answer).sources.tail_events("shop", last_event_id="6"))
    assert [tuple(event) for event in seen] == [("7", "accepted", {"a": 1}), (None, "end", {})]
    assert asked[0].headers["Last-Event-ID"] == "6"
    assert asked[0].headers["Accept"] == "text/event-stream"


def test_data_of_a_stream_may_have_the_line_ends_of_unicode() -> None:
    data = {"a": "b\u2028c\u2029d\u0085e"}
    text = f"event: accepted\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"

    class OneByOne(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            for byte in text.encode():
                yield bytes([byte])

    seen = list(client(lambda _: httpx.Response(200, stream=OneByOne())).sources.tail_events("shop"))
    assert [event.data for event in seen] == [data]


def test_a_stream_whose_connection_is_lost_raises_an_error_of_the_client() -> None:
    class Lost(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield b"event: accepted\ndata: {}\n\n"
            raise httpx.ReadError("reset")

    events = client(lambda _: httpx.Response(200, stream=Lost())).sources.tail_events("shop")
    assert next(events).event == "accepted"
    with pytest.raises(ApiUnavailable, match="broke off: reset"):
        next(events)


def test_a_stream_that_is_refused_says_why() -> None:
    with pytest.raises(ApiError, match="Do this."):
        list(client(lambda _: problem(403, "Forbidden")).changes.follow())


def test_a_list_gives_the_items_of_all_pages() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        pages = {"": {"items": [1, 2], "cursor": "c"}, "c": {"items": [3]}}
        return httpx.Response(200, json=pages[request.url.params.get("cursor", "")])

    assert list(client(answer).runs.each(pipeline="orders")) == [1, 2, 3]

    async def awaiting() -> list[Any]:
        async with AsyncTidemill(url, "token", transport=httpx.MockTransport(answer)) as tidemill:
            return [item async for item in tidemill.runs.each()]

    assert asyncio.run(awaiting()) == [1, 2, 3]
