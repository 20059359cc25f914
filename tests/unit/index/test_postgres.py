"""An index in PostgreSQL: many writers at once, what a writer that dies leaves behind, and what errors say."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psycopg
import pytest

import lookalike as la
from lookalike.errors import (
    DatabaseFailed,
    IndexBusy,
    InputError,
    LookalikeError,
    MissingExtra,
    OutputError,
    UsageError,
)
from lookalike.index import connections
from lookalike.index import postgres as postgres_store
from lookalike.index.connections import DatabaseAddress
from postgres_server import new_server

OPTIONS: dict[str, Any] = {"kind": "documents", "k": 2}


def text(number: int) -> str:
    return " ".join(f"w{number * 100 + i}" for i in range(20))


@pytest.fixture
def url(postgres: str, new_schema: Callable[[], str]) -> str:
    place = f"{postgres}&schema={new_schema()}"
    la.Index.create(place, **OPTIONS).close()
    return place


def test_check_compares_the_tables(url: str, postgres: str) -> None:
    with la.Index.open(url) as index:
        index.add(["a b c d", "a b c d", "x y z"])
        index.groups()
        sound = index.check()
        assert (sound.is_sound, sound.items) == (True, 3)
        assert not sound.unprotected or "data_checksums" in sound.unprotected[0]
    schema = url.rpartition("=")[2]
    with psycopg.connect(postgres) as link:
        link.execute(f"UPDATE {schema}.state SET items = 4, grouped = 9")
        link.execute(f"UPDATE {schema}.groups SET parent = item + 1")
    with la.Index.open(url) as index:
        damages = index.check().damages
    assert [line.partition(" is damaged: ")[2].partition(". ")[0] for line in damages] == [
        "4 items are counted, and 3 are there",
        "groups of 1 items are younger than the items",
        "9 items are in groups, and there were 3",
    ]
    command = [sys.executable, "-m", "lookalike", "index", "check", url]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "4 items are counted, and 3 are there" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def together(work: Callable[[int], None], count: int) -> None:
    """Do the work in several threads that begin at the same time; an error of one is an error."""
    start, failed = threading.Barrier(count), []

    def call(number: int) -> None:
        try:
            start.wait(30)
            work(number)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    if failed:
        raise failed[0]


@pytest.mark.promise("docs/how-to/postgres.md", "if six machines send the same item at once")
def test_the_same_item_from_many_writers_goes_in_once(url: str) -> None:
    answers: list[list[Any]] = [[] for _ in range(6)]

    def write(number: int) -> None:
        with la.Index.open(url) as index:
            for item in range(10):
                answers[number] += index.add_if_new([text(item)], ids=[f"{item} from {number}"])

    together(write, 6)
    with la.Index.open(url) as index:
        assert len(index) == 10
        inside = set(index)
        for item in range(10):
            reported = [answers[number][item] for number in range(6)]
            assert reported.count(None) == 1  # one of them was the first
            first = f"{item} from {reported.index(None)}"
            assert first in inside
            assert all(match == (first, 1.0) for match in reported if match is not None)  # and the others got its id


def test_ids_given_to_many_writers_differ(url: str) -> None:
    def write(number: int) -> None:
        with la.Index.open(url) as index:
            for item in range(5):
                index.add([text(100 * number + 10 * item + i) for i in range(4)])

    together(write, 4)
    with la.Index.open(url) as index:
        assert sorted(index) == list(range(80))
        assert [len(found) for found in index.query([text(0), text(333), text(999)])] == [1, 1, 0]


def test_threads_share_one_index(url: str) -> None:
    with la.Index.open(url) as index:

        def work(number: int) -> None:
            for item in range(5):
                index.add([text(number * 10 + item)], ids=[f"{number}-{item}"])
                assert index.query([text(number * 10 + item)])[0][0].id == f"{number}-{item}"

        together(work, 4)
        assert len(index) == 20


KILLED = """
import sys, lookalike as la
index = la.Index.open(sys.argv[1])
for number in range(1000):
    with index.store.writing():
        index.add([" ".join(f"w{number * 100 + i}" for i in range(20))], ids=[f"n{number}"])
        print("writing", flush=True)
    print(number, flush=True)
"""


def test_what_was_acknowledged_outlives_a_writer_that_is_killed(url: str) -> None:
    for run, after in enumerate((2, 5)):
        child = subprocess.Popen([sys.executable, "-c", KILLED, url], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        for line in child.stdout:
            if line == f"{after}\n":
                break
        assert child.stdout.readline() == "writing\n"
        os.kill(child.pid, signal.SIGKILL)  # in the middle of a transaction, or just after
        done = [int(line) for line in child.stdout if line.strip().isdigit()]
        child.wait()
        child.stdout.close()
        with la.Index.open(url) as index:  # the lock is free again
            index.add([f"still open {run}"], ids=[f"open {run}"])
            known = [number for number in range(1000) if f"n{number}" in index]
            assert known == list(range(len(known)))
            assert len(known) > max([after, *done])
            assert index.query([text(after)])[0][0].id == f"n{after}"
            assert len(index) == len(known) + run + 1


def test_removed_items_leave_nothing_behind_after_compaction(url: str) -> None:
    with la.Index.open(url) as index:
        index.add([text(number) for number in range(30)])
        keys = lambda: index.store._one("SELECT count(*) FROM {s}.keys")[0]  # type: ignore[attr-defined]  # noqa: E731
        before = keys()
        index.remove(range(10, 30))
        index.add([text(50)], ids=[3])
        assert index.query([text(12), text(3)]) == [[], []]
        index.compact()
        assert keys() == before // 30 * 10
        assert [found[0].id for found in index.query([text(9), text(50)])] == [9, 3]


def test_a_table_that_has_just_grown_is_not_read_as_a_whole(url: str) -> None:
    with la.Index.open(url) as index:
        store: Any = index.store
        index.add([text(number) for number in range(5000)])  # the planner does not know the sizes yet
        with store._connections.reading() as link:
            keys = list(range(16))
            plan = link.execute(store._sql(f"EXPLAIN {postgres_store.MEETING}"), [keys, keys]).fetchall()
        assert "keys_key" in str(plan)
        assert "Seq Scan" not in str(plan)


def test_readers_do_not_wait_for_a_writer(url: str) -> None:
    with la.Index.open(url) as index, la.Index.open(url, read_only=True) as reader:
        index.add([text(1)], ids=["one"])
        with index.store.writing():
            index.add([text(2)], ids=["two"])
            assert [len(found) for found in reader.query([text(1), text(2)])] == [1, 0]
        assert [len(found) for found in reader.query([text(1), text(2)])] == [1, 1]
        with pytest.raises(UsageError, match=r"was opened with read_only=True; open it without to change it\.$"):
            reader.add([text(3)], ids=["three"])
        with pytest.raises(UsageError, match="read_only"):
            reader.compact()


def test_a_writer_that_waits_too_long_says_so(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "WRITER_WAIT_SECONDS", 1)
    with la.Index.open(url) as first, la.Index.open(url) as second:
        failed: list[Exception] = []

        def write() -> None:
            try:
                second.add([text(1)], ids=["one"])
            except IndexBusy as error:
                failed.append(error)

        with first.store.writing():
            other = threading.Thread(target=write)
            other.start()
            other.join(30)
        assert str(failed[0]).endswith(": others have been writing for 1 s. Try again.")
        assert len(second) == 0
        second.add([text(1)], ids=["one"])


def cut_off(url: str) -> None:
    """End all connections of indexes, as a restart of the server would."""
    with psycopg.connect(url) as other:
        other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'lookalike'")


def test_a_connection_that_broke_is_made_anew(url: str, postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "STALE", 0.0)
    with la.Index.open(url) as index:
        index.add([text(1)], ids=["one"])
        cut_off(postgres)
        assert len(index) == 1
        index.add([text(2)], ids=["two"])

        def fail() -> None:
            with index.store.writing():
                cut_off(postgres)
                index.add([text(3)], ids=["three"])

        with pytest.raises(DatabaseFailed, match=r"^PostgreSQL at postgresql://tester@/.*: ") as caught:
            fail()
        assert "\n" not in str(caught.value)
        assert sorted(index) == ["one", "two"]


def test_a_schema_for_each_index(postgres: str, new_schema: Callable[[], str]) -> None:
    one, other = f"{postgres}&schema={new_schema()}", f"{postgres}&schema={new_schema()}"
    with la.Index.create(one, **OPTIONS) as first, la.Index.create(other, **OPTIONS) as second:
        first.add([text(1)])
        assert (len(first), len(second)) == (1, 0)
        with first.store.writing():
            second.add([text(2)])  # each has its own lock
    with pytest.raises(OutputError, match=r"holds an index already\. Add schema=NAME to the URL for another one\.$"):
        la.Index.create(one, **OPTIONS)


def test_groups_and_facts(url: str) -> None:
    with la.Index.open(url) as index:
        index.add([text(1), text(1), text(2)], ids=["a", "b", "c"])
        assert index.groups().to_pylist() == [{"id": "a", "group": 0, "size": 2}, {"id": "b", "group": 0, "size": 2}]
        info = index.info()
        assert (info["items"], info["store"], set(info["tables"])) == (
            3, "postgresql", {"state", "items", "keys", "groups", "merges"},
        )  # fmt: skip
        assert info["bytes"] == sum(info["tables"].values())


@pytest.mark.parametrize(
    ("place", "kind", "message"),
    [
        ("{url}&schema=nothing", InputError, r"no index at .*schema=nothing\. Make one with: lookalike index create\.$"),
        ("{url}&schema=a-b", UsageError, r"^schema=a-b cannot name the tables of an index: letters, digits and _, 63 at most\.$"),
        ("{url}&schema=pg_x", UsageError, r"^schema=pg_x cannot name"),
        ("postgresql://me:secret@127.0.0.1:1/db", DatabaseFailed, r"^PostgreSQL at postgresql://me@127.0.0.1:1/db: .*refused"),
        ("{url}&sslmode=nonsense", DatabaseFailed, r"sslmode"),
        ("postgresql://me:secret@[::1/db", UsageError, r"^not a URL of PostgreSQL \(.*\); expected postgresql://user@host/database\.$"),
        ("postgresql://me:secret@db:x/db", DatabaseFailed, r"^PostgreSQL at postgresql://me@db:x/db: "),
        ("mysql://db/shop", UsageError, r"^mysql:// is not a place for an index; expected a folder or postgresql://\.$"),
    ],
)  # fmt: skip
def test_places_that_are_none(postgres: str, place: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message) as caught:
        la.Index.open(place.replace("{url}", postgres))
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.promise("docs/how-to/postgres.md", "Ids are text of 2,000 bytes at most")
def test_ids_that_cannot_be_kept(url: str) -> None:
    with la.Index.open(url) as index:
        with pytest.raises(
            InputError, match=r"^the id 'a\\x00b' holds the character NUL, which PostgreSQL cannot keep\.$"
        ):
            index.add([text(1)], ids=["a\0b"])
        with pytest.raises(InputError, match=r"^an id of 4000 bytes \('éééé.* is too long: 2000 at most\.$"):
            index.add([text(1)], ids=["é" * 2000])
        assert len(index) == 0
        index.add([text(1)], ids=["é" * 1000])
        assert "é" * 1000 in index


def test_a_database_of_another_encoding(postgres: str) -> None:
    with psycopg.connect(postgres, autocommit=True) as link, suppress(psycopg.errors.DuplicateDatabase):
        link.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'")
    with pytest.raises(InputError, match=r"is not in UTF8\. Make one that is: createdb -E UTF8 -T template0\.$"):
        la.Index.create(postgres.replace("/postgres?", "/latin?"), **OPTIONS)


def test_the_password_is_shown_nowhere() -> None:
    place = DatabaseAddress.of("postgresql://me:secret@db:5433/shop?password=secret&schema=news")
    assert (place.shown, place.schema) == ("postgresql://me@db:5433/shop?schema=news", "news")
    assert place.url == "postgresql://me:secret@db:5433/shop?password=secret"
    assert (
        DatabaseAddress.of("postgresql://db/x?options=-c%20a=b&password=a+b").url
        == "postgresql://db/x?options=-c%20a=b&password=a+b"
    )


def test_without_psycopg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r'^an index in PostgreSQL needs: pip install "lookalike\[postgres\]"$'):
        la.Index.open("postgresql://db/shop")


@pytest.mark.promise("docs/explanation/faults.md", "A server of PostgreSQL that is killed")
def test_what_was_acknowledged_outlives_a_server_that_is_killed(postgres: str) -> None:
    """Two writers add while the server is killed twice; the same objects go on when it is back."""
    assert postgres  # skips where there is no server to start
    with new_server() as database:
        url = f"{database.url}&schema=killed"
        la.Index.create(url, **OPTIONS).close()
        acknowledged: list[str] = []
        enough = threading.Event()

        def write(writer: int) -> None:
            with la.Index.open(url) as index:
                for number in range(10_000):
                    if enough.is_set():
                        return
                    try:
                        index.add([text(number)], ids=[f"{writer} {number}"])
                        acknowledged.append(f"{writer} {number}")
                    except LookalikeError:
                        time.sleep(0.05)

        def await_more(count: int) -> None:
            until, expected = time.monotonic() + 60, len(acknowledged) + count
            while len(acknowledged) < expected:
                assert time.monotonic() < until, "the writers do not go on"
                time.sleep(0.02)

        writers = [threading.Thread(target=write, args=(number,)) for number in range(2)]
        for writer in writers:
            writer.start()
        try:
            for _ in range(2):
                await_more(15)
                database.kill()
                database.start()
            await_more(5)  # they go on by themselves
        finally:
            enough.set()
            for writer in writers:
                writer.join()
        with la.Index.open(url) as index:
            there = set(index)
            assert set(acknowledged) <= there
            assert len(there - set(acknowledged)) <= 4  # two writers, two kills: those whose answer was lost
            assert index.check().is_sound
            assert index.query([text(3)])[0]
