"""
Sub-calls: a decorated function describes a small request; calling it gives a checked value and how
it was obtained, and never raises for a model's or an endpoint's fault.

Source: spec memory, first paragraph; docs/subcalls.md.
"""

from structguard.subcalls.call import (
    Ask as Ask,
    Completes as Completes,
    Options as Options,
    Rejection as Rejection,
    Subcall as Subcall,
)
from structguard.subcalls.decorator import subcall as subcall
from structguard.subcalls.outcome import (
    Outcome as Outcome,
    Skip as Skip,
    Status as Status,
    SubcallFailed as SubcallFailed,
)
