GRANT USAGE ON SCHEMA public TO app;
GRANT SELECT ON public.election_schema TO app;
GRANT SELECT, INSERT, UPDATE ON public.election_leader TO app;
GRANT SELECT, INSERT, UPDATE ON public.election_server TO app;
GRANT SELECT, INSERT, UPDATE, DELETE ON public.election_candidate TO app;
