-- What an episode says and is held no more: disputed, superseded or tombstoned by itself, not with its episode. An episode is shown whole
-- only where all that it says may be shown, and looking at thousands of its atoms for that would be too much.
ALTER TABLE links ADD COLUMN retracted text CHECK (retracted IN ('disputed', 'superseded', 'tombstoned'));
CREATE INDEX links_retracted_idx ON links (tenant, to_id) WHERE retracted IS NOT NULL;

ALTER TABLE memories NO FORCE ROW LEVEL SECURITY;
ALTER TABLE links NO FORCE ROW LEVEL SECURITY;
UPDATE links l SET retracted = a.status
FROM memories a, memories e
WHERE l.link_type = 'derived_from' AND a.tenant = l.tenant AND a.id = l.from_id AND e.tenant = l.tenant AND e.id = l.to_id
  AND a.type = 'atom' AND a.status IN ('disputed', 'superseded', 'tombstoned') AND e.status = 'active';
ALTER TABLE memories FORCE ROW LEVEL SECURITY;
ALTER TABLE links FORCE ROW LEVEL SECURITY;
