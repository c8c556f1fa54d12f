"""The house rules as functions: each takes a Source and returns its faults, one sentence each.

tests/architecture/test_rules.py runs them over the repository, and test_rules_can_fail.py over snippets that break them.
"""

from __future__ import annotations

import ast

from tests.architecture.trees import Function, Source, dotted, functions, imported_modules

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60

SQL_CALLS = frozenset(
    {"execute", "executemany", "exec_driver_sql", "scalar", "scalars", "scalar_one", "copy", "stream"}
)
SQL_LIBRARIES = ("sqlalchemy", "psycopg", "psycopg_pool", "pgvector", "alembic")
SCOPE_NAMES = ("scope", "tenant")
SCOPED_TYPES = ("BatchRef", "RunRef")  # values that carry their tenant


def file_size(source: Source) -> list[str]:
    lines = len(source.text.splitlines())
    return [f"{source.path}: {lines} lines, {MAX_FILE_LINES} at most"] if lines > MAX_FILE_LINES else []


def function_sizes(source: Source) -> list[str]:
    return [
        f"{source.path}:{node.lineno}: {node.name} has {size} lines, {MAX_FUNCTION_LINES} at most"
        for node in functions(source.tree)
        if (size := (node.end_lineno or node.lineno) - node.lineno + 1) > MAX_FUNCTION_LINES
    ]


def module_docstring(source: Source) -> list[str]:
    return [] if ast.get_docstring(source.tree) else [f"{source.path}: the module says nothing of what it is"]


def scope_first(source: Source) -> list[str]:
    """A public function of the store that runs SQL takes `scope`, `tenant` or a scoped value first, or is @unscoped("why")."""
    runners = _sql_runners(source.tree)
    faults = []
    for node, is_method in _public_functions(source.tree):
        if node.name not in runners:
            continue
        reason = _unscoped_reason(node)
        if reason == "":
            faults.append(f"{source.path}:{node.lineno}: {node.name} is @unscoped without a reason")
        elif reason is None and not _takes_scope_first(node, is_method=is_method):
            faults.append(
                f"{source.path}:{node.lineno}: {node.name} runs SQL without scope or tenant as its first argument"
            )
    return faults


def _public_functions(tree: ast.Module) -> list[tuple[Function, bool]]:
    found: list[tuple[Function, bool]] = [(node, False) for node in tree.body if isinstance(node, Function)]
    for owner in tree.body:
        if isinstance(owner, ast.ClassDef) and not owner.name.startswith("_"):
            found += [(node, True) for node in owner.body if isinstance(node, Function)]
    return [(node, is_method) for node, is_method in found if not node.name.startswith("_")]


def _sql_runners(tree: ast.Module) -> set[str]:
    """Names of the module's functions that run SQL: themselves, or through another function of the same module."""
    calls: dict[str, set[str]] = {}
    runners: set[str] = set()
    for node in functions(tree):
        called = {call.func for call in ast.walk(node) if isinstance(call, ast.Call)}
        calls[node.name] = {name.id for name in called if isinstance(name, ast.Name)}
        if any(isinstance(func, ast.Attribute) and func.attr in SQL_CALLS for func in called):
            runners.add(node.name)
    while more := {name for name, called in calls.items() if called & runners} - runners:
        runners |= more
    return runners


def _unscoped_reason(node: Function) -> str | None:
    """The reason of @unscoped("reason"); "" where there is none; None without the decorator."""
    for decorator in node.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        if dotted(call.func if call else decorator).rsplit(".", 1)[-1] != "unscoped":
            continue
        first = call.args[0] if call and call.args else None
        return first.value.strip() if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    return None


def _takes_scope_first(node: Function, *, is_method: bool) -> bool:
    positional = [*node.args.posonlyargs, *node.args.args]
    if is_method:
        positional = positional[1:]
    if not positional or positional[0].annotation is None:
        return False
    return positional[0].arg in SCOPE_NAMES or dotted(positional[0].annotation) in SCOPED_TYPES


def sql_outside_store(source: Source) -> list[str]:
    """No import of an SQL library, and no SQL text."""
    faults = [
        f"{source.path}:{line}: imports {name}; SQL lives in store"
        for line, name in imported_modules(source.tree)
        if name.split(".")[0] in SQL_LIBRARIES
    ]
    docstrings = _docstrings(source.tree)
    faults += [
        f"{source.path}:{node.lineno}: a string that reads as SQL; SQL lives in store"
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docstrings
        and _reads_as_sql(node.value)
    ]
    return faults


def _reads_as_sql(text: str) -> bool:
    words = text.split()
    if not words:
        return False
    pairs = {"SELECT": "FROM", "INSERT": "INTO", "UPDATE": "SET", "DELETE": "FROM", "CREATE": "TABLE", "ALTER": "TABLE"}
    return words[0] in pairs and pairs[words[0]] in words[1:]


def _docstrings(tree: ast.Module) -> set[int]:
    return {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    }


def built_sql(source: Source) -> list[str]:
    """Statements are constants: no f-string, %, + or .format inside text(...) or an execute call."""
    faults = []
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        name = dotted(node.func).rsplit(".", 1)[-1]
        if name in {"text", "execute", "executemany", "exec_driver_sql", "copy", "SQL"} and _is_built(node.args[0]):
            faults.append(f"{source.path}:{node.lineno}: SQL built from strings")
    return faults


def _is_built(node: ast.expr) -> bool:
    if isinstance(node, ast.JoinedStr):
        return True
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod | ast.Add):
        return any(isinstance(side, ast.JoinedStr) or _is_string(side) for side in (node.left, node.right))
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format"


def _is_string(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def reads_environment(source: Source) -> list[str]:
    faults = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and dotted(node) in {"os.environ", "os.environb", "os.getenv", "os.putenv"}:
            faults.append(f"{source.path}:{node.lineno}: {dotted(node)}; settings.py reads the environment")
        elif isinstance(node, ast.ImportFrom) and node.module == "os":
            faults += [
                f"{source.path}:{node.lineno}: os.{alias.name}; settings.py reads the environment"
                for alias in node.names
                if alias.name in {"environ", "environb", "getenv", "putenv"}
            ]
    return faults


def delayed_messages(source: Source) -> list[str]:
    """No message waits in the broker for its time: over Redis one that waits longer than the visibility timeout is delivered again and
    again (celery/kombu#337). What is due later stands in Postgres."""
    return [
        f"{source.path}:{keyword.value.lineno}: {keyword.arg}; what is due later waits in Postgres"
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg in {"eta", "countdown"}
    ]


def prints(source: Source) -> list[str]:
    return [
        f"{source.path}:{node.lineno}: print; only cli prints"
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and dotted(node.func) == "print"
    ]


def broad_except(source: Source) -> list[str]:
    """Catching everything, unless it is caught to clean up and raised again."""
    faults = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ExceptHandler):
            caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            everything = any(kind is None or dotted(kind) in {"Exception", "BaseException"} for kind in caught)
            if everything and not _raises_again(node):
                faults.append(f"{source.path}:{node.lineno}: a broad except")
        elif isinstance(node, ast.Call) and _suppresses_everything(node):
            faults.append(f"{source.path}:{node.lineno}: suppress of everything")
    return faults


def _raises_again(node: ast.ExceptHandler) -> bool:
    last = node.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def _suppresses_everything(node: ast.Call) -> bool:
    return dotted(node.func).endswith("suppress") and any(
        dotted(kind) in {"Exception", "BaseException"} for kind in node.args
    )


def module_names(source: Source) -> list[str]:
    """No drawer for whatever has no place."""
    stem = source.path.rsplit("/", 1)[-1].removesuffix(".py")
    return (
        [f"{source.path}: a module is named for what it knows"]
        if stem in {"utils", "util", "base", "helpers", "common", "misc"}
        else []
    )


def mirrored(test_path: str, source_paths: frozenset[str]) -> list[str]:
    """tests/TIER/a/b/test_c.py stands for src/infinicon/a/b/c.py, or for the package c; a suffix after the name is allowed.

    `test_ingest_dedupe.py` is thus a second file for ingest.py. tests/TIER/bench/ stands for bench/, which is beside src.
    """
    _, tier, *folders, name = test_path.split("/")
    home = [] if folders[:1] == ["bench"] else ["src/infinicon"]
    if tier == "store" and not folders:  # what needs Postgres and is above the store stands in a folder of its own
        folders = ["store"]
    stem = name.removeprefix("test_").removesuffix(".py")
    words = stem.split("_")
    for length in range(len(words), 0, -1):
        target = "/".join([*home, *folders, "_".join(words[:length])])
        if f"{target}.py" in source_paths or f"{target}/__init__.py" in source_paths:
            return []
    folder = "/".join([*home, *folders])
    return [f"{test_path}: nothing in {folder} is called {stem}"]
