"""What a dry run says: by attribute, how much would come, change, go and be rejected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from adalog.pipeline.importing.decide.attributes import AttributeResult
from adalog.pipeline.importing.decide.decision import Decision, ReadRows
from adalog.pipeline.importing.decide.previews import rejected_by_column
from adalog.pipeline.importing.read.intake import ImportBasis, Intake
from adalog.pipeline.importing.read.runner import ImportRunner


def reported(
    runner: ImportRunner, intake: Intake[Any], found: ImportBasis, decision: Decision | ReadRows, left: ReadRows
) -> Sequence[Mapping[str, Any]]:
    """The attributes that would change, or of which values were rejected. left: what was rejected in the end."""
    rejected: Counter[int] = Counter()
    reasons: dict[int, str] = {}
    parts = [(chunk, paths) for chunk, paths in zip(left.chunks, left.rejected, strict=True) if paths]
    jobs = [(len(found.columns[chunk.order[0]]), tuple(paths)) for chunk, paths in parts]
    counted = runner.each("counting rejected rows", rejected_by_column, jobs)
    for (chunk, _), counts in zip(parts, counted, strict=True):
        said = intake.reasons(chunk.order[0], found)
        columns = found.columns[chunk.order[0]]
        for number, (column, (count, reason)) in enumerate(zip(columns, counts, strict=True)):
            rejected[column.attribute] += count
            if count:
                reasons.setdefault(column.attribute, str(said[number][reason]))
    written = decision.written if isinstance(decision, Decision) else ()
    results = {each.attribute: each for each in written if each.added or each.retracted}
    report = []
    for id_ in sorted({*results, *(+rejected)}):
        result, attribute = results.get(id_, AttributeResult(id_)), found.prepared.schema.get(id_)
        changed, samples = result.preview
        report.append(
            {
                # Rejected lines of datoms may name no attribute.
                "attribute": "" if attribute is None else str(attribute.ident),
                "come": result.added - changed,
                "change": changed,
                "go": result.retracted - changed,
                "rejected": rejected[id_],
                "samples": [*samples, *([f"rejected: {reasons[id_]}"] if id_ in reasons else [])],
            }
        )
    return report
