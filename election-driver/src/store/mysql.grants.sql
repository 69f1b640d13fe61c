GRANT SELECT ON election_schema TO app;
GRANT SELECT, INSERT, UPDATE ON election_leader TO app;
GRANT SELECT, INSERT ON election_fence TO app;
GRANT SELECT, INSERT, UPDATE, DELETE ON election_candidate TO app;
