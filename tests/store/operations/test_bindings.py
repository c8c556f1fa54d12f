"""What memoryRefs stand for."""

from __future__ import annotations

from uuid import uuid4

import pytest

from infinicon.domain import Caller, Permission
from infinicon.errors import Unauthorized
from infinicon.operations import bindings as binding
from infinicon.store import tenancy
from tests.store.operations.conftest import Pipeline
from tests.store.operations.entry_worlds import bind, contents, get, listed, put_entry, relevant


def test_a_binding_stands_for_an_agent_or_a_session(pipeline: Pipeline) -> None:
    bind(pipeline, "mem:ada", pipeline.scope(agent="ada"))
    bind(pipeline, "mem:ada:s", pipeline.scope(agent="ada", session="s"))
    bind(pipeline, "mem:s", pipeline.scope(session="s"))
    put_entry(pipeline, "All.")
    put_entry(pipeline, "Ada.", "mem:ada")
    put_entry(pipeline, "Ada in s.", "mem:ada:s")
    put_entry(pipeline, "S.", "mem:s")
    pipeline.drain()

    expected = {
        "notes": ["S.", "Ada in s.", "Ada.", "All."],
        "mem:ada": ["Ada in s.", "Ada."],
        "mem:ada:s": ["Ada in s."],
        "mem:s": ["S.", "Ada in s."],
    }
    for ref, found in expected.items():
        assert contents(listed(pipeline, ref)) == found
        assert contents(listed(pipeline, ref, token_budget=1_000)) == found
        assert sorted(contents(relevant(pipeline, "Ada", ref))) == sorted(found)
    shown = listed(pipeline, "mem:ada").entries[0]
    assert get(pipeline, shown.id, "mem:s") == shown
    assert get(pipeline, listed(pipeline).entries[-1].id, "mem:ada") is None


def test_a_binding_goes_before_a_namespace_of_its_name_until_it_is_taken_back(pipeline: Pipeline) -> None:
    put_entry(pipeline, "Of notes.")
    put_entry(pipeline, "Of other.", "other")
    bind(pipeline, "notes", pipeline.scope("other"))

    assert contents(listed(pipeline)) == ["Of other."]
    found, more = binding.list_bindings(pipeline.app, pipeline.caller, "", 10)
    assert [(one.memory_ref, one.scope) for one in found] == [("notes", pipeline.scope("other"))]
    assert not more
    assert binding.list_bindings(pipeline.app, pipeline.caller, "notes", 10) == ([], False)
    assert binding.unbind(pipeline.app, pipeline.caller, "notes")
    assert not binding.unbind(pipeline.app, pipeline.caller, "notes")
    assert contents(listed(pipeline)) == ["Of notes."]


def test_a_key_limited_to_namespaces_binds_and_unbinds_their_names_alone(pipeline: Pipeline) -> None:
    """Otherwise it would lead those who mean a namespace that it cannot see, now or later, into its own."""
    whole = pipeline.caller
    put_entry(pipeline, "Of notes.")
    with pipeline.app.transaction(whole.tenant) as tx:
        own = tenancy.ensure_namespace(whole.tenant, tx, "own")
    bind(pipeline, "to own", pipeline.scope("own"))
    limited = Caller(whole.tenant, whole.tenant_name, uuid4(), frozenset(Permission), frozenset({own}))
    pipeline.caller = limited

    refusals = set()
    for ref in ("notes", "not yet", "to own", "never"):
        with pytest.raises(Unauthorized) as bound:
            bind(pipeline, ref, pipeline.scope("own"))
        with pytest.raises(Unauthorized) as unbound:
            binding.unbind(pipeline.app, pipeline.caller, ref)
        refusals |= {bound.value.message, unbound.value.message}
    with pytest.raises(Unauthorized):
        binding.unbind(pipeline.app, pipeline.caller, None)
    assert len(refusals) == 1

    bind(pipeline, "own", pipeline.scope("own", agent="ada"))
    assert binding.unbind(pipeline.app, pipeline.caller, "own")
    assert not binding.unbind(pipeline.app, pipeline.caller, "own")
    pipeline.caller = whole
    put_entry(pipeline, "Of what came later.", "not yet")
    assert contents(listed(pipeline, "notes")) == ["Of notes."]
    pipeline.caller = limited
    assert contents(listed(pipeline, "own")) == []
