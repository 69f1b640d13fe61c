-- Version 1 on postgres, verbatim: what a program of that version says to its tables. Never change it.

-- attempt rows: seen id inc label ttl ns
WITH won AS (UPDATE "public".election_leader l SET epoch = GREATEST(l.epoch+1, (date_part('epoch', statement_timestamp())*1000::double precision)::bigint, $1::bigint+1), leader_id = $2, incarnation = $3, label = $4, elected_ms = (date_part('epoch', statement_timestamp())*1000::double precision)::bigint, expires_ms = (date_part('epoch', statement_timestamp())*1000::double precision)::bigint+$5, ttl_ms = $5, renewals = 0, updated_ms = (date_part('epoch', statement_timestamp())*1000::double precision)::bigint WHERE l.ns = $6 AND (l.leader_id IS NULL OR l.expires_ms <= (date_part('epoch', statement_timestamp())*1000::double precision)::bigint) AND (current_setting('lock_timeout') <> '0' OR set_config('lock_timeout', greatest($5::bigint/8, 1)::text, true) IS NOT NULL) AND (current_setting('synchronous_commit') IN ('on', 'remote_apply') OR set_config('synchronous_commit', 'on', true) IS NOT NULL) RETURNING l.epoch, l.leader_id, l.incarnation, l.label, l.expires_ms - (date_part('epoch', statement_timestamp())*1000::double precision)::bigint, l.ttl_ms, l.renewals, 0::bigint, 1::bigint) SELECT * FROM won UNION ALL SELECT epoch, leader_id, incarnation, label, expires_ms - (date_part('epoch', statement_timestamp())*1000::double precision)::bigint, ttl_ms, renewals, COALESCE(resign_requested_epoch = epoch, false)::int::bigint, 0::bigint FROM "public".election_leader WHERE ns = $6 AND NOT EXISTS (SELECT 1 FROM won)

-- take_over rows: seen id inc label ttl ns epoch holder holder_inc n
UPDATE "public".election_leader l SET epoch = GREATEST(l.epoch+1, (date_part('epoch', statement_timestamp())*1000::double precision)::bigint, $1::bigint+1), leader_id = $2, incarnation = $3, label = $4, elected_ms = (date_part('epoch', statement_timestamp())*1000::double precision)::bigint, expires_ms = (date_part('epoch', statement_timestamp())*1000::double precision)::bigint+$5, ttl_ms = $5, renewals = 0, updated_ms = (date_part('epoch', statement_timestamp())*1000::double precision)::bigint WHERE l.ns = $6 AND l.epoch = $7 AND l.leader_id = $8 AND l.incarnation = $9 AND l.renewals = $10 AND (current_setting('lock_timeout') <> '0' OR set_config('lock_timeout', greatest($5::bigint/8, 1)::text, true) IS NOT NULL) AND (current_setting('synchronous_commit') IN ('on', 'remote_apply') OR set_config('synchronous_commit', 'on', true) IS NOT NULL) RETURNING l.epoch, l.expires_ms - (date_part('epoch', statement_timestamp())*1000::double precision)::bigint

-- read rows: ns
SELECT epoch, leader_id, incarnation, label, expires_ms - (date_part('epoch', statement_timestamp())*1000::double precision)::bigint, ttl_ms, renewals, COALESCE(resign_requested_epoch = epoch, false)::int::bigint FROM "public".election_leader WHERE ns = $1

-- seed: ns
INSERT INTO "public".election_leader (ns, epoch, elected_ms, expires_ms, ttl_ms, updated_ms) VALUES ($1, 0, (date_part('epoch', statement_timestamp())*1000::double precision)::bigint, (date_part('epoch', statement_timestamp())*1000::double precision)::bigint, 0, (date_part('epoch', statement_timestamp())*1000::double precision)::bigint) ON CONFLICT DO NOTHING

-- renew rows: ttl n ns id inc epoch
UPDATE "public".election_leader l SET expires_ms = (date_part('epoch', statement_timestamp())*1000::double precision)::bigint+$1, ttl_ms = $1, renewals = $2, updated_ms = (date_part('epoch', statement_timestamp())*1000::double precision)::bigint WHERE l.ns = $3 AND l.leader_id = $4 AND l.incarnation = $5 AND l.epoch = $6 AND l.renewals < $2 AND l.expires_ms > (date_part('epoch', statement_timestamp())*1000::double precision)::bigint AND (current_setting('lock_timeout') <> '0' OR set_config('lock_timeout', greatest($1::bigint/8, 1)::text, true) IS NOT NULL) AND (current_setting('synchronous_commit') IN ('on', 'remote_apply') OR set_config('synchronous_commit', 'on', true) IS NOT NULL) RETURNING l.expires_ms - (date_part('epoch', statement_timestamp())*1000::double precision)::bigint, COALESCE(l.resign_requested_epoch = l.epoch, false)::int::bigint

-- resign rows: ns id inc epoch
WITH gone AS (UPDATE "public".election_leader SET leader_id = NULL, incarnation = NULL, label = NULL, expires_ms = (date_part('epoch', statement_timestamp())*1000::double precision)::bigint, updated_ms = (date_part('epoch', statement_timestamp())*1000::double precision)::bigint WHERE ns = $1 AND leader_id = $2 AND incarnation = $3 AND epoch = $4 RETURNING epoch) SELECT pg_catalog.pg_notify('public.election_leader', pg_catalog.json_build_object('ns', $1::text, 'action', 'resigned', 'leader_id', $2::text, 'incarnation', $3::text, 'epoch', epoch)::text) FROM gone

-- register: ns id inc label ttl
INSERT INTO "public".election_candidate (ns, candidate_id, incarnation, label, last_heartbeat_ms, expires_ms) VALUES ($1, $2, $3, $4, (date_part('epoch', statement_timestamp())*1000::double precision)::bigint, (date_part('epoch', statement_timestamp())*1000::double precision)::bigint+$5) ON CONFLICT (ns, candidate_id, incarnation) DO UPDATE SET label = excluded.label, last_heartbeat_ms = excluded.last_heartbeat_ms, expires_ms = excluded.expires_ms

-- sweep: ns
DELETE FROM "public".election_candidate WHERE ns = $1 AND expires_ms < (date_part('epoch', statement_timestamp())*1000::double precision)::bigint - 86400000

-- unregister: ns id inc
DELETE FROM "public".election_candidate WHERE ns = $1 AND candidate_id = $2 AND incarnation = $3

-- others rows: ns id inc
SELECT candidate_id FROM "public".election_candidate WHERE ns = $1 AND expires_ms > (date_part('epoch', statement_timestamp())*1000::double precision)::bigint AND (candidate_id <> $2 OR incarnation <> $3) LIMIT 1

-- list rows: ns
SELECT candidate_id, incarnation, label, last_heartbeat_ms, expires_ms - (date_part('epoch', statement_timestamp())*1000::double precision)::bigint FROM "public".election_candidate WHERE ns = $1 AND expires_ms > (date_part('epoch', statement_timestamp())*1000::double precision)::bigint ORDER BY candidate_id, incarnation

-- request_resign rows: epoch ns
WITH asked AS (UPDATE "public".election_leader SET resign_requested_epoch = $1, updated_ms = (date_part('epoch', statement_timestamp())*1000::double precision)::bigint WHERE ns = $2 AND epoch = $1 AND leader_id IS NOT NULL RETURNING epoch, leader_id) SELECT pg_catalog.pg_notify('public.election_leader', pg_catalog.json_build_object('ns', $2::text, 'action', 'request_resign', 'leader_id', leader_id, 'epoch', epoch)::text) FROM asked

-- ask_leader rows: ns
WITH asked AS (UPDATE "public".election_leader l SET resign_requested_epoch = l.epoch, updated_ms = (date_part('epoch', statement_timestamp())*1000::double precision)::bigint WHERE l.ns = $1 AND l.leader_id IS NOT NULL AND l.expires_ms > (date_part('epoch', statement_timestamp())*1000::double precision)::bigint RETURNING l.epoch, l.leader_id) SELECT epoch, pg_catalog.pg_notify('public.election_leader', pg_catalog.json_build_object('ns', $1::text, 'action', 'request_resign', 'leader_id', leader_id, 'epoch', epoch)::text) FROM asked

-- fence rows: ns epoch id inc
WITH held AS MATERIALIZED (SELECT expires_ms - (date_part('epoch', clock_timestamp())*1000::double precision)::bigint AS remaining, ttl_ms FROM "public".election_leader WHERE ns = $1 AND epoch = $2 AND leader_id = $3 AND incarnation = $4 AND expires_ms > (date_part('epoch', clock_timestamp())*1000::double precision)::bigint FOR KEY SHARE) SELECT remaining, set_config('idle_in_transaction_session_timeout', LEAST(remaining, ttl_ms, NULLIF((extract(epoch from current_setting('idle_in_transaction_session_timeout')::interval) ::double precision*1000::double precision)::bigint, 0))::text, true), set_config('statement_timeout', LEAST(remaining, ttl_ms, NULLIF((extract(epoch from current_setting('statement_timeout')::interval)::double precision *1000::double precision)::bigint, 0))::text, true) FROM held

-- tables:
CREATE TABLE IF NOT EXISTS "public".election_schema (version BIGINT NOT NULL PRIMARY KEY, applied_ms BIGINT NOT NULL);
CREATE TABLE "public".election_leader (
  ns text COLLATE "C" NOT NULL PRIMARY KEY,
  epoch bigint NOT NULL,
  leader_id text COLLATE "C",
  incarnation text COLLATE "C",
  label text,
  elected_ms bigint NOT NULL,
  expires_ms bigint NOT NULL,
  ttl_ms bigint NOT NULL,
  renewals bigint NOT NULL DEFAULT 0,
  resign_requested_epoch bigint,
  updated_ms bigint NOT NULL,
  UNIQUE (ns, epoch)
);
CREATE TABLE "public".election_candidate (
  ns text COLLATE "C" NOT NULL,
  candidate_id text COLLATE "C" NOT NULL,
  incarnation text COLLATE "C" NOT NULL,
  label text,
  last_heartbeat_ms bigint NOT NULL,
  expires_ms bigint NOT NULL,
  PRIMARY KEY (ns, candidate_id, incarnation)
);
INSERT INTO "public".election_schema (version, applied_ms) VALUES (1, (date_part('epoch', statement_timestamp())*1000::double precision)::bigint);
