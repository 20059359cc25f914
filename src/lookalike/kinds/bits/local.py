"""Local engine for bit codes within a Hamming distance: from columns to pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lookalike.core.arrays import I64, Bits, Pairs
from lookalike.core.exact_duplicates import Classes, collapse_equal
from lookalike.core.keep_policy import preference, preferred_column
from lookalike.core.trace import Trace
from lookalike.errors import UsageError
from lookalike.kernels import bits as kernels
from lookalike.kinds.bits.joins import BitsJoin
from lookalike.kinds.bits.source import CodeSource
from lookalike.kinds.bits.spec import BitsJob
from lookalike.runtime.local.memory_limit import UNLIMITED, InputNeed, MemoryLimit
from lookalike.runtime.local.pool import Pool, usable_cores
from lookalike.runtime.run_output import OutputKind, RunOutput

# benchmarks/scale/memory_needs.py measures 123 to 140 bytes for each code of 64 bits, and 3.8 per byte of CSV
CODES_NEED = InputNeed("codes", row=140, text_byte=4)


def run(
    sources: Sequence[CodeSource], job: BitsJob, want: OutputKind, trace: Trace, *, keep: str = "first",
    memory: MemoryLimit = UNLIMITED,
) -> RunOutput:  # fmt: skip
    """Find the pairs of one collection of codes, or the pairs between two."""
    column = preferred_column(keep)
    with trace.stage("read"):
        read = [source.read([column] if column and not number else []) for number, source in enumerate(sources)]
        codes = together([one.bits for one in read], sources)
        present = np.concatenate([one.present for one in read])
        memory.check(CODES_NEED.row * len(codes) + codes.words.nbytes, f"a run on {len(codes):,} codes")
        trace.add(codes=len(codes), bits=codes.width, null_texts=int((~present).sum()))
    split = len(read[0].bits) if len(read) == 2 else -1
    with trace.stage("collapse"):
        here = len(read[0].bits)
        best = preference(keep, np.full(here, codes.width), read[0].extra)
        best = np.concatenate([best, np.arange(here, len(codes))])
        classes = _collapse(codes, best[present[best]])
        trace.add(exact_duplicates=len(classes.members) - len(classes))
    items = Bits(np.ascontiguousarray(codes.words[classes.firsts]), codes.width)
    with Pool(job.threads or usable_cores(), memory.look) as pool:
        join = BitsJoin(items, classes.sides(split), job, pool, trace)
        with trace.stage("choose"):
            plan, choice = join.choose(want)
        found = RunOutput([one.ids for one in read], split, classes, np.zeros(len(items)), classes.ranked(best), choice)
        pairs = Pairs(*join.pairs(plan))
        if choice.method == "exact":
            return replace(found, pairs=pairs)
        return replace(
            found, pairs=pairs, plan=plan, audit=join.audit(pairs, plan) if job.audit and len(items) else None
        )


def together(parts: Sequence[Bits], sources: Sequence[CodeSource]) -> Bits:
    """Concatenate the codes of all sources; a source without codes is compatible with any length."""
    filled = [(part, source) for part, source in zip(parts, sources, strict=True) if part.width]
    for part, source in filled:
        if part.width != filled[0][0].width:
            raise UsageError(
                f"the codes of {source.name} have {part.width} bits, those of {sources[0].name} {filled[0][0].width}; "
                "expected codes of one length."
            )
    size = filled[0][0].words.shape[1] if filled else 1
    words = [part.words if part.width else np.zeros((len(part), size), np.uint64) for part in parts]
    return Bits(np.concatenate(words), filled[0][0].width if filled else 0)


def _collapse(codes: Bits, preference: I64) -> Classes:
    prints = np.empty(len(codes), np.uint64)
    kernels.fingerprints(codes.words, prints)
    return collapse_equal(prints, lambda a, b: np.all(codes.words[a] == codes.words[b], axis=1), preference)
