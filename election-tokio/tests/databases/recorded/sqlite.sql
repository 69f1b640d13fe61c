-- Version 1 on sqlite, verbatim: what a program of that version says to its tables. Never change it.

-- attempt rows: ns seen id inc label ttl
INSERT INTO election_leader AS l (ns, epoch, leader_id, incarnation, label, elected_ms, expires_ms, ttl_ms, renewals, updated_ms) VALUES (?1, max(CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER), ?2+1), ?3, ?4, ?5, CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER), CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER)+?6, ?6, 0, CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER)) ON CONFLICT (ns) DO UPDATE SET epoch = max(l.epoch+1, excluded.epoch), leader_id = excluded.leader_id, incarnation = excluded.incarnation, label = excluded.label, elected_ms = excluded.elected_ms, expires_ms = excluded.expires_ms, ttl_ms = excluded.ttl_ms, renewals = 0, updated_ms = excluded.updated_ms WHERE l.leader_id IS NULL OR l.expires_ms <= CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER) RETURNING epoch, expires_ms - CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER)

-- take_over rows: seen id inc label ttl ns epoch holder holder_inc n
UPDATE election_leader SET epoch = max(epoch+1, CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER), ?1+1), leader_id = ?2, incarnation = ?3, label = ?4, elected_ms = CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER), expires_ms = CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER)+?5, ttl_ms = ?5, renewals = 0, updated_ms = CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER) WHERE ns = ?6 AND epoch = ?7 AND leader_id = ?8 AND incarnation = ?9 AND renewals = ?10 RETURNING epoch, expires_ms - CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER)

-- read rows: ns
SELECT epoch, leader_id, incarnation, label, expires_ms - CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER), ttl_ms, renewals, resign_requested_epoch IS epoch FROM election_leader WHERE ns = ?1

-- renew rows: ttl n ns id inc epoch
UPDATE election_leader SET expires_ms = CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER)+?1, ttl_ms = ?1, renewals = ?2, updated_ms = CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER) WHERE ns = ?3 AND leader_id = ?4 AND incarnation = ?5 AND epoch = ?6 AND renewals < ?2 AND expires_ms > CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER) RETURNING expires_ms - CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER), resign_requested_epoch IS epoch

-- resign: ns id inc epoch
UPDATE election_leader SET leader_id = NULL, incarnation = NULL, label = NULL, expires_ms = CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER), updated_ms = CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER) WHERE ns = ?1 AND leader_id = ?2 AND incarnation = ?3 AND epoch = ?4

-- register: ns id inc label ttl
INSERT INTO election_candidate (ns, candidate_id, incarnation, label, last_heartbeat_ms, expires_ms) VALUES (?1, ?2, ?3, ?4, CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER), CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER)+?5) ON CONFLICT (ns, candidate_id, incarnation) DO UPDATE SET label = excluded.label, last_heartbeat_ms = excluded.last_heartbeat_ms, expires_ms = excluded.expires_ms

-- sweep: ns
DELETE FROM election_candidate WHERE ns = ?1 AND expires_ms < CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER) - 86400000

-- unregister: ns id inc
DELETE FROM election_candidate WHERE ns = ?1 AND candidate_id = ?2 AND incarnation = ?3

-- others rows: ns id inc
SELECT candidate_id FROM election_candidate WHERE ns = ?1 AND expires_ms > CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER) AND (candidate_id <> ?2 OR incarnation <> ?3) LIMIT 1

-- list rows: ns
SELECT candidate_id, incarnation, label, last_heartbeat_ms, expires_ms - CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER) FROM election_candidate WHERE ns = ?1 AND expires_ms > CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER) ORDER BY candidate_id, incarnation

-- request_resign: epoch ns
UPDATE election_leader SET resign_requested_epoch = ?1, updated_ms = CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER) WHERE ns = ?2 AND epoch = ?1 AND leader_id IS NOT NULL

-- ask_leader rows: ns
UPDATE election_leader SET resign_requested_epoch = epoch, updated_ms = CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER) WHERE ns = ?1 AND leader_id IS NOT NULL AND expires_ms > CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER) RETURNING epoch

-- fence rows: ns epoch id inc
UPDATE election_leader SET updated_ms = updated_ms WHERE ns = ?1 AND epoch = ?2 AND leader_id = ?3 AND incarnation = ?4 AND expires_ms > CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER) RETURNING expires_ms - CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER)

-- tables:
CREATE TABLE IF NOT EXISTS election_schema (version BIGINT NOT NULL PRIMARY KEY, applied_ms BIGINT NOT NULL);
CREATE TABLE election_leader (
  ns TEXT NOT NULL PRIMARY KEY,
  epoch INTEGER NOT NULL,
  leader_id TEXT,
  incarnation TEXT,
  label TEXT,
  elected_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  ttl_ms INTEGER NOT NULL,
  renewals INTEGER NOT NULL DEFAULT 0,
  resign_requested_epoch INTEGER,
  updated_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE election_candidate (
  ns TEXT NOT NULL,
  candidate_id TEXT NOT NULL,
  incarnation TEXT NOT NULL,
  label TEXT,
  last_heartbeat_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  PRIMARY KEY (ns, candidate_id, incarnation)
) STRICT, WITHOUT ROWID;
INSERT INTO election_schema (version, applied_ms) VALUES (1, CAST(ROUND((julianday('now')-2440587.5)*86400000.0) AS INTEGER));
