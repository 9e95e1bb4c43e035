"""
The vocabulary of the rules: how text is brought to one spelling, what names the format, what refuses.

Patterns run on `plain()` text: lower case, one kind of quote, single blanks. `spaced()` also turns
underscores into blanks, so that one pattern reads `json_schema`, "JSON schema" and `json-schema`.
Every gap is bounded, so matching is linear. Source: spec guard §1.5.
"""

from __future__ import annotations

import re

from structguard.types import Flag

_QUOTES = str.maketrans(dict.fromkeys('\u2018\u2019\u201c\u201d\u300c\u300d`"', "'"))
_LINK = re.compile(r"\bhttps?://[^\s)'>\]]+")
_BLANKS = re.compile(r"\s+")


def plain(text: str) -> str:
    """The text as patterns read it: no links, lower case, straight quotes, single blanks."""
    return _BLANKS.sub(" ", _LINK.sub("", text.translate(_QUOTES))).lower().strip()


def spaced(text: str) -> str:
    """Plain text with underscores as blanks."""
    return text.replace("_", " ")


def either(*patterns: str) -> re.Pattern[str]:
    """One pattern out of several alternatives."""
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


# What names the format; the first that is found is the refusal's `feature`.
FEATURES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "response_format",
        either(r"response[ -]?formats?", r"响应格式", r"返回格式", r"回复格式", r"レスポンス形式"),
    ),
    (
        "json_schema",
        either(
            r"json[ -]?schemas?\b",
            r"response[ -]?(?:json[ -]?)?schema",
            r"schema[ -](?:based|constrained|enforced|guided)\b",
        ),
    ),
    (
        "json_object",
        either(
            r"json[ -]?objects?\b",
            r"json[ -]?mode",
            r"json[ -](?:output|response|format|formatting|result|replie|generation)s?\b",
            r"json ?模式",
            r"json ?格式",
            r"json ?输出",
            r"response[ -]?mime[ -]?type",
        ),
    ),
    (
        "structured_outputs",
        either(
            r"structured?[ -]?(?:outputs?|responses?|generation|decoding|formats?|json)",
            r"output[ -]?config\b",
            r"output[ -]?(?:format|schema)s?\b",
            r"\btext\.format\b",
            r"\btext[ -]?format\b",
            r"结构化(?:输出|响应|数据|返回)",
            r"输出格式",
            r"構造化出力",
            r"구조화된 출력",
            r"(?:salida|sortie|saída|ausgabe)s? (?:estructurad|structuré|estruturad|strukturiert)",
            r"strukturierte ausgaben?",
            r"sorties? structurées?",
            r"salidas? estructuradas?",
            r"saídas? estruturadas?",
        ),
    ),
    (
        "guided_decoding",
        either(
            r"guided[ -]?(?:json|grammar|decoding|generation|regex|choice|output)",
            r"\bxgrammar\b",
            r"\bllguidance\b",
            r"\boutlines\b",
            r"\bgrammar[ -](?:based|constrained|guided|backend|engine|sampling|mode)",
            r"\b(?:constrained|controlled)[ -](?:decoding|generation|output|sampling)",
        ),
    ),
)

SUPPORT = r"s[uo]{1,2}[pr]{1,4}[or]{1,3}[tr]{1,2}"  # support and its typos
NOT = (
    r"(?:\bnot|n't|\bn t|\bcannot|\bcan not|\b(?:does|is|do|are|ca|wo|was)nt|\bnever|\bno(?: longer)?"
    r"|\bwithout|\bneither|\black(?:s|ing|ed)?(?: of)?|\bfail(?:s|ed)? to)"
)
GAP = r"(?:\W{1,4}\w+){0,5}?\W{1,4}"

UNSUPPORTED = either(
    rf"{NOT}{GAP}{SUPPORT}",
    rf"\b(?:un|non|in)[ -]?{SUPPORT}",
    rf"\b{SUPPORT}\w* (?:is |was |has been )?(?:missing|absent|removed|dropped|disabled|unavailable|not\b)",
    r"不支持",
    r"不支援",
    r"(?:未|尚未|暂未|没有)支持",
    r"サポート(?:されて|して)(?:い|お)?(?:ない|ません|りません)",
    r"(?:対応して(?:い|お)(?:ない|ません|りません)|未対応|非対応)",
    r"지원(?:하지|되지) ?않",
    r"не поддержива",
    r"\bno (?:es compatible|soporta|admite|está soportad|se admite|está disponible|compatible)",
    r"\bn(?:'est|e sont|'a) pas (?:pris|prise|prises|supporté|compatible|disponible)",
    r"\bne (?:prend|supporte|gère) pas|non (?:pris|prise) en charge|non supporté",
    r"\bnão (?:suporta|é suportad|suportad|está disponível|compatível|é compatível)",
    r"\bnicht (?:\w+ )?(?:unterstützt|verfügbar)|\bunterstützt\b.{0,60}\b(?:nicht|kein)",
)

WITHHELD = either(
    rf"{NOT}{GAP}(?:avail|enabl|allow|permit|accept|implement|recogni[sz]|honou?r|provid|offer|valid\b"
    r"|able\b|work|usable|use(?:d|s)?\b|possible|applicable|combin|handl|capab|compatib|serv|understood"
    r"|appl(?:y|ied)|activ|configur|granted|includ|expos|present\b|defin|known\b|exist|process|take)",
    r"\b(?:un|in)(?:available|implemented|usable|accessible|applicable|compatible|permitted)",
    r"\b(?:disabled|disallowed|forbidden|prohibited|blocked|rejected|removed|deprecated|restricted"
    r"|discontinued|turned off|switched off|denied)\b",
    r"\bonly (?:\w+ ){0,2}?(?:available|enabled|supported|works?|allowed|offered|for|on|in|with|valid|accepted)\b",
    r"\b(?:available|enabled|supported|works?|allowed|offered|valid|accepted)(?: for| on| in| with)? only\b",
    r"\b(?:reserved|exclusive|limited|restricted) (?:for|to)\b",
    r"\b(?:requires?|needs?|depends on) (?!(?:a |an |the |that )?(?:'?(?:name|schema|type|json|field|propert|strict|value|non-?empty|valid|object)))",
    r"\b(?:leave (?:it )?unset|omit|remove|drop)\b.{0,40}(?:it\b|format|field|param|option)",
    r"(?:不可用|未启用|未开启|未开通|不允许|不可使用|不能使用|无法使用|暂不提供|不接受|无效|不合法|已禁用|未实现)",
    r"(?:参数错误|参数有误|非法参数|参数不正确|参数不合法)",
    r"\binvalid (?:\w+ ){0,3}?(?:param|arg|option|value|field|type|input|setting)|\billegal\b",
    r"\binvalid ['(:\[]{0,3}(?:response|text|output|json)[ -]?(?:format|mode)",
    r"\b(?:is|are|was) (?:an? )?invalid\b|\b(?:is|are) (?:wrong|incorrect|illegal)\b",
    r"\bmust (?:not|be (?:omitted|removed|unset|null|none|absent|disabled|off|false|empty))\b",
    r"\bshould not be (?:set|used|specified|present|given|passed)",
)

UNKNOWN = either(
    r"\b(?:unknown|unrecogni[sz]ed|unexpected|extra(?:neous)?|undefined|undeclared|unused|foreign)\b"
    r" ?(?:request )?(?:\w+ )?(?:param|arg|field|name|key|prop|option|variant|input|value|keyword|attribute|member|element|type|format|\W)",
    r"\badditional (?:propert|field|param|input|key)\w* ",
    r"\b(?:cannot|can't|could not|unable to) (?:find|recogni[sz]e) (?:field|param|prop|key)",
    r"\bno (?:such )?(?:field|param|prop|argument|attribute|option)",
    r"\bgot an unexpected\b|\bwas unexpected\b|\bis not a (?:known|recogni[sz]ed|valid)",
    r"(?:未知|无法识别|不认识|多余)的?(?:参数|字段|类型)",
)

TOGETHER = either(
    r"\b(?:cannot|can't|can not|could not|may not|must not|not|unable)\b.{0,40}\b(?:combin|together|simultaneous|same time|at once|alongside|in conjunction|concurrent|both)",
    r"\b(?:incompatible|mutually exclusive|conflict(?:s|ing)?|clash(?:es)?|exclusive)\b",
    r"\binstead of\b.{0,30}(?:populat|set|us|pass|specif|provid|send)",
    r"(?:不能|无法|不可)(?:与|和|同).{0,30}(?:同时|一起|共用|共同)|(?:不能|无法|不可)同时|互斥|冲突",
)

ENGINE = either(
    r"\bno module named\b",
    r"\b(?:not|isn't|n't) (?:been )?(?:installed|loaded|compiled in|built|initiali[sz]ed|found on this server)\b",
    r"\b(?:backend|engine|library|package|module)\b.{0,30}\b(?:missing|none|unavailable|not available|not found|not installed|disabled)",
    r"\b(?:import|load|initiali[sz]e|start)\w*\b.{0,30}\bfail|\bfail\w* to (?:import|load|initiali[sz]e|start)",
    r"\b(?:needs?|requires?) (?:\w+[ .]){0,3}?\w* ?(?:grammar|engine|backend|library|package|gguf)\b",
)

# The three things a combination may be with; only believed when the call carries them.
FLAGS: tuple[tuple[Flag, re.Pattern[str]], ...] = (
    (
        "tools",
        re.compile(
            r"(?<!use )(?<!try )(?<!via )\b(?:tools?\b(?! instead)(?:[ -]?(?:use|call\w*|choice|config))?|functions?\b(?! instead)(?:[ -]?call\w*)?|function ?declarations?)|工具|函数调用"
        ),
    ),
    ("stream", re.compile(r"\bstream(?:ing|ed|s)?\b|流式")),
    (
        "reasoning",
        re.compile(
            r"\b(?:enable[ -]?)?(?:thinking|reasoning)\b(?! models?\b)(?:[ -]?(?:mode|effort|budget))?|思考|推理模式|深度思考"
        ),
    ),
)
