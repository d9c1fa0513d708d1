"""The studies' results as JSON documents."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np

from racebot.study.evaluate import Evaluation, Report
from racebot.study.presets import Preset
from racebot.study.tuning import Candidate, Judged, Tuned

Document = dict[str, object]


def evaluated(report: Report, presets: Mapping[str, Preset]) -> list[Document]:
    """Return one document for each evaluation of a report. Figures without any case are null."""
    return [_evaluation(each, report, presets.get(each.label)) for each in report.evaluations]


def tuned(found: Tuned) -> Document:
    """Return the result of a search. Standard errors over a single race are null."""
    return {
        "model": found.model,
        "objective": found.objective.value,
        "parameters": dict(found.parameters),
        "earlier": _judged(found.earlier),
        "later": {**_judged(found.later), "recommended": found.recommended},
        "evaluations": found.evaluations,
    }


def ranked(order: Sequence[Candidate]) -> list[Document]:
    """Return tuned models, best first, with their distances to the best one."""
    return [
        {
            "model": each.tuned.model,
            "behind": each.behind,
            "standard_error": _finite(each.standard_error),
            "clearly_behind": each.clearly_behind,
        }
        for each in order
    ]


def _evaluation(evaluation: Evaluation, report: Report, preset: Preset | None) -> Document:
    views = {name: _without_nan(asdict(view)) for name, view in evaluation.views.items()}
    label = evaluation.label
    return {
        "label": label,
        "model": evaluation.model,
        "parameters": evaluation.parameters,
        **views.pop("all"),
        **asdict(evaluation.complaints),
        **({"published": preset.published, "rerun": preset.rerun} if preset else {}),
        "views": views,
        "known": {name: _without_nan(asdict(view)) for name, view in evaluation.known.items()},
        "reliability": _without_nan(evaluation.reliability._asdict()),
        "comparisons": [
            _without_nan(asdict(each)) for each in report.comparisons if label in {each.first, each.second}
        ],
    }


def _judged(judged: Judged) -> Document:
    return {
        "races": judged.races,
        "start": judged.start,
        "tuned": judged.tuned,
        "difference": judged.difference,
        "standard_error": _finite(judged.standard_error),
        "start_misordered": judged.start_pairs.misordered,
        "start_log_loss": judged.start_pairs.log_loss,
        "tuned_misordered": judged.tuned_pairs.misordered,
        "tuned_log_loss": judged.tuned_pairs.log_loss,
    }


def _without_nan(fields: Mapping[str, object]) -> Document:
    """Return fields with arrays as lists, and null in place of numbers that JSON does not have."""
    plain = {
        name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in fields.items()
    }
    return {
        name: [_finite(each) for each in value] if isinstance(value, list) else _finite(value)
        for name, value in plain.items()
    }


def _finite(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value
