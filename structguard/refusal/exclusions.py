"""
What is about something else, though it may name the format (spec guard §1.7).

Patterns run on `words.plain` text; the names are told in docs and tests.
"""

from __future__ import annotations

from structguard.refusal.text import Words

NEVER: tuple[tuple[str, Words], ...] = (
    (
        "json_word",
        Words(
            (
                "json",
                r"\b(?:word|string|keyword|term|token|substring|phrase|text|letters) ['(]{0,2}json\b(?![_ -]?(?:schema|object|mode))",
            ),
            (
                "json",
                r"\b(?:messages?|prompts?|inputs?|instructions?|conversation|context)\b.{0,30}\b(?:mention|contain|includ|say|referenc)(?:s|es|ed|ing)?\b.{0,20}\bjson\b(?![_ -]?(?:schema|object|mode))",
            ),
            (
                "'json'",
                r"'json'.{0,60}\b(?:messages?|prompts?|inputs?|contexts?|instructions?|conversation)\b",
            ),
            (
                "json",
                (
                    r"\b(?:messages?|prompts?|inputs?|instructions?|conversation|context)\b.{0,60}\b(?:must|should|needs?|has|have|requires?|does not|do not|don't|doesn't|to|ensure|missing|without)\b.{0,40}"
                    r"\b(?:contain|includ|mention|referenc|have|has|instruct|say|ask|specif|state|request|tell)\w*\b.{0,60}\bjson\b(?![_ -]?(?:schema|object|mode))"
                ),
            ),
            (
                "json",
                r"\bjson\b(?![_ -]?(?:schema|object|mode)).{0,40}\b(?:must|should|needs?|has|have|required) (?:to )?(?:also )?(?:appear|occur|be (?:mentioned|present|included|contained|in\b|found|part|stated))",
            ),
            (
                "json",
                r"\b(?:mention|includ|contain|add|say|put|use)\w*\b (?:the )?(?:word )?['(]{0,2}json\b(?![_ -]?(?:schema|object|mode)).{0,40}\b(?:messages?|prompts?|inputs?|context|instructions?|conversation|somewhere)\b",
            ),
            ("model", r"\b(?:instruct|tell|ask|direct)\w* (?:the |your )?model\b.{0,60}\bjson\b"),
            (
                "message|prompt|一词|关键字|关键词|内容|单词|字样|字符|提示|消息|输入",
                r"(?:消息|提示词?|内容|输入|prompt|messages?).{0,30}(?:包含|含有|出现|提及|带有|包括).{0,20}json|json.{0,10}(?:字样|关键字|关键词|一词|字符|单词)",
            ),
        ),
    ),
    (
        "size",
        Words(
            ("context", r"\bcontext[ _-]?(?:length|window|size|limit)"),
            (
                "context|input|model|number of |prompt|sequence|token",
                r"\bmax(?:imum)?[ _](?:context|prompt|input|model[ _]len|sequence|tokens?|number of (?:input )?tokens)",
            ),
            ("too many ", r"\btoo many (?:\w+ )?(?:tokens|messages|images)\b"),
            (
                "exceed|larger than|longer than|over the limit|too ",
                r"\b(?:tokens?|prompt|input|request|payload|body|content|messages?)\b[^.]{0,60}\b(?:too (?:long|large|big)|exceed\w*|over the limit|longer than|larger than)",
            ),
            (
                "exceed",
                r"\bexceed\w*\b.{0,40}\b(?:tokens?|context|request size|payload|body|bytes)\b",
            ),
            (
                "reduce the ",
                r"\breduce the (?:length|size|number) of\b.{0,40}(?:messages?|prompt|input|completion)",
            ),
            (" too large", r"\b(?:entity|payload|request|body) too large\b"),
            (
                "上下文|大于|超出|超过|过长",
                r"(?:超出|超过|大于).{0,20}(?:长度|上下文|token|限制)|上下文(?:长度|窗口)|(?:长度|输入)过长",
            ),
        ),
    ),
    (
        "auth_or_billing",
        Words(
            (
                "access|api|authentication|authorization|bearer|credential|subscription key|token",
                r"\b(?:incorrect|invalid|missing|expired|revoked|wrong|bad|no|unknown|not valid)\b.{0,20}\b(?:api[ _-]?key|x-api-key|access[ _-]?token|auth[ _-]?token|credentials?|subscription key|bearer|authentication|authorization)\b",
            ),
            (
                "disabled|expired|found|incorrect|missing|revoked|valid",
                r"\bapi[ _-]?key\b.{0,40}\b(?:invalid|incorrect|missing|expired|not (?:found|valid)|disabled|revoked)",
            ),
            (
                "access denied|authentication fail|permission denied|unauthori",
                r"\bunauthori[sz]ed\b|\bauthentication fail|\bpermission denied\b|\baccess denied\b",
            ),
            (
                "budget|credit|funds|insufficient|quota",
                r"\binsufficient[ _](?:\w+[ _])?(?:balance|funds?|quota|credits?)|\b(?:exceeded|over|out of).{0,30}\b(?:quota|credits?|funds|budget)\b",
            ),
            (
                "add credits|billing|payment required|purchase credits|recharge|top up",
                r"\b(?:billing|payment required|top up|recharge|purchase credits|add credits)\b",
            ),
            (
                "limit|overloaded|too many requests",
                r"\brate[ _-]?limit|\btoo many requests\b|\boverloaded\b",
            ),
            (
                "令牌|余额|充值|密钥|欠费|配额|限流|频率|额度",
                r"余额|欠费|额度|配额|密钥|充值|限流|频率(?!惩罚)|令牌.{0,8}(?:无效|无权|过期|失效|错误|不正确|不存在|不可用|缺失)|(?:无效|过期|失效|错误|缺少|未提供)的?.{0,6}令牌",
            ),
        ),
    ),
    (
        "model_or_api",
        Words(
            (
                "deployment|engine|model",
                r"\b(?:model|deployment|engine)\b(?![^.]{0,40}\b(?:support|response[_ ]format))[^.]{0,80}\b(?:not (?:be )?found|does ?n[o']t exist|not exist|no longer (?:available|exists)|not running|retired|decommissioned|is unknown|is deprecated|not deployed|not accessible|non-serverless)\b",
            ),
            (
                "invalid|no such|nonexistent|unavailable|unknown|unrecogni",
                r"\b(?:unknown|invalid|no such|unavailable|nonexistent|unrecogni[sz]ed) (?:model|deployment)\b(?!.{0,40}response[_ ]format)",
            ),
            (
                "deployment|model",
                (
                    r"\b(?:model|deployment)\b(?!.{0,60}\b(?:json[_ ]?\w+|structured|response[_ ]?format|output[_ ]\w+)\b[^.]{0,20}(?:n't| not| only| un))"
                    r".{0,60}(?:\b(?:not|only|never|cannot|can't|un(?:supported|available)) |n't )(?:be )?(?:\w+ ){0,2}?"
                    r"(?:(?:via|on|by|for|with|through|using|in) )?(?:this|the) ['/\w]{0,40} ?(?:api|endpoint)\b(?!.{0,60}response[_ ]format)"
                ),
            ),
            ("'/v1/|use the ", r"\buse the (?:\w+ ){1,3}(?:api|endpoint) instead\b|'/v1/[\w/]+'"),
            ("模型", r"模型.{0,20}(?:不存在|未找到|已下线|无权)"),
        ),
    ),
    (
        "moved",
        Words(
            ("output_format", r"\boutput_format (?:is|was) deprecated\b"),
            (
                "migrated|moved|renamed",
                r"\b(?:has |have )?(?:been )?(?:moved|renamed|migrated) to\b",
            ),
            (
                "output_config.format|response_format|response_json_schema|text.format",
                r"\b(?:did you mean|use) '?(?:text\.format|output_config\.format|response_format|response_json_schema)'? instead\b",
            ),
        ),
    ),
    (
        "tools_path",
        Words(
            (
                "function|tool",
                r"\b(?:tools?|functions?|functiondeclarations|function_declarations)(?:\[\d|\.\d|\.(?:function|custom|parameters|input))",
            ),
            ("schema ", r"\bschema (?:for|in|of) (?:the |your )?(?:function|tool)"),
            (
                "function|tool",
                r"\b(?:function|tool) '[^']{1,64}'(?:'s|:| has| uses| contains)? (?:an? )?(?:invalid|parameters?|schema|input|json schema|definition)\b",
            ),
            (
                "function|tool",
                r"\b(?:function|tool) '[^']{1,64}' (?:is |was )?not (?:found|in|defined)\b",
            ),
            ("工具", r"工具.{0,6}(?:名称|参数|定义)"),
            ("parameters", r"\bfunction_?declarations? '?parameters\b"),
            (
                "function.parameters|schema|tool",
                r"\binput_?schema\b|\bfunction\.parameters\b|\btool_?spec\b",
            ),
            (
                "function|tool",
                r"\b(?:tool|function)(?:'s|s)?[ _-](?:call[ _])?(?:schema|parameters?|definition|declaration|arguments?|input|call validation)s?\b",
            ),
            (
                "arguments|parameters",
                r"\b(?:parameters|arguments) (?:for|of) (?:the )?(?:tool|function)\b",
            ),
        ),
    ),
    (
        "malformed_body",
        Words(
            ("schema", r"\b(?:request|body|payload|input)(?:'s)? schema\b"),
            ("of at '/'", r"\b(?:one|any|all)of at '/'"),
            (
                "formed|valid",
                r"\b(?:request|payload|body|input)\b.{0,20}\b(?:is|was)? ?(?:not|n't|in)[ -]?(?:a )?(?:valid|well[ -]formed) ?json\b(?![_ -]?schema)",
            ),
            (
                " json",
                r"\b(?:invalid|malformed|bad|broken) json\b(?![_ -]?(?:schema|mode|object|payload received|format))",
            ),
            (
                " pars",
                r"\b(?:could not|cannot|failed to|unable to|error) pars(?:e|ing) (?:the )?(?:json )?(?:request|body|payload|json body|input)\b(?!: (?:unknown|unrecogni))",
            ),
            (
                "json",
                r"\b(?:could not|cannot|error|failed to|unable to) (?:decod|load|pars|read)(?:e|ing)? (?:the |a )?json\b(?![_ -]?(?:schema|mode))",
            ),
            (
                "expecting value|json |jsondecodeerror|unexpected |unterminated string",
                r"\bjson (?:parse|decode|decoding|parsing|syntax) ?error(?!: (?:unrecogni|unknown|cannot deserialize))|\bjsondecodeerror\b|\bexpecting value\b|\bunterminated string\b|\bunexpected (?:end of|character|token|eof)",
            ),
            (
                "trailing c|unexpected control character",
                r"\bunexpected control character|\btrailing (?:comma|characters)\b",
            ),
        ),
    ),
    (
        "safety",
        Words(
            (
                "blocked|filtered|flagged|harmful|inappropriate|prohibited|unsafe",
                r"\b(?:inappropriate|prohibited) content\b|\b(?:unsafe|harmful) (?:content|output|response)|\bcontent (?:was |is )?(?:blocked|filtered|flagged)\b",
            ),
            (
                "blocked|filtered|flagged",
                r"\b(?:blocked|filtered|flagged) (?:\w+ ){0,3}?(?:by|due to|because of|for|as)\b.{0,40}\b(?:safety|polic|content|harm|prohibited|moderation|recitation)",
            ),
        ),
    ),
    (
        "failed_generation",
        Words(
            (
                "fail",
                r"\bfail\w*\b.{0,40}\b(?:model|generated|assistant|llm|completion)(?:'s)? (?:\w+ )?(?:json|output|text|content|response|answer|reply|generation)\b(?![ _-](?:formats?|schemas?|config))",
            ),
            (
                "failed_generation|json_validate_failed|tool_use_failed",
                r"\b(?:json_validate_failed|failed_generation|tool_use_failed)\b",
            ),
            (
                "failed to|could not|couldn't|unable to",
                r"\b(?:failed to|could not|couldn't|unable to) (?:generate|validate|produce|call)\b(?! (?:\w+ ){0,2}?(?:grammar|schema|fsm|parser|automaton|constraints?)\b)",
            ),
            (
                "answer|content|generation|json|output|reply|response|text",
                r"\b(?:generated|model(?:'s)?|assistant|llm|completion) (?:\w+ )?(?:json|output|text|content|response|answer|reply|generation)\b.{0,40}\b(?:not|n't|invalid|fail\w*|mismatch\w*)\b(?! (?:support|availab|enabl|allow|permit))",
            ),
            (
                "model ",
                r"\bmodel (?:did not|didn't|failed to|could not|returned (?:an )?(?:invalid|malformed|empty))\b(?! (?:the following))",
            ),
            (
                "adhere|comply|conform|match|satisfy|validate",
                r"\b(?:generated|outputs?|responses?|answers?|completions?|arguments|parameters|instance|json|model)\b.{0,60}\b(?:did|does|do)(?: not|n't) (?:match|conform|satisfy|validate|adhere|comply)\b(?! (?:the )?(?:pattern|regex|any of|expected tag)| .{0,20}(?:draft|metaschema))",
            ),
        ),
    ),
    (
        "media",
        Words(
            (
                "b64_json|flac|mp3|'opus'|pcm16|srt|verbose_json|vtt|wav",
                r"\b(?:b64_json|verbose_json|srt|vtt|mp3|wav|flac|pcm16)\b|'opus'",
            ),
            (
                "response_format",
                r"\b(?:image|speech|transcription|audio) (?:generation|api|endpoint|edits?|models?)\b.{0,40}\bresponse_format\b",
            ),
        ),
    ),
)

_CODES = frozenset(
    {
        *("context_length_exceeded", "string_above_max_length", "too_many_tokens"),
        *("too_many_prompt_tokens", "request_too_large", "json_validate_failed", "tool_use_failed"),
        *("model_not_found", "model_not_supported", "model_not_available", "not_found_error"),
        *("unsupported_api_for_model", "deployment_not_found", "deploymentnotfound"),
        *("invalid_api_key", "api_key_invalid", "authentication_error", "permission_error"),
        *("permission_denied", "unauthenticated", "insufficient_quota", "insufficient_balance"),
        *("resource_exhausted", "overloaded_error", "invalid_function_parameters"),
        *("content_filter", "content_policy_violation"),
    }
)


def never_code(code: str) -> bool:
    """Whether an error's code or type alone says that it is about something else."""
    code = code.lower()
    return code in _CODES or code.startswith(("rate_limit", "billing"))
