"""list, get and delete of entries."""

from __future__ import annotations

from tests.store.operations.conftest import Pipeline
from tests.store.operations.entry_worlds import contents, listed, put_entry, relevant


def test_what_is_put_is_listed_at_once_and_found_once_it_is_indexed(pipeline: Pipeline) -> None:
    first = put_entry(pipeline, "The heron flew at noon.", tags=["birds"])
    second = put_entry(pipeline, "The boiler is broken.")

    reply = listed(pipeline)
    assert list(reply.entries) == [second, first]
    assert relevant(pipeline, "heron").entries == []
    pipeline.drain()
    assert contents(relevant(pipeline, "heron")) == ["The heron flew at noon.", "The boiler is broken."]
    assert list(listed(pipeline).entries) == [second, first]
