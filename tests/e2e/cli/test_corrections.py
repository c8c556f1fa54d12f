"""Contradictions, as a person states and settles them."""

from __future__ import annotations

from infinicon.cli.instance import Client, Instance
from tests.e2e.api.requests import ingest_indexed, note
from tests.e2e.cli.commands import answer, run

NOWHERE = "019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3d"


def test_a_contradiction_is_stated_and_settled(live: Instance, client: Client) -> None:
    namespace = str(client.scope["namespaceId"])
    first, second = ingest_indexed(client, note("Rosa lives in Turin."), note("Rosa lives in Lyon."))

    stated = answer(live, "dispute", first["id"], f"episode:{second['id']}", "-n", namespace)
    assert [result["status"] for result in stated["results"]] == ["disputed", "disputed"]
    done = run(live, "resolve", first["id"], "--holds", second["id"], "-n", namespace)
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == f"superseded  episode {first['id']}"
    assert f"supersedes {second['id']} -> {first['id']}  active" in done.stdout
    assert run(live, "resolve", first["id"], "--holds", second["id"], "-n", namespace).stdout == done.stdout


def test_what_cannot_be_stated(live: Instance, client: Client) -> None:
    namespace = str(client.scope["namespaceId"])
    (ref,) = ingest_indexed(client, note("Rosa lives in Turin."))

    for arguments in (
        ["dispute", ref["id"], NOWHERE],
        ["resolve", f"atom:{NOWHERE}"],
        ["resolve", ref["id"], "--holds", "x"],
    ):
        assert run(live, *arguments, "-n", namespace).returncode == 5
    for arguments in (
        ["dispute", ref["id"]],
        ["dispute", ref["id"], f"thing:{NOWHERE}"],
        ["dispute", ref["id"], ref["id"]],
    ):
        assert run(live, *arguments, "-n", namespace).returncode == 2
