CREATE TABLE tenants (
  id         integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name       text NOT NULL CONSTRAINT tenants_name_key UNIQUE,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE namespaces (
  tenant     integer NOT NULL REFERENCES tenants,
  id         integer GENERATED ALWAYS AS IDENTITY,
  name       text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, id),
  CONSTRAINT namespaces_name_key UNIQUE (tenant, name)
);

-- Counters stand apart from the rows they count for: they are written by every transaction of their namespace.
CREATE TABLE namespace_counters (
  tenant         integer NOT NULL,
  namespace      integer NOT NULL,
  seq            bigint NOT NULL DEFAULT 0,  -- the last event's position
  index_rows     bigint NOT NULL DEFAULT 0,  -- documents of the lexical index, for idf
  index_lexemes  bigint NOT NULL DEFAULT 0,  -- their lexemes, for the average length
  PRIMARY KEY (tenant, namespace),
  FOREIGN KEY (tenant, namespace) REFERENCES namespaces
) WITH (fillfactor = 50);

CREATE TABLE keys (
  tenant      integer NOT NULL REFERENCES tenants,
  id          uuid NOT NULL,
  digest      bytea NOT NULL CONSTRAINT keys_digest_key UNIQUE CHECK (octet_length(digest) = 32),
  label       text,
  permissions text[] NOT NULL,
  namespaces  integer[],  -- NULL: all of them
  created_at  timestamptz NOT NULL DEFAULT now(),
  expires_at  timestamptz,
  revoked_at  timestamptz,
  PRIMARY KEY (tenant, id)
);
