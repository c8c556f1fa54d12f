-- Positions come from the namespace's counter, moved last in the writing transaction: order equals commit order, without gaps.
CREATE TABLE events (
  tenant      integer NOT NULL,
  namespace   integer NOT NULL,
  seq         bigint NOT NULL,
  type        text NOT NULL,
  memory      uuid,
  memory_type text,
  job         uuid,
  agent_id    text,
  session_id  text,
  occurred_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, namespace, seq)
);
