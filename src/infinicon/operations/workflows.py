"""The workflows that the conformance seam plays: fixtures of OpenWOP's suite, with what each asserts and what it leaves unasked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import TypeAlias

from infinicon.domain import Caller, Entry, ListReply, Rank, Seen, Variable
from infinicon.errors import Internal, Unavailable
from infinicon.operations.run_memory import RunMemory, secret_of, wait, wait_until_indexed

Variables: TypeAlias = Mapping[str, Variable]

SUMMARIES = "conformance/run-summaries"
ROUND_TRIP = "conformance/agent-memory-roundtrip"
REDACTION = "conformance/agent-memory-redaction"
TTL = "conformance/agent-memory-ttl"
CROSS_TENANT = "conformance/agent-memory-cross-tenant"
FOREIGN = "conformance/another-tenant/agent-memory"
BUDGETED = "conformance/agent-memory-injection-budget"

BRIEF = timedelta(seconds=0.5)
TOKEN_BUDGET = 800
QUERY = "refund policy"

SENTENCES = (
    "The warehouse in Leeds counts its shelves every Tuesday before the gates open.",
    "The choir of the harbour rehearses a new song about lighthouses in the evening.",
    "The gardener has planted forty tulips along the northern fence of the park.",
    "The night train to Vienna leaves from the third platform at half past nine.",
    "The bakery on the corner sells rye bread that was baked on the same morning.",
)
LONG = "The release notes list every change of the year, one after the other, month by month."


def noop(memory: RunMemory) -> Variables:
    """Does nothing but leave a summary, as every run of an agent would."""
    entry = memory.put(SUMMARIES, "The run had nothing to do, and did it.", tags=["run-summary"])
    return {"summary": Seen(SUMMARIES, entry.id)}


def round_trip(memory: RunMemory) -> Variables:
    """What is written is read again."""
    written = memory.put(ROUND_TRIP, "The customer prefers to be written to, not called.", tags=["preference"])
    _require(memory.get(ROUND_TRIP, written.id) == written)
    _require(written in memory.list(ROUND_TRIP).entries)
    return {"memory_readback": Seen(ROUND_TRIP, written.id)}


def redaction(memory: RunMemory) -> Variables:
    """A known secret is redacted when it is written, in content and tags (SR-1)."""
    secret, value = secret_of(memory.parts, memory.caller)
    written = memory.put(REDACTION, f"The deployment signs its calls with {value} today.", tags=[f"key:{value}"])
    readback = memory.get(REDACTION, written.id)
    _require(readback is not None and f"[REDACTED:{secret}]" in readback.content and value not in repr(readback))
    return {"memory_readback": Seen(REDACTION, written.id)}


def ttl(memory: RunMemory) -> Variables:
    """An entry that expires is seen until then, and one that lives on is seen after that."""
    brief = memory.put(TTL, "The visitor's pass is valid for a moment.", expires_at=memory.now() + BRIEF)
    fresh = memory.put(TTL, "The employee's pass is valid for an hour.")
    wait(lambda: memory.get(TTL, brief.id) is None, "an entry outlived its expiry")
    listed = memory.list(TTL)
    _require(all(entry.id != brief.id for entry in listed.entries))
    return {
        "memory_list": _seen(TTL, listed),
        "fresh_id": str(fresh.id),
        "expired_id": str(brief.id),
    }


def cross_tenant(memory: RunMemory) -> Variables:
    """Memory of another tenant is not there: under its memoryRef, under the same one as one's own, or by its id (CTI-1)."""
    other = _other(memory)
    there = [memory.plant(ref, "Another tenant keeps this to itself.", other) for ref in (FOREIGN, CROSS_TENANT)]
    own = memory.put(CROSS_TENANT, "This tenant keeps this to itself.")
    listed = memory.list(CROSS_TENANT)
    return {
        "owner_entry_id": str(own.id),
        "owner_probe": _seen(CROSS_TENANT, listed),
        "cross_tenant_probe": _leaks(memory, there, [memory.list(FOREIGN)], [listed]),
    }


def injection_budget(memory: RunMemory) -> Variables:
    """As much memory as a budget has room for, redacted and of one tenant, whatever it is ranked by (RFC 0113)."""
    other = _other(memory)
    there = [memory.plant(ref, "Another tenant has a refund policy of its own.", other) for ref in (FOREIGN, BUDGETED)]
    _, value = secret_of(memory.parts, memory.caller)
    memory.put(BUDGETED, "The refund policy: money comes back within thirty days of a return.", tags=["refunds"])
    for sentence in SENTENCES:
        memory.put(BUDGETED, _at_least(memory, sentence, TOKEN_BUDGET // 5))
    memory.put(BUDGETED, f"Billing signs with {value}.")
    oversized = memory.put(BUDGETED, _at_least(memory, LONG, TOKEN_BUDGET + 1))

    budgeted = memory.list(BUDGETED, token_budget=TOKEN_BUDGET)
    marked = next((entry for entry in budgeted.entries if "[REDACTED:" in entry.content), None)
    _require(marked is not None and not any(value in entry.content for entry in memory.list(BUDGETED).entries))
    assert marked is not None
    foreign = [memory.list(FOREIGN, token_budget=TOKEN_BUDGET)]
    ranked = _by_relevance(memory, other)
    if ranked is not None:
        foreign.append(ranked[1])
    relevance = {} if ranked is None else {"relevance_order": [str(entry.id) for entry in ranked[0].entries]}
    own = [budgeted] if ranked is None else [budgeted, ranked[0]]
    return {
        "token_budget": TOKEN_BUDGET,
        "token_counter": budgeted.token_counter,
        "budgeted_entries": _seen(BUDGETED, budgeted),
        "budgeted_token_total": budgeted.tokens_used,
        "over_budget_entry_id": str(oversized.id),
        "over_budget_entry_omitted": budgeted.oversized > 0
        and oversized.id not in {one.id for one in budgeted.entries},
        "redacted_content_sample": Seen(BUDGETED, marked.id, whole=False),
        "cross_tenant_budgeted_probe": _leaks(memory, there, foreign, own),
        "recency_order": [str(entry.id) for entry in budgeted.entries],
        **relevance,
    }


def _by_relevance(memory: RunMemory, other: Caller) -> tuple[ListReply, ListReply] | None:
    """The same budget by relevance, where search runs: of what is our own, and under the other tenant's memoryRef."""
    if not memory.parts.semantic():
        return None
    wait_until_indexed(memory.parts, BUDGETED, memory.caller, other)
    wanted = {"token_budget": TOKEN_BUDGET, "rank": Rank.RELEVANCE, "query": QUERY}
    return memory.list(BUDGETED, **wanted), memory.list(FOREIGN, **wanted)


def _at_least(memory: RunMemory, sentence: str, size: int) -> str:
    """The sentence, as often as it takes to count so much in the unit of budgets."""
    counters = memory.parts.counters
    each = max(1, counters.count(counters.budget, f"{sentence} "))
    text = " ".join([sentence] * -(-size // each))
    while counters.count(counters.budget, text) < size:
        text = f"{text} {sentence}"
    return text


def _leaks(
    memory: RunMemory, there: Sequence[Entry], foreign: Sequence[ListReply], own: Sequence[ListReply]
) -> Sequence[str]:
    """Ids of what of another tenant's was seen after all: anything under its memoryRef, its entries in our lists, and by their ids."""
    theirs = {entry.id for entry in there}
    seen = [entry.id for reply in foreign for entry in reply.entries]
    seen += [entry.id for reply in own for entry in reply.entries if entry.id in theirs]
    seen += [one for ref in (FOREIGN, CROSS_TENANT, BUDGETED) for one in theirs if memory.get(ref, one)]
    return [str(one) for one in seen]


def _seen(memory_ref: str, reply: ListReply) -> Sequence[Seen]:
    return [Seen(memory_ref, entry.id) for entry in reply.entries]


def _other(memory: RunMemory) -> Caller:
    if memory.parts.other is None:
        raise Unavailable("there is no other tenant: run `infinicon migrate` with INFINICON_CONFORMANCE=1")
    return memory.parts.other


def _require(holds: bool) -> None:
    """A workflow does not complete where its memory did not do what it is about."""
    if not holds:
        raise Internal("the memory of the run did not hold what it must")


WORKFLOWS: Mapping[str, Callable[[RunMemory], Variables]] = {
    "conformance-noop": noop,
    "conformance-agent-memory-roundtrip": round_trip,
    "conformance-agent-memory-redaction": redaction,
    "conformance-agent-memory-ttl": ttl,
    "conformance-agent-memory-cross-tenant": cross_tenant,
    "conformance-agent-memory-injection-budget": injection_budget,
}

OF_TWO_TENANTS = frozenset({"conformance-agent-memory-cross-tenant", "conformance-agent-memory-injection-budget"})
COUNTED = frozenset({"conformance-agent-memory-injection-budget"})


def playable(*, other: bool, counted: bool) -> Sequence[str]:
    """The workflows that can be played where there is another tenant, and where tokens can be counted."""
    missing = (frozenset() if other else OF_TWO_TENANTS) | (frozenset() if counted else COUNTED)
    return [name for name in WORKFLOWS if name not in missing]
