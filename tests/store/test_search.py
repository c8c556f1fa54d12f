"""The two legs of a query read the rows of their scope and no others, before anything is filtered behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from uuid import uuid4

import numpy as np
import pytest

from infinicon.domain import Scope, ScopeKey
from infinicon.store import search, tenancy
from infinicon.store.database import Database
from tests.store.conftest import Sql

VECTOR = np.array([1, 0, 0], np.float16)
LEXEME = 4711

ADD_ROW = """
    WITH added AS (
        INSERT INTO space_rows (tenant, namespace, model, memory, chunk, type, agent_key, session_key, span_start, span_end, digest,
                                lexemes, vector)
        VALUES (%s, %s, %s, gen_random_uuid(), 0, 'atom', hashtextextended(%s, 0), hashtextextended(%s, 0), 0, 1, 'd', %s, '[1,0,0]')
        RETURNING tenant, namespace, row_id
    ), counted AS (
        UPDATE namespace_counters c SET index_rows = index_rows + 1, index_lexemes = index_lexemes + 1
        FROM added WHERE c.tenant = added.tenant AND c.namespace = added.namespace
    ), posted AS (
        INSERT INTO postings (tenant, namespace, lexeme, row_id, frequency, length)
        SELECT tenant, namespace, %s, row_id, 1, 1 FROM added
    )
    SELECT row_id FROM added
"""


@dataclass(frozen=True)
class Rows:
    """A row for each of some scopes, all alike but for where they are."""

    model: int
    here: ScopeKey
    of: dict[str, int]


@pytest.fixture
def rows(app: Database, scope: ScopeKey, owner: Database, sql: Sql) -> Iterator[Rows]:
    ((model,),) = sql(
        "INSERT INTO embedding_models (name, revision, dimension, current) VALUES (%s, '', 3, false) RETURNING id",
        str(uuid4()),
    )
    with app.transaction(scope.tenant) as tx:
        elsewhere = tenancy.ensure_namespace(scope.tenant, tx, "elsewhere")
    with owner.transaction(None) as tx:
        foreign = tenancy.ensure_tenant(tx, f"tenant-{uuid4()}")
        foreign_namespace = tenancy.ensure_namespace(foreign, tx, "test")

    def add(tenant: int, namespace: int, agent: str | None = None, session: str | None = None) -> int:
        ((row,),) = sql(ADD_ROW, tenant, namespace, model, agent, session, [LEXEME], LEXEME)
        return int(row)

    here = (scope.tenant, scope.namespace)
    yield Rows(
        model,
        scope,
        {
            "plain": add(*here),
            "a": add(*here, "a"),
            "as": add(*here, "a", "s"),
            "s": add(*here, None, "s"),
            "elsewhere": add(scope.tenant, elsewhere),
            "foreign": add(foreign, foreign_namespace),
        },
    )
    sql("DELETE FROM space_rows WHERE model = %s", model)
    sql("DELETE FROM embedding_models WHERE id = %s", model)


def nearest(app: Database, rows: Rows, scope: ScopeKey) -> set[int]:
    with app.transaction(scope.tenant) as tx:
        return set(search.nearest(scope, tx, rows.model, VECTOR, 100))


def matching(app: Database, rows: Rows, scope: ScopeKey) -> set[int]:
    with app.transaction(scope.tenant) as tx:
        return {match.row for match in search.matching(scope, tx, [LEXEME, 1], 100)}


@pytest.mark.parametrize("leg", [nearest, matching])
@pytest.mark.parametrize(
    ("agent", "session", "expected"),
    [
        (None, None, {"plain", "a", "as", "s"}),
        ("a", None, {"a", "as"}),
        (None, "s", {"as", "s"}),
        ("a", "s", {"as"}),
        ("b", None, set()),
        ("", None, set()),
    ],
)
def test_a_leg_stays_in_its_scope(
    app: Database,
    rows: Rows,
    leg: Callable[[Database, Rows, ScopeKey], set[int]],
    agent: str | None,
    session: str | None,
    expected: set[str],
) -> None:
    scope = ScopeKey(rows.here.tenant, rows.here.namespace, Scope("test-tenant", "test", agent, session))

    assert leg(app, rows, scope) == {rows.of[name] for name in expected}


def test_another_models_rows_are_not_near(app: Database, rows: Rows) -> None:
    with app.transaction(rows.here.tenant) as tx:
        assert search.nearest(rows.here, tx, rows.model + 1, VECTOR, 100) == {}


def test_a_namespace_that_does_not_exist_has_no_rows(app: Database, rows: Rows) -> None:
    nowhere = ScopeKey(rows.here.tenant, 0, rows.here.named)

    assert nearest(app, rows, nowhere) == set()
    assert matching(app, rows, nowhere) == set()


def test_no_lexemes_match_nothing(app: Database, rows: Rows) -> None:
    with app.transaction(rows.here.tenant) as tx:
        assert search.matching(rows.here, tx, [], 100) == []


def test_rarer_words_count_for_more_and_all_scores_are_positive(app: Database, rows: Rows, sql: Sql) -> None:
    """A lexeme that every row has still orders: BM25's idf is kept above zero."""
    rare = rows.of["a"]
    sql(
        "INSERT INTO postings (tenant, namespace, lexeme, row_id, frequency, length) VALUES (%s, %s, 42, %s, 1, 1)",
        rows.here.tenant,
        rows.here.namespace,
        rare,
    )
    with app.transaction(rows.here.tenant) as tx:
        common = search.matching(rows.here, tx, [LEXEME], 100)
        both = search.matching(rows.here, tx, [LEXEME, 42], 100)

    assert all(match.score > 0 for match in common)
    assert both[0].row == rare
    assert both[0].lexemes == {LEXEME, 42}
    assert both[0].score > 2 * both[1].score
