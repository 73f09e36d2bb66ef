"""Which figures of a verified submission nobody ran again: under its badge they are still their sender's word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from codec_superb.pipeline.verification.statement import SAMPLES
from codec_superb.server.database.models import Attestation


def not_run_again(
    session: Session, submissions: Mapping[str, Sequence[Mapping[str, Any]]]
) -> dict[str, list[tuple[str, str]]]:
    """List the probes that the newest agreeing attestation did not compare, as dataset and probe, by submission.

    So are :data:`~codec_superb.pipeline.verification.statement.SAMPLES` that are held to limits alone.

    ``submissions`` are the datasets of each one's document, by its id. One without an attestation is not in the answer:
    what the maintainers ran themselves is theirs.
    """
    statement = Attestation.document["statement"]
    found = (
        select(Attestation.submission_id, statement["compared"].label("compared"), statement["left_out"].label("left"))
        .where(Attestation.submission_id.in_(submissions), Attestation.agrees)
        .order_by(Attestation.id)  # the newest stays in the dict
    )
    newest = {row.submission_id: row for row in session.execute(found)} if submissions else {}
    return {
        identity: [
            (dataset["name"], key)
            for dataset in submissions[identity]
            for key in (*(probe["probe"] for probe in dataset.get("probes", ())), SAMPLES)
            if key not in (*row.compared, SAMPLES)
            or any(line.startswith(f"{dataset['name']}, {key}: ") for line in row.left)
        ]
        for identity, row in newest.items()
    }
