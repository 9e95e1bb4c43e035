"""
Amazon Bedrock, over Converse; botocore signs and reads the event stream (extra `bedrock`).

Source: Amazon Bedrock Runtime API reference; spec wire "Providers".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self, Unpack

from structguard.http.urls import join
from structguard.memo import endpoint_id
from structguard.providers.aws import AwsKeys, Signer, event_feed, require_botocore
from structguard.providers.base import BaseProvider
from structguard.providers.routes import FixedRouter, ignore_api
from structguard.providers.settings import (
    TIMEOUT,
    Common,
    bearer,
    checked_base,
    checked_common,
    checked_key,
    environ,
    read,
    read_network,
    read_seconds,
)
from structguard.wire import converse
from structguard.wire.base import WireOptions

_STREAM = "application/vnd.amazon.eventstream"


class Bedrock(BaseProvider):
    """
    Amazon Bedrock in one region.

    Structured output is sent as `outputConfig.textFormat`, or as a forced tool call with
    `options=WireOptions(structured="tool")`. Pass at most one of `api_key`, `keys` and `profile`;
    without any, botocore looks for credentials as usual.

    Args:
        region: The AWS region, such as "eu-central-1".
        api_key: A Bedrock API key, sent as a bearer token.
        keys: An AWS key pair.
        profile: The name of an AWS profile.
        base_url: The base URL; None is that of the region.
        models: Options of single models, by name.
        api: Has no effect: there is only one API.
        **common: `id`, `timeout`, `retry`, `headers`, `transport`, `limits`, `proxy`, `options` and
            `observer`, as for every provider.

    Raises:
        ValueError, TypeError: An unusable argument; the message never repeats a key.
        MissingExtra: The extra `bedrock` is not installed.
    """

    def __init__(
        self,
        region: str | None = None,
        *,
        api_key: str | None = None,
        keys: AwsKeys | None = None,
        profile: str | None = None,
        base_url: str | None = None,
        models: Mapping[str, WireOptions] | None = None,
        api: str | None = None,
        **common: Unpack[Common],
    ) -> None:
        require_botocore()
        settings = checked_common(type(self), common)
        if not region or not region.replace("-", "").isalnum():
            raise ValueError(f"region must be an AWS region such as us-east-1, got {region!r}")
        key = checked_key(api_key)
        if sum(given is not None for given in (key, keys, profile)) > 1:
            raise ValueError("pass only one of api_key, keys and profile")
        url = checked_base(base_url or _url(region))
        name = endpoint_id(url)
        ignore_api(api, "converse", f"Bedrock at {name}", settings.observer)
        engine = settings.engine(
            name,
            FixedRouter(wire=converse, base_url=url, options=settings.options, models=models or {}),
            None if key else Signer(region, keys=keys, profile=profile),
            bearer(key) if key else None,
            feed=event_feed,
            stream_accept=_STREAM,
        )
        control = url if base_url else f"https://bedrock.{region}.amazonaws.com"
        models_url = join(control, "/foundation-models")
        super().__init__(engine, converse, base_url=url, models_url=models_url)

    @classmethod
    def from_env(cls, **common: Unpack[Common]) -> Self:
        """
        Read AWS_REGION (or AWS_DEFAULT_REGION), BEDROCK_BASE_URL, BEDROCK_TIMEOUT (600 s) and
        AWS_BEARER_TOKEN_BEDROCK; without that key botocore's chain reads the AWS_* variables.

        Raises:
            ValueError: no region.
        """
        env = environ()
        common.setdefault("timeout", read_seconds(env, "BEDROCK_TIMEOUT", TIMEOUT))
        region, base_url = (
            read(env, "AWS_REGION", "AWS_DEFAULT_REGION"),
            read(env, "BEDROCK_BASE_URL"),
        )
        read_network(common, base_url or _url(region))
        return cls(
            region,
            api_key=read(env, "AWS_BEARER_TOKEN_BEDROCK"),
            base_url=base_url,
            **common,
        )


def _url(region: str | None) -> str:
    return f"https://bedrock-runtime.{region}.amazonaws.com"
