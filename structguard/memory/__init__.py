"""
Four ready-made sub-calls for a memory system: rewriter, link_generator, vote_runner, distiller.

Each function creates one. Its first argument is a provider, protected or not, or a chain, and it
returns an `Outcome`. Prompts, limits and timeouts can be changed. Source: spec memory.
"""

from structguard.memory.distiller import Episode as Episode, distiller as distiller
from structguard.memory.lessons import (
    DistillLimits as DistillLimits,
    Lesson as Lesson,
    Procedure as Procedure,
    Step as Step,
)
from structguard.memory.links import (
    LinkLimits as LinkLimits,
    Memory as Memory,
    Relation as Relation,
    link_generator as link_generator,
)
from structguard.memory.parts import Rejected as Rejected
from structguard.memory.rewriter import (
    RewriteLimits as RewriteLimits,
    Rewriter as Rewriter,
    rewriter as rewriter,
)
from structguard.memory.votes import (
    Surfaced as Surfaced,
    Vote as Vote,
    VoteLimits as VoteLimits,
    vote_runner as vote_runner,
)
