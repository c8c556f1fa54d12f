-- What people write besides their memories is in no sample of values either (0003/tombstones.sql says why).
ALTER TABLE jobs ALTER COLUMN label SET STATISTICS 0;
ALTER TABLE keys ALTER COLUMN label SET STATISTICS 0;
ALTER TABLE queued_episodes ALTER COLUMN error SET STATISTICS 0;
ALTER TABLE memories ALTER COLUMN content_type SET STATISTICS 0;
