-- Three roles beside the owner. None is a superuser and none bypasses row-level security. They are made without a login: who
-- provisions the cluster gives them passwords, or grants them to users of its own.
DO $$
DECLARE
  wanted text;
  vectors name := (SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector');
BEGIN
  FOREACH wanted IN ARRAY ARRAY['infinicon_app', 'infinicon_sweeper', 'infinicon_results'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted) THEN
      EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
    END IF;
    -- The extension may live in any schema: its operators are found by this path, whoever connects and through whatever pooler.
    EXECUTE format('ALTER ROLE %I IN DATABASE %I SET search_path = infinicon, %I', wanted, current_database(), vectors);
    -- Plans are made anew for every execution: one that was kept from when the tables were all but empty runs for minutes once they
    -- are not (measured: 15 s for a batch of 500, against 0.03 s), and stays until the next ANALYZE.
    EXECUTE format('ALTER ROLE %I IN DATABASE %I SET plan_cache_mode = force_custom_plan', wanted, current_database());
    EXECUTE format('GRANT CONNECT, TEMPORARY ON DATABASE %I TO %I', current_database(), wanted);
  END LOOP;
  EXECUTE format('ALTER ROLE CURRENT_USER IN DATABASE %I SET search_path = infinicon, %I', current_database(), vectors);
  PERFORM set_config('search_path', format('infinicon, %I', vectors), true);
END $$;
GRANT USAGE ON SCHEMA infinicon TO infinicon_app, infinicon_sweeper;
