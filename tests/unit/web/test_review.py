"""Verdicts in the explorer: what the server appends and refuses, and what the page does with keys and clicks."""

from __future__ import annotations

import csv
import io
import json
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lookalike as la
from browser import Browser, needs_browser
from lookalike.errors import InputError, UsageError
from lookalike.evaluation.judged_quality import quality
from lookalike.io.verdicts import Verdicts, read_verdicts
from lookalike.web import serving
from lookalike.web.admission import Access
from lookalike.web.index_view import IndexView
from lookalike.web.result_loader import open_result
from lookalike.web.verdict_file import VerdictFile, beside
from lookalike.web.view import ResultView
from shown import EVIL, families, save_families

pytest.importorskip("fastapi")
TOKEN = "s3cret"


@contextmanager
def served(view: Any, access: Access | None = None) -> Iterator[str]:
    from uvicorn import Config, Server

    from lookalike.web.explorer import explorer

    listener = serving.listen("127.0.0.1", 0)
    app = explorer(view, access or Access(token=TOKEN))
    server = Server(Config(serving.local_names_only(app), log_config=None, ws="none", lifespan="off"))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_families(tmp_path_factory.mktemp("reviewed"))


@pytest.fixture
def view(saved: Path, tmp_path: Path) -> ResultView:
    return ResultView(open_result(saved), VerdictFile(tmp_path / "verdicts.jsonl", "ann"))


def send(url: str, path: str, body: Any, headers: dict[str, str] | None = None) -> tuple[int, Any]:
    given = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}", **(headers or {})}
    request = urllib.request.Request(f"{url}/api/{path}", None if body is None else json.dumps(body).encode(), given)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def item(view: ResultView, name: str) -> int:
    found = view.item_of(name, 0)
    assert found is not None
    return found


def test_a_verdict_is_in_the_file_when_it_is_answered(view: ResultView) -> None:
    review = view.review
    assert review is not None
    left, right = item(view, "family0/member0"), item(view, "family0/member1")
    answer = review.judge(left, right, "same", note=" twins ")
    assert answer["votes"] == [{"by": "ann", "verdict": "same", "note": "twins", "at": answer["votes"][0]["at"]}]
    (made,) = read_verdicts(review.file.path).pairs
    assert (made.left, made.right, made.verdict, made.note) == ("family0/member0", "family0/member1", "same", "twins")
    assert made.left_hash is not None
    assert made.right_hash is not None
    assert view.pair(left, right)["judged"]["verdict"] == "same"
    assert {row["verdict"] for row in view.pairs(order="judged")["rows"]} == {"same"}


def test_undo_restores_what_the_file_said(view: ResultView) -> None:
    review = view.review
    assert review is not None
    pair = item(view, "family0/member0"), item(view, "family0/member1")
    for verdict in ("same", "different"):
        review.judge(*pair, verdict)
    members = [item(view, f"family1/member{at}") for at in range(5)]
    review.split(members[:2], members[2:])
    review.represent(members[3])
    assert review.file.counts()["different"] == 1 + 6
    assert review.undo()["undone"]
    assert not review.file.is_chosen("family1/member3")
    review.undo()
    assert review.file.counts()["different"] == 1
    assert review.undo()["items"] == list(pair)
    assert review.of_pair(*pair)["verdict"] == "same"
    review.undo()
    assert review.of_pair(*pair)["verdict"] is None
    assert review.undo() == {"undone": False, "items": [], "about": review.about()}
    assert read_verdicts(review.file.path).pairs == ()


@pytest.mark.promise("docs/how-to/explore.md", "the verdicts of others are seen at once")
def test_others_may_write_meanwhile(view: ResultView) -> None:
    review = view.review
    assert review is not None
    pair = item(view, "family0/member0"), item(view, "family0/member1")
    review.judge(*pair, "same")
    Verdicts(review.file.path).add("family0/member0", "family0/member1", "different", by="bob")
    shown = review.of_pair(*pair)
    assert shown["verdict"] == "contested"
    assert [vote["by"] for vote in shown["votes"]] == ["ann", "bob"]
    assert view.pairs(order="disagree")["total"] == 1
    with open(review.file.path, "a") as file:
        file.write('{"left": "fam')  # a writer that was killed
    review.judge(*pair, "unsure")
    assert review.file.counts()["disagree"] == 1


def test_split_groups_are_what_the_next_run_makes(view: ResultView) -> None:
    review = view.review
    assert review is not None
    members = [item(view, f"family2/member{at}") for at in range(5)]
    other = item(view, "family3/member0")
    review.split(members[3:], members[:3])
    shown = view.group(members[0])
    parts = {row["name"]: row["part"] for row in shown["rows"]}
    assert shown["parts"] == 2
    assert [parts[f"family2/member{at}"] for at in range(5)] == [0, 0, 0, 1, 1]
    review.move([members[2]], [one for one in members if one != members[2]], other)
    review.represent(members[4])
    made = la.groups(families(), threshold=0.3, verdicts=review.file.path).groups.to_pylist()
    group = {row["id"]: row["group"] for row in made}
    first = {row["id"]: row["representative"] for row in made}
    assert group["family2/member0"] == group["family2/member1"]
    assert group["family2/member2"] == group["family3/member0"] != group["family2/member0"]
    assert group["family2/member3"] == group["family2/member4"] != group["family2/member0"]
    assert first["family2/member3"] == "family2/member4"
    review.same([members[0], members[3]])
    assert review.of_pair(members[0], members[3])["verdict"] == "same"


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (lambda review: review.judge(1, 1, "same"), "against itself"),
        (lambda review: review.judge(0, 1, "alike"), "the verdict is 'alike'"),
        (lambda review: review.judge(0, 999_999, "same"), "no item 999999"),
        (lambda review: review.split([1], []), "mark some"),
        (lambda review: review.split([1], [1, 2]), "named twice"),
        (lambda review: review.move([1], [2], 2), "in this group already"),
    ],
)
def test_wrong_edits_change_nothing(view: ResultView, work: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        work(view.review)
    assert not view.review.file.path.exists()  # type: ignore[union-attr]


def test_pairs_of_two_tables_keep_their_sides(tmp_path: Path) -> None:
    first = pa.table({"id": [1, 2], "text": ["a b c d e f g", "q r s t u v w"]})
    second = pa.table({"id": [2, 1], "text": ["a b c d e f h", "q r s t u v x"]})
    view = ResultView(
        open_result(la.pairs(first, against=second, k=2, threshold=0.3)), VerdictFile(tmp_path / "v.jsonl", "ann")
    )
    review = view.review
    assert review is not None
    pairs = [(row["left"]["item"], row["right"]["item"]) for row in view.pairs()["rows"]]
    for (left, right), verdict in zip(pairs, ("same", "different"), strict=True):
        review.judge(right, left, verdict)  # in either order
    assert [review.of_pair(*pair)["verdict"] for pair in pairs] == ["same", "different"]
    judged = la.pairs(first, against=second, k=2, threshold=0.3, verdicts=review.file.path).pairs.to_pylist()
    assert len(judged) == 1
    with pytest.raises(UsageError, match="within one input"):
        review.represent(pairs[0][0])


def test_the_queue_is_the_sample_of_the_command_and_its_estimates(view: ResultView, saved: Path) -> None:
    sample, review = view.sample, view.review
    assert sample is not None
    assert review is not None
    drawn = []
    for _ in range(40):
        left, right = sample.following()["pair"]
        drawn.append({view.key(left), view.key(right)})
        same = view.pair(left, right)["score"] > 0.7
        review.judge(left, right, "same" if same else "different", drawn=True)
    assert {name: sample.progress()[name] for name in ("judged", "pairs", "others")} == {
        "judged": 40, "pairs": 101, "others": 0
    }  # fmt: skip
    first = la.judging_sample(saved, 1).to_pylist()[0]
    assert {first["left"], first["right"]} == drawn[0]
    known = {point.threshold: point for point in quality(saved, review.file.path).points}
    at = {round(float(view.graph.cuts.values[one["cut"]]), 4): one for one in sample.quality()["points"]}
    both = sorted(set(known) & set(at))
    assert both
    for threshold in both:
        for name in ("precision", "recall", "f1"):
            share = getattr(known[threshold], name)
            assert at[threshold][name] == pytest.approx([share.value, share.low, share.high], abs=1e-5)
    view.review.undo()  # type: ignore[union-attr]
    assert sample.progress()["judged"] == 39


@pytest.mark.promise("docs/how-to/review.md", "The receipt of a run with these verdicts has the estimates too")
def test_a_run_with_verdicts_states_the_quality_of_what_it_found(view: ResultView, tmp_path: Path) -> None:
    sample, review = view.sample, view.review
    assert sample is not None
    assert review is not None
    for _ in range(12):
        left, right = sample.following()["pair"]
        review.judge(left, right, "different", drawn=True)
    made = la.pairs(families(), threshold=0.3, verdicts=review.file.path)
    points = made.receipt["verdicts"]["quality"]["points"]
    assert points[-1]["precision"]["value"] == 0
    assert made.receipt["verdicts"]["removed_pairs"] == 12
    made.save(tmp_path / "judged")
    with pytest.raises(InputError, match="12 pairs judged different are not in this result"):
        quality(tmp_path / "judged", review.file.path)
    again = ResultView(open_result(tmp_path / "judged"), VerdictFile(review.file.path))
    assert again.overview()["sampled"] is False


def test_a_report_draws_the_estimates_of_a_file_of_verdicts(view: ResultView, saved: Path, tmp_path: Path) -> None:
    assert view.sample is not None
    left, right = view.sample.following()["pair"]
    view.review.judge(left, right, "same", drawn=True)  # type: ignore[union-attr]
    page = la.report(saved, tmp_path / "page.html", verdicts=tmp_path / "verdicts.jsonl").read_text()
    assert '"quality":{"points":[{' in page
    assert '"review":null' in page
    with pytest.raises(InputError, match="no such file of verdicts"):
        la.report(saved, tmp_path / "other.html", verdicts=tmp_path / "nowhere.jsonl")
    assert not (tmp_path / "other.html").exists()


def test_pairs_that_only_a_verdict_joins_are_shown_without_a_score(tmp_path: Path) -> None:
    judged = [{"left": "alone", "right": "family0/member0", "verdict": "same"}]
    view = ResultView(open_result(la.pairs(families(), threshold=0.3, verdicts=judged)))
    json.dumps(view.overview(), allow_nan=False)
    rows = view.pairs(item=item(view, "alone"))["rows"]
    assert [(row["score"], row["right"]["name"]) for row in rows] == [(None, "alone")]
    json.dumps([view.pairs(order=order) for order in ("near", "high", "low")], allow_nan=False)
    json.dumps(view.group(item(view, "alone")), allow_nan=False)
    assert view.pair(item(view, "alone"), item(view, "family0/member0"))["score"] is None


def test_an_index_is_judged_too(tmp_path: Path) -> None:
    with la.Index.create(tmp_path / "seen", threshold=0.5) as made:
        made.add(families()["text"].to_pylist()[:10], ids=list(range(10)))
        view = IndexView(made, VerdictFile(beside(tmp_path / "seen"), "ann"))
        assert view.review is not None
        view.review.judge(0, 1, "same")
        view.review.split([0, 1], [2, 3])
        assert view.pair(0, 1)["judged"]["verdict"] == "same"
        assert view.pairs(order="judged")["total"] == 5
        assert view.pairs(item=0)["rows"][0]["left"]["begin"]
        assert view.group(0)["members"]
    (first, *_) = read_verdicts(tmp_path / "seen.verdicts.jsonl").pairs
    assert (first.left, first.right) == (0, 1)
    assert first.left_hash is not None


@pytest.mark.promise("docs/how-to/explore.md", "requests without the token of the address, and those of other sites")
def test_only_the_page_with_the_token_may_write(view: ResultView) -> None:
    body = {"left": 0, "right": 1, "verdict": "same"}
    with served(view) as url:
        host = url.removeprefix("http://")
        assert send(url, "judge", body, {"Authorization": ""})[0] == 401
        assert send(url, "judge", body, {"Authorization": "Bearer wrong"})[0] == 401
        assert send(url, "next", None, {"Authorization": ""})[0] == 401
        for headers in (
            {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
            {"Origin": f"https://{host}"}, {"Sec-Fetch-Site": "same-site"},
        ):  # fmt: skip
            for path in ("judge", "undo", "edit", "import"):
                assert send(url, path, body, headers)[1]["error"] == "OtherSite"
        assert send(url, "judge", body, {"Content-Type": "text/plain"})[0] == 415
        assert send(url, "judge", body, {"Host": "evil.example"})[0] == 403
        assert send(url, "judge", [1])[0] == 400
        assert send(url, "judge", {"left": [1], "right": 2, "verdict": "same"})[0] == 422
        assert send(url, "edit", {"action": "burn"})[1]["message"].startswith("action is 'burn'")
        assert send(url, "import", {"text": "a,b\n1,2\n"})[0] == 422
        assert not view.review.file.path.exists()  # type: ignore[union-attr]
        assert send(url, "judge", body, {"Origin": url, "Sec-Fetch-Site": "same-origin"})[0] == 200
    with served(view, Access(closed="verdicts are accepted from this machine only.")) as url:
        assert send(url, "judge", body)[0] == 403
    with served(ResultView(view.opened)) as url:
        assert send(url, "judge", body)[0] == 404


def test_verdicts_go_out_and_come_in_as_csv(view: ResultView, tmp_path: Path) -> None:
    evil = item(view, f"evil {EVIL}")
    with served(view) as url:
        send(url, "judge", {"left": evil, "right": item(view, "evil twin"), "verdict": "same", "note": EVIL})
        Verdicts(view.review.file.path).add("family0/member0", "family0/member1", "same", by="bob")  # type: ignore[union-attr]
        with urllib.request.urlopen(f"{url}/api/verdicts.csv") as answer:
            text = answer.read().decode()
            assert answer.headers["Content-Disposition"] == 'attachment; filename="verdicts.csv"'
        rows = list(csv.DictReader(io.StringIO(text)))
        assert [(row["by"], row["verdict"]) for row in rows] == [("ann", "same"), ("bob", "same")]
        assert rows[0]["left"] == f"evil {EVIL}"
        other = ResultView(view.opened, VerdictFile(tmp_path / "other.jsonl", "cy"))
        with served(other) as second:
            assert send(second, "import", {"text": text})[1]["added"] == 2
            assert send(second, "import", {"text": text})[1]["added"] == 0
            lines = view.review.file.path.read_text() + '{"left": "x", "right": "y", "verdict": "unsure"}\n'  # type: ignore[union-attr]
            assert send(second, "import", {"text": lines})[1]["added"] == 1
    (tmp_path / "out.csv").write_text(text)
    assert read_verdicts(tmp_path / "out.csv").counts()["same"] == 2


def wait_saved(browser: Browser, file: Path, count: int) -> list[dict[str, Any]]:
    """The events of the file, once there are this many."""
    for _ in range(500):
        events = [json.loads(line) for line in file.read_text().split("\n")[1:-1]] if file.exists() else []
        events = [event for event in events if "plan" not in event]
        if len(events) >= count:
            return events
        browser.value("new Promise(done => setTimeout(done, 20))")
    raise AssertionError(f"{len(events)} events, not {count}")


@pytest.mark.promise("docs/how-to/explore.md", "Everything works with the keyboard")
@pytest.mark.promise("docs/how-to/explore.md", "each pair has three buttons: `1` same, `2` different, `3` unsure")
@needs_browser
def test_pairs_are_judged_with_one_key_each(view: ResultView) -> None:
    file = view.review.file.path  # type: ignore[union-attr]
    with served(view) as url, Browser() as browser:
        browser.size(1280, 860)
        browser.open(f"{url}/?token={TOKEN}")
        browser.wait("document.body.dataset.ready === 'yes'")
        assert browser.value("location.search") == ""  # the token does not stay in the address
        browser.press("r")
        for at, key in enumerate("1123"):
            browser.wait(
                f"document.getElementById('judged')?.textContent === '{at}' && document.querySelector('.say') !== null"
            )
            browser.press(key)
        browser.wait("document.getElementById('judged')?.textContent === '4'")
        events = wait_saved(browser, file, 4)
        assert [event["verdict"] for event in events] == ["same", "same", "different", "unsure"]
        assert all(event["drawn"] and event["by"] == "ann" and event["left_hash"] for event in events)
        browser.press("z")
        browser.wait("document.getElementById('judged')?.textContent === '3'")
        last = browser.value("[...document.querySelectorAll('.head h2')].map(h => h.textContent)")
        assert last == [events[3]["left"], events[3]["right"]]  # what was taken back is asked again
        browser.press("e")
        browser.type(f"why {EVIL}")
        browser.press("Enter")
        browser.press("1")
        assert wait_saved(browser, file, 6)[-1]["note"] == f"why {EVIL}".strip()
        browser.wait("document.getElementById('quality').hidden === false")
        assert browser.value("document.querySelectorAll('.band').length") == 3
        browser.press("p")
        browser.wait(
            "document.querySelectorAll('.row.pair').length > 3 && document.querySelector('#judge .say') !== null"
        )
        before = browser.value("location.hash")
        first = browser.value(
            "document.querySelector('#detail h2').textContent + '|' + document.querySelectorAll('#detail h2')[1].textContent"
        )
        browser.press("2")
        browser.wait(f"location.hash !== {json.dumps(before)}")  # on to the next row
        assert browser.value("document.querySelector('.row[data-at=\"0\"] .is').textContent") == "≠"
        browser.wait(
            f"[...document.querySelectorAll('#detail h2')].map(h => h.textContent).join('|') !== {json.dumps(first)}"
        )
        browser.value("document.querySelector('#judge .say.unsure').click()")
        wait_saved(browser, file, 8)
        browser.press("Escape")
        browser.press("o")
        browser.wait("document.getElementById('again').textContent.includes('--verdicts ')")
        browser.value(
            "(() => { const by = document.getElementById('by'); by.value = 'bob'; by.dispatchEvent(new Event('change')); })()"
        )
        browser.value(f"location.hash = {json.dumps(before)}")
        browser.wait(
            f"[...document.querySelectorAll('#detail h2')].map(h => h.textContent).join('|') === {json.dumps(first)}"
        )
        browser.press("1")
        browser.wait("document.querySelector('.conflict') !== null || document.querySelector('.is.contested') !== null")
        events_of_pair = wait_saved(browser, file, 9)[-1]
        browser.press("o")
        browser.value("document.getElementById('copy').click()")
        browser.wait("document.getElementById('copy').textContent === 'copied'")
        assert browser.value("document.getElementById('export').getAttribute('href')") == "api/verdicts.csv"
        browser.wait("document.getElementById('review-disagree').hidden === false")
        browser.value("document.getElementById('review-disagree').click()")
        browser.wait(
            "document.querySelectorAll('.row.pair').length === 1 && document.querySelector('.conflict') !== null"
        )
        browser.press("1")  # the same key again
        taken = wait_saved(browser, file, 10)[-1]
        assert {name: taken[name] for name in taken if name not in ("at", "chain")} == {
            "left": events_of_pair["left"], "right": events_of_pair["right"], "verdict": "withdrawn", "by": "bob",
            "left_hash": events_of_pair["left_hash"], "right_hash": events_of_pair["right_hash"],
        }  # fmt: skip
        browser.press("o")
        browser.value(
            """(() => {
              const held = new DataTransfer(), input = document.getElementById('import');
              held.items.add(new File(["left,right,verdict,by\\nfamily0/member0,family0/member1,same,cy\\n"], "cy.csv"));
              input.files = held.files;
              input.dispatchEvent(new Event('change'));
            })()"""
        )
        browser.wait("document.getElementById('review-said').textContent === '1 verdict added'")
        assert wait_saved(browser, file, 11)[-1]["by"] == "cy"
        browser.press("r")
        browser.wait("document.getElementById('wanted') !== null")
        browser.value(
            "(() => { const wanted = document.getElementById('wanted'); wanted.value = '100'; wanted.dispatchEvent(new Event('change')); })()"
        )
        browser.wait("document.querySelector('.progress').getAttribute('aria-valuemax') === '100'")
        browser.press("?")
        assert browser.value("document.getElementById('judge-keys').hidden") is False
        browser.press("Escape")
        browser.open(url)  # without the token; the tab still has it
        browser.wait("document.body.dataset.ready === 'yes'")
        assert browser.value("document.querySelector('.tabs [data-view=judge]').hidden") is False
        assert browser.value("document.querySelectorAll('img, b').length") == 0
        assert browser.errors == []


@pytest.mark.promise("docs/how-to/explore.md", "In a group, mark members with `x`: `2` splits them off")
@needs_browser
def test_groups_are_split_moved_and_merged_with_keys(view: ResultView) -> None:
    file = view.review.file.path  # type: ignore[union-attr]
    with served(view) as url, Browser() as browser:
        browser.size(400, 800)
        browser.dark(True)
        browser.open(f"{url}/?token={TOKEN}#groups/{item(view, 'family4/member0')}")
        browser.wait("document.querySelectorAll('.mark').length === 5")
        browser.press("x")
        browser.press("x")
        browser.wait("document.querySelectorAll('.mark:checked').length === 2")
        browser.press("2")
        (split,) = wait_saved(browser, file, 1)
        assert (len(split["left"]), len(split["right"]), split["verdict"]) == (2, 3, "different")
        browser.wait("document.querySelectorAll('.badge.part').length === 5")
        browser.press("z")
        browser.wait("document.querySelectorAll('.badge.part').length === 0")
        wait_saved(browser, file, 7)
        browser.value("document.querySelectorAll('.star')[1].click()")
        browser.wait("document.querySelectorAll('.star[aria-pressed=true]').length === 1")
        assert wait_saved(browser, file, 8)[-1]["verdict"] == "representative"
        browser.press("x")
        browser.press("h")
        browser.wait("document.getElementById('said').textContent.startsWith('Held')")
        browser.value(f"location.hash = '#groups/{item(view, 'family5/member0')}'")
        browser.wait("document.getElementById('edit-put') !== null")
        assert browser.value("document.documentElement.scrollWidth <= 400")
        browser.press("v")
        moved = wait_saved(browser, file, 10)[-2:]
        assert [event["verdict"] for event in moved] == ["different", "same"]
        browser.wait("document.getElementById('edit-put') === null")
        browser.press("h")  # none marked: the whole group
        browser.value(f"location.hash = '#groups/{item(view, 'family6/member0')}'")
        browser.wait("document.getElementById('edit-put')?.textContent.startsWith('merge')")
        browser.value("document.getElementById('edit-put').click()")
        assert wait_saved(browser, file, 11)[-1]["verdict"] == "same"
        browser.wait("document.getElementById('edit-put') === null")
        browser.press("1")
        assert [event["verdict"] for event in wait_saved(browser, file, 15)[-4:]] == ["same"] * 4
        assert browser.errors == []
