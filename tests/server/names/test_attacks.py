"""Names as an attacker would use them: each file is refused, or waits for a moderator, and takes nothing of others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from support.pipeline.stats import draw_rows, failed
from support.server.ingest import CLIPS, UPLOADS, Service, categories, kinds, make_file, standing

from codec_superb.base_codec import registry
from codec_superb.base_codec.card import Card
from codec_superb.server.database.models import Codec, Family, Submission
from codec_superb.server.errors import Conflict
from codec_superb.server.moderation.service import decide, transfer
from codec_superb.server.names import catalogue
from codec_superb.server.names.board_words import said_of_the_board, told_settings
from codec_superb.server.people.audit import record
from codec_superb.server.people.tokens import account_of


@pytest.fixture
def packed(tmp_path: Path) -> Any:
    """Pack drawn rows under a name, with fields of the card."""

    def pack(codec: str, seed: int = 1, **fields: Any) -> bytes:
        # two codecs have no values in common
        return make_file(draw_rows(seed + sum(codec.encode()), CLIPS), tmp_path, codec=codec, **fields)

    return pack


def listed(name: str) -> dict[str, Any]:
    """Fields of a card of the catalogue but its name."""
    return catalogue.cards()[name].model_dump(exclude={"name"})


def status(service: Service, data: bytes, account: str | None = "ann") -> str:
    """Send a file that is stored, and return what becomes of it."""
    answer = service.send(data, account=account)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["status"])


def accept(service: Service, identity: str, reason: str = "") -> None:
    """Decide as a moderator does."""
    with service.database.transaction(write=True) as session:
        decide(session, identity, "accept", reason, actor="moderator")


class TestTitles:
    """What stands over a page, in a table and beside every point."""

    def test_one_that_defaces(self, service: Service, packed: Any) -> None:
        """Refused with the place; 5,000 letters made every page of the family 74,206 pixels wide."""
        for number, title in enumerate(("x" * 5000, "\u200b", "O" + "\u0335\u0353\u0310" * 6, "a \u202ekcab")):
            problems = service.problems(packed(f"defaced_{number}", title=title))
            assert "submission.json: codec.title" in [problem["path"] for problem in problems], title

    @pytest.mark.parametrize("title", ["Opus 12 kbps", "Οpus 12 kbps", "OPUS I2 KBPS", "opus_12k", "Opus l2 kbps"])
    def test_that_of_the_catalogue(self, service: Service, packed: Any, title: str) -> None:
        """Nobody else's codec is called as one of the catalogue, nor so that one could not tell."""
        answer = service.send(packed("mine_of_me", title=title))
        assert answer.status_code == 409
        (problem,) = answer.json()["problems"]
        assert problem["path"] == "submission.json: codec.title"
        assert "opus_12k" in answer.json()["detail"]

    def test_words_of_the_board(self, service: Service, packed: Any) -> None:
        """No codec of an account calls itself verified or official, in whatever letters; the answer says which word."""
        for fields in (
            {"title": "My codec, verified by the maintainers"}, {"title": "Mine (OFFICIAL)"}, {"title": "Vеrifıed"},
            {"family": "codec_superb"}, {"title": "M a i n t a i n e r's"}, {"codec": "self_reported_1k"},
            {"title": "Mine, Certified"}, {"title": "Confirmed by the board"}, {"title": "Mine: rank #1"},
            {"title": "No. 1"}, {"sender": "Verified by Codec-SUPERB"},
        ):  # fmt: skip
            problems = service.problems(packed(**({"codec": "plain_1k"} | fields)))
            assert all("is the board's to say" in problem["expected"] for problem in problems), fields

    def test_that_of_another_account(self, service: Service, packed: Any) -> None:
        """Unique to the eye among what is public; what looks like it waits, and a name is no title of another's."""
        first = service.send(packed("wren_1k", title="Wren at 1 kbps")).json()
        for number, title in enumerate(("Wren at 1 kbps", "Ԝren at l kbps", "wren_1k")):
            answer = service.send(packed(f"robin_{number}k", title=title), account=f"bob {number}").json()
            assert (answer["status"], answer["warnings"][0]["kind"]) == ("held", "name"), title
            assert "looks like that of the codec wren_1k" in answer["warnings"][0]["text"]
        with pytest.raises(Conflict, match="looks like that of the codec wren_1k"):
            accept(service, answer["id"])
        assert status(service, packed("wren_1k", seed=2, title="Wren at 1 kbps")) == "self-reported"
        assert service.send(packed("wren_2k", title="Wren at 1 kbps")).status_code == 409  # its own: it can mend that
        assert status(service, packed("wren_lk", title="Another"), "bob 3") == "held"
        with service.database.transaction(write=True) as session:
            account_of(session, "lab")
            session.flush()
            transfer(session, "codec", "wren_1k", "lab", actor="moderator")
        assert status(service, packed("linnet_1k", title="Wren at 1 kbps"), "somebody else") == "held"
        assert status(service, packed("finch_1k", title="Wren at 1 kbps"), "lab") == "self-reported"
        assert service.send(packed("wren_1k", seed=3)).status_code == 409
        assert service.client.get(f"{UPLOADS}/{first['id']}").status_code == 200

    def test_what_was_never_public_takes_nothing(self, service: Service, packed: Any, tmp_path: Path) -> None:
        """Nor what is withdrawn, or on a dataset of one's own: no name, look, title or family; nor comes it back."""
        first = service.send(packed("tern_1k", title="Tern"), account=None).json()
        assert first["status"] == "pending"
        rows = draw_rows(3, CLIPS, dataset="mine", categories=("speech",))
        fields: dict[str, Any] = {"codec": "tern_lk", "title": "Tern", "family": "tern"}
        about = {"location": "clips", "category": "speech"}
        own = service.send(make_file(rows, tmp_path / "own", about=about, **fields), account="mallory").json()
        assert (own["custom"], own["status"]) == (True, "self-reported")
        second = service.send(packed(**fields), account="squatter").json()
        assert (second["status"], second["warnings"]) == ("self-reported", [])
        with pytest.raises(Conflict, match="looks like that of the codec tern_lk"):
            accept(service, first["id"])
        with service.database.transaction(write=True) as session:
            decide(session, second["id"], "withdraw", "squatting", actor="moderator")
        for name in ("tern_lk", "tern_1k"):  # the very name, then its look
            third = service.send(packed(name, 5000, title="Tern", family="te_rn"), account=f"lab of {name}").json()
            assert (third["status"], third["warnings"]) == ("self-reported", []), name
            with service.database.transaction(write=True) as session:
                decide(session, third["id"], "hold", "looked at again", actor="moderator")
                if name == "tern_lk":
                    decide(session, third["id"], "reject", "not theirs", actor="moderator")
        with pytest.raises(Conflict, match="looks like that of the codec tern_1k"):  # which it keeps while it is held
            accept(service, second["id"], "an error")


class TestFamilies:
    """A family is a curve of the charts; it belongs to who opened it."""

    def test_another_asks(self, service: Service, packed: Any) -> None:
        """Held with the reason; to accept it is the permission, for what follows too."""
        assert status(service, packed("crane_1k", family="crane", title="Crane 1")) == "self-reported"
        assert status(service, packed("crane_2k", family="crane", title="Crane 2")) == "self-reported"
        answer = service.send(packed("heron_1k", family="crane", title="Heron 1"), account="bob").json()
        (warning,) = answer["warnings"]
        assert (answer["status"], warning["kind"]) == ("held", "family")
        assert "joins the family crane of ann" in warning["text"]
        assert service.client.get(f"{UPLOADS}/{answer['id']}").status_code == 404
        accept(service, answer["id"])
        assert service.client.get(f"{UPLOADS}/{answer['id']}").status_code == 200
        assert status(service, packed("heron_2k", family="crane", title="Heron 2"), "bob") == "self-reported"
        with service.database.transaction() as session:
            family = session.scalars(select(Family).where(Family.name == "crane")).one()
            assert family.owner is not None
            assert family.owner.name == "ann"

    def test_one_that_looks_the_same(self, service: Service, packed: Any) -> None:
        """Two curves with one name to the eye wait for a moderator, or are refused where one is the catalogue's.

        What was given and has no results is no obstacle for whom it was given to.
        """
        first = service.send(packed("stork_1k", family="stork"), account="squatter of storks").json()
        assert first["status"] == "self-reported"
        answer = service.send(packed("other_1k", family="st0rk"), account="stork lab").json()
        assert (answer["status"], "looks like the family stork" in answer["warnings"][0]["text"]) == ("held", True)
        with service.database.transaction(write=True) as session:
            transfer(session, "family", "stork", "stork lab", actor="moderator")
        with pytest.raises(Conflict, match="looks like that of the family stork"):
            accept(service, answer["id"])
        with service.database.transaction(write=True) as session:
            decide(session, first["id"], "withdraw", "squatting", actor="moderator")
        accept(service, answer["id"])
        with service.database.transaction() as session:
            family = session.scalars(select(Family).where(Family.name == "st0rk")).one()
            assert (family.owner and family.owner.name) == "stork lab"
        assert service.send(packed("another_1k", family="0pus"), account="stork lab").status_code == 409

    def test_that_of_the_catalogue(self, service: Service, packed: Any) -> None:
        """It waits for a moderator, whose permission is for that account."""
        answer = service.send(packed("swift_1k", family="opus")).json()
        assert (answer["status"], answer["warnings"][0]["text"][:46]) == (
            "held", "swift_1k joins the family opus of the catalogu",
        )  # fmt: skip

    def test_a_codec_of_the_catalogue_is_no_permission(self, service: Service, packed: Any) -> None:
        """Who has public results of one of its codecs still asks before another codec joins its curve."""
        assert status(service, packed("opus_48k", **listed("opus_48k")), account="eve") == "self-reported"
        assert status(service, packed("eve_1k", family="opus", title="Eve"), account="eve") == "held"


class TestCatalogue:
    """Names of the catalogue: for everybody, with its card, and nobody's."""

    def test_another_card(self, service: Service, packed: Any) -> None:
        """Each field that differs is named; the title of an advertisement is not shown under ``opus_12k``."""
        fields = listed("opus_16k") | {"title": "The best codec", "homepage": "https://example.org/buy"}
        problems = service.problems(packed("opus_16k", **fields))
        assert {problem["path"].rpartition(".")[2] for problem in problems} == {"title", "homepage"}
        settings = listed("opus_16k")["settings"] | {"bit_rate": 64000}
        (problem,) = service.problems(packed("opus_16k", **listed("opus_16k") | {"settings": settings}))
        assert problem["path"] == "submission.json: codec.settings"

    def test_a_version_is_numbers(self, service: Service, packed: Any) -> None:
        """The catalogue's words with other numbers: running it again says nothing of a version, which a page shows."""
        fields = listed("opus_96k")
        words = fields["version"].rpartition(" ")[0]
        for number, version in enumerate((
            "libopus 3.0, trained on this benchmark; PESQ 4.64 at 6 kbps", f"{words} 18.1.0 (officially verified)",
            "another libopus", f"{words} 4.64_at_6kbps", f"{words} 1 {words} 1", "", f"{words} {'9' * 3000}",
            f"{words} १८.१", f"{words} ✓", f"{words} 18.1.0+best.of.all", f"{words} 18.1.0+verified",
        )):  # fmt: skip
            (problem,) = service.problems(packed("opus_96k", seed=number, **fields | {"version": version}))
            assert problem["path"] == "submission.json: codec.version", version
        numbers = ("12.0", "15.1.0rc1", "18.1.0.post1", "3c59dc04", "(not installed)", "2.4+cu121")
        for number, version in enumerate(numbers):
            sent = packed("opus_96k", seed=20 + number, **fields | {"version": f"{words} {version}"})
            assert service.send(sent, account="versions").json()["status"] == "self-reported", version

    def test_words_of_the_board(self, service: Service, packed: Any) -> None:
        """What each run fills in waits with a word or a mark of the board: nobody's codec shows it as a fact."""
        fields = listed("opus_16k")
        for number, added in enumerate(({"award": "first place"}, {"verified_by": "the maintainers"}, {"note": "✓"})):
            data = packed("opus_16k", seed=number, **fields | {"settings": fields["settings"] | added})
            answer = service.send(data, account=f"sender{number}").json()
            assert (answer["status"], [each["kind"] for each in answer["warnings"]]) == ("held", ["name"]), added
        weights = {"source": "run again by the maintainers"}
        answer = service.send(packed("opus_16k", seed=8, **fields | {"weights": weights}), account="another").json()
        assert (answer["status"], [each["kind"] for each in answer["warnings"]]) == ("held", ["name"])
        plain = packed("opus_16k", seed=9, **fields | {"settings": fields["settings"] | {"precision": "float16"}})
        assert service.send(plain, account="honest").json()["status"] == "self-reported"

    def test_it_stays_nobodys(self, service: Service, packed: Any) -> None:
        """Whoever sends it first owns nothing, another's results are behind it until run again, as is all then."""
        fields = listed("opus_64k") | {"version": "libopus in PyAV 12.0"}
        first = service.send(packed("opus_64k", seed=101, **fields)).json()
        assert first["status"] == "self-reported"
        second = service.send(packed("opus_64k", seed=102, **fields), account="bob").json()
        assert (second["status"], second["version"]) == ("self-reported", 2)
        assert "behind the results of ann, until" in second["warnings"][0]["text"]
        assert standing(service, "opus_64k") == first["id"]
        with service.database.transaction(write=True) as session:
            assert session.scalars(select(Codec.owner_id).where(Codec.name == "opus_64k")).one() is None
            decide(session, first["id"], "verify", "", actor="moderator")
        third = service.send(packed("opus_64k", seed=103, **fields), account="bob").json()
        assert third["status"] == "self-reported"
        assert standing(service, "opus_64k") == first["id"]

    def test_a_look_alike(self, service: Service, packed: Any) -> None:
        """An own name that one could take for one of the catalogue is refused."""
        answer = service.send(packed("opus_l6k", title="Mine"))
        assert answer.status_code == 409
        assert answer.json()["problems"][0]["path"] == "submission.json: codec.name"

    def test_a_partial_result_is_no_claim(self, service: Service, tmp_path: Path) -> None:
        """Complete results take its place; partial or smaller ones are behind it."""
        service.know("large", categories(30, "large"))
        name = "opus_24k"

        def send(account: str, seed: int, clips: int, *, dataset: str = "mini", lacking: int = 0) -> dict[str, Any]:
            rows = draw_rows(seed, clips, dataset=dataset)
            for place in range(clips - lacking, clips):
                rows[place] = failed(rows[place].clip, dataset=dataset, category=rows[place].category)
            data = make_file(rows, tmp_path / account, codec=name)
            return dict(service.send(data, account=account).json())

        assert send("ann", 11, CLIPS, lacking=2)["status"] == "self-reported"
        assert kinds(send("bob", 12, CLIPS, lacking=1)) == ["standing"]
        whole = send("carol", 13, CLIPS)
        assert (whole["status"], whole["warnings"]) == ("self-reported", [])
        assert kinds(send("dan", 14, CLIPS)) == ["standing"]
        assert standing(service, name) == whole["id"]
        with service.database.transaction(write=True) as session:
            decide(session, whole["id"], "verify", "", actor="moderator")
        behind = send("erin", 15, CLIPS, lacking=3)
        assert behind["status"] == "self-reported"
        with service.database.transaction(write=True) as session:
            decide(session, behind["id"], "verify", "", actor="moderator")
        assert standing(service, name) == whole["id"]

        name = "opus_32k"
        large = send("ann", 21, 30, dataset="large", lacking=5)
        assert kinds(send("bob", 22, CLIPS)) == ["standing"]
        assert standing(service, name) == large["id"]

    def test_every_card_can_be_sent(self) -> None:
        """The card of each codec of the catalogue is the catalogue's, read from a file as well."""
        for card in catalogue.cards().values():
            assert list(catalogue.differences(Card.model_validate_json(card.model_dump_json()))) == [], card.name
            here = registry.card(card.name)  # with the version that is installed, where one is
            texts = {card.version, here.version, *told_settings(card.settings), *told_settings(here.settings)}
            assert list(said_of_the_board("text", texts)) == [], card.name


class TestSentAgain:
    """The same bytes, from somebody else or after a decision."""

    def test_with_a_token_after_without(self, service: Service, packed: Any) -> None:
        """It goes through as new and is the account's, name included; a third one changes nothing."""
        data = packed("lark_1k")
        first = service.send(data, account=None).json()
        assert first["status"] == "pending"
        answer = service.send(data, account="bob")
        assert (answer.status_code, answer.json()["status"]) == (201, "self-reported")
        assert (answer.json()["id"], answer.json()["version"]) == (first["id"], 1)
        with service.database.transaction() as session:
            stored = session.get_one(Submission, first["id"])
            assert (stored.account and stored.account.name, stored.codec.owner_id) == ("bob", stored.account_id)
        assert service.client.get(f"{UPLOADS}/{first['id']}").status_code == 200
        assert service.send(data, account="ann").status_code == 200
        service.stored()

    def test_after_a_rejection(self, service: Service, packed: Any) -> None:
        """Who sends a file that came without an account learns that it is known and no more; the name is nowhere."""
        data = packed("rude_words_1k")
        first = service.send(data, account=None).json()
        with service.database.transaction(write=True) as session:
            decide(session, first["id"], "reject", "a rude name", actor="moderator")
        again = service.send(data)
        assert (again.status_code, again.json()["status"], again.json()["reason"]) == (200, "known", None)
        assert service.client.get("/api/v1/codecs/rude_words_1k/history").status_code == 404

    @pytest.mark.parametrize("decision", ["hold", "withdraw"])
    @pytest.mark.sample(1, among="files sent again")
    def test_a_decision_is_not_undone_by_another_byte(self, service: Service, packed: Any, decision: Any) -> None:
        """What the account sends next waits, under the name or another, until a moderator accepts something again."""
        first = service.send(packed(f"evil_{decision}_1k"), account="bob").json()
        assert first["status"] == "self-reported"
        with service.database.transaction(write=True) as session:
            decide(session, first["id"], decision, "fiction", actor="moderator")
        assert status(service, packed(f"evil_{decision}_1k", 2), "bob") == "held"
        other = service.send(packed(f"fresh_{decision}_2k"), account="bob").json()
        assert (other["status"], [each["kind"] for each in other["warnings"] if each["holds"]]) == ("held", ["earlier"])
        assert "fiction" in other["warnings"][0]["text"]
        assert status(service, packed(f"calm_{decision}_3k")) == "self-reported"
        accept(service, other["id"])
        assert status(service, packed(f"later_{decision}_4k"), "bob") == "self-reported"

    def test_nor_by_taking_back_what_is_held(self, service: Service, packed: Any) -> None:
        """An account's own withdrawal is no decision: what was held, or differed when run again, still counts."""
        for number, differs in enumerate((False, True)):
            account = f"carl {number}"
            first = service.send(packed(f"forged_{number}k"), account=account).json()
            with service.database.transaction(write=True) as session:
                if differs:  # of a file that waits an attestation changes nothing
                    record(session, "the board", "attestation.received", first["id"], verdict="differs")
                else:
                    decide(session, first["id"], "hold", "fiction", actor="moderator")
            back = service.client.post(f"{UPLOADS}/{first['id']}/withdraw", headers=service.account(account))
            assert back.json()["status"] == "withdrawn"
            again = service.send(packed(f"forged_{number}k", 2), account=account).json()
            assert (again["status"], again["warnings"][0]["kind"]) == ("held", "earlier")
            assert ("run again" if differs else "fiction") in again["warnings"][0]["text"]

    def test_nor_by_the_name_of_who_decides(self, service: Service, packed: Any) -> None:
        """A laboratory's account and its key have one name: what the key signs about the account is no own decision."""
        for number, action in enumerate(("hold", "differs")):
            account = f"laboratory {number}"
            first = service.send(packed(f"signed_{number}k"), account=account).json()
            with service.database.transaction(write=True) as session:
                if action == "differs":
                    record(session, account, "attestation.received", first["id"], verdict="differs")
                else:
                    decide(session, first["id"], "hold", "run again: these differ", actor=account)
            service.client.post(f"{UPLOADS}/{first['id']}/withdraw", headers=service.account(account))
            assert status(service, packed(f"signed_{number}k", 2), account) == "held"
            assert status(service, packed(f"unsigned_{number}k", 3), account) == "held"


class TestOfNobody:
    """Results of an anonymous upload that a moderator accepted: no account owns their name or family."""

    def test_a_token_takes_them_with_permission_alone(self, service: Service, packed: Any) -> None:
        """What another sends under the name, or into the family, waits; accepted, both are that account's."""
        first = service.send(packed("gull_1k", title="Gull", family="gull"), account=None).json()["id"]
        accept(service, first)
        with service.database.transaction(write=True) as session:
            decide(session, first, "verify", "", actor="moderator")
        taken = service.send(packed("gull_1k", 5, title="Rude words", family="other"), account="bob").json()
        assert (taken["status"], [each["kind"] for each in taken["warnings"]]) == ("held", ["owner"])
        joined = service.send(packed("skua_1k", 900, title="Skua", family="gull"), account="zoe").json()
        assert (joined["status"], [each["kind"] for each in joined["warnings"]]) == ("held", ["family"])
        shown = service.client.get("/api/v1/codecs/gull_1k").json()["submission"]
        assert (shown["submission"], shown["submitter"]) == (first, "anonymous")
        accept(service, taken["id"])
        assert service.send(packed("gull_1k", 6), account="eve").status_code == 409
        newest = service.send(packed("gull_1k", 7, family="other"), account="bob").json()
        assert newest["status"] == "self-reported"
        shown = service.client.get("/api/v1/codecs/gull_1k").json()["submission"]
        assert (shown["submission"], shown["submitter"]) == (newest["id"], "bob")
