"""
The vocabulary of the rules: what refuses, and what a combination is with.

Patterns are read on `text.plain()`; every gap is bounded, so matching is linear. Source: spec guard §1.5.
"""

from __future__ import annotations

import re

from structguard.refusal.text import Words
from structguard.types import Flag

SUPPORT = r"s[uo]{1,2}[pr]{1,4}[or]{1,3}[tr]{1,2}"  # support and its typos
NOT = (
    r"(?:\bnot|n't|\bn t|\bcannot|\bcan not|\b(?:does|is|do|are|ca|wo|was)nt|\bnever|\bno(?: longer)?"
    r"|\bwithout|\bneither|\black(?:s|ing|ed)?(?: of)?|\bfail(?:s|ed)? to)"
)
GAP = r"(?:\W{1,4}\w+){0,5}?\W{1,4}"

UNSUPPORTED = Words(
    ("fail|lack|n t|n't|neither|never|no|nt|without", rf"{NOT}{GAP}{SUPPORT}"),
    ("in|non|un", rf"\b(?:un|non|in)[ -]?{SUPPORT}"),
    (
        "absent|disabled|dropped|missing|not|removed|unavailable",
        rf"\b(?:{SUPPORT}\w*|capability(?: '[^']{{1,40}}')?) (?:is |was |has been )?(?:missing|absent|removed|dropped|disabled|unavailable|not\b)",
    ),
    ("不|支持", r"不(?:被|予|再|受)?支持"),
    ("不支援", r"不支援"),
    ("支持", r"(?:未|尚未|暂未|没有)支持"),
    ("サポート", r"サポート(?:されて|して)(?:い|お)?(?:ない|ません|りません)"),
    ("対応して|未対応|非対応", r"(?:対応して(?:い|お)(?:ない|ません|りません)|未対応|非対応)"),
    ("지원", r"지원(?:하지|되지) ?않"),
    ("не ", r"\bне (?:поддержива|доступ|реализован)"),  # noqa: RUF001
    ("недо", r"недо(?:ступ|пустим)"),
    ("не підтриму", r"не підтриму"),
    (
        "admite|compatible|disponible|soporta",
        r"\bno (?:es compatible|soporta|admite|est(?:á|án) (?:soportad|disponible)|se admite|compatible)",
    ),
    (" pas ", r"\bn(?:'est|e sont|'a) pas (?:pris|prise|prises|supporté|compatible|disponible)"),
    ("support|disponibil", r"\bnon (?:è|sono|viene) (?:supportat|disponibil)|\bnon supporta"),
    ("destekle", r"\bdesteklen?m"),
    ("nie ", r"\bnie (?:jest |są )?(?:obsług|wspier|dostępn)"),
    (
        "ondersteun|beschikbaar",
        r"\bondersteunt (?:\w+ )?(?:geen|niet)|\bniet (?:ondersteund|beschikbaar)",
    ),
    ("hỗ trợ", r"\b(?:không|chưa) (?:được )?hỗ trợ"),
    ("tidak ", r"\btidak (?:didukung|mendukung|tersedia)"),
    ("nepodporuj", r"\bnepodporuj"),
    ("stöd", r"\bstöd(?:s|er) (?:\w+ )?(?:inte|ej)\b"),
    ("ไม่รองรับ", r"ไม่รองรับ"),
    ("مدعوم|يدعم", r"غير مدعوم|لا يدعم"),
    (
        " en charge|gère|non supporté|prend|supporte",
        r"\bne (?:prend|supporte|gère) pas|non (?:pris|prise) en charge|non supporté",
    ),
    (
        "compatível|está disponível|suporta",
        r"\bnão (?:suporta|é suportad|suportad|está disponível|compatível|é compatível)",
    ),
    (
        "unterstützt|verfügbar",
        r"\bnicht (?:\w+ )?(?:unterstützt|verfügbar)|\bunterstützt\b.{0,60}\b(?:nicht|kein)",
    ),
)

WITHHELD = Words(
    ("coming soon", r"\bcoming soon\b"),
    ("notimplemented", r"\bnotimplemented(?:error|exception)?\b"),
    (
        "able to|can't|can not|cannot",
        r"\b(?:cannot|can't|can not|not able to) (?:answer|emit|output|reply|respond|return)\b",
    ),
    ("beta|preview", r"\bin (?:private |closed |public |limited )?(?:beta|preview)\b"),
    (
        "activated|enabled|switched on|turned on",
        r"\b(?:must|has to|have to|needs? to) (?:first )?be (?:enabled|activated|switched on|turned on)\b",
    ),
    (
        "coerced|converted|decode|deserializ|unmarshal",
        r"\b(?:cannot|can not|could not|can't|failed to|unable to) (?:be )?(?:unmarshal|converted|deserializ|decode|coerced)",
    ),
    (
        "fail|lack|n t|n't|neither|never|no|nt|without",
        (
            rf"{NOT}{GAP}(?:avail|enabl|allow|permit|accept|implement|recogni[sz]|honou?r|provid|offer|valid\b"
            r"|able\b|work|usable|use(?:d|s)?\b|possible|applicable|combin|handl|capab|compatib|serv|understood"
            r"|appl(?:y|ied)|activ|(?:turned|switched) on\b|configur|granted|trained|includ|expos|present\b|defin|known\b|exist|process|take"
            r"|produc|enforc|roll(?:ed)? out|land(?:ed)?\b|ready\b|wired|hooked up|deliver|guarantee|something .{0,20}can do)"
        ),
    ),
    (
        "accessible|applicable|available|compatible|implemented|permitted|usable",
        r"\b(?:un|in)(?:available|implemented|usable|accessible|applicable|compatible|permitted)",
    ),
    (
        "blocked|denied|deprecated|disabled|disallowed|discontinued|forbidden|gated|is off|off by default|prohibited|rejected|removed|restricted|switched off|turned off",
        (
            r"\b(?:disabled|disallowed|forbidden|prohibited|blocked|rejected|removed|deprecated|restricted"
            r"|discontinued|turned off|switched off|is off|off by default|gated|denied)\b"
        ),
    ),
    (
        "declin|refus",
        r"\b(?:declin|refus)(?:e|ed|es|ing) (?:the |your )?(?:\w+ )?(?:param|field|option|argument|response|json|structured|feature|format)",
    ),
    (
        "only ",
        r"\bonly (?:\w+ ){0,2}?(?:available|enabled|supported|works?|allowed|offered|for|on|in|with|valid|accepted)\b",
    ),
    ("neither ", r"\bneither .{1,40}\bnor\b.{1,40}\b(?:accept|allow|avail|enabl|permit|support)"),
    (" do ", r"(?:n't|\bnot|\bcannot) do (?:json|structured|guided|constrained)\b"),
    ("only ", r"\bonly (?:[\w.-]+ ){1,5}?supports?\b"),
    ("will be ", r"\bwill be (?:added|available|enabled|supported)\b"),
    (
        "unable|not able",
        r"\b(?:unable|not able) to (?:apply|enforce|handle|honou?r|offer|provide|serve|support)\b",
    ),
    ("without", r"\b(?:try again|retry|resend) without\b"),
    ("missing from", r"\bmissing from (?:the )?(?:list of )?supported\b"),
    ("only ", r"\bonly (?:\w+ ){1,4}?can (?:use|handle|serve|do|be used)\b"),
    (
        " no|lack|not have",
        (
            r"\b(?:(?:has|have|offers?|provides?|is|are) no|lack(?:s|ing)?|not have) (?:\w+ ){0,2}?"
            r"(?:json (?:mode|schema)|structured|response ?(?:format|schema)|guided|constrained|grammar|output config)"
        ),
    ),
    ("only", r"\b(?:is|are) for .{1,40}\bonly\b"),
    (
        " only",
        r"\b(?:available|enabled|supported|works?|allowed|offered|valid|accepted)(?: for| on| in| with)? only\b",
    ),
    (
        "exclusive|limited|reserved|restricted",
        r"\b(?:reserved|exclusive|limited|restricted) (?:for|to)\b",
    ),
    (
        "depends on|need|require",
        r"\b(?:requires?|needs?|depends on) (?!to (?:add|include|mention|pass|provide|supply)\b)(?!(?:a |an |the |that )?(?:'?(?:name|schema|type|json|field|propert|strict|value|non-?empty|valid|object)))",
    ),
    (
        "drop|leave |omit|remove",
        (
            r"\bleave (?:\w+ ){0,3}?(?:unset|empty|out)\b|\b(?:omit|remove|drop)\b.{0,40}(?:it\b|format|field|param|option)"
            r"|\b(?:omit|remove|drop)\b.{0,60}\b(?:and (?:try|retry|resend)|from (?:the|your) (?:body|payload|request))\b"
        ),
    ),
    (
        "不允许|不可设置|不能设置|未|不可使用|不可用|不合法|不接受|不能使用|已禁用|无效|无法使用|暂不提供|未启用|未实现|未开|未提供",
        r"(?:不可设置|不能设置|(?:尚未|暂未|未).{0,12}(?:开放|开通|启用|提供|上线)|不可用|未启用|未开启|未开通|未开放|未提供|不允许|不可使用|不能使用|无法使用|暂不提供|不接受|无效|不合法|已禁用|未实现)",
    ),
    ("取值|参数|类型", r"非法的?.{0,20}(?:取值|参数|类型)"),
    ("仅", r"仅.{1,20}支持"),
    ("에서만", r"에서만 ?(?:지원|사용|제공)"),
    ("수 없", r"(?:사용|이용|적용|처리)할 수 없"),
    (
        "でき|のみ",
        r"(?:利用|使用|指定|併用)(?:は|が)?でき(?:ない|ません)|でのみ|のみ(?:対応|サポート|利用|使用)",
    ),
    (
        "仅在|仅支持|只在|只支持",
        r"(?:仅在|只在|仅支持|只支持).{0,20}(?:模型|非思考|非流式|版本|接口)",
    ),
    (
        "参数不合法|参数不正确|参数有误|参数错误|参数非法|取值错误|非法参数",
        r"(?:参数错误|参数有误|参数非法|非法参数|参数不正确|参数不合法|取值错误)",
    ),
    (
        "llegal|nvalid ",
        r"\binvalid (?:\w+ ){0,3}?(?:param|arg|option|value|field|type|input|setting|choice)|\billegal\b",
    ),
    ("invalid ", r"\binvalid [':]{0,3}(?:response|text|output|json)[ -]?(?:format|mode)"),
    (
        "illegal|incorrect|invalid|wrong",
        r"\b(?:is|are|was) (?:an? )?invalid\b|\b(?:is|are) (?:wrong|incorrect|illegal)\b",
    ),
    (
        "must ",
        r"\bmust (?:not|be (?:omitted|removed|unset|null|none|absent|disabled|off|false|empty))\b",
    ),
    ("should be ", r"\bshould be (?:omitted|removed|unset|null|none|absent)\b"),
    ("should not be ", r"\bshould not be (?:set|used|specified|present|given|passed)"),
)

UNKNOWN = Words(
    (
        "extra|foreign|undeclared|undefined|unexpected|unknown|unrecogni|unused",
        (
            r"\b(?:unknown|unrecogni[sz]ed|unexpected|extra(?:neous)?|undefined|undeclared|unused|foreign)\b(?! error| exception| failure| problem| reason)"
            r" ?(?:request )?(?:\w+ )?(?:param|arg|field|name|key|prop|option|variant|input|value|keyword|attribute|member|element|type|format|[^\w\s])"
        ),
    ),
    ("unspecified keys", r"\bunspecified keys\b"),
    ("additional ", r"\badditional (?:propert|field|param|input|key)\w* "),
    (
        "can't|cannot|could not|unable to",
        r"\b(?:cannot|can't|could not|unable to) (?:find|recogni[sz]e) (?:field|param|prop|key)",
    ),
    ("no ", r"\bno (?:such )?(?:field|param|prop|argument|attribute|option)"),
    (
        "got an unexpected|is not a |was unexpected",
        r"\bgot an unexpected\b|\bwas unexpected\b|\bis not a (?:known|recogni[sz]ed|valid)",
    ),
    (
        "参数|字段|类型",
        r"(?:未知|无法识别|不认识|多余)的?(?:参数|字段|类型)|(?:参数|字段|类型).{0,4}(?:无法识别|不识别|未知|不存在)",
    ),
)

TOGETHER = Words(
    ("only one of", r"\bonly one of\b"),
    (
        "alongside|at once|both|combin|concurrent|in conjunction|same time|simultaneous|together",
        r"\b(?:cannot|can't|can not|could not|may not|must not|not|unable)\b.{0,80}\b(?:combin|together|simultaneous|same time|at once|alongside|in conjunction|concurrent|both)",
    ),
    (
        "clash|conflict|exclusive|incompatible",
        r"\b(?:incompatible|mutually exclusive|conflict(?:s|ing)?|clash(?:es)?|exclusive)\b",
    ),
    (
        "must ",
        r"\b(?:tools?|functions?|stream\w*|thinking|reasoning)\b.{0,60}\bmust .{0,60}\b(?:when|if|while)\b",
    ),
    (
        "stream|reason|think|tools",
        r"\b(?:cannot|can't) (?:stream|reason|think|use tools)\b.{0,20}\b(?:if|when|while|with)\b",
    ),
    (
        "disable|switch off|turn off",
        r"\b(?:disable|switch off|turn off) (?:\w+ ){0,2}?(?:stream(?:ing)?|tools?|thinking|reasoning)\b.{0,20}\b(?:before|if|in order|to use|when)\b",
    ),
    ("instead of", r"\binstead of\b.{0,30}(?:populat|set|us|pass|specif|provid|send)"),
    (
        "不可|不能|互斥|冲突|同时|无法",
        r"(?:不能|无法|不可)(?:与|和|同).{0,30}(?:同时|一起|共用|共同)|(?:不能|无法|不可)同时|互斥|冲突",
    ),
)

ENGINE = Words(
    ("no module named", r"\bno module named\b"),
    (
        "built|compiled in|found on this server|initiali|installed|linked|loaded|set",
        r"\b(?:not|isn't|n't) (?:been )?(?:installed|loaded|linked|compiled in(?:to)?|built|initiali[sz]ed|set[ -]?up|found on this server)\b",
    ),
    (
        "launch|start",
        r"(?:\bnot|n't) (?:passed|given|set|provided|specified|enabled) (?:at|on) (?:launch|start)",
    ),
    (
        "backend|engine|library|module|package",
        r"\b(?:backend|engine|library|package|module)\b[^:]{0,30}\b(?:missing|none|unavailable|not available|not found|not installed|disabled|be loaded)",
    ),
    (
        "need|require",
        r"\b(?:needs?|requires?) (?:\w+[ .]){0,3}?\w* ?(?:grammar|engine|backend|library|package|gguf)\b",
    ),
)

STARTUP = Words(
    (
        "fail",
        r"\b(?:import|load|initiali[sz]e|start)\w*\b.{0,30}\bfail|\bfail\w* to (?:import|load|initiali[sz]e|start)",
    ),
)

# Parts of a request that a refusal may be about instead, though the format is named beside it.
OTHERS = Words(
    (
        "logit|logprob|parallel|penalty|seed|stop|temperature|token|tool choice|stream options|top ",
        (
            r"\b(?:temperature|top [pkn]|(?:top )?logprobs?|logit bias|(?:frequency|presence|repetition) penalty"
            r"|max (?:\w+ )?tokens|seed|stop(?: sequences?)?|tool choice|stream options|parallel tool calls)\b"
        ),
    ),
    (
        "audio|document|file|image|message|pdf|prefill|prompt|request|role|video|vision",
        (
            r"\b(?:audio|documents?|files?|images?|messages?|pdfs?|prefill|prompts?|videos?|vision|roles?"
            r"|(?:handle|parse|process|read|serve) (?:the|your|this) request)\b"
        ),
    ),
)

# The three things a combination may be with; only believed when the call carries them.
FLAGS: tuple[tuple[Flag, re.Pattern[str]], ...] = (
    (
        "tools",
        re.compile(
            r"(?<!via )(?<!through )(?<!please use )\b(?:tools?(?:[ -]?(?:use|call\w*|choice|config))?+|functions?(?:[ -]?(?:call\w*|declarations?))?+)\b(?! instead)"
            r"|\b(?:web|google|file)[ -]?search\b|\bgrounding\b|\burl[ -]context\b|\bcode[ -](?:interpreter|execution)\b|工具|函数调用"
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
