"""The house rules, checked on every file. Where a rule has exceptions, they stand here with their reasons."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.architecture import rules
from tests.architecture.trees import ROOT, Source, all_sources, sources_under

Rule = Callable[[Source], list[str]]

# What may read the environment besides settings.py, and why.
ENVIRONMENT_READERS: dict[str, str] = {
    "src/infinicon/plugins/embedder.py": "sets variables of OpenMP and Hugging Face before it imports what reads them",
}

# Where a broad except is the point: the fault comes from code that is not ours, or a process must outlive it.
BROAD_EXCEPTS: dict[str, str] = {
    "src/infinicon/guard.py": "the boundary to plug-ins: whatever they raise becomes PluginFailed",
    "src/infinicon/tasks/handlers.py": "the boundary of the process: Celery would keep the text of what nobody expected",
}

# Modules outside store that may use an SQL library.
SQL_OUTSIDE_STORE: dict[str, str] = {
    "src/infinicon/embedded/": "brings Postgres up before there is a schema: roles, databases, passwords",
    "src/infinicon/cli/up.py": "tells in one line what a driver raised while Postgres was brought up",
}

# Tests of several modules together, which no single one owns.
SPANNING_TESTS: dict[str, str] = {
    "tests/store/operations/test_pipeline.py": "the three stages one after another",
}


def faults_of(rule: Rule, sources: list[Source]) -> list[str]:
    return [fault for source in sources for fault in rule(source)]


def without(sources: list[Source], allowed: dict[str, str]) -> list[Source]:
    return [source for source in sources if not source.path.startswith(tuple(allowed))] if allowed else sources


@pytest.mark.parametrize(
    ("rule", "folders"),
    [
        (rules.file_size, ("src/", "workers/", "beat/", "tests/", "bench/", "docs/")),
        (rules.function_sizes, ("src/", "workers/", "beat/", "tests/", "bench/", "docs/")),
        (rules.module_docstring, ("src/", "workers/", "beat/", "bench/", "docs/")),
        (rules.module_names, ("src/", "workers/", "beat/", "bench/", "docs/")),
        (rules.scope_first, ("src/infinicon/store/",)),
        (rules.built_sql, ("src/",)),
    ],
)
def test_rule_holds_everywhere(rule: Rule, folders: tuple[str, ...]) -> None:
    sources = [s for s in sources_under(*folders) if not (rule is rules.scope_first and "/migrations/" in s.path)]

    assert faults_of(rule, sources) == []


def test_only_settings_reads_the_environment() -> None:
    sources = without(
        sources_under("src/", "workers/", "beat/"), {"src/infinicon/settings.py": "", **ENVIRONMENT_READERS}
    )

    assert faults_of(rules.reads_environment, sources) == []


def test_no_message_waits_in_the_broker_for_its_time() -> None:
    assert faults_of(rules.delayed_messages, sources_under("src/", "workers/", "beat/")) == []


def test_only_the_command_line_prints() -> None:
    assert faults_of(rules.prints, without(sources_under("src/"), {"src/infinicon/cli/": ""})) == []


def test_broad_excepts_are_where_they_are_agreed() -> None:
    assert faults_of(rules.broad_except, without(sources_under("src/", "workers/", "beat/"), BROAD_EXCEPTS)) == []


def test_sql_is_in_store() -> None:
    sources = without(sources_under("src/", "workers/", "beat/"), {"src/infinicon/store/": "", **SQL_OUTSIDE_STORE})

    assert faults_of(rules.sql_outside_store, sources) == []


@pytest.mark.parametrize(
    ("rule", "allowed"),
    [
        (rules.reads_environment, ENVIRONMENT_READERS),
        (rules.broad_except, BROAD_EXCEPTS),
        (rules.sql_outside_store, SQL_OUTSIDE_STORE),
    ],
)
def test_every_exception_is_still_needed(rule: Rule, allowed: dict[str, str]) -> None:
    assert [path for path in allowed if not faults_of(rule, sources_under(path))] == []
    assert all(len(reason) > 20 for reason in allowed.values())


@pytest.mark.parametrize("tier", ["unit", "store"])
def test_tests_mirror_the_source(tier: str) -> None:
    paths = frozenset(source.path for source in all_sources())
    tests = [
        source.path
        for source in sources_under(f"tests/{tier}/")
        if "/test_" in source.path and source.path not in SPANNING_TESTS
    ]

    assert [fault for path in tests for fault in rules.mirrored(path, paths)] == []


def test_the_checks_see_the_repository() -> None:
    assert (ROOT / "pyproject.toml").is_file()
    assert len(sources_under("src/infinicon/store/")) > 5
