"""What a run can be asked, and what it answers to what it cannot be asked."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from lookalike.core.arrays import ShingleRule
from lookalike.errors import UsageError
from lookalike.kinds.documents.spec import Job


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 0}, "threshold is 0; expected a number above 0 and at most 1."),
        ({"threshold": 1.3}, "threshold is 1.3; expected a number above 0 and at most 1."),
        ({"threshold": float("nan")}, "threshold is nan; expected a number above 0 and at most 1."),
        ({"measure": "overlap"}, "threshold is 0.8; overlap counts shared elements: expected 1, 2, 3, ..."),
        ({"measure": "overlap", "threshold": 2.5}, "threshold is 2.5; overlap counts shared elements"),
        (
            {"measure": "jacard"},
            "measure 'jacard' is unknown. Nearest: 'jaccard'. Choices: jaccard, containment, dice,",
        ),
        ({"method": "exakt"}, "method 'exakt' is unknown. Nearest: 'exact'."),
        ({"max_share": 0}, "max_share is 0; expected a share above 0 and at most 1."),
        ({"threads": 0}, "threads is 0; expected at least 1."),
        ({"max_pairs": 0}, "max_pairs is 0; expected at least 1."),
        ({"seed": -1}, "seed is -1; expected a whole number from 0 to 2^64-1."),
        ({"seed": 2**64}, f"seed is {2**64}; expected a whole number from 0 to 2^64-1."),
    ],
)
def test_what_cannot_be_asked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        Job(**options)


def test_a_job_can_be_written_down() -> None:
    job = Job(threshold=0.7, rule=ShingleRule(k=3), seed=2**64 - 1)
    kept = json.loads(json.dumps(job.as_dict()))
    assert (kept["threshold"], kept["rule"]["k"], kept["seed"]) == (0.7, 3, 2**64 - 1)
    assert job.recipe().shingles == job.rule
    assert job.recipe().seed == 2**64 - 1
