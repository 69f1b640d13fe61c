-- Version 1 on mysql, verbatim: what a program of that version says to its tables. Never change it.

-- attempt: seen id inc label ttl ttl ns
UPDATE election_leader SET epoch = LAST_INSERT_ID(GREATEST(epoch+1, (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000), ?+1)), leader_id = ?, incarnation = ?, label = ?, elected_ms = (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000), expires_ms = (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000)+?, ttl_ms = ?, renewals = 0, updated_ms = (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000) WHERE ns = ? AND (leader_id IS NULL OR expires_ms <= (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000)) AND @@foreign_key_checks = 1

-- take_over: seen id inc label ttl ttl ns epoch holder holder_inc n
UPDATE election_leader SET epoch = LAST_INSERT_ID(GREATEST(epoch+1, (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000), ?+1)), leader_id = ?, incarnation = ?, label = ?, elected_ms = (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000), expires_ms = (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000)+?, ttl_ms = ?, renewals = 0, updated_ms = (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000) WHERE ns = ? AND epoch = ? AND leader_id = ? AND incarnation = ? AND renewals = ? AND @@foreign_key_checks = 1

-- read rows: ns
SELECT epoch, leader_id, incarnation, label, expires_ms - (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000), ttl_ms, renewals, CAST(resign_requested_epoch <=> epoch AS SIGNED) FROM election_leader WHERE ns = ?

-- seed: ns
INSERT IGNORE INTO election_leader (ns, epoch, elected_ms, expires_ms, ttl_ms, updated_ms) VALUES (?, 0, (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000), (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000), 0, (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000))

-- renew: ttl ttl n ns id inc epoch n
UPDATE election_leader SET expires_ms = (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000)+?, ttl_ms = ?, updated_ms = (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000), renewals = ? + 0*LAST_INSERT_ID(IF(resign_requested_epoch <=> epoch, 1, 2)) WHERE ns = ? AND leader_id = ? AND incarnation = ? AND epoch = ? AND renewals < ? AND expires_ms > (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000)

-- resign: ns id inc epoch
UPDATE election_leader SET leader_id = NULL, incarnation = NULL, label = NULL, expires_ms = (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000), updated_ms = (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000) WHERE ns = ? AND leader_id = ? AND incarnation = ? AND epoch = ?

-- register: ns id inc label ttl
INSERT INTO election_candidate (ns, candidate_id, incarnation, label, last_heartbeat_ms, expires_ms) VALUES (?, ?, ?, ?, (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000), (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000)+?) ON DUPLICATE KEY UPDATE label = VALUES(label), last_heartbeat_ms = VALUES(last_heartbeat_ms), expires_ms = VALUES(expires_ms)

-- sweep: ns
DELETE FROM election_candidate WHERE ns = ? AND expires_ms < (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000) - 86400000

-- unregister: ns id inc
DELETE FROM election_candidate WHERE ns = ? AND candidate_id = ? AND incarnation = ?

-- others rows: ns id inc
SELECT candidate_id FROM election_candidate WHERE ns = ? AND expires_ms > (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000) AND (candidate_id <> ? OR incarnation <> ?) LIMIT 1

-- list rows: ns
SELECT candidate_id, incarnation, label, last_heartbeat_ms, expires_ms - (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000) FROM election_candidate WHERE ns = ? AND expires_ms > (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000) ORDER BY candidate_id, incarnation

-- request_resign: epoch ns epoch
UPDATE election_leader SET resign_requested_epoch = ?, updated_ms = (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000) WHERE ns = ? AND epoch = ? AND leader_id IS NOT NULL

-- ask_leader: ns
UPDATE election_leader SET resign_requested_epoch = LAST_INSERT_ID(epoch), updated_ms = (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000) WHERE ns = ? AND leader_id IS NOT NULL AND expires_ms > (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000)

-- fence rows: ns epoch id inc ns epoch
SELECT (SELECT l.expires_ms - (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000) FROM election_leader l WHERE l.ns = ? AND l.epoch = ? AND l.leader_id = ? AND l.incarnation = ? AND l.expires_ms > (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000)), @@foreign_key_checks FROM election_fence f WHERE f.ns = ? AND f.epoch = ? LOCK IN SHARE MODE

-- seed_fence: ns
INSERT IGNORE INTO election_fence (ns, epoch) SELECT ns, epoch FROM election_leader WHERE ns = ?

-- tables:
CREATE TABLE IF NOT EXISTS election_schema (version BIGINT NOT NULL PRIMARY KEY, applied_ms BIGINT NOT NULL);
CREATE TABLE IF NOT EXISTS election_leader (
  ns VARBINARY(255) NOT NULL PRIMARY KEY,
  epoch BIGINT NOT NULL,
  leader_id VARBINARY(255),
  incarnation VARBINARY(36),
  label VARBINARY(255),
  elected_ms BIGINT NOT NULL,
  expires_ms BIGINT NOT NULL,
  ttl_ms BIGINT NOT NULL,
  renewals BIGINT NOT NULL DEFAULT 0,
  resign_requested_epoch BIGINT,
  updated_ms BIGINT NOT NULL,
  UNIQUE KEY (ns, epoch)
) ENGINE=InnoDB;
CREATE TABLE IF NOT EXISTS election_fence (
  ns VARBINARY(255) NOT NULL PRIMARY KEY,
  epoch BIGINT NOT NULL,
  FOREIGN KEY (ns, epoch) REFERENCES election_leader (ns, epoch) ON UPDATE CASCADE
) ENGINE=InnoDB;
CREATE TABLE IF NOT EXISTS election_candidate (
  ns VARBINARY(255) NOT NULL,
  candidate_id VARBINARY(255) NOT NULL,
  incarnation VARBINARY(36) NOT NULL,
  label VARBINARY(255),
  last_heartbeat_ms BIGINT NOT NULL,
  expires_ms BIGINT NOT NULL,
  PRIMARY KEY (ns, candidate_id, incarnation)
) ENGINE=InnoDB;
INSERT INTO election_schema (version, applied_ms) VALUES (1, (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000));
