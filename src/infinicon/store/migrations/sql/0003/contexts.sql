-- What a memory costs in a context, counted by the worker that makes it. NULL where it has not been counted: then that happens at read.
-- `renderer` is the version by which the unit was rendered; a count of another version does not hold any more. An episode that an
-- atom says in full is not counted, since the atom stands for it.
ALTER TABLE memories
  ADD COLUMN renderer            smallint,
  ADD COLUMN unit_o200k_base     integer,  -- the rendered unit
  ADD COLUMN unit_cl100k_base    integer,
  ADD COLUMN unit_chars          integer,
  ADD COLUMN content_o200k_base  integer,  -- the content alone, of derived memories
  ADD COLUMN content_cl100k_base integer,
  ADD COLUMN content_chars       integer;
