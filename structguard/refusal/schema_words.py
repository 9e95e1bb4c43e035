"""
Words that show the caller's schema is at fault, not the endpoint (spec guard §1.8).

Patterns run on plain text with underscores kept: `json_schema` names the format, "JSON schema" may
be the schema itself.
"""

from __future__ import annotations

import re

from structguard.refusal.text import Words
from structguard.refusal.words import SUPPORT

_S = r"schema(?:(?<!\wschema)|(?<=\bresponse_schema)|(?<=\boutput_schema))"  # `json_schema` is the format
_SCHEMA = r"(?<![_\w])(?:json )?(?:schema|grammar)s?\b|json_schema\b"
KEYWORD = Words(
    (
        "$defs|$id|$ref|$schema|additionalproperties|allof|anyof|dependentrequired|dependentschemas|exclusivemaximum|exclusiveminimum|maxcontains|maxitems|maxlength|maxproperties|mincontains|minitems|minlength|minproperties|multipleof|oneof|patternproperties|prefixitems|propertynames|unevaluatedproperties|uniqueitems",
        (
            r"(?<![\w.])(?:additionalproperties|unevaluatedproperties|patternproperties|propertynames|minproperties|maxproperties"
            r"|minitems|maxitems|uniqueitems|prefixitems|mincontains|maxcontains|minlength|maxlength"
            r"|exclusiveminimum|exclusivemaximum|multipleof|anyof|oneof|allof|dependentrequired|dependentschemas"
            r"|\$ref|\$defs|\$schema|\$id)\b"
        ),
    ),
)
QUOTED_KEYWORD = re.compile(
    r"(?<!tool_choice[ =:])'(?:required|properties|if|then|else|not|format|items|enum|const|default|pattern|minimum|maximum|definitions|examples"
    r"|contains|nullable|discriminator|\$\w{1,20})'|\b(?:any|one|all)_of\b"
)
PART = re.compile(
    r"\bpropert(?:y|ies) (?:'|names?\b|must\b|has\b|have\b)|\bin property\b|\bmissing from required\b"
    r"|\bobject (?:properties|types|must have)\b|\benums? (?:contains?|has|must|of|values|with)\b|\b(?:array|items) (?:items|types?|must)\b"
    r"|\btypes? arrays\b|\btypes?:? '?(?:null|any|array|date|number|integer|boolean|mixed)\b"
    r"|\bnest(?:ed|ing)\b|\brecursi(?:on|ve)\b|\bunions?\b|\btuples?\b|\breferences?\b|\b(?:the )?root (?:must|object|schema|type)\b"
    r"|\bkeywords?\b(?! argument)"
    r"|\bdefault values?\b|\bconstraints?\b|\boptional (?:fields?|properties|parameters) (?:are|is)\b|\bstring (?:format|length)s?\b"
    r"|\bstrict must\b|'(?:title|format|default|type)'(?:: '[^']{1,40}')? is not\b"
)
"""Parts of a schema; they tell only where the location is the format and no format is named."""
COMPLAINT = re.compile(
    rf"\bnot\b|n't\b|\bun{SUPPORT}|\bunsupported|\binvalid|\bmust\b|\bshould\b|\bneeds?\b|\brequired\b|\bunknown|\bunrecogni"
    r"|\bunexpected|\bunimplemented|\bdisallow|\bforbidden|\bmissing|\bcannot|\bunable\b|\bonly\b|\bexceed|\btoo\b"
    r"|\bextra\b|\bplease\b|\bha(?:s|ve) no\b|\brequires? at least\b|不支持|必须|无效|缺少|不能|错误"
)
CONTEXT = re.compile(r"\bin context ?= ?\(")
SCHEMA_WORD = re.compile(_SCHEMA + r"|模式定义")
SCHEMA_INVALID = Words(
    (
        "schema",
        r"\b(?:unsupported|unknown|invalid) (?:type|format|keyword|property|enum|value|parameter|field|key|attribute) \S{1,60} (?:in|of|at) (?:the |your )?(?:json[ _])?schema",
    ),
    (
        "schema",
        rf"{_S}s? (?:(?:is |are )?(?:missing(?! from)|lacks?|without)|(?:did|does|do)(?: not|n't) (?:specify|define|declare))\b",
    ),
    (
        "declined|refused|rejected",
        rf"{_S}s? (?:is |was |were |has been |have been )?(?:rejected|refused|declined)\b",
    ),
    (
        "unresolv",
        r"\bunresolv(?:ed|able) '?(?:\$?ref\b|reference|definition|pointer)",
    ),
    ("スキーマ", r"スキーマ.{0,10}(?:不正|無効|誤り|正しく)"),
    ("스키마", r"스키마.{0,10}(?:유효하지|잘못|올바르지)"),
    (
        "required",
        r"\b(?:all|each|every) (?:\w+ )?(?:fields?|keys?|propert(?:y|ies)) .{0,20}\b(?:in|listed|included)\b.{0,12}\brequired\b",
    ),
    ("all ", r"\ball (?:\w+ )?(?:fields|properties|keys) must be\b"),
    (
        "grammar|schema",
        r"\b(?:invalid|malformed|incorrect|illegal|bad|broken|not a valid|not valid|undefined|unresolvable)[ _]'?(?:json[ _])?(?:schema|grammar)\b(?!'? ?(?:response|output|mode|type\b|option|value|param))",
    ),
    (
        " a valid ",
        r"(?:\bnot|n't) a valid (?:[\w-]+ ){1,3}?(?:json )?schema\b(?!'? ?(?:response|output|mode|type\b|option|value|param))",
    ),
    (
        "grammar|schema",
        r"\b(?:unsupported|unknown|unrecogni[sz]ed) (?:schema|grammar)\b(?! ?mode| version|.{0,40}url)",
    ),
    (
        "grammar|schema",
        rf"(?:{_S}|grammar(?<!\wgrammar))s?'? (?:\S+ ){{0,3}}?(?:(?:is|are|was|were) (?:\w+ ){{0,2}}?(?:invalid|malformed|not valid|not a valid|illegal|incorrect|empty)|(?:is|are|was|were)n't (?:a )?valid)\b(?! (?:response|format|output|option|value|type|param|with|for))",
    ),
    (
        "schema",
        rf"{_S}s? (?:(?:validation|compilation|conversion|parsing|processing) )?(?:error|fail)|\bfailed schema validation\b",
    ),
    (
        "grammar|schema",
        rf"(?:{_S}|grammar(?<!\wgrammar))s? (?:\S+ ){{0,4}}?(?:must|should|has to|needs to) (?:have|be of|be an?|contain|includ|specif|defin|match|start|not (?:contain|have|includ|us))",
    ),
    (
        "draft|ensure ",
        r"\bensure (?:it|that|your|the)\b.{0,30}\bvalid (?:json )?schema\b|\bdraft[ -]?(?:20\d\d|0?[467])",
    ),
    (
        "schema",
        rf"{_S}s? (?:\S+ ){{0,6}}?(?:unsupported|not (?:\w+ )?supported|unknown|unrecogni[sz]ed|disallowed|unimplemented|invalid) (?:keyword|propert|construct|keys?\b)",
    ),
    (
        "schema",
        rf"{_S}s?'? (?:\S+ ){{0,6}}?(?:contains?|contained|uses|has|have|includes?|declares?|defines?|specif(?:y|ies|ied)) (?:\S+ ){{0,5}}?(?:not (?:\w+ )?supported|unsupported|unknown|invalid|not allowed|not permitted|empty|too)",
    ),
    (
        "schema ",
        r"\b(?:unsupported|unknown|invalid|unimplemented|unrecogni[sz]ed|disallowed) (?:(?:json )?schema (?:keyword|propert|type|field|feature|construct|format|keys?|attribute|element|structure|dialect|draft)|json schema version)",
    ),
    (
        "supported by ",
        r"\b(?:features?|keywords?|constructs?)\b.{0,30}\bnot (?:\w+ )?supported by (?:xgrammar|outlines|guidance|llguidance|the grammar)",
    ),
    (
        "circular|cyclic|nested|recursive|referenc",
        r"\b(?:recursive|circular|cyclic|self[ -]referenc\w*|nested)\b.{0,40}\b(?:schemas?|refs?|references?|definitions?)\b.{0,40}(?:not|n't|unsupported|detected|invalid|too)",
    ),
    (
        "level|root",
        r"\b(?:root|top[ -]level) (?:schema|type|object)\b.{0,40}\b(?:must|should|not|cannot)",
    ),
    (
        "schema|无效的|模式",
        r"(?:(?<!值 json_)(?<!值json_)(?<!型 json_)(?<!称 json_)schema|模式).{0,10}(?:缺少|缺失|无效|不合法|有误|格式错误|错误)|无效的.{0,6}schema|schema.{0,16}不能为空",
    ),
)
SCHEMA_SIZE = Words(
    (
        "too many ",
        r"\btoo many (?:states|propert|parameters|enum|optional|fields|branches|nodes|definitions|levels|unions?|anyof|nested|keys|schema)",
    ),
    (
        "exceed|limit|timed out|timeout|too ",
        rf"(?:{_S}|(?<![_\w])(?:grammar|fsm|automaton|state machine|regex))\b.{{0,60}}\b(?:too (?:large|complex|complicated|deep|big|long|many|expensive)|exceed\w*|over the limit|limit\b|timed out|timeout)",
    ),
    (
        "beyond|exceed|over",
        r"\b(?:exceed\w*|over|beyond)\b.{0,60}\b(?:nesting|depth|propert\w*|enum|schema|levels|optional|grammar|complexity)\b",
    ),
    (
        "complexity|depth|nesting",
        r"\b(?:nesting|depth|complexity)\b.{0,40}\b(?:exceed|too|limit|maximum)",
    ),
    ("simplify ", r"\bsimplify (?:your|the) (?:\w+ )?schema"),
    (
        "schema|嵌套|属性|模式",
        r"(?:schema|模式).{0,20}(?:过大|过深|太大|太复杂|过于复杂|超过|超出)|嵌套.{0,8}(?:过深|超过|超出)|属性.{0,6}(?:过多|超过|超出)",
    ),
)
SCHEMA_COMPILE = Words(
    (
        "失败|出错",
        r"(?:schema|模式).{0,12}(?:解析|编译|转换|校验)(?:失败|出错)|(?:解析|编译|转换).{0,12}schema.{0,6}(?:失败|出错)",
    ),
    ("_", r"\b(?:build|compile|convert|parse)_(?:json_)?schema\b"),
    ("schema_", r"schema_(?:converter|compiler|parser|to_grammar)\b"),
    ("grammar", r"\bgrammar[ _]?(?:error|compil\w* (?:error|fail\w*)|parse error)"),
    (
        "can't|cannot|could not|error|failed to|failure|unable to",
        r"\b(?:could not|cannot|can't|failed to|unable to|error|error while|failure) (?:\w+ )?(?:compil|convert|pars|build|translat|resolv|understand)\w*\b.{0,40}\b(?:(?<!_)schema|grammar|regex|regular expression|pattern|fsm|ref)\b",
    ),
    (
        "can't|cannot|could not|failed to|unable to",
        r"\b(?:could not|cannot|can't|failed to|unable to) (?:handle|express|represent|transform|turn|interpret|process) (?:the|this|your|that) (?:\w+ ){0,2}?(?<!_)schema\b",
    ),
    (
        "can't|cannot|could not|failed to|unable to",
        (
            rf"{_S}s?\b.{{0,60}}\b(?:could not|cannot|can't|failed to|unable to)"
            r" (?:compile|convert|encode|express|interpret|represent|resolve|translate|understand)"
            r" (?:the |this |an? )?(?:enum|instance|type|propert|keyword|value|const|union|item|definition|field)"
        ),
    ),
    (
        "schema",
        rf"{_S}s?\b.{{0,30}}\b(?:could not|cannot|can't) be (?:compil|convert|load|pars|process|resolv|translat)",
    ),
    (
        "pattern|regex|regular expression",
        r"\b(?:pattern|regex|regular expression)s?\b.{0,40}\b(?:invalid|not (?:be )?(?:compil|valid|support)|fail|cannot|unsupported|look-?(?:ahead|behind|around))",
    ),
    (
        " reg|ahead|around|behind",
        r"\b(?:invalid|unsupported|bad) (?:regex|regular expression)\b|\blook-?(?:ahead|behind|around)s?\b",
    ),
    (
        "implemented|known|supported",
        r"\b(?:unknown|unsupported|unimplemented) (?:string )?(?:format|keys?|keywords?):",
    ),
)
