"""The calls of `structguard demo`: made in this process and in another one, and what the memo then holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

from structguard.cli.console import shorten

if TYPE_CHECKING:
    from openai import OpenAI
    from openai.types.shared_params import ResponseFormatJSONSchema
    from pydantic import BaseModel

CITY: dict[str, object] = {"name": "Lisbon", "country": "Portugal", "population": 545_796}
QUESTION = "Which city lies at the mouth of the Tagus?"
_KEY = "not-a-real-key"


def open_client(base_url: str) -> OpenAI:
    """A plain client of the demo's endpoint."""
    from openai import DefaultHttpxClient, OpenAI  # noqa: PLC0415  a second; --help need not pay it

    direct = DefaultHttpxClient(trust_env=False)  # a proxy of the environment is not for loopback
    return OpenAI(base_url=base_url, api_key=_KEY, max_retries=0, http_client=direct)


def ask(client: OpenAI, model: str) -> str:
    """The call of the demo: a question, a Pydantic model, the parsed object."""
    answer = client.chat.completions.parse(
        model=model, messages=[{"role": "user", "content": QUESTION}], response_format=city_type()
    )
    return repr(answer.choices[0].message.parsed)


def create(client: OpenAI, model: str, schema: dict[str, object]) -> str:
    """The same with a JSON Schema; the text of the answer."""
    response_format: ResponseFormatJSONSchema = {
        "type": "json_schema",
        "json_schema": {"name": "city", "strict": True, "schema": schema},
    }
    answer = client.chat.completions.create(
        model=model,
        messages=[{"role": "user", "content": QUESTION}],
        response_format=response_format,
    )
    return str(answer.choices[0].message.content)


def city_type() -> type[BaseModel]:
    """The type of `CITY`, as a reader would write it."""
    from pydantic import create_model  # noqa: PLC0415  comes with the SDK

    return create_model("City", name=(str, ...), country=(str, ...), population=(int, ...))


def remembered(memo: str) -> list[str]:
    """The memo's entries in words."""
    from structguard.memo import open_memo  # noqa: PLC0415

    return [
        f"{entry.provider} {entry.model} {entry.verdict} {entry.format} ({entry.scope}), rule"
        f" {entry.rule}, until {_when(entry.expires)}"
        for entry in open_memo(memo).entries()
    ]


def _when(wall: float | None) -> str:
    return "no expiry" if wall is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(wall))


def another_process(base_url: str, memo: str) -> None:
    """What the second process runs: the guarded call, told as one line of JSON."""
    import structguard  # noqa: PLC0415

    result: dict[str, object] = {"pid": os.getpid()}
    client = structguard.wrap(open_client(base_url), memo=memo)
    with client, structguard.watch() as infos:
        try:
            result["value"] = ask(client, "vendor/refuse404")
        except Exception as error:  # noqa: BLE001  told to the other process, which judges it
            result["error"] = f"{type(error).__name__}: {error}"
    result["source"] = infos[-1].source if infos else None
    print(json.dumps(result))


def in_another_process(base_url: str, memo: str) -> dict[str, str | None]:
    """What `another_process` says of itself: value or error, source, pid."""
    import structguard  # noqa: PLC0415

    home = str(Path(structguard.__file__).parents[1])
    path = os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH"))))
    script = "import sys; from structguard.cli.demo_calls import another_process as go; go(*sys.argv[1:])"
    run = subprocess.run(  # noqa: S603  our own interpreter and our own code
        [sys.executable, "-c", script, base_url, memo],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "PYTHONPATH": path},
    )
    if run.returncode:
        return {"error": shorten(run.stderr, 400)}
    return cast("dict[str, str | None]", json.loads(run.stdout.splitlines()[-1]))
