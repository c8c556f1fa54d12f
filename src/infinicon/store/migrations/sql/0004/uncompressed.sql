-- A deleted text leaves bytes in the files until their place is used again, and `infinicon verify-erasure` looks for them. What is
-- compressed it could not see: values of text stand as they are, in rows of more than 2 KB too. (Texts in rows below that never were
-- compressed.) Where there are memories already, tables are marked: their files may hold compressed bytes until they are written anew.
DO $$
DECLARE
  held record;
BEGIN
  FOR held IN
    SELECT a.attrelid::regclass AS place, a.attname AS name, pg_relation_size('memories') > 0 AS used
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
    JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type e ON e.oid = t.typelem
    WHERE c.relkind = 'r' AND n.nspname IN ('infinicon', 'celery') AND a.attnum > 0 AND NOT a.attisdropped
      AND a.attstorage IN ('x', 'm') AND (t.typcategory = 'S' OR e.typcategory = 'S' OR t.typname IN ('json', 'jsonb', 'bytea'))
    ORDER BY 1, 2
  LOOP
    EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET STORAGE EXTERNAL', held.place, held.name);
    IF held.used THEN
      EXECUTE format('COMMENT ON TABLE %s IS %L', held.place, 'compressed once');
    END IF;
  END LOOP;
END $$;
