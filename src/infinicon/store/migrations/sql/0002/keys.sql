-- Keys are managed over HTTP by whoever holds one with `admin`, under row-level security: of its own tenant, and no other. The digest
-- is never read back, a key's permissions never change, and what is revoked stays revoked.
REVOKE SELECT ON keys FROM infinicon_app;
GRANT SELECT (tenant, id, label, permissions, namespaces, created_at, expires_at, revoked_at) ON keys TO infinicon_app;
GRANT INSERT (tenant, id, digest, label, permissions, namespaces, expires_at), UPDATE (expires_at, revoked_at) ON keys TO infinicon_app;
CREATE POLICY revoked_for_good ON keys AS RESTRICTIVE FOR UPDATE TO infinicon_app USING (revoked_at IS NULL) WITH CHECK (true);
