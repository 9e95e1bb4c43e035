"""Own cases for every rule, both sides: what is a refusal, and what only sounds like one."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

REFUSAL, SCHEMA, COMBINED, NONE = "capability", "schema", "combination", None


@dataclass(frozen=True)
class Case:
    """One body and its right answer; `also` are further arguments of detect_refusal."""

    name: str
    want: str | None
    body: str
    sent: str = "json_schema"
    status: int = 400
    api: str = "chat"
    also: dict[str, bool] = field(default_factory=dict)


def error(message: str, **more: object) -> str:
    return json.dumps({"error": {"message": message, **more}}, ensure_ascii=False)


def twice(value: object) -> str:
    """A JSON text inside a JSON string inside a JSON object, as relays nest it."""
    return json.dumps({"error": {"message": json.dumps({"error": value})}})


TOOLS, STREAM, REASONING = {"tools": True}, {"stream": True}, {"reasoning": True}

NOT_SUPPORTED = (
    Case("plain", REFUSAL, error("response_format is not supported")),
    Case("contraction", REFUSAL, error("This model doesn't support structured outputs yet.")),
    Case("curly quote", REFUSAL, error("Model x doesn\u2019t support \u201cjson_schema\u201d.")),
    Case(
        "no apostrophe",
        REFUSAL,
        error("the selected model doesnt support json mode"),
        "json_object",
    ),
    Case("typo", REFUSAL, error("JSON mode is not suported for this deployment"), "json_object"),
    Case("typo two", REFUSAL, error("json-schema is currently not suppported")),
    Case("typo three", REFUSAL, error("Response format json_schema is unsuported")),
    Case("hyphen", REFUSAL, error("Unsupported response-format: json-schema")),
    Case("camel", REFUSAL, error("Argument not supported on this model: responseFormat")),
    Case(
        "no support", REFUSAL, error("There is no support for structured output on this endpoint.")
    ),
    Case("lacks", REFUSAL, error("The backend lacks support for JSON schema constrained decoding")),
    Case(
        "two sentences",
        REFUSAL,
        error("You requested response_format=json_schema. This is not supported by mistral-7b."),
    ),
    Case(
        "list of params",
        REFUSAL,
        error("acme does not support parameters: ['seed', 'response_format']"),
    ),
    Case(
        "xai camel nested",
        REFUSAL,
        json.dumps(
            {
                "code": "invalid-argument",
                "error": "Model grok-x does not support response format of type JSON_SCHEMA",
            }
        ),
    ),
    Case("plain text", REFUSAL, "Structured outputs are not supported by this deployment\n"),
    Case(
        "html",
        REFUSAL,
        "<html><head><title>400</title></head><body><h1>Bad Request</h1><p>Parameter <code>response_format</code> is not supported</p></body></html>",
    ),
    Case(
        "xml",
        REFUSAL,
        "<?xml version='1.0'?><Error><Code>InvalidParameter</Code><Message>The parameter response_format is not supported by this model</Message></Error>",
    ),
    Case(
        "sse",
        REFUSAL,
        'data: {"error": {"message": "response_format is not supported", "code": 400}}\n\ndata: [DONE]\n',
    ),
    Case(
        "sse event",
        REFUSAL,
        'event: error\ndata: {"type":"error","error":{"message":"json_schema output is not supported"}}\n\n',
    ),
    Case(
        "cut json",
        REFUSAL,
        '{"error": {"message": "This model does not support response_format json_schema", "type": "invalid_requ',
    ),
    Case(
        "cut inside message",
        REFUSAL,
        '{"error": {"type": "invalid_request_error", "message": "This model does not support response_format of type json_sch',
    ),
    Case(
        "python repr",
        REFUSAL,
        error(
            "Error code: 400 - {'error': {'message': \"'response_format' is not supported\", 'type': 'x', 'param': None}}"
        ),
    ),
    Case(
        "python repr whole",
        REFUSAL,
        "{'detail': 'response_format is not supported by this engine'}",
    ),
    Case("double", REFUSAL, twice({"message": "json_schema is not supported", "code": 400})),
    Case(
        "triple",
        REFUSAL,
        json.dumps(
            {"error": json.dumps({"message": json.dumps({"detail": "json mode unsupported"})})}
        ),
        "json_object",
    ),
    Case(
        "triple cut",
        REFUSAL,
        json.dumps(
            {
                "error": {
                    "message": json.dumps(
                        {"message": json.dumps({"detail": "response_format unsupported"})}
                    )
                }
            }
        )[:-9],
    ),
    Case(
        "metadata raw object",
        REFUSAL,
        json.dumps(
            {
                "error": {
                    "message": "Provider returned error",
                    "code": 400,
                    "metadata": {"raw": {"detail": "Structured outputs is not supported"}},
                }
            }
        ),
    ),
    Case(
        "metadata raw plain",
        REFUSAL,
        json.dumps(
            {
                "error": {
                    "message": "Provider returned error",
                    "code": 400,
                    "metadata": {
                        "raw": "response_format not supported for this model",
                        "provider_name": "X",
                    },
                }
            }
        ),
    ),
    Case(
        "errors list",
        REFUSAL,
        json.dumps({"errors": ["Model does not support JSON mode"]}),
        "json_object",
    ),
    Case(
        "message list",
        REFUSAL,
        json.dumps(
            {
                "statusCode": 400,
                "message": ["property response_format should not exist"],
                "error": "Bad Request",
            }
        ),
    ),
    Case(
        "previous errors",
        REFUSAL,
        json.dumps(
            {
                "error": {
                    "message": "All providers failed",
                    "metadata": {
                        "previous_errors": [
                            {"code": 429, "message": "Rate limit"},
                            {"code": 400, "message": "response_format is not supported"},
                        ]
                    },
                }
            }
        ),
    ),
    Case("chinese", REFUSAL, error("该模型不支持 response_format 参数 (request id: 2025)")),
    Case("chinese structured", REFUSAL, error("当前模型暂不支持结构化输出")),
    Case(
        "chinese json mode",
        REFUSAL,
        json.dumps({"code": 20024, "message": "模型不支持JSON模式", "data": None}),
        "json_object",
    ),
    Case("chinese only", REFUSAL, error("response_format.type 仅支持 text 和 json_object")),
    Case("japanese", REFUSAL, error("このモデルは response_format をサポートしていません")),
    Case("korean", REFUSAL, error("이 모델은 json_schema 를 지원하지 않습니다")),
    Case("german", REFUSAL, error("Das Modell unterstützt response_format nicht.")),
    Case(
        "spanish", REFUSAL, error("El parámetro response_format no es compatible con este modelo")
    ),
    Case("french", REFUSAL, error("Le paramètre response_format n'est pas pris en charge")),
    Case("russian", REFUSAL, error("response_format не поддерживается этой моделью")),
    Case(
        "feature as code",
        REFUSAL,
        json.dumps({"error": {"code": "response_format_not_supported", "message": "Bad request"}}),
    ),
    Case("error code only", REFUSAL, json.dumps({"error": "structured_outputs_unsupported"})),
    Case(
        "google mime",
        REFUSAL,
        error(
            "Response MIME type application/json is not supported for this model",
            code=400,
            status="INVALID_ARGUMENT",
        ),
        "json_object",
        api="generate_content",
    ),
    Case(
        "google json mode",
        REFUSAL,
        error(
            "JSON mode is not enabled for models/gemma-3-27b-it",
            code=400,
            status="INVALID_ARGUMENT",
        ),
        api="generate_content",
    ),
    Case(
        "bedrock",
        REFUSAL,
        json.dumps(
            {
                "message": "This model doesn't support the outputConfig.textFormat field. Remove outputConfig.textFormat and try again."
            }
        ),
        api="converse",
    ),
    Case(
        "bedrock structured",
        REFUSAL,
        json.dumps({"message": "Structured output is not supported for model amazon.titan-text"}),
        api="converse",
    ),
    Case(
        "vllm v1",
        REFUSAL,
        json.dumps(
            {
                "object": "error",
                "message": "guided decoding is not supported with this attention backend",
                "code": 400,
            }
        ),
    ),
    Case(
        "tgi",
        REFUSAL,
        json.dumps(
            {"error": "Grammar-constrained generation is not supported", "error_type": "validation"}
        ),
    ),
    Case(
        "explicit among advice",
        REFUSAL,
        error(
            "This model does not support JSON output. Please ask for the word JSON in your prompt."
        ),
        "json_object",
    ),
    Case(
        "docs link",
        REFUSAL,
        error("response_format isn't supported; see https://x.dev/docs/tools#tool-use"),
        also=TOOLS,
    ),
    Case(
        "zod message",
        REFUSAL,
        json.dumps(
            {
                "success": False,
                "error": {
                    "name": "ZodError",
                    "message": '[{"code":"unrecognized_keys","keys":["response_format"],"path":[],"message":"Unrecognized key(s) in object: \'response_format\'"}]',
                },
            }
        ),
    ),
    Case(
        "supports list of others",
        REFUSAL,
        error(
            "json_schema not supported with this model. Supported models: 'gpt-4o-2024-08-06', 'gpt-4o-mini'"
        ),
    ),
    Case("utf16 junk", REFUSAL, "\ufeff" + error("response_format is not supported")),
    Case(
        "invalid request envelope",
        REFUSAL,
        json.dumps(
            {
                "code": 400,
                "reason": "INVALID_REQUEST_BODY",
                "message": "model features structured outputs not support",
                "metadata": {},
            }
        ),
    ),
    Case(
        "text.format",
        REFUSAL,
        error("'text.format' of type 'json_schema' is not supported with this model."),
        api="responses",
    ),
    Case("upper case", REFUSAL, error("RESPONSE_FORMAT NOT SUPPORTED")),
    Case("can't", REFUSAL, error("Model 'phi' can't support `response_format`")),
    Case("model first", REFUSAL, error("model: gpt-3.5-turbo does not support response_format")),
    Case(
        "not compatible",
        REFUSAL,
        error("The specified model is not compatible with structured outputs"),
    ),
    Case(
        "does not have", REFUSAL, error("Model llama2 does not have structured output capability")
    ),
)

WITHHELD = (
    Case(
        "unavailable",
        REFUSAL,
        error(
            "This response_format type is unavailable now", type="invalid_request_error", code=400
        ),
    ),
    Case("not available", REFUSAL, error("Structured outputs are not available for this model.")),
    Case(
        "not enabled",
        REFUSAL,
        error("json_schema response format is not enabled on this deployment"),
    ),
    Case(
        "only for",
        REFUSAL,
        error("response_format json_schema is only available for gpt-4o-2024-08-06 and later"),
    ),
    Case(
        "api version",
        REFUSAL,
        error("json_schema response_format requires api-version 2024-08-01-preview or later"),
    ),
    Case("not allowed", REFUSAL, error("Parameter 'response_format' is not allowed")),
    Case("not permitted", REFUSAL, error("response_format: not permitted")),
    Case("disabled", REFUSAL, error("Structured outputs have been disabled by your administrator")),
    Case(
        "not implemented",
        REFUSAL,
        error("NotImplementedError: response_format is not implemented", code=400),
    ),
    Case("unimplemented", REFUSAL, error("json_schema: unimplemented")),
    Case(
        "upgrade",
        REFUSAL,
        error("Structured outputs are not available on your plan. Upgrade to Pro."),
    ),
    Case("invalid parameter", REFUSAL, error("Invalid parameter: response_format")),
    Case("invalid value", REFUSAL, error("Invalid value for response_format: json_schema")),
    Case(
        "not valid",
        REFUSAL,
        error("The parameter `response_format` specified in the request is not valid"),
    ),
    Case("not recognised", REFUSAL, error("response_format is not recognised")),
    Case("not honoured", REFUSAL, error("'response_format' cannot be honoured by this backend")),
    Case("chinese invalid", REFUSAL, error("参数错误\uff1aresponse_format")),
    Case("remove it", REFUSAL, error("Remove the response_format parameter and try again.")),
    Case(
        "leave unset",
        REFUSAL,
        error("Leave response_format unset for this model; drop the parameter."),
    ),
    Case("restricted", REFUSAL, error("Structured outputs are restricted to enterprise customers")),
    Case(
        "not deployed with",
        REFUSAL,
        error("This deployment was not configured for structured outputs"),
    ),
    Case(
        "beta",
        REFUSAL,
        error("output_format: structured outputs requires the beta header"),
        api="messages",
    ),
    Case(
        "workspace",
        REFUSAL,
        error("structured outputs is not available in your workspace"),
        api="messages",
    ),
)

UNKNOWN_FIELD = (
    Case(
        "unrecognized argument",
        REFUSAL,
        error("Unrecognized request argument supplied: response_format"),
    ),
    Case("unknown parameter", REFUSAL, error("Unknown parameter: 'response_format'.")),
    Case("go decoder", REFUSAL, error('json: unknown field "response_format"')),
    Case(
        "serde field",
        REFUSAL,
        "Failed to deserialize the JSON body into the target type: unknown field `response_format`, expected one of `model`, `messages`, `temperature` at line 1 column 90",
    ),
    Case(
        "fastapi extra",
        REFUSAL,
        json.dumps(
            {
                "detail": [
                    {
                        "type": "extra_forbidden",
                        "loc": ["body", "response_format"],
                        "msg": "Extra inputs are not permitted",
                        "input": {"type": "json_schema"},
                    }
                ]
            }
        ),
        status=422,
    ),
    Case(
        "pydantic v1 extra",
        REFUSAL,
        json.dumps(
            {
                "detail": [
                    {
                        "loc": ["body", "response_format"],
                        "msg": "extra fields not permitted",
                        "type": "value_error.extra",
                    }
                ]
            }
        ),
        status=422,
    ),
    Case(
        "jsonschema additional",
        REFUSAL,
        error("Additional properties are not allowed ('response_format' was unexpected)"),
    ),
    Case(
        "ajv",
        REFUSAL,
        json.dumps(
            {
                "errors": [
                    {
                        "instancePath": "",
                        "keyword": "additionalProperties",
                        "params": {"additionalProperty": "response_format"},
                        "message": "must NOT have additional properties",
                    }
                ]
            }
        ),
    ),
    Case(
        "python kwargs",
        REFUSAL,
        error("Completions.create() got an unexpected keyword argument 'response_format'"),
    ),
    Case(
        "google camel",
        REFUSAL,
        error(
            "Invalid JSON payload received. Unknown name \"responseSchema\" at 'generation_config': Cannot find field.",
            code=400,
            status="INVALID_ARGUMENT",
        ),
        api="generate_content",
    ),
    Case(
        "google violation",
        REFUSAL,
        json.dumps(
            {
                "error": {
                    "code": 400,
                    "message": "Invalid argument",
                    "status": "INVALID_ARGUMENT",
                    "details": [
                        {
                            "@type": "x",
                            "fieldViolations": [
                                {
                                    "field": "generation_config",
                                    "description": "Unknown name \"responseJsonSchema\" at 'generation_config': Cannot find field.",
                                }
                            ],
                        }
                    ],
                }
            }
        ),
        api="generate_content",
    ),
    Case(
        "zod keys",
        REFUSAL,
        json.dumps(
            {
                "issues": [
                    {
                        "code": "unrecognized_keys",
                        "keys": ["response_format"],
                        "path": [],
                        "message": "Unrecognized key",
                    }
                ]
            }
        ),
    ),
    Case(
        "bedrock extraneous",
        REFUSAL,
        json.dumps(
            {
                "message": "Malformed input request: #: extraneous key [response_format] is not permitted, please reformat your input and try again."
            }
        ),
        api="converse",
    ),
    Case(
        "bedrock subject",
        REFUSAL,
        json.dumps(
            {
                "message": "Malformed input request: extraneous key [output_config] is not permitted, please reformat your input and try again."
            }
        ),
        api="converse",
    ),
    Case(
        "nim",
        REFUSAL,
        json.dumps({"error": "Validation: Unsupported parameter(s): `response_format`"}),
    ),
    Case(
        "anthropic unknown",
        REFUSAL,
        error("output_format: Extra inputs are not permitted", type="invalid_request_error"),
        api="messages",
    ),
    Case(
        "stringified detail",
        REFUSAL,
        json.dumps(
            {
                "object": "error",
                "message": json.dumps(
                    {
                        "detail": [
                            {
                                "type": "extra_forbidden",
                                "loc": ["body", "response_format"],
                                "msg": "Extra inputs are not permitted",
                            }
                        ]
                    }
                ),
            }
        ),
        status=422,
    ),
    Case(
        "repr detail",
        REFUSAL,
        error(
            "OpenAIException - Error code: 422 - {'detail': [{'type': 'extra_forbidden', 'loc': ['body', 'response_format'], 'msg': 'Extra inputs are not permitted', 'input': {'type': 'json_schema'}}]}"
        ),
        status=422,
    ),
    Case(
        "unescaped inner",
        REFUSAL,
        error(
            'Azure_aiException - {"error":{"code":"Invalid input","message":"{"detail":[{"type":"extra_forbidden","loc":["body","response_format"],"msg":"Extra inputs are not permitted","input":true}]}","status":422}}'
        ),
    ),
)

LOCATED = (
    Case(
        "param alone",
        REFUSAL,
        json.dumps({"error": {"message": "Invalid input", "param": "response_format"}}),
    ),
    Case(
        "param type",
        REFUSAL,
        json.dumps({"error": {"message": "Bad value", "param": "response_format.type"}}),
    ),
    Case(
        "param, no message",
        REFUSAL,
        json.dumps({"error": {"param": "response_format", "code": "unsupported_parameter"}}),
    ),
    Case(
        "param text.format",
        REFUSAL,
        json.dumps({"error": {"message": "Invalid value.", "param": "text.format"}}),
        api="responses",
    ),
    Case(
        "param text",
        REFUSAL,
        json.dumps({"error": {"message": "Unknown parameter: 'text'.", "param": "text"}}),
        api="responses",
    ),
    Case(
        "other dialect",
        REFUSAL,
        json.dumps(
            {
                "detail": [
                    {
                        "loc": ["body", "response_format", "json_schema"],
                        "msg": "str type expected",
                        "type": "type_error.str",
                    }
                ]
            }
        ),
        status=422,
    ),
    Case(
        "missing own field",
        REFUSAL,
        json.dumps(
            {
                "detail": [
                    {
                        "loc": ["body", "response_format", "schema"],
                        "msg": "Field required",
                        "type": "missing",
                    }
                ]
            }
        ),
        status=422,
    ),
    Case(
        "tgi value",
        REFUSAL,
        json.dumps(
            {
                "detail": [
                    {
                        "loc": ["body", "response_format", "value"],
                        "msg": "Field required",
                        "type": "missing",
                    }
                ]
            }
        ),
        status=422,
    ),
    Case(
        "dict type",
        REFUSAL,
        json.dumps(
            {
                "detail": [
                    {
                        "loc": ["body", "response_format"],
                        "msg": "Input should be a valid string",
                        "type": "string_type",
                    }
                ]
            }
        ),
        status=422,
    ),
    Case(
        "pointer",
        REFUSAL,
        json.dumps(
            {"errors": [{"source": {"pointer": "/response_format/type"}, "detail": "is invalid"}]}
        ),
    ),
    Case(
        "ajv path",
        REFUSAL,
        json.dumps(
            {
                "message": "validation failed",
                "errors": [
                    {
                        "instancePath": "/response_format/type",
                        "message": "must be equal to one of the allowed values",
                        "params": {"allowedValues": ["text"]},
                    }
                ],
            }
        ),
    ),
    Case(
        "zod path",
        REFUSAL,
        json.dumps(
            {
                "error": {
                    "issues": [
                        {
                            "code": "invalid_union",
                            "path": ["response_format", "type"],
                            "message": "Invalid input",
                        }
                    ]
                }
            }
        ),
    ),
    Case(
        "azure target",
        REFUSAL,
        json.dumps(
            {
                "error": {
                    "code": "BadRequest",
                    "message": "Invalid argument",
                    "target": "response_format",
                }
            }
        ),
    ),
    Case(
        "arrow path",
        REFUSAL,
        error("At body -> response_format -> json_schema: value is not a valid dict"),
    ),
    Case(
        "converse path",
        REFUSAL,
        json.dumps({"message": "outputConfig.textFormat: unexpected"}),
        api="converse",
    ),
    Case(
        "google field",
        REFUSAL,
        json.dumps(
            {
                "error": {
                    "code": 400,
                    "message": "* GenerateContentRequest.generation_config.response_mime_type: field is unset",
                    "status": "INVALID_ARGUMENT",
                    "details": [
                        {
                            "fieldViolations": [
                                {
                                    "field": "generation_config.response_mime_type",
                                    "description": "not for this model",
                                }
                            ]
                        }
                    ],
                }
            }
        ),
        "json_object",
        api="generate_content",
    ),
    Case(
        "messages",
        NONE,
        json.dumps(
            {
                "error": {
                    "message": "response_format is not supported in messages",
                    "param": "messages",
                }
            }
        ),
    ),
    Case(
        "model",
        NONE,
        json.dumps(
            {"error": {"message": "Model not supported with response_format", "param": "model"}}
        ),
    ),
    Case(
        "temperature",
        NONE,
        json.dumps({"error": {"message": "Unsupported with json_schema", "param": "temperature"}}),
    ),
    Case(
        "tools",
        NONE,
        json.dumps(
            {
                "error": {
                    "message": "JSON schema not supported",
                    "param": "tools[0].function.parameters",
                }
            }
        ),
        also=TOOLS,
    ),
    Case(
        "loc elsewhere",
        NONE,
        json.dumps(
            {
                "detail": [
                    {"loc": ["body", "guardrails"], "msg": "json_schema not supported", "type": "x"}
                ]
            }
        ),
        status=422,
    ),
    Case(
        "loc max_tokens",
        NONE,
        json.dumps(
            {
                "detail": [
                    {
                        "loc": ["body", "max_tokens"],
                        "msg": "Input should be less than 8192",
                        "type": "less_than_equal",
                    }
                ]
            }
        ),
        status=422,
    ),
    Case(
        "effort beside the format",
        NONE,
        error("output_config.effort: Input should be 'low', 'medium' or 'high'"),
        api="messages",
    ),
    Case(
        "verbosity beside the format",
        NONE,
        json.dumps({"error": {"message": "Unsupported value", "param": "text.verbosity"}}),
        api="responses",
    ),
    Case(
        "tool output_config",
        NONE,
        error("tools.0.output_config: Extra inputs are not permitted"),
        api="messages",
        also=TOOLS,
    ),
)

LISTS = (
    Case(
        "openai",
        REFUSAL,
        error(
            "Invalid value: 'json_schema'. Supported values are: 'json_object' and 'text'.",
            param="response_format.type",
        ),
    ),
    Case(
        "openai without param",
        REFUSAL,
        error("Invalid value: 'json_schema'. Supported values are: 'text' and 'json_object'."),
    ),
    Case(
        "pydantic",
        REFUSAL,
        json.dumps(
            {
                "detail": [
                    {
                        "type": "literal_error",
                        "loc": ["body", "response_format", "type"],
                        "msg": "Input should be 'text' or 'json_object'",
                        "input": "json_schema",
                        "ctx": {"expected": "'text' or 'json_object'"},
                    }
                ]
            }
        ),
        status=422,
    ),
    Case(
        "pydantic v1",
        REFUSAL,
        json.dumps(
            {
                "detail": [
                    {
                        "loc": ["body", "response_format", "type"],
                        "msg": "unexpected value; permitted: 'text', 'json_object'",
                        "type": "value_error.const",
                        "ctx": {"given": "json_schema", "permitted": ["text", "json_object"]},
                    }
                ]
            }
        ),
        status=422,
    ),
    Case(
        "pydantic text",
        REFUSAL,
        error(
            "1 validation error for ChatCompletionRequest\nresponse_format.type\n  Input should be 'text' or 'json_object' [type=literal_error, input_value='json_schema', input_type=str]"
        ),
    ),
    Case(
        "pydantic tag",
        REFUSAL,
        json.dumps(
            {
                "detail": [
                    {
                        "type": "union_tag_invalid",
                        "loc": ["body", "response_format"],
                        "msg": "Input tag 'json_schema' found using 'type' does not match any of the expected tags: 'text', 'json_object'",
                    }
                ]
            }
        ),
        status=422,
    ),
    Case(
        "serde variant",
        REFUSAL,
        "Failed to deserialize the JSON body into the target type: response_format.type: unknown variant `json_schema`, expected `text` or `json_object` at line 1 column 532",
        status=422,
    ),
    Case(
        "zod enum",
        REFUSAL,
        json.dumps(
            {
                "error": {
                    "issues": [
                        {
                            "code": "invalid_enum_value",
                            "path": ["response_format", "type"],
                            "options": ["text", "json_object"],
                            "message": "Invalid enum value. Expected 'text' | 'json_object', received 'json_schema'",
                        }
                    ]
                }
            }
        ),
    ),
    Case("only", REFUSAL, error("Only json_object response_format is supported")),
    Case("only supports", REFUSAL, error("response_format only supports 'text'"), "json_object"),
    Case("joi", REFUSAL, error('"response_format.type" must be one of [text, json_object]')),
    Case(
        "class validator",
        REFUSAL,
        json.dumps(
            {
                "message": [
                    "response_format.type must be one of the following values: text, json_object"
                ]
            }
        ),
    ),
    Case(
        "object mode",
        REFUSAL,
        error("response_format.type must be one of 'text', 'json_schema'"),
        "json_object",
    ),
    Case(
        "not one of",
        REFUSAL,
        error("'json_schema' is not one of ['text', 'json_object'] - 'response_format.type'"),
    ),
    Case(
        "ours listed",
        NONE,
        error(
            "Invalid value: 'object'. Supported values are: 'json_object', 'json_schema', and 'text'.",
            param="response_format.type",
        ),
    ),
    Case(
        "ours listed pydantic",
        NONE,
        json.dumps(
            {
                "detail": [
                    {
                        "type": "literal_error",
                        "loc": ["body", "response_format", "type"],
                        "msg": "Input should be 'text', 'json_object' or 'json_schema'",
                    }
                ]
            }
        ),
        status=422,
    ),
    Case(
        "ours listed object",
        NONE,
        error("response_format.type must be one of: text, json_object, json_schema"),
        "json_object",
    ),
    Case(
        "modalities",
        NONE,
        error(
            "Invalid content type. Expected one of text, image_url",
            param="messages[0].content[0].type",
        ),
    ),
    Case("image formats", NONE, error("response_format must be one of url, b64_json")),
    Case(
        "audio formats",
        NONE,
        error("response_format must be one of json, text, srt, verbose_json, or vtt"),
    ),
    Case(
        "levels",
        NONE,
        error("This model does not support effort level 'xhigh'. Supported levels: high, low."),
        api="messages",
    ),
)

TOGETHER = (
    Case(
        "tools", COMBINED, error("response_format cannot be used together with tools"), also=TOOLS
    ),
    Case(
        "tools incompatible",
        COMBINED,
        error("tools and response_format are incompatible"),
        also=TOOLS,
    ),
    Case(
        "function calling",
        COMBINED,
        error("JSON mode is not supported with function calling"),
        "json_object",
        also=TOOLS,
    ),
    Case(
        "stream",
        COMBINED,
        error("Streaming is not supported when response_format is json_schema"),
        also=STREAM,
    ),
    Case(
        "thinking",
        COMBINED,
        error("Structured output is not available when thinking is enabled"),
        also=REASONING,
    ),
    Case(
        "reasoning effort",
        COMBINED,
        error("reasoning_effort conflicts with response_format"),
        also=REASONING,
    ),
    Case("chinese tools", COMBINED, error("response_format 与 tools 不能同时使用"), also=TOOLS),
    Case(
        "mutually exclusive",
        COMBINED,
        error("`tools` and `response_format` are mutually exclusive"),
        also=TOOLS,
    ),
    Case("flag not sent", REFUSAL, error("response_format cannot be used together with tools")),
    Case(
        "thinking not sent",
        REFUSAL,
        error("Json mode response is not supported when enable_thinking is true"),
        "json_object",
    ),
    Case(
        "reasoning models",
        REFUSAL,
        error("response_format is not supported for reasoning models"),
        also=REASONING,
    ),
    Case(
        "advice to use tools",
        REFUSAL,
        error("response_format is not supported; use tools instead"),
        also=TOOLS,
    ),
    Case(
        "plain with tools sent",
        REFUSAL,
        error("This model does not support response_format"),
        also=TOOLS,
    ),
)

ENGINE = (
    Case("no module", REFUSAL, error("guided_json: No module named 'outlines'")),
    Case(
        "not installed",
        REFUSAL,
        error("xgrammar is not installed; response_format cannot be served"),
    ),
    Case(
        "needs grammar", REFUSAL, error("json_schema requires the grammar backend"), "json_schema"
    ),
    Case(
        "grammar backend none",
        REFUSAL,
        error("Grammar backend is not initialized, json_schema is unavailable"),
    ),
)

SCHEMAS = (
    Case(
        "strict openai",
        SCHEMA,
        error(
            "Invalid schema for response_format 'answer': In context=(), 'required' is required to be supplied and to be an array including every key in properties. Missing 'why'.",
            param="response_format",
        ),
    ),
    Case(
        "openai responses",
        SCHEMA,
        error(
            "Invalid schema for response_format 'a': In context=(), 'additionalProperties' is required to be supplied and to be false.",
            param="text.format.schema",
        ),
        api="responses",
    ),
    Case(
        "name pattern",
        SCHEMA,
        error(
            "Invalid 'response_format.json_schema.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
            param="response_format.json_schema.name",
        ),
    ),
    Case(
        "text name",
        SCHEMA,
        error("Missing required parameter: 'text.format.name'.", param="text.format.name"),
        api="responses",
    ),
    Case("strict", SCHEMA, error("Unsupported value", param="response_format.json_schema.strict")),
    Case(
        "numeric bounds",
        SCHEMA,
        error(
            "output_config.format.schema: For 'number' type, properties maximum, minimum are not supported"
        ),
        api="messages",
    ),
    Case(
        "numeric bounds relayed",
        SCHEMA,
        json.dumps(
            {
                "error": {
                    "message": "Provider returned error",
                    "metadata": {
                        "raw": error(
                            "output_config.format.schema: For 'integer' type, property 'minimum' is not supported"
                        )
                    },
                }
            }
        ),
    ),
    Case(
        "under any",
        SCHEMA,
        error(
            "Invalid schema for response_format 'response_format': 'json_object' is not valid under any of the given schemas.",
            param="response_format",
        ),
    ),
    Case(
        "deep path",
        SCHEMA,
        error(
            "response_format.json_schema.schema.properties.a: unsupported",
            param="response_format.json_schema.schema.properties.a",
        ),
    ),
    Case(
        "google property",
        SCHEMA,
        error(
            "* GenerateContentRequest.generation_config.response_schema.properties[x].enum: cannot be empty",
            code=400,
        ),
        api="generate_content",
    ),
    Case(
        "google unknown inside",
        SCHEMA,
        error(
            "Invalid JSON payload received. Unknown name \"additionalProperties\" at 'generation_config.response_schema': Cannot find field.",
            code=400,
        ),
        api="generate_content",
    ),
    Case(
        "google depth",
        SCHEMA,
        error("The specified schema exceeds the maximum nesting depth", code=400),
        api="generate_content",
    ),
    Case(
        "too many properties",
        SCHEMA,
        error("Invalid schema for response_format: too many properties (limit 100)"),
    ),
    Case(
        "too complex", SCHEMA, error("Schema is too complex for compilation. Simplify the schema.")
    ),
    Case("recursive", SCHEMA, error("Recursive schemas are not supported in response_format")),
    Case(
        "circular",
        SCHEMA,
        error("Circular reference detected in schema definitions: #/$defs/Node is not allowed"),
    ),
    Case("keyword", SCHEMA, error("Unsupported JSON schema keyword: patternProperties")),
    Case(
        "features",
        SCHEMA,
        error("The provided JSON schema contains features not supported by xgrammar."),
    ),
    Case(
        "regex",
        SCHEMA,
        error("Failed to compile regex pattern in schema: look-around not supported"),
    ),
    Case("convert", SCHEMA, error("Failed to convert JSON schema to grammar: unknown type")),
    Case("root", SCHEMA, error("json_schema root schema must be an object")),
    Case(
        "json schema invalid",
        SCHEMA,
        error("The JSON schema provided in response_format is invalid"),
    ),
    Case("chinese", SCHEMA, error("json schema 格式错误: 缺少 properties")),
    Case("anyof", SCHEMA, error("anyOf is not permitted at the top level of the schema")),
    Case("ref", SCHEMA, error("$ref is not supported")),
    Case(
        "optional",
        SCHEMA,
        error(
            "Schemas contains too many optional parameters (31), which would make grammar compilation inefficient. Reduce the number of optional parameters in your schemas (limit: 24)."
        ),
        api="messages",
    ),
    Case(
        "size of the schema",
        SCHEMA,
        error("The JSON schema is too large: it exceeds 10000 characters"),
    ),
    Case(
        "enum size",
        SCHEMA,
        error(
            "Invalid schema for response_format 'x': Expected at most 500 enum values in total within a schema when using structured outputs, got 744."
        ),
    ),
    Case(
        "grammar",
        SCHEMA,
        json.dumps(
            {
                "object": "error",
                "message": 'Grammar error: Unimplemented keys: ["propertyNames"]',
                "code": 400,
            }
        ),
    ),
    Case(
        "echoed schema",
        REFUSAL,
        error(
            'response_format {"type":"json_schema","json_schema":{"schema":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}}} is not supported by this model'
        ),
    ),
    Case(
        "echoed short",
        REFUSAL,
        error("json_schema {'additionalProperties': False} is not supported on this endpoint"),
    ),
    Case(
        "schema words of a tool",
        NONE,
        error(
            "Invalid schema for function 'f': 'additionalProperties' is required to be supplied and to be false.",
            param="tools[0].function.parameters",
        ),
        also=TOOLS,
    ),
    Case(
        "tool schema in words",
        NONE,
        error("tools.3.custom.input_schema: JSON schema is invalid"),
        also=TOOLS,
    ),
    Case(
        "json object with schema words",
        REFUSAL,
        error("response_format.json_schema: Field required"),
        "json_object",
    ),
)

EXCLUDED = (
    Case(
        "model gone",
        NONE,
        error("The model gpt-x does not exist, so structured outputs are not available."),
    ),
    Case(
        "function schema in words",
        NONE,
        error("Invalid schema for function 'f': 'minItems' is not permitted"),
        also=TOOLS,
    ),
    Case(
        "generated, no code",
        NONE,
        error("Generated JSON does not match the expected schema: minItems not satisfied"),
    ),
    Case("media value", NONE, error("Invalid value for response_format: b64_json")),
    Case(
        "word json",
        NONE,
        error(
            "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
            param="response_format",
        ),
        "json_object",
    ),
    Case(
        "string json",
        NONE,
        error('Prompt must contain the string "JSON" when using JSON mode'),
        "json_object",
    ),
    Case(
        "mention json",
        NONE,
        error("When using json mode, your messages should mention JSON"),
        "json_object",
    ),
    Case(
        "instruct",
        NONE,
        error(
            "To use json_object you must instruct the model to produce JSON in the prompt; invalid request"
        ),
        "json_object",
    ),
    Case(
        "json must appear",
        NONE,
        error(
            "response_format json_object is invalid: 'json' must appear somewhere in the messages"
        ),
        "json_object",
    ),
    Case(
        "include json",
        NONE,
        error("Please include JSON in your prompt; json mode not allowed otherwise"),
        "json_object",
    ),
    Case(
        "word json chinese",
        NONE,
        error("使用 json_object 时\uff0cmessages 中必须包含 json 字样"),
        "json_object",
    ),
    Case(
        "word json relayed",
        NONE,
        twice(
            {
                "message": "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.",
                "param": None,
            }
        ),
        "json_object",
    ),
    Case(
        "context",
        NONE,
        error(
            "This model's maximum context length is 8192 tokens; with response_format your request is not supported"
        ),
    ),
    Case(
        "context code",
        NONE,
        error("json_schema not supported at this length", code="context_length_exceeded"),
    ),
    Case(
        "too long",
        NONE,
        error(
            "Input is too long for requested model. response_format not supported? Reduce the length of the messages."
        ),
    ),
    Case("payload", NONE, error("Request payload too large including json_schema, not allowed")),
    Case("auth", NONE, error("Invalid API key: not allowed to use response_format")),
    Case(
        "quota",
        NONE,
        error("You exceeded your current quota, structured outputs are not available"),
    ),
    Case("chinese balance", NONE, error("余额不足\uff0cresponse_format 不可用")),
    Case(
        "model missing",
        NONE,
        error("The model `x` does not exist; see the structured outputs list"),
    ),
    Case(
        "model unsupported",
        NONE,
        error("The requested model is not supported.", code="model_not_supported"),
    ),
    Case(
        "wrong api",
        NONE,
        error(
            "This model is not supported in the v1/chat/completions endpoint. Use the v1/responses endpoint instead."
        ),
    ),
    Case("malformed", NONE, error("Invalid JSON in request body: unexpected token")),
    Case("malformed two", NONE, error("Could not parse the JSON body of your request")),
    Case(
        "failed generation",
        NONE,
        json.dumps(
            {
                "error": {
                    "message": "Failed to generate JSON. Please adjust your prompt. See 'failed_generation' for more details.",
                    "code": "json_validate_failed",
                    "failed_generation": "response_format is not supported",
                }
            }
        ),
        "json_object",
    ),
    Case(
        "generated mismatch",
        NONE,
        error(
            "Generated JSON does not match the expected schema: additionalProperties 'x' not allowed",
            code="json_validate_failed",
        ),
    ),
    Case(
        "moved",
        NONE,
        error(
            "Unsupported parameter: 'response_format'. In the Responses API, this parameter has moved to 'text.format'.",
            param="response_format",
        ),
        api="responses",
    ),
    Case(
        "echoed input",
        NONE,
        json.dumps(
            {
                "detail": [
                    {
                        "loc": ["body"],
                        "msg": "Input should be a valid dictionary",
                        "input": '{"response_format": "json_schema is not supported"}',
                    }
                ]
            }
        ),
        status=422,
    ),
    Case(
        "echoed request",
        NONE,
        error(
            'Invalid temperature 3. Request: {"model": "m", "messages": [], "response_format": {"type": "json_schema"}} was not allowed'
        ),
    ),
    Case(
        "other parameter",
        NONE,
        error(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        ),
    ),
    Case(
        "tools unsupported",
        NONE,
        error("This model does not support tools. See structured outputs for an alternative."),
        also=TOOLS,
    ),
    Case(
        "s3",
        NONE,
        json.dumps(
            {"message": "This model doesn't support the s3Uri field. Remove s3Uri and try again."}
        ),
        api="converse",
    ),
    Case(
        "file mime",
        NONE,
        error(
            "Unable to submit request because it has a mimeType parameter with value application/json, which is not supported."
        ),
        api="generate_content",
    ),
    Case(
        "link only",
        NONE,
        error("Model not supported, see https://docs.x.dev/guides/json-mode/response_format"),
    ),
    Case("image url", NONE, error("image_url is not supported by this model")),
    Case(
        "system role",
        NONE,
        error("Unsupported value: 'messages[0].role' does not support 'system' with this model."),
    ),
    Case("nothing", NONE, error("Provider returned error", code=400)),
    Case("stream options", NONE, error("stream_options is not supported"), also=STREAM),
    Case(
        "mentions feature", NONE, error("Please retry. Your structured output request timed out.")
    ),
    Case(
        "prefill",
        NONE,
        error(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        ),
        api="messages",
    ),
    Case(
        "thinking budget",
        NONE,
        error("thinking.budget_tokens: Input should be greater than or equal to 1024"),
        api="messages",
        also=REASONING,
    ),
    Case(
        "logprobs", NONE, error("logprobs is not supported with reasoning models"), also=REASONING
    ),
)

ROUTES = (
    Case(
        "tools with a format",
        NONE,
        error("No endpoints found that support tool use and response_format", code=404),
        status=404,
    ),
    Case(
        "funnel of names",
        REFUSAL,
        json.dumps(
            {"error": {"message": "No endpoints found.", "funnel": ["all", "Filter by Parameters"]}}
        ),
        status=404,
    ),
    Case(
        "funnel of lists",
        NONE,
        json.dumps(
            {
                "error": {
                    "message": "No endpoints found.",
                    "funnel": [
                        {"name": "start", "providers": ["a", "b"]},
                        {"name": "Filter by Parameters", "providers": ["a", "b"]},
                    ],
                }
            }
        ),
        status=404,
    ),
    Case(
        "funnel too deep",
        NONE,
        json.dumps(
            {
                "error": {
                    "message": "No endpoints found.",
                    "a": {
                        "b": {
                            "c": {
                                "d": {
                                    "e": {
                                        "f": {
                                            "g": {
                                                "h": {"funnel": [{"step": "Filter by Parameters"}]}
                                            }
                                        }
                                    }
                                }
                            }
                        }
                    },
                }
            }
        ),
        status=404,
    ),
    Case(
        "requested parameters",
        REFUSAL,
        error("No endpoints found that can handle the requested parameters.", code=404),
        status=404,
    ),
    Case(
        "feature",
        REFUSAL,
        error("No endpoints found that support response_format json_schema", code=404),
        status=404,
    ),
    Case(
        "funnel dropped",
        REFUSAL,
        json.dumps(
            {
                "error": {
                    "message": "No endpoints found for z.",
                    "code": 404,
                    "metadata": {
                        "routing_funnel": [
                            {"step": "Initial Endpoints", "endpoint_count": 5},
                            {"step": "Filter by Parameters", "endpoint_count": 0},
                        ]
                    },
                }
            }
        ),
        status=404,
    ),
    Case(
        "funnel equal",
        NONE,
        json.dumps(
            {
                "error": {
                    "message": "No endpoints found for z.",
                    "code": 404,
                    "metadata": {
                        "routing_funnel": [
                            {"step": "Initial Endpoints", "endpoint_count": 5},
                            {"step": "Filter by Parameters", "endpoint_count": 5},
                            {"step": "Filter by Status", "endpoint_count": 0},
                        ]
                    },
                }
            }
        ),
        status=404,
    ),
    Case(
        "funnel other names",
        REFUSAL,
        json.dumps(
            {
                "error": {
                    "message": "No endpoints found.",
                    "metadata": {
                        "funnel": [
                            {"name": "start", "remaining": 3},
                            {"name": "Filter by Parameters", "remaining": 1},
                        ]
                    },
                }
            }
        ),
        status=404,
    ),
    Case(
        "funnel unreadable",
        REFUSAL,
        json.dumps(
            {
                "error": {
                    "message": "No endpoints found.",
                    "metadata": {"funnel": [{"step": "Filter by Parameters"}]},
                }
            }
        ),
        status=404,
    ),
    Case(
        "funnel as text",
        REFUSAL,
        error("No endpoints found. Funnel: Initial 3 > Filter by Parameters"),
        status=404,
    ),
    Case(
        "failed step",
        REFUSAL,
        json.dumps(
            {
                "error": {
                    "message": "No endpoints found.",
                    "metadata": {"failed_routing_step": "Filter by Parameters"},
                }
            }
        ),
        status=404,
    ),
    Case(
        "other failed step",
        NONE,
        json.dumps(
            {
                "error": {
                    "message": "No endpoints found that can handle the requested parameters.",
                    "metadata": {"failed_routing_step": "Filter by Data Policy"},
                }
            }
        ),
        status=404,
    ),
    Case(
        "tool use",
        NONE,
        error("No endpoints found that support tool use.", code=404),
        status=404,
        also=TOOLS,
    ),
    Case(
        "image input",
        NONE,
        error("No endpoints found that support image input", code=404),
        status=404,
    ),
    Case(
        "data policy",
        NONE,
        error("No endpoints found matching your data policy", code=404),
        status=404,
    ),
    Case("bare", NONE, error("No endpoints found for x/y.", code=404), status=404),
    Case(
        "model not found",
        NONE,
        error(
            "The model x does not exist. See response_format docs: json_schema not supported",
            code=404,
        ),
        status=404,
    ),
    Case("sentence on 404", NONE, error("response_format is not supported", code=404), status=404),
)

STATUSES = (
    Case(
        "405 sentence",
        REFUSAL,
        error("json_object response format is not supported for model: x"),
        "json_object",
        status=405,
    ),
    Case("405 other", NONE, error("response_format: Extra inputs"), status=405),
    Case("405 method", NONE, error("Method Not Allowed"), status=405),
    Case("200 error", REFUSAL, error("response_format is not supported", code=400), status=200),
    Case(
        "200 error string code",
        REFUSAL,
        error("response_format is not supported", code="400"),
        status=200,
    ),
    Case("200 error without code", REFUSAL, error("response_format is not supported"), status=200),
    Case(
        "200 vendor code",
        REFUSAL,
        json.dumps(
            {"code": 20024, "message": "Json mode is not supported for this model.", "data": None}
        ),
        "json_object",
        status=200,
    ),
    Case("200 rate limit", NONE, error("response_format is not supported", code=429), status=200),
    Case("200 server", NONE, error("response_format is not supported", code=502), status=200),
    Case(
        "200 route",
        REFUSAL,
        error("No endpoints found that can handle the requested parameters.", code=404),
        status=200,
    ),
    Case(
        "200 choice error",
        REFUSAL,
        json.dumps(
            {
                "choices": [
                    {
                        "finish_reason": "error",
                        "error": {"code": 400, "message": "response_format is not supported"},
                    }
                ]
            }
        ),
        status=200,
    ),
    Case(
        "200 answer",
        NONE,
        json.dumps({"choices": [{"message": {"content": "response_format is not supported"}}]}),
        status=200,
    ),
    Case(
        "200 answer anthropic",
        NONE,
        json.dumps(
            {"type": "message", "content": [{"type": "text", "text": "json mode is not supported"}]}
        ),
        status=200,
        api="messages",
    ),
    Case("200 prose", NONE, "response_format is not supported", status=200),
    Case(
        "200 failed response",
        REFUSAL,
        json.dumps(
            {
                "type": "response.failed",
                "response": {
                    "error": {
                        "code": "invalid_request",
                        "message": "text.format json_schema is not supported",
                    }
                },
            }
        ),
        status=200,
        api="responses",
    ),
    *(
        Case(f"never {status}", NONE, error("response_format is not supported"), status=status)
        for status in (401, 402, 403, 408, 409, 413, 429, 500, 501, 502, 503, 529)
    ),
)

GROUPS: dict[str, tuple[Case, ...]] = {
    "not_supported": NOT_SUPPORTED,
    "withheld": WITHHELD,
    "unknown_field": UNKNOWN_FIELD,
    "located": LOCATED,
    "lists": LISTS,
    "together": TOGETHER,
    "engine": ENGINE,
    "schemas": SCHEMAS,
    "excluded": EXCLUDED,
    "routes": ROUTES,
    "statuses": STATUSES,
}
CASES = [(group, case) for group, cases in GROUPS.items() for case in cases]
