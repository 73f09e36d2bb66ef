"""What is told of a stored submission to who sent its file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from codec_superb.server.database.models import PUBLIC, Submission
from codec_superb.server.ingest.schemas import Receipt, Status
from codec_superb.server.moderation.kept_warnings import kept
from codec_superb.server.names.standing import is_behind_another
from codec_superb.server.people.access import Identity
from codec_superb.server.settings import Settings


def receipt(submission: Submission, settings: Settings, *, to: Identity | None = None) -> Receipt:
    """Describe a stored submission for its sender, or for who has sent its file again: ``to``.

    To others than its account nothing is told that is not public: who has a file need not be who sent it.
    """
    of_another = to is not None and to.account_id != submission.account_id
    was_public = submission.status == "withdrawn" and submission.public_since is not None
    own = (
        to is None or "moderate" in to.scopes or (to.account_id is not None and to.account_id == submission.account_id)
    )
    told = own or was_public or submission.status in PUBLIC
    return Receipt(
        id=submission.id,
        codec=submission.codec.name,
        version=submission.version,
        status=cast("Status", submission.status) if told else "known",
        url=f"{settings.base_url.rstrip('/')}/submissions/{submission.id}" if told else "",
        datasets=dataset_names(submission),
        clips=submission.clips,
        ok=submission.ok,
        failed=submission.failed,
        complete=submission.complete,
        custom=submission.custom,
        condition=submission.condition,
        notes=[
            *submission.notes,
            *([_OF_ANOTHER] if of_another else []),
            *([_BEHIND_ANOTHER] if is_behind_another(submission) else []),
            *([_NOT_YET] if _is_behind(submission, settings) else []),
        ],
        warnings=kept(submission.warnings) if own else [],
        reason=submission.reason if own else None,  # a submitter's words are for its account, and for moderators
    )


_OF_ANOTHER = "somebody else sent this file before; to send it as your account's, pack it again (--submitter)"
_BEHIND_ANOTHER = "another account's results of this codec came first: these are public behind them until run again"
_NOT_YET = (
    "the usual pages show what the maintainers ran again; all submissions have it where no other result of its codec "
    "stands in front"
)


def _is_behind(submission: Submission, settings: Settings) -> bool:
    """Whether it is public, and on no page that shows what was run again."""
    ranked = submission.status == "self-reported" and not submission.custom and not submission.condition
    return ranked and settings.default_source == "verified"


def dataset_names(submission: Submission) -> list[str]:
    """Names of the datasets of a submission."""
    described: Sequence[dict[str, Any]] = submission.document["datasets"]
    return [str(dataset["name"]) for dataset in described]
