-- What people and consolidations say of a memory, among the many links of an episode whose atoms are derived from it.
CREATE INDEX links_related_from_idx ON links (tenant, from_id, id)
  WHERE link_type IN ('supersedes', 'corrects', 'contradicts', 'same_as') AND status <> 'pending';
CREATE INDEX links_related_to_idx ON links (tenant, to_id, id)
  WHERE link_type IN ('supersedes', 'corrects', 'contradicts', 'same_as') AND status <> 'pending';
