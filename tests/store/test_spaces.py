"""The shared exact space: one model, vectors of any width that halfvec holds, each found exactly."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import numpy as np
import pytest

from infinicon.domain import ScopeKey
from infinicon.errors import MissingDependency
from infinicon.store import search, spaces
from infinicon.store.database import Database
from tests.store.conftest import Sql


@pytest.fixture
def model(sql: Sql) -> Iterator[int]:
    """A model that is not the current one."""
    ((number,),) = sql(
        "INSERT INTO embedding_models (name, revision, dimension, current) VALUES (%s, '', 1, false) RETURNING id",
        str(uuid4()),
    )
    yield number
    sql("DELETE FROM space_rows WHERE model = %s", number)
    sql("DELETE FROM embedding_models WHERE id = %s", number)


@pytest.mark.parametrize("dimension", [1, 3, 64, 1279, 1280, 1281, spaces.WIDEST])
def test_vectors_of_any_width_are_found_by_nearness(
    app: Database, scope: ScopeKey, sql: Sql, model: int, dimension: int
) -> None:
    """Up to 1,280 dimensions a vector fits into the covering index, with agent and session beside it."""
    random = np.random.default_rng(1)
    vectors = random.normal(size=(40, dimension))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)
    rows = [
        sql(
            """INSERT INTO space_rows (tenant, namespace, model, memory, chunk, type, agent_key, session_key, span_start, span_end,
                                       digest, lexemes, vector)
               VALUES (%s, %s, %s, gen_random_uuid(), 0, 'atom', 1, 2, 0, 1, 'd', '{}', %s::halfvec) RETURNING row_id""",
            scope.tenant,
            scope.namespace,
            model,
            str(vector.astype(float).tolist()),
        )[0][0]
        for vector in vectors
    ]

    with app.transaction(scope.tenant) as tx:
        found = search.nearest(scope, tx, model, vectors[7], 5)
        same = search.similarities(scope, tx, model, vectors[7], rows)
    exact = vectors.astype(float) @ vectors[7].astype(float)
    assert sorted(found.values(), reverse=True) == pytest.approx(sorted(exact, reverse=True)[:5], abs=0.01)
    assert found == pytest.approx({row: same[row] for row in found})
    assert [same[row] for row in rows] == pytest.approx(list(exact), abs=0.01)
    if dimension > 1:
        assert max(found, key=lambda row: found[row]) == rows[7]


def test_rows_without_a_vector_have_no_similarity(app: Database, scope: ScopeKey, sql: Sql, model: int) -> None:
    sql(
        """INSERT INTO space_rows (tenant, namespace, model, memory, chunk, type, span_start, span_end, digest, lexemes)
           VALUES (%s, %s, %s, gen_random_uuid(), 0, 'atom', 0, 1, 'd', '{}')""",
        scope.tenant,
        scope.namespace,
        model,
    )
    ((row,),) = sql("SELECT row_id FROM space_rows WHERE model = %s", model)
    vector = np.ones(3, np.float16)
    with app.transaction(scope.tenant) as tx:
        assert search.nearest(scope, tx, model, vector, 5) == {}
        assert search.similarities(scope, tx, model, vector, [row]) == {}


def test_the_first_model_is_the_one(app: Database, scope: ScopeKey) -> None:
    with app.transaction(scope.tenant) as tx:
        number = spaces.register_model(tx, "words", "1", 64)
        assert spaces.register_model(tx, "words", "1", 64) == number
        assert search.current_model(scope, tx, 64) == number
        assert search.current_model(scope, tx, 65) is None
    for name, revision, dimension in (
        ("words", "2", 64),
        ("others", "1", 64),
        ("words", "1", 32),
        ("wide", "1", spaces.WIDEST + 1),
    ):
        with app.transaction(scope.tenant) as tx, pytest.raises(MissingDependency):
            spaces.register_model(tx, name, revision, dimension)
