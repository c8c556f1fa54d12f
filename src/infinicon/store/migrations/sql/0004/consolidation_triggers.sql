-- When a consolidation is due. A policy says it for a namespace; the time itself stands with each scope in which something waits, so that
-- nobody asks a namespace in which nothing waits, however many there are.

ALTER TABLE policies
  ADD COLUMN consolidation_crontab         text,
  ADD COLUMN consolidation_times           bigint[],  -- the same as bits: minutes, hours, days, months, weekdays; 1 where either day will do
  ADD COLUMN consolidation_every_seconds   integer CHECK (consolidation_every_seconds > 0),
  ADD COLUMN consolidation_threshold       integer CHECK (consolidation_threshold > 0),
  ADD COLUMN consolidation_max_age_seconds integer CHECK (consolidation_max_age_seconds > 0),
  ADD COLUMN consolidation_idle_seconds    integer CHECK (consolidation_idle_seconds > 0),
  ADD CONSTRAINT policies_consolidation_times_check
    CHECK ((consolidation_crontab IS NULL) = (consolidation_times IS NULL) AND coalesce(cardinality(consolidation_times), 6) = 6),
  ADD CONSTRAINT policies_consolidation_schedule_check
    CHECK (consolidation_crontab IS NULL OR consolidation_every_seconds IS NULL);

-- `due_at` is when to look, and moves on while somebody looks; `window_at` is what it is due for, and stays until it was begun.
ALTER TABLE consolidation_scopes
  ADD COLUMN window_at timestamptz,
  ADD COLUMN due_for   text CHECK (due_for IN ('scheduled', 'threshold', 'idle')),
  ADD CONSTRAINT consolidation_scopes_due_check CHECK (num_nulls(due_at, window_at, due_for) IN (0, 3));
CREATE INDEX consolidation_scopes_due_idx ON consolidation_scopes (due_at) WHERE due_at IS NOT NULL;

-- Once for each scope and window, whoever counts the time, and however many do.
CREATE TABLE consolidation_windows (
  tenant    integer NOT NULL,
  scope     bigint NOT NULL,
  window_at timestamptz NOT NULL,
  due_for   text NOT NULL CHECK (due_for IN ('scheduled', 'threshold', 'idle')),
  job       uuid,
  opened_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT consolidation_windows_pkey PRIMARY KEY (tenant, scope, window_at)
);
CREATE INDEX consolidation_windows_opened_idx ON consolidation_windows (opened_at);

-- When routine work was last done: a clock that is there and moves nothing is found out by it.
CREATE TABLE heartbeats (
  name    text PRIMARY KEY,
  beat_at timestamptz NOT NULL
);
INSERT INTO heartbeats VALUES ('scheduler', now());

-- The first moment behind `after` that a crontab names, in UTC: there every hour comes once. A day is wrong or right by its month, day and
-- weekday; NULL where no day is right within eight years, as long as a 29th of February may be away.
CREATE FUNCTION next_window(times bigint[], after timestamptz) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  first timestamp := date_trunc('minute', after AT TIME ZONE 'UTC') + interval '1 minute';
  day   date := first::date;
  days  boolean;
  weekdays boolean;
BEGIN
  WHILE day < first::date + 2923 LOOP
    IF times[4] >> extract(month FROM day)::integer & 1 = 0 THEN
      day := (date_trunc('month', day::timestamp) + interval '1 month')::date;
      CONTINUE;
    END IF;
    days := times[3] >> extract(day FROM day)::integer & 1 = 1;
    weekdays := times[5] >> extract(dow FROM day)::integer & 1 = 1;
    IF (days AND weekdays) OR (times[6] = 1 AND (days OR weekdays)) THEN
      FOR hour IN CASE WHEN day = first::date THEN extract(hour FROM first)::integer ELSE 0 END .. 23 LOOP
        CONTINUE WHEN times[2] >> hour & 1 = 0;
        FOR minute IN CASE WHEN day + make_interval(hours => hour) < first THEN extract(minute FROM first)::integer ELSE 0 END .. 59 LOOP
          IF times[1] >> minute & 1 = 1 THEN
            RETURN (day + make_interval(hours => hour, mins => minute)) AT TIME ZONE 'UTC';
          END IF;
        END LOOP;
      END LOOP;
    END IF;
    day := day + 1;
  END LOOP;
  RETURN NULL;
END $$;

-- The one place that says when a scope is due, in the transaction that changes what it depends on. Setting window_at to NULL asks for it
-- anew; what is due already stays due for the same window, else a scope that is written to all the time would never be caught.
CREATE FUNCTION consolidation_due() RETURNS trigger
LANGUAGE plpgsql SET search_path = infinicon, pg_temp AS $$
DECLARE
  wanted policies%ROWTYPE;
  since  timestamptz := greatest(coalesce(NEW.oldest_at, now()), NEW.last_run_at);
  pause  interval;
BEGIN
  IF TG_OP = 'INSERT' THEN  -- A policy that changes meanwhile waits for this row, or this row for the policy.
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('consolidation ' || NEW.tenant || ' ' || NEW.namespace, 0));
  END IF;
  IF NEW.waiting > 0 AND NEW.job IS NULL AND NEW.window_at <= now() THEN
    RETURN NEW;
  END IF;
  NEW.window_at := NULL;
  NEW.due_for := NULL;
  IF NEW.waiting > 0 AND NEW.job IS NULL THEN
    SELECT p.* INTO wanted FROM policies p WHERE p.tenant = NEW.tenant AND p.namespace = NEW.namespace;
    -- A scope that was worked on just now rests, and the longer, the more often its consolidations failed.
    pause := make_interval(secs => CASE WHEN NEW.failures = 0 THEN 60 ELSE least(60 * power(2, least(NEW.failures, 20) - 1), 86400) END);
    SELECT CASE WHEN NEW.failures = 0 THEN c.at ELSE greatest(c.at, NEW.last_run_at + pause) END, c.reason
    INTO NEW.window_at, NEW.due_for
    FROM (VALUES
      ('threshold', CASE WHEN NEW.waiting >= wanted.consolidation_threshold THEN greatest(now(), NEW.last_run_at + pause) END),
      ('threshold', since + make_interval(secs =>
         coalesce(wanted.consolidation_max_age_seconds, CASE WHEN wanted.consolidation_threshold IS NOT NULL THEN 86400 END))),
      ('idle', greatest(since, NEW.last_indexed_at) + make_interval(secs => wanted.consolidation_idle_seconds)),
      ('scheduled', to_timestamp((floor(extract(epoch FROM since) / wanted.consolidation_every_seconds) + 1)
                                 * wanted.consolidation_every_seconds)),
      ('scheduled', next_window(wanted.consolidation_times, since))) AS c (reason, at)
    WHERE c.at IS NOT NULL ORDER BY c.at, c.reason LIMIT 1;
  END IF;
  NEW.due_at := NEW.window_at;
  RETURN NEW;
END $$;
CREATE TRIGGER consolidation_scopes_due
  BEFORE INSERT OR UPDATE OF waiting, oldest_at, last_indexed_at, last_run_at, failures, job, window_at ON consolidation_scopes
  FOR EACH ROW EXECUTE FUNCTION consolidation_due();

ALTER TABLE consolidation_windows ENABLE ROW LEVEL SECURITY;
ALTER TABLE consolidation_windows FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON consolidation_windows TO infinicon_app
  USING (tenant = NULLIF(current_setting('infinicon.tenant', true), '')::integer);
GRANT SELECT, INSERT, UPDATE ON consolidation_windows TO infinicon_app;
CREATE POLICY sweep ON consolidation_windows TO infinicon_sweeper USING (true);
GRANT SELECT (tenant, scope, window_at, opened_at), DELETE ON consolidation_windows TO infinicon_sweeper;
GRANT SELECT (window_at) ON consolidation_scopes TO infinicon_sweeper;
GRANT SELECT ON heartbeats TO infinicon_app;
GRANT SELECT, INSERT, UPDATE ON heartbeats TO infinicon_sweeper;
