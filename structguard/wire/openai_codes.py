"""
The error codes of the OpenAI family, which chat and responses share, gateways' codes among them.

Source: OpenAI's, OpenRouter's and the compatible servers' error pages; spec errors, "Per vendor".
"""

from __future__ import annotations

from collections.abc import Mapping

from structguard.types import Kind
from structguard.wire.faults import TEXTS, Table

_CODES: Mapping[Kind, str] = {
    Kind.CONTEXT_LENGTH: "context_length_exceeded context_window_exceeded too_many_prompt_tokens"
    " too_many_tokens exceed_context_size_error prompt_too_long model_max_prompt_tokens_exceeded",
    Kind.REQUEST_TOO_LARGE: "request_too_large payload_too_large",
    Kind.CONTENT_FILTERED: "content_filter content_filtered content_policy_violation"
    " responsibleaipolicyviolation data_inspection_failed datainspectionfailed invalid_prompt"
    " moderation_blocked",
    Kind.AUTHENTICATION: "invalid_api_key incorrect_api_key authentication_error permission_error"
    " invalid_authentication invalid_authentication_error unauthorized permission_denied"
    " account_deactivated no_auth api_key_invalid",
    Kind.BILLING: "insufficient_quota billing_not_active billing_hard_limit_reached"
    " exceeded_current_quota_error insufficient_balance insufficient_credits payment_required"
    " arrearage billing_error",
    Kind.NOT_FOUND: "model_not_found model_not_available model_not_supported model_decommissioned"
    " dedicated_endpoint_not_running deploymentnotfound not_found_error modelnotfound"
    " provider_not_allowed invalid_model",
    Kind.UNSUPPORTED_API: "unsupported_api_for_model",
    Kind.RATE_LIMITED: "rate_limit_exceeded rate_limit_error rate_limit_reached ratelimitreached"
    " too_many_requests",
    Kind.UNAVAILABLE: "service_unavailable service_unavailable_error overloaded_error"
    " engine_overloaded engine_overloaded_error server_overloaded finish_reason_error",
    Kind.TIMEOUT: "timeout request_timeout gateway_timeout",
}
_VAGUE = (
    "server_error api_error internal_error internal_server_error internalservererror upstream_error"
)

OPENAI = Table(
    codes={word: kind for kind, words in _CODES.items() for word in words.split()},
    vague=dict.fromkeys(_VAGUE.split(), Kind.UNAVAILABLE),
    texts=TEXTS,
    keys={"flagged_input": Kind.CONTENT_FILTERED, "failed_routing_step": Kind.NOT_FOUND},
)
