"""A rule that cannot fail checks nothing: each is fed what it must refuse, and a twin that it must let pass."""

from __future__ import annotations

import pytest

from tests.architecture import rules
from tests.architecture.test_rules import Rule
from tests.architecture.trees import Source

LONG_FUNCTION = "def long() -> None:\n" + "    pass\n" * rules.MAX_FUNCTION_LINES
SHORT_FUNCTION = "def short() -> None:\n" + "    pass\n" * (rules.MAX_FUNCTION_LINES - 1)

BREAKS = [
    (rules.file_size, "#\n" * (rules.MAX_FILE_LINES + 1)),
    (rules.function_sizes, LONG_FUNCTION),
    (rules.function_sizes, LONG_FUNCTION.replace("def", "async def")),
    (rules.module_docstring, "x = 1\n"),
    (rules.scope_first, "def find(tx: T, scope: ScopeKey) -> int:\n    return tx.execute(FIND)\n"),
    (rules.scope_first, "def find(scope, tx: T) -> int:\n    return tx.execute(FIND)\n"),
    (rules.scope_first, "def find() -> int:\n    return _find()\n\ndef _find() -> int:\n    return tx.scalar(FIND)\n"),
    (rules.scope_first, "class Store:\n    def find(self, tx: T) -> int:\n        return tx.execute(FIND)\n"),
    (rules.scope_first, '@unscoped("")\ndef sweep(tx: T) -> int:\n    return tx.execute(FIND)\n'),
    (rules.scope_first, "@unscoped\ndef sweep(tx: T) -> int:\n    return tx.execute(FIND)\n"),
    (rules.sql_outside_store, "import sqlalchemy\n"),
    (rules.sql_outside_store, "def f() -> None:\n    from psycopg.rows import dict_row\n"),
    (rules.sql_outside_store, 'Q = "SELECT id FROM memories"\n'),
    (rules.built_sql, 'tx.execute(text(f"SELECT {column} FROM t"))\n'),
    (rules.built_sql, 'tx.execute("SELECT %s FROM t" % column)\n'),
    (rules.built_sql, 'text("SELECT a FROM " + table)\n'),
    (rules.built_sql, 'text("SELECT {}".format(column))\n'),
    (rules.reads_environment, "import os\nx = os.environ['HOME']\n"),
    (rules.reads_environment, "import os\nx = os.getenv('HOME')\n"),
    (rules.reads_environment, "from os import environ\n"),
    (rules.prints, "print('here')\n"),
    (rules.delayed_messages, "task.apply_async((1,), countdown=30)\n"),
    (rules.delayed_messages, "app.send_task('x', eta=later)\n"),
    (rules.broad_except, "try:\n    f()\nexcept Exception:\n    pass\n"),
    (rules.broad_except, "try:\n    f()\nexcept (ValueError, BaseException):\n    pass\n"),
    (rules.broad_except, "try:\n    f()\nexcept:\n    pass\n"),
    (rules.broad_except, "try:\n    f()\nexcept Exception:\n    raise ValueError from None\n"),
    (rules.broad_except, "with contextlib.suppress(Exception):\n    f()\n"),
]

HOLDS = [
    (rules.file_size, "#\n" * rules.MAX_FILE_LINES),
    (rules.function_sizes, SHORT_FUNCTION),
    (rules.module_docstring, '"""What it is."""\n'),
    (rules.scope_first, "def find(scope: ScopeKey, tx: T) -> int:\n    return tx.execute(FIND)\n"),
    (
        rules.scope_first,
        "def find(tenant: int, tx: T) -> int:\n    return _find(tx)\n\ndef _find(tx: T) -> int:\n    return tx.scalar(X)\n",
    ),
    (
        rules.scope_first,
        '@unscoped("the sweep spans tenants")\ndef sweep(tx: T) -> int:\n    return tx.execute(FIND)\n',
    ),
    (
        rules.scope_first,
        "class Store:\n    def find(self, tenant: int) -> int:\n        return self.tx.execute(FIND)\n",
    ),
    (rules.scope_first, "def lease(ref: BatchRef, tx: T) -> bool:\n    return tx.scalar(LEASE)\n"),
    (rules.scope_first, "def parse(row: Row) -> Memory:\n    return Memory(row)\n"),
    (rules.sql_outside_store, '"""SELECT what you like FROM the menu: a docstring."""\n'),
    (rules.sql_outside_store, 'HELP = "Select one from the list"\n'),
    (rules.built_sql, 'tx.execute(text("SELECT a FROM t WHERE b = :b"), {"b": f"{b}"})\n'),
    (rules.reads_environment, "import os\nos.kill(1, 2)\n"),
    (rules.prints, "console.print('here')\n"),
    (rules.delayed_messages, "app.send_task('x', expires=30)\n"),
    (rules.broad_except, "try:\n    f()\nexcept ValueError:\n    pass\n"),
    (rules.broad_except, "try:\n    f()\nexcept BaseException:\n    clean_up()\n    raise\n"),
]


@pytest.mark.parametrize(("rule", "snippet"), BREAKS)
def test_a_rule_refuses_what_breaks_it(rule: Rule, snippet: str) -> None:
    assert rule(Source("src/infinicon/store/snippet.py", snippet)) != []


@pytest.mark.parametrize(("rule", "snippet"), HOLDS)
def test_a_rule_lets_the_rest_pass(rule: Rule, snippet: str) -> None:
    assert rule(Source("src/infinicon/store/snippet.py", snippet)) == []


def test_a_drawer_for_everything_is_refused() -> None:
    assert rules.module_names(Source("src/infinicon/store/utils.py", "")) != []
    assert rules.module_names(Source("src/infinicon/store/spaces.py", "")) == []


@pytest.mark.parametrize(
    ("test", "mirrors"),
    [
        ("tests/unit/plugins/test_extractor.py", True),
        ("tests/unit/plugins/test_extractor_markdown.py", True),
        ("tests/unit/test_plugins.py", True),
        ("tests/store/test_memories.py", True),
        ("tests/store/store/test_memories.py", True),
        ("tests/unit/plugins/test_nothing.py", False),
        ("tests/unit/elsewhere/test_extractor.py", False),
        ("tests/store/test_extractor.py", False),
        ("tests/store/plugins/test_extractor.py", True),
        ("tests/store/plugins/test_memories.py", False),
        ("tests/unit/bench/figures/test_memory.py", True),
        ("tests/unit/bench/figures/test_nothing.py", False),
        ("tests/unit/bench/test_memory.py", False),
        ("tests/unit/figures/test_memory.py", False),
    ],
)
def test_a_test_without_a_source_is_found(test: str, mirrors: bool) -> None:
    paths = frozenset(
        {
            "src/infinicon/plugins/__init__.py",
            "src/infinicon/plugins/extractor.py",
            "src/infinicon/store/memories.py",
            "bench/figures/memory.py",
        }
    )

    assert (rules.mirrored(test, paths) == []) is mirrors
