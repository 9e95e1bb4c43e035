# ruff: noqa: E731, PLW0603
"""Write the canned bodies that mock.c serves, and the request bodies that go with them."""

import json
import pathlib

D = pathlib.Path(__file__).parent / "payloads"
D.mkdir(exist_ok=True)
ANSWER = {
    "title": "Weekly stock review",
    "score": 0.87,
    "tags": ["inventory", "review", "week-32"],
    "items": [
        {"name": f"item {i}", "qty": 3 * i, "note": "counted twice, no difference found"}
        for i in range(1, 8)
    ],
}
SCHEMA = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "score": {"type": "number"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "qty": {"type": "integer"},
                    "note": {"type": "string"},
                },
                "required": ["name", "qty", "note"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["title", "score", "tags", "items"],
    "additionalProperties": False,
}
TEXT = json.dumps(ANSWER)
MESSAGES = [
    {"role": "system", "content": "You turn a stock report into the JSON the schema asks for."},
    {"role": "user", "content": "Report: " + "line of the report, with numbers 12 and 13. " * 12},
]
RF = {"type": "json_schema", "json_schema": {"name": "Answer", "strict": True, "schema": SCHEMA}}


def w(name, obj):
    (D / name).write_text(obj if isinstance(obj, str) else json.dumps(obj, separators=(",", ":")))


USAGE = {"prompt_tokens": 212, "completion_tokens": 200, "total_tokens": 412}
w(
    "chat.json",
    {
        "id": "chatcmpl-bench0001",
        "object": "chat.completion",
        "created": 1760000000,
        "model": "bench-model",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": TEXT, "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": USAGE,
        "system_fingerprint": "fp_bench",
    },
)
ev = []
chunk = lambda delta, fin=None: {
    "id": "chatcmpl-bench0001",
    "object": "chat.completion.chunk",
    "created": 1760000000,
    "model": "bench-model",
    "system_fingerprint": "fp_bench",
    "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": fin}],
}
ev.append(chunk({"role": "assistant", "content": ""}))
n = 200
step = -(-len(TEXT) // n)
pieces = [TEXT[i * len(TEXT) // n : (i + 1) * len(TEXT) // n] for i in range(n)]
ev += [chunk({"content": p}) for p in pieces]
ev.append(chunk({}, "stop"))
w(
    "chat.sse",
    "".join("data: " + json.dumps(e, separators=(",", ":")) + "\n\n" for e in ev)
    + "data: [DONE]\n\n",
)

resp = {
    "id": "resp_bench0001",
    "object": "response",
    "created_at": 1760000000,
    "completed_at": 1760000001,
    "status": "completed",
    "error": None,
    "incomplete_details": None,
    "instructions": None,
    "max_output_tokens": None,
    "model": "bench-model",
    "output": [
        {
            "type": "message",
            "id": "msg_bench0001",
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": TEXT, "annotations": [], "logprobs": []}],
        }
    ],
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": {"effort": None, "summary": None},
    "store": False,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "truncation": "disabled",
    "metadata": {},
    "usage": {
        "input_tokens": 212,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 200,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 412,
    },
}
w("responses.json", resp)
seq = 0
out = []


def e(t, **k):
    global seq
    out.append(
        f"event: {t}\ndata: "
        + json.dumps({"type": t, "sequence_number": seq, **k}, separators=(",", ":"))
        + "\n\n"
    )
    seq += 1


start = {**resp, "status": "in_progress", "output": [], "usage": None, "completed_at": None}
item = {
    "type": "message",
    "id": "msg_bench0001",
    "status": "in_progress",
    "role": "assistant",
    "content": [],
}
e("response.created", response=start)
e("response.in_progress", response=start)
e("response.output_item.added", output_index=0, item=item)
e(
    "response.content_part.added",
    item_id="msg_bench0001",
    output_index=0,
    content_index=0,
    part={"type": "output_text", "text": "", "annotations": [], "logprobs": []},
)
for p in pieces:
    e(
        "response.output_text.delta",
        item_id="msg_bench0001",
        output_index=0,
        content_index=0,
        delta=p,
        logprobs=[],
    )
e(
    "response.output_text.done",
    item_id="msg_bench0001",
    output_index=0,
    content_index=0,
    text=TEXT,
    logprobs=[],
)
e(
    "response.content_part.done",
    item_id="msg_bench0001",
    output_index=0,
    content_index=0,
    part=resp["output"][0]["content"][0],
)
e("response.output_item.done", output_index=0, item=resp["output"][0])
e("response.completed", response=resp)
w("responses.sse", "".join(out))

w(
    "refuse404.json",
    {
        "error": {
            "message": "No endpoints found that support the requested parameters: response_format. "
            "To learn more about provider routing, see the provider routing page.",
            "code": 404,
        }
    },
)
w(
    "refuse400.json",
    {
        "error": {
            "message": "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
            "type": "invalid_request_error",
            "param": "response_format",
            "code": None,
        }
    },
)
w(
    "refuse400_responses.json",
    {
        "error": {
            "message": "Invalid parameter: 'text.format' of type 'json_schema' is not supported with this model.",
            "type": "invalid_request_error",
            "param": "text.format",
            "code": None,
        }
    },
)
w(
    "models.json",
    {
        "object": "list",
        "data": [
            {"id": m, "object": "model", "created": 1760000000, "owned_by": "bench"}
            for m in ("bench-model", "refuse404-model", "refuse400-model")
        ],
    },
)

for model, tag in (
    ("bench-model", ""),
    ("refuse404-model", "_refuse404"),
    ("refuse400-model", "_refuse400"),
    ("paced-model", "_paced"),
):
    base = {"model": model, "messages": MESSAGES}
    w(f"req_chat{tag}.json", {**base, "response_format": RF})
    w(f"req_chat_stream{tag}.json", {**base, "response_format": RF, "stream": True})
    r = {
        "model": model,
        "input": MESSAGES,
        "text": {
            "format": {"type": "json_schema", "name": "Answer", "strict": True, "schema": SCHEMA}
        },
    }
    w(f"req_responses{tag}.json", r)
    w(f"req_responses_stream{tag}.json", {**r, "stream": True})
w("schema.json", SCHEMA)
if __name__ == "__main__":
    for p in sorted(D.iterdir()):
        print(p.name, p.stat().st_size)
