"""`infinicon memory` and `infinicon bindings` against a running Infinicon."""

from __future__ import annotations

from uuid import uuid4

from infinicon.cli.instance import Client, Instance
from tests.e2e.cli.commands import answer, run

NIL = "00000000-0000-0000-0000-000000000000"


def test_put_list_get_delete(live: Instance, client: Client) -> None:
    ref = str(client.scope["namespaceId"])
    made = run(live, "memory", "put", ref, "-", "--tag", "policy", "--expires", "30d", stdin="Refunds take five days.")
    entry = made.stdout.strip()
    run(live, "memory", "put", ref, "x " * 500)

    shown = run(live, "memory", "list", ref, "--budget", "100", "--tag", "policy")
    assert entry in shown.stdout
    assert "| Refunds take five days." in shown.stdout
    assert "1 entries, 6 o200k_base" in shown.stderr
    reply = answer(live, "memory", "list", ref, "--budget", "100")
    assert [one["id"] for one in reply["entries"]] == [entry]
    assert reply["oversizedOmitted"] == 1
    assert answer(live, "memory", "get", ref, entry)["entry"] == reply["entries"][0]
    assert run(live, "memory", "delete", ref, entry).stdout == "tombstoned\n"
    for verb in ("get", "delete"):
        for wrong in (NIL, "no id", "a/b"):
            assert run(live, "memory", verb, ref, wrong).returncode == 5


def test_bindings(live: Instance, client: Client) -> None:
    ref, namespace = f"mem:{uuid4()}/x", str(client.scope["namespaceId"])
    assert run(live, "bindings", "set", ref, "--namespace", namespace, "--agent", "ada").returncode == 0
    run(live, "memory", "put", ref, "Ada's own.")

    assert [one["content"] for one in answer(live, "memory", "list", namespace)["entries"]] == ["Ada's own."]
    assert ref in run(live, "bindings", "list").stdout
    bound = {one["memoryRef"]: one["scope"] for one in answer(live, "bindings", "list")["bindings"]}
    assert bound[ref] == {**client.scope, "agentId": "ada"}
    assert run(live, "bindings", "remove", ref).returncode == 0
    assert run(live, "bindings", "remove", ref).returncode == 5
