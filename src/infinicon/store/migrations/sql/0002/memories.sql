-- For what goes through a whole namespace: export, counts, and later erasure.
CREATE INDEX memories_namespace_idx ON memories (tenant, namespace, type, id);
-- Names are paged through in the order of their code points, which no database's collation changes.
CREATE INDEX namespaces_name_idx ON namespaces (tenant, name COLLATE "C");
