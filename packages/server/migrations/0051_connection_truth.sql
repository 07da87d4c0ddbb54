-- Connection truth: each witness of a connection has columns of its own. `policy_digest` is from now on what the gateway
-- says, `assigned_digest` what the device was to have when the session began; of older rows nobody knows which it was.
alter table vpn_sessions
  add column assigned_digest text,
  -- What the gateway said last, whatever became of the session here. Null: it has not spoken since this was asked.
  add column gateway_state text constraint gateway_says_a_known_state check (gateway_state in ('active', 'ended')),
  -- Since when the gateway says that it carries what is over, or what the policy does not let through its pool.
  add column defied_since timestamptz,
  add constraint session_end_has_a_reason check (state = 'active' or end_reason is not null) not valid;

-- Who was on a gateway when something happened to it.
create index vpn_sessions_by_gateway_end on vpn_sessions (tenant_id, gateway_id, ended_at) where state = 'ended';

-- What each device said last of its connection to a gateway; no gateway: it named none, or none that there is.
create table device_claims (
  tenant_id uuid not null,
  device_id uuid not null,
  gateway_id uuid,
  session_id uuid,
  state text not null constraint claim_state_is_known check (state in ('connected', 'disconnected')),
  -- Since when it says so of this session, and when it said so last.
  since timestamptz not null,
  said_at timestamptz not null,
  policy_digest text,
  latency_ms double precision,
  reason text
);
create unique index one_claim_of_a_device_for_a_gateway on device_claims (tenant_id, device_id, gateway_id)
  nulls not distinct;
create index device_claims_by_age on device_claims (tenant_id, said_at);
call raise_tenant_wall('device_claims');

-- Connections of which two witnesses said different things, or of which one fell silent: to be judged once every
-- witness has had the time to speak, and again until they agree.
create table connections_in_question (
  tenant_id uuid not null,
  question_id uuid not null,
  device_id uuid not null,
  gateway_id uuid,
  judge_at timestamptz not null,
  -- Not judged yet, or what was found, since when, and whether administrators were told.
  verdict text constraint verdict_is_known check (verdict in ('stale', 'conflict', 'unauthorized')),
  since timestamptz,
  told boolean not null default false,
  primary key (tenant_id, question_id),
  constraint verdict_has_a_beginning check ((verdict is null) = (since is null))
);
create unique index one_question_of_a_connection on connections_in_question (tenant_id, device_id, gateway_id)
  nulls not distinct;
create index connections_due on connections_in_question (judge_at);
create index connections_to_judge on connections_in_question (tenant_id, judge_at);
create index connections_by_verdict on connections_in_question (tenant_id, verdict, since, question_id)
  where verdict is not null;
create index connections_of_gateways_in_question on connections_in_question (tenant_id, gateway_id, verdict, since, question_id)
  where verdict is not null;
call raise_tenant_wall('connections_in_question');

-- Since when this deployment listens without a break, and when it last did: silence before that is nobody's.
create table listening (
  there_is_one boolean primary key default true constraint there_is_one_listening check (there_is_one),
  since timestamptz not null,
  heard_at timestamptz not null
);
grant select, insert, update on listening to holdfast_app;

-- A gateway that comes back is not the first choice at once; and what it says of its clock and its certificate.
alter table gateway_activity
  add column up_since timestamptz,
  add column clock_offset_ms bigint,
  add column certificate_expires_at timestamptz;
alter table gateways add column drained_at timestamptz;
update gateways set drained_at = updated_at where draining;
