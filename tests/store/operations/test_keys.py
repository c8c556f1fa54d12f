"""Keys as a tenant's admin manages them: made, rotated without a gap, revoked for good, and never beyond the admin's own reach."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from infinicon.domain import Caller, Key, NewKey, Permission
from infinicon.errors import InvalidRequest, NotFound, Unauthorized
from infinicon.operations.keys import (
    EVERYTHING,
    authenticate,
    create_key,
    first_key,
    list_keys,
    own_key,
    revoke_key,
    rotate_key,
)
from infinicon.store import tenancy
from infinicon.store.database import Database
from tests.conftest import Cluster
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline
from tests.together import together

QUERY = frozenset({Permission.QUERY})


def create(pipeline: Pipeline, wanted: NewKey, caller: Caller | None = None) -> tuple[Key, str]:
    return create_key(pipeline.app, pipeline.keyring, caller or pipeline.caller, pipeline.caller.tenant_name, wanted)


def revoke(pipeline: Pipeline, key_id: UUID | str, caller: Caller | None = None) -> Key:
    return revoke_key(pipeline.app, caller or pipeline.caller, pipeline.caller.tenant_name, str(key_id))


def rotate(pipeline: Pipeline, key_id: UUID, overlap: float) -> tuple[Key, str]:
    return rotate_key(
        pipeline.app, pipeline.keyring, pipeline.caller, pipeline.caller.tenant_name, str(key_id), overlap
    )


def limited(pipeline: Pipeline, *names: str) -> Caller:
    with pipeline.app.transaction(pipeline.caller.tenant) as tx:
        numbers = {tenancy.ensure_namespace(pipeline.caller.tenant, tx, name) for name in names}
    return replace(pipeline.caller, namespaces=frozenset(numbers))


def test_a_key_may_do_what_it_was_made_for(pipeline: Pipeline) -> None:
    made, secret = create(pipeline, NewKey(QUERY, ["b", "a", "b"], "bot"))

    caller = authenticate(pipeline.app, secret)
    assert (caller.key, caller.permissions) == (made.id, QUERY)
    assert len(caller.namespaces or ()) == 2
    assert own_key(pipeline.app, caller) == made
    assert (made.label, made.namespaces) == ("bot", ["a", "b"])
    assert made in list_keys(pipeline.app, pipeline.caller, pipeline.caller.tenant_name)


def test_a_revoked_key_is_out_at_once_and_for_good(pipeline: Pipeline) -> None:
    made, secret = create(pipeline, NewKey(QUERY))
    authenticate(pipeline.app, secret)

    first = revoke(pipeline, made.id)
    assert first.revoked_at is not None
    assert revoke(pipeline, made.id) == first
    with pytest.raises(Unauthorized):
        authenticate(pipeline.app, secret)
    with pytest.raises(InvalidRequest):
        rotate(pipeline, made.id, 60)


def test_both_keys_work_while_a_rotation_lasts(pipeline: Pipeline) -> None:
    old, old_secret = create(pipeline, NewKey(QUERY, ["a"], "bot"))
    new, new_secret = rotate(pipeline, old.id, 60)

    assert (new.permissions, new.namespaces, new.label) == (old.permissions, old.namespaces, old.label)
    assert authenticate(pipeline.app, old_secret).key == old.id
    assert authenticate(pipeline.app, new_secret).key == new.id
    third, third_secret = rotate(pipeline, new.id, 0)
    with pytest.raises(Unauthorized):
        authenticate(pipeline.app, new_secret)
    assert authenticate(pipeline.app, third_secret).key == third.id


def test_only_an_admin_manages_keys(pipeline: Pipeline) -> None:
    made, secret = create(pipeline, NewKey(frozenset(Permission) - {Permission.ADMIN}))
    holder = authenticate(pipeline.app, secret)

    with pytest.raises(Unauthorized):
        create(pipeline, NewKey(QUERY), holder)
    with pytest.raises(Unauthorized):
        revoke(pipeline, made.id, holder)
    with pytest.raises(Unauthorized):
        list_keys(pipeline.app, holder, holder.tenant_name)
    with pytest.raises(Unauthorized):
        list_keys(pipeline.app, pipeline.caller, "somebody else")


def test_an_admin_of_some_namespaces_stays_within_them(pipeline: Pipeline) -> None:
    admin = limited(pipeline, "mine")
    whole, _ = create(pipeline, NewKey(QUERY))
    others, _ = create(pipeline, NewKey(QUERY, ["mine", "theirs"]))

    for beyond in (NewKey(QUERY), NewKey(QUERY, ["theirs"]), NewKey(QUERY, ["mine", "new"])):
        with pytest.raises(Unauthorized):
            create(pipeline, beyond, admin)
    for key in (whole, others):
        with pytest.raises(Unauthorized):
            revoke(pipeline, key.id, admin)
    made, _ = create(pipeline, NewKey(QUERY, ["mine"]), admin)
    assert revoke(pipeline, made.id, admin).revoked_at is not None


def test_a_key_does_not_revoke_itself(pipeline: Pipeline) -> None:
    _, secret = create(pipeline, NewKey(frozenset(Permission)))
    caller = authenticate(pipeline.app, secret)

    with pytest.raises(InvalidRequest):
        revoke(pipeline, caller.key, caller)
    assert authenticate(pipeline.app, secret) == caller


@pytest.mark.parametrize("key_id", ["", "zzz", str(uuid4()), str(uuid4()).upper(), "{" + str(uuid4()) + "}"])
def test_no_such_key(pipeline: Pipeline, key_id: str) -> None:
    with pytest.raises(NotFound):
        revoke(pipeline, key_id)


def test_a_key_of_another_tenant_is_no_key(pipeline: Pipeline, owner: Database) -> None:
    made, secret = create(pipeline, NewKey(QUERY))
    with owner.transaction(None) as tx:
        other = tenancy.ensure_tenant(tx, f"tenant-{uuid4()}")
    stranger = replace(pipeline.caller, tenant=other, key=uuid4())

    with pytest.raises(NotFound):
        revoke(pipeline, made.id, stranger)
    assert authenticate(pipeline.app, secret).key == made.id


def test_a_tenants_first_key_is_made_once(cluster: Cluster, app: Database) -> None:
    name = f"tenant-{uuid4()}"

    made = first_key(cluster.owner_url, name)

    assert made is not None
    assert authenticate(app, made).tenant_name == name
    assert authenticate(app, made).permissions == EVERYTHING
    assert first_key(cluster.owner_url, name) is None


def test_of_several_first_keys_at_once_one_is_made(cluster: Cluster) -> None:
    name = f"tenant-{uuid4()}"

    made = together(*[lambda: first_key(cluster.owner_url, name)] * 4)

    assert [key is None for key in made].count(False) == 1


def test_a_tenant_whose_keys_are_all_revoked_gets_another(cluster: Cluster, sql: Sql) -> None:
    name = f"tenant-{uuid4()}"
    first_key(cluster.owner_url, name)
    sql("UPDATE keys SET revoked_at = now() WHERE tenant = (SELECT id FROM tenants WHERE name = %s)", name)

    assert first_key(cluster.owner_url, name) is not None


def test_an_admin_without_audit_cannot_get_it(pipeline: Pipeline) -> None:
    admin = replace(pipeline.caller, permissions=frozenset(Permission) - {Permission.AUDIT})
    auditor, _ = create(pipeline, NewKey(QUERY | {Permission.AUDIT}))
    plain, _ = create(pipeline, NewKey(QUERY), admin)
    name = pipeline.caller.tenant_name

    with pytest.raises(Unauthorized):
        create(pipeline, NewKey(frozenset({Permission.AUDIT})), admin)
    with pytest.raises(Unauthorized):
        rotate_key(pipeline.app, pipeline.keyring, admin, name, str(auditor.id), 60)
    assert (
        Permission.AUDIT
        not in rotate_key(pipeline.app, pipeline.keyring, admin, name, str(plain.id), 60)[0].permissions
    )
    assert Permission.AUDIT in rotate(pipeline, auditor.id, 60)[0].permissions
    revoke(pipeline, auditor.id, admin)


def test_a_key_is_not_made_for_the_past(pipeline: Pipeline) -> None:
    with pytest.raises(InvalidRequest):
        create(pipeline, NewKey(QUERY, expires_at=datetime.now(UTC) - timedelta(seconds=1)))
    create(pipeline, NewKey(QUERY, expires_at=datetime.now(UTC) + timedelta(days=1)))
