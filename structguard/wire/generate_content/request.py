"""Neutral request → Google generateContent body."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from structguard.types import (
    File,
    Format,
    Image,
    JsonSchema,
    Message,
    Part,
    Reasoning,
    Request,
    Text,
    Tool,
    ToolCall,
)
from structguard.wire.base import DEFAULTS, Body, Unencodable, WireOptions
from structguard.wire.encoding import (
    budget_for,
    call_input,
    foreign_reasoning,
    grouped,
    model_of,
    named_tool,
    reasoning_for,
    reject_fields,
    reject_names,
    required_id,
    system_text,
)
from structguard.wire.generate_content.schema import reduced
from structguard.wire.media import describe, image_url, inline, media_type, text_only
from structguard.wire.payload import present, with_extra

LOCAL_ID = "local_"
"""How a call id begins that we made because Google gave none; it is not sent back."""
_MODES: Mapping[str, str] = {"auto": "AUTO", "none": "NONE", "any": "ANY"}
_RESERVED = ("model", "contents", "stream")
_REJECTED = ("frequency_penalty", "presence_penalty", "previous_response_id", "store", "include")


def encode_request(
    request: Request,
    *,
    format: Format | None = None,  # noqa: A002  the field's word
    stream: bool = False,
    options: WireOptions = DEFAULTS,
) -> Body:
    """
    The body of POST models/{model}:generateContent; streaming is in the path.
    Source: Gemini API reference, generateContent; spec wire.
    """
    del stream
    model_of(request)  # the path needs it
    reject_fields("generate_content", request, *_REJECTED)
    conversation = request.conversation
    reject_names("generate_content", conversation)
    system = system_text(conversation)
    body = present(
        contents=_contents(conversation),
        systemInstruction={"parts": [{"text": system}]} if system else None,
        tools=_tools(request),
        toolConfig=_choice(request),
        generationConfig=_config(request, format, options) or None,
    )
    return with_extra(body, request.extra_body, reserved=_RESERVED)


def _config(
    request: Request,
    format: Format | None,  # noqa: A002  the field's word
    options: WireOptions,
) -> dict[str, object]:
    budget = budget_for(request, request.max_tokens)
    thinking = {"thinkingBudget": budget, "includeThoughts": True}
    return present(
        maxOutputTokens=request.max_tokens or (options.max_tokens if budget is None else None),
        temperature=request.temperature,
        topP=request.top_p,
        seed=request.seed,
        stopSequences=list(request.stop) or None,
        responseMimeType=None if format is None else "application/json",
        responseJsonSchema=dict(format.schema) if isinstance(format, JsonSchema) else None,
        thinkingConfig=None if budget is None else thinking,
    )


def _tools(request: Request) -> list[object] | None:
    declared = [_declaration(tool) for tool in request.functions]
    tools: list[object] = [{"functionDeclarations": declared}] if declared else []
    return [*tools, *map(dict, request.hosted_tools)] or None


def _declaration(tool: Tool) -> dict[str, object]:
    if tool.strict:
        raise Unencodable(
            f"the generate_content API has no strict tools; tool {tool.name!r} asks for it",
            param="tools",
        )
    parameters = reduced(tool.parameters)
    says = any(parameters.get(key) for key in ("properties", "anyOf"))
    return present(
        name=tool.name,
        description=tool.description,
        parameters=parameters if says else None,  # Google refuses an object without properties
    )


def _choice(request: Request) -> dict[str, object] | None:
    choice = request.tool_choice
    if choice is None:
        return None
    config: dict[str, object] = {"mode": _MODES.get(choice, "ANY")}
    if choice not in _MODES:
        config["allowedFunctionNames"] = [named_tool(choice, request.functions)]
    return {"functionCallingConfig": config}


def _contents(conversation: tuple[Message, ...]) -> list[dict[str, object]]:
    return [{"role": role, "parts": parts} for role, parts in grouped(_turns(conversation))]


def _turns(conversation: tuple[Message, ...]) -> Iterator[tuple[str, list[dict[str, object]]]]:
    names: dict[str, str] = {}  # call id → function, for the responses
    for message in conversation:
        if message.role not in {"system", "developer"}:
            names.update({call.id: call.name for call in message.tool_calls})
            role = "model" if message.role == "assistant" else "user"
            yield role, list(_parts_of(message, names))


def _parts_of(message: Message, names: Mapping[str, str]) -> Iterator[dict[str, object]]:
    match message.role:
        case "tool":
            yield {"functionResponse": _response(message, names)}
        case "user":
            yield from _parts(message.content)
        case _:
            yield from _model_parts(message)


def _response(message: Message, names: Mapping[str, str]) -> dict[str, object]:
    call_id = required_id(message)
    name = names.get(call_id) or message.name
    if name is None:
        raise Unencodable(
            f"no call {call_id!r} stands before its result, and Google needs the function's name",
            param="messages",
        )
    output = text_only(message.content, where="a tool message on the generate_content wire")
    return {**_id(call_id), "name": name, "response": {"output": output}}


def _id(call_id: str) -> dict[str, object]:
    return {} if call_id.startswith(LOCAL_ID) else {"id": call_id}


def _model_parts(message: Message) -> Iterator[dict[str, object]]:
    first = reasoning_for(message, None)
    signs = [part for part in first if _signs_text(part)]
    yield from (_thought(part) for part in first if not _signs_text(part))
    text = text_only(message.content, where="an assistant message on the generate_content wire")
    for part in signs[:-1]:
        yield {"text": "", "thoughtSignature": part.signature}
    if text or signs:
        yield {"text": text, **present(thoughtSignature=signs[-1].signature if signs else None)}
    for call in message.tool_calls:
        yield from map(_thought, reasoning_for(message, call))
        yield _call(call)


def _signs_text(part: Reasoning) -> bool:
    """Whether it is only the signature that stood on a text."""
    return part.raw is not None and "thoughtSignature" in part.raw and "thought" not in part.raw


def _thought(part: Reasoning) -> dict[str, object]:
    if not part.text:
        raise foreign_reasoning("generate_content")
    portable = part.raw is None or "thought" in part.raw
    signature = part.signature if portable else None
    return {"text": part.text, "thought": True, **present(thoughtSignature=signature)}


def _call(call: ToolCall) -> dict[str, object]:
    function = {**_id(call.id), "name": call.name, "args": dict(call_input(call))}
    return {"functionCall": function, **present(thoughtSignature=call.signature)}


def _parts(content: str | tuple[Part, ...]) -> Iterator[dict[str, object]]:
    for part in (Text(content),) if isinstance(content, str) else content:
        match part:
            case Text(text):
                yield {"text": text}
            case Image():
                yield _media(image_url(part, "generate_content"), describe(part))
            case File():
                yield _media(_file_url(part), describe(part), part.filename)


def _file_url(part: File) -> str:
    url = part.data or part.url
    if url is None:
        raise Unencodable(
            "the generate_content API accepts a file as a data URL or by the URI of an uploaded file,"
            " not by id",
            param="messages",
        )
    return url


def _media(url: str, what: str, filename: str | None = None) -> dict[str, object]:
    """The file's name tells the media type of an address; Google has no other place for it."""
    inlined = inline(url, what=what)
    if inlined is not None:
        return {"inlineData": {"mimeType": inlined.media_type, "data": inlined.data}}
    kind = media_type(filename or "") or media_type(url)
    return {"fileData": {**present(mimeType=kind), "fileUri": url}}
