"""
Words that show the caller's schema is at fault, not the endpoint (spec guard §1.8).

Patterns run on plain text with underscores kept: `json_schema` names the format, "JSON schema" may
be the schema itself.
"""

from __future__ import annotations

import re

from structguard.refusal.words import SUPPORT, either

_SCHEMA = r"(?<![_\w])(?:json )?(?:schema|grammar)s?\b|json_schema\b"
KEYWORD = either(
    r"(?<![\w.])(?:additionalproperties|unevaluatedproperties|patternproperties|propertynames|minproperties|maxproperties"
    r"|minitems|maxitems|uniqueitems|prefixitems|mincontains|maxcontains|minlength|maxlength"
    r"|exclusiveminimum|exclusivemaximum|multipleof|anyof|oneof|allof|dependentrequired|dependentschemas"
    r"|\$ref|\$defs|\$schema|\$id)\b",
)
QUOTED_KEYWORD = re.compile(
    r"'(?:required|properties|items|enum|const|default|pattern|minimum|maximum|definitions|examples"
    r"|contains|nullable|discriminator|\$\w{1,20})'"
)
COMPLAINT = re.compile(
    rf"\bnot\b|n't\b|\bun{SUPPORT}|\bunsupported|\binvalid|\bmust\b|\bshould\b|\brequired\b|\bunknown|\bunrecogni"
    r"|\bunexpected|\bunimplemented|\bdisallow|\bforbidden|\bmissing|\bcannot|\bonly\b|\bexceed|\btoo\b"
    r"|\bextra\b|\bplease\b|不支持|必须|无效|缺少|不能|错误"
)
CONTEXT = re.compile(r"\bin context ?= ?\(")
SCHEMA_WORD = re.compile(_SCHEMA + r"|模式定义")
SCHEMA_INVALID = either(
    r"\b(?:invalid|malformed|incorrect|illegal|bad|broken|not a valid|not valid|unresolvable) '?(?:json[ _])?(?:schema|grammar)\b(?!'? ?(?:response|output|mode|type\b|option|value|param))",
    r"\b(?:unsupported|unknown) (?:schema|grammar)\b(?! ?mode)",
    r"(?<![_\w])(?:schema|grammar)s?'? (?:\S+ ){0,3}?(?:is|are|was|were) (?:\w+ ){0,2}?(?:invalid|malformed|not valid|not a valid|illegal|incorrect|empty)\b(?! (?:response|format|output|option|value|type|param|with|for))",
    r"(?<![_\w])schemas? (?:validation|compilation|conversion|parsing|processing) (?:error|fail)|\bfailed schema validation\b",
    r"(?<![_\w])(?:schema|grammar)s? (?:\S+ ){0,4}?(?:must|should|has to|needs to) (?:have|be of|be an?|contain|includ|specif|defin|match|start|not (?:contain|have|includ|us))",
    r"\bensure (?:it|that|your|the)\b.{0,30}\bvalid (?:json )?schema\b|\bdraft[ -]?(?:20\d\d|0?[467])",
    r"(?<![_\w])schemas? (?:\S+ ){0,6}?(?:unsupported|not supported|unknown|unrecogni[sz]ed|disallowed|unimplemented|invalid) (?:keyword|propert|construct|keys?\b)",
    r"(?<![_\w])schemas? (?:\S+ ){0,3}?(?:contains?|contained|uses|has|have|includes?|declares?|defines?) (?:\S+ ){0,5}?(?:not supported|unsupported|unknown|invalid|not allowed|not permitted|too)",
    r"\b(?:unsupported|unknown|invalid|unimplemented|unrecogni[sz]ed|disallowed) (?:json )?schema (?:keyword|propert|type|field|feature|construct|format|keys?|attribute|element|version|dialect|draft)",
    r"\b(?:features?|keywords?|constructs?)\b.{0,30}\bnot supported by (?:xgrammar|outlines|guidance|llguidance|the grammar)",
    r"\b(?:recursive|circular|cyclic|self[ -]referenc\w*|nested)\b.{0,40}\b(?:schemas?|refs?|references?|definitions?)\b.{0,40}(?:not|n't|unsupported|detected|invalid|too)",
    r"\b(?:root|top[ -]level) (?:schema|type|object)\b.{0,40}\b(?:must|should|not|cannot)",
    r"(?:schema|模式).{0,10}(?:无效|不合法|有误|格式错误|错误)|无效的.{0,6}schema",
    r"\bcould not understand the instance\b",
)
SCHEMA_SIZE = either(
    r"\btoo many (?:states|propert|parameters|enum|optional|fields|branches|nodes|definitions|levels|unions?|anyof|nested|keys|schema)",
    r"(?<![_\w])(?:schema|grammar|fsm|automaton|state machine|regex)\b.{0,60}\b(?:too (?:large|complex|deep|big|long|many|expensive)|exceed\w*|over the limit|limit\b|timed out|timeout)",
    r"\b(?:exceed\w*|over|beyond)\b.{0,60}\b(?:nesting|depth|propert\w*|enum|schema|levels|optional|grammar|complexity)\b",
    r"\b(?:nesting|depth|complexity)\b.{0,40}\b(?:exceed|too|limit|maximum)",
    r"\bsimplify (?:your|the) (?:\w+ )?schema",
    r"(?:schema|模式).{0,10}(?:过大|过深|太大|太复杂|过于复杂)",
)
SCHEMA_COMPILE = either(
    r"\bgrammar[ _]?(?:error|compil\w* (?:error|fail\w*)|parse error)",
    r"\b(?:could not|cannot|can't|failed to|unable to|error|error while|failure) (?:\w+ )?(?:compil|convert|pars|build|translat|resolv|understand)\w*\b.{0,40}\b(?:(?<!_)schema|grammar|regex|regular expression|pattern|fsm|ref)\b",
    r"\b(?:pattern|regex|regular expression)s?\b.{0,40}\b(?:invalid|not (?:be )?(?:compil|valid|support)|fail|cannot|unsupported|look-?(?:ahead|behind|around))",
    r"\b(?:invalid|unsupported|bad) (?:regex|regular expression)\b|\blook-?(?:ahead|behind|around)s?\b",
    r"\b(?:unknown|unsupported|unimplemented) (?:string )?(?:format|keys?|keywords?):",
)
