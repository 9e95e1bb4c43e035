"""
Types and dicts → the format they ask for; JSON Schema → digest, name and validator.

Nothing here reaches the network: a `$ref` to an address is an error. Heavy packages (pydantic,
jsonschema) are imported when first needed. Source: DESIGN "Public face", spec parse "Rules".
"""

from structguard.schema.build import Misbuilt as Misbuilt, build as build
from structguard.schema.identity import (
    canonical as canonical,
    digest as digest,
    schema_name as schema_name,
)
from structguard.schema.source import as_format as as_format
from structguard.schema.strict import (
    Problem as Problem,
    Strictified as Strictified,
    advise as advise,
    strictify as strictify,
)
from structguard.schema.validate import (
    Validator as Validator,
    Violation as Violation,
    validator as validator,
)
