"""Neutral values of the whole house: pure data that imports nothing but the standard library."""

from structguard.types.cached import cached as cached
from structguard.types.content import (
    File as File,
    Image as Image,
    Message as Message,
    Part as Part,
    Reasoning as Reasoning,
    Role as Role,
    Text as Text,
    Tool as Tool,
    ToolCall as ToolCall,
)
from structguard.types.exchange import (
    EFFORTS as EFFORTS,
    Completion as Completion,
    DeclineDelta as DeclineDelta,
    Effort as Effort,
    Finish as Finish,
    Finished as Finished,
    Format as Format,
    JsonObject as JsonObject,
    JsonSchema as JsonSchema,
    ReasoningDelta as ReasoningDelta,
    Request as Request,
    StreamEvent as StreamEvent,
    TextDelta as TextDelta,
    ToolCalled as ToolCalled,
    Usage as Usage,
    require_request as require_request,
)
from structguard.types.faults import (
    Api as Api,
    Failure as Failure,
    Flag as Flag,
    FormatKind as FormatKind,
    Kind as Kind,
    MemoKey as MemoKey,
    Operation as Operation,
    Place as Place,
    Refusal as Refusal,
    Scope as Scope,
)
from structguard.types.narrow import (
    as_iterable as as_iterable,
    as_mapping as as_mapping,
    as_sequence as as_sequence,
    as_text as as_text,
)
