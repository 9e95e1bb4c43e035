"""
Rows that are answered otherwise on purpose, each with the reason.

A yardstick row that was right in the recorded results and no longer is needs a line here.
"""

from __future__ import annotations

from collections.abc import Mapping

REASONS: Mapping[str, str] = {
    "A bare word with an equals sign is a program's assignment, not a member.": "o1801",
    "A quote doubled at the start of a string, without another inside, is a slip.": "o1006",
    "Keys the schema does not name are kept: it does not forbid them.": "c315 baml-095",
    "Scalars and enumerations found in a sentence are the text reader's business, and no value is made up for what the text lacks.": """
        baml-000 baml-016 baml-017 baml-019 baml-022 baml-024 baml-025 baml-026 baml-027
        baml-028 baml-032 baml-033 baml-034 baml-051 baml-053 baml-099 baml-100 baml-101
        baml-117 baml-118 baml-122 baml-123 baml-124 baml-125 baml-126 baml-127 baml-161
        baml-162 baml-163 baml-164 baml-165 baml-166 baml-167 baml-168 baml-169 baml-170
        baml-171 baml-172 baml-173 baml-178
    """,
    "A strict JSON string is its content, not the text with its quotes.": """
        baml-001 baml-020
    """,
    "Only exact coercions are made: no aliases, no currency, no 0 for false, no field or list that is not in the text.": """
        baml-002 baml-003 baml-004 baml-006 baml-007 baml-065 baml-088 baml-089 baml-093
        baml-105 baml-106 baml-108 baml-109 baml-110 baml-111 baml-120 baml-121 baml-151
        baml-190 baml-191 baml-192 jr-276 jr-302 jr-322 jr-323 jr-324 jr-325 jr-326 jr-346 jr-347
    """,
    "The text is strict JSON, or holds it, and that is taken as it is written.": """
        baml-008 jr-260
    """,
    "A quote that no structure follows belongs to its string, with all up to the quote that closes it.": """
        jr-072 jr-073 jr-116 jr-123 jr-191 jr-219 jr-241 jsonrepa-091 jsonrepa-092 jsonrepa-093
    """,
    "Unquoted text is one string up to the comma or bracket that ends it, and a number only as a whole.": """
        jr-104 jr-127 jsonrepa-110 jsonrepa-333 o1518
    """,
    "Words between a string and the bracket that closes its list are a remark, and left out.": "jr-074",
    "In a text of one line a comment ends before the bracket or the key that follows it.": "jr-077",
    "A brace that was opened is an object, even an empty one; a doubled brace is one brace.": """
        jr-039 jsonrepa-291
    """,
    "An object is not made into two: of its duplicate keys the last one wins.": "jr-139",
    "A whole object ends the value; only a quoted key with its colon goes on with it.": "jr-161",
    "An escape that JSON does not know stays as it is written.": "jr-247",
    "Brackets inside a bare string are read like those in a sentence.": "jsonrepa-196",
    "What the end cuts is kept as it stands when it is whole, and dropped when it is half; nothing is completed.": """
        baml-112 baml-154 jr-033 jr-035 jr-061 jr-242 jr-264 jr-265 jsonrepa-368 jsonrepa-369
        jsonrepa-370 jsonrepa-371 jsonrepa-372 jsonrepa-373 jsonrepa-374 vercel_f-025
    """,
    "Without a schema several values are not a list: the first is taken, the others are alternatives.": """
        jr-015 jr-016 jr-017 jr-018 jr-019 jr-158 jr-350 jsonrepa-390 jsonrepa-391 jsonrepa-392 jsonrepa-407
        jsonrepa-409
    """,
    "What was meant cannot be told for certain: nothing is taken rather than a guess.": """
        jr-058 jr-059 jr-060 jr-097 jr-140 jr-141 jr-147 jr-153 jr-154 jr-182 jr-261 jr-262
        jsonrepa-385 jsonrepa-386 o1026 o1056 o1058 o1114 o2445
    """,
    "A quote before the brackets that close everything ends its string, even if another follows them.": "o1240",
    "Round brackets are a sentence's, braces without keys are a set's: neither is JSON.": """
        jr-022 jr-062 jr-063 jr-064 jr-149
    """,
    "Empty brackets inside a sentence, behind code or broken are no value.": """
        jr-151 jr-167 jsonrepa-234 jsonrepa-235 jsonrepa-236 jsonrepa-237 jsonrepa-238 jsonrepa-300
    """,
    "Strings are taken as they are; that table strips white space from their ends.": """
        jr-034 jr-199 jr-221 jr-222 jr-223 jr-224 jr-225 jr-226 jr-228 jr-229 jr-230 jr-231 jr-232
        jr-233 jr-234 jr-235 jr-236 jr-237 jr-238 jr-239 jr-240 jr-303 jr-304 jr-305 jr-306
        jr-307 jr-309 jr-310 jr-311 jr-312 jr-313 jr-314 jr-315 jr-316 jr-317 jr-318 jr-319
        jr-320 jr-321
    """,
    "A string that runs to the end of the text keeps all of it: brackets in it may be content (corpus row c389).": """
        jr-036 jr-040 jr-051 jr-128 jr-135 jr-138 jr-192 jr-193 jr-194 jr-195 jr-263
        jr-271 jsonrepa-071 jsonrepa-073 jsonrepa-074 jsonrepa-078 jsonrepa-082 jsonrepa-084
        jsonrepa-088 jsonrepa-313 jsonrepa-314 jsonrepa-356
    """,
    "A bare word, number or string without brackets is prose to us; scalars in prose are the text reader's business.": """
        jr-067 jr-068 jsonrepa-033 jsonrepa-034 jsonrepa-035 jsonrepa-036 jsonrepa-037
        jsonrepa-055 jsonrepa-056 jsonrepa-065 jsonrepa-070 jsonrepa-075 jsonrepa-076
        jsonrepa-077 jsonrepa-080 jsonrepa-089 jsonrepa-090 jsonrepa-094 jsonrepa-105
        jsonrepa-107 jsonrepa-108 jsonrepa-109 jsonrepa-112 jsonrepa-113 jsonrepa-114
        jsonrepa-115 jsonrepa-138 jsonrepa-158 jsonrepa-160 jsonrepa-161 jsonrepa-166
        jsonrepa-167 jsonrepa-168 jsonrepa-169 jsonrepa-170 jsonrepa-176 jsonrepa-177
        jsonrepa-178 jsonrepa-179 jsonrepa-180 jsonrepa-185 jsonrepa-192 jsonrepa-193
        jsonrepa-194 jsonrepa-195 jsonrepa-197 jsonrepa-208 jsonrepa-209 jsonrepa-210
        jsonrepa-211 jsonrepa-228 jsonrepa-229 jsonrepa-230 jsonrepa-231 jsonrepa-232
        jsonrepa-252 jsonrepa-253 jsonrepa-254 jsonrepa-257 jsonrepa-278 jsonrepa-279
        jsonrepa-280 jsonrepa-308 jsonrepa-311 jsonrepa-312 jsonrepa-315 jsonrepa-316
        jsonrepa-317 jsonrepa-318 jsonrepa-321 jsonrepa-325 jsonrepa-326 jsonrepa-327
        jsonrepa-328 jsonrepa-329 jsonrepa-330 jsonrepa-331 jsonrepa-334 jsonrepa-335
        jsonrepa-336 jsonrepa-337 jsonrepa-344 jsonrepa-346 jsonrepa-347 jsonrepa-348
        jsonrepa-349 jsonrepa-350 jsonrepa-351 jsonrepa-352 jsonrepa-354 jsonrepa-355
        jsonrepa-388 jsonrepa-393 jsonrepa-394 jsonrepa-395 jsonrepa-396 jsonrepa-397
        jsonrepa-398 jsonrepa-399 jsonrepa-400 jsonrepa-401 vercel_f-000 vercel_f-001
        vercel_f-002 vercel_f-003 vercel_f-006 vercel_f-007 vercel_f-010 vercel_f-011
        vercel_f-012 vercel_f-013 vercel_f-014 vercel_f-015 vercel_f-016 vercel_f-017
        vercel_f-018 vercel_f-019 vercel_f-020
    """,
    'The value fits the schema ("" is a string, and true becomes "true" where a string is demanded).': """
        jr-280 jr-298
    """,
    "The schema of the row is broken: a ValueError that names the place, not an answer.": """
        jr-300 jr-301
    """,
}


def reason_for(row: str) -> str | None:
    """Why a row is answered otherwise, or None."""
    return next((reason for reason, rows in REASONS.items() if row in rows.split()), None)
