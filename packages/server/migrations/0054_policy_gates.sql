-- What a canary must hold to, and where that stands; null of a version without a gate.
alter table policy_bundles
  add column gate_terms jsonb,
  add column gate_state text
    constraint policy_gate_state_is_known check (gate_state in ('watching', 'passed', 'failed', 'rolled_back')),
  -- How often chance was asked, the figures that it was judged by last, and what they say.
  add column gate_looks integer not null default 0,
  add column gate_health jsonb,
  add column gate_reason text,
  add column gate_judged_at timestamptz,
  add constraint policy_gate_has_a_state check ((gate_terms is null) = (gate_state is null));
create index policy_bundles_gated on policy_bundles (tenant_id, version) where gate_state in ('watching', 'passed');

-- When packets of the session were last refused, as its gateway reports it: the end of that interval.
alter table vpn_sessions add column last_denied_at timestamptz;
-- Which devices were connected since a moment.
create index vpn_sessions_by_end on vpn_sessions (tenant_id, ended_at);
create index telemetry_of_connections on telemetry_events (tenant_id, at) where kind in ('connected', 'failed');
