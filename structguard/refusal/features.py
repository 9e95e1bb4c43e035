"""
What names the format, in the words of vendors and in translation.

Patterns are read on `text.spaced()`; every gap is bounded, so matching is linear. Source: spec guard §1.5.
"""

from __future__ import annotations

from structguard.refusal.text import Words

# What names the format; the first that is found is the refusal's `feature`.
FEATURES: tuple[tuple[str, Words], ...] = (
    (
        "response_format",
        Words(
            ("response", r"response(?<!x-response)[ -]?formats?"),
            ("request.format", r"request\.format\b"),
            (
                ": format",
                r"(?:invalid|unknown|unsupported) (?:option|param|parameter|field)s?: format(?! |\w)",
            ),
            (
                ": 'format'",
                r"(?:invalid|unknown|unsupported) (?:option|param|parameter|field)s?: 'format'",
            ),
            ("响应格式", r"响应格式"),
            ("返回格式", r"返回格式"),
            ("回复格式", r"回复格式"),
            ("レスポンス形式", r"レスポンス形式"),
        ),
    ),
    (
        "json_schema",
        Words(
            ("schema", r"json[ -]?schemas?\b"),
            ("response", r"response[ -]?(?:json[ -]?)?schema"),
            ("schema", r"schema[ -](?:based|constrained|enforced|guided)\b"),
            (
                "json",
                r"json[ -]?(?:スキーマ|스키마|схем|模式定义|schéma|esquema)|esquemas? json|schéma json",
            ),
        ),
    ),
    (
        "json_object",
        Words(
            ("object", r"json(?<!\bvalid json)[ -]?objects?\b"),
            ("json", r"json[ -]?mode"),
            (" mode", r"json(?:/\w{2,5}){1,3} mode"),
            (
                "json",
                r"\b(?:mode|modo|modus|modalità) json\b|json[ -]?(?:モード|모드|출력|出力|ausgabe)",
            ),
            (
                "format|generation|output|replie|response|result",
                r"json[ -](?:output|response|format|formatting|result|replie|generation)s?\b",
            ),
            ("模式", r"json ?模式"),
            ("格式", r"json ?格式"),
            ("输出", r"json ?输出"),
            ("response", r"response[ -]?mime[ -]?type"),
        ),
    ),
    (
        "structured_outputs",
        Words(
            (
                "structure",
                r"structured?[ -]?(?:outputs?|responses?|generation|decoding|formats?|json)",
            ),
            ("output", r"output[ -]?config\b"),
            ("output", r"output[ -]?(?:format|schema)s?\b"),
            ("text.format", r"\btext\.format\b"),
            ("format", r"\btext[ -]?format\b"),
            ("结构化", r"结构化(?:输出|响应|数据|返回)"),
            ("输出格式", r"输出格式"),
            ("構造化出力", r"構造化出力"),
            ("구조화", r"구조화(?:된)? ?(?:출력|응답)"),
            ("структурирован", r"структурированн\w+ (?:вывод|ответ|выход|формат)"),
            (" strutturat", r"output strutturat"),
            (
                "estructurad|estruturad|structuré|strukturiert",
                r"(?:salida|sortie|saída|ausgabe)s? (?:estructurad|structuré|estruturad|strukturiert)",
            ),
            ("strukturierte", r"strukturierten? ausgaben?"),
            (" structurée", r"sorties? structurées?"),
            (" estructurada", r"salidas? estructuradas?"),
            (" estruturada", r"saídas? estruturadas?"),
        ),
    ),
    (
        "guided_decoding",
        Words(
            ("guided", r"guided[ -]?(?:json|grammar|decoding|generation|regex|choice|output)"),
            ("xgrammar", r"\bxgrammar\b"),
            ("llguidance", r"\bllguidance\b"),
            ("outlines", r"\boutlines\b"),
            (
                "grammar",
                r"\bgrammar[ -](?:based|constrain(?:ed|ts?)|guided|backend|engine|sampling|mode)",
            ),
            (
                "grammar",
                r"(?:\A|: )'?grammars?'? (?:(?:support )?(?:is|are)(?:n't)?|and '?tools?)\b",
            ),
            (
                "strained|trolled",
                r"\b(?:constrained|controlled)[ -](?:decoding|generation|output|sampling)",
            ),
        ),
    ),
)
