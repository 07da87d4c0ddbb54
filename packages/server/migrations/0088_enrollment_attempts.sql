-- The newest use of each enrollment token, and how many were refused: apart from the token, whose row every enrollment
-- locks.
create table enrollment_attempts (
  tenant_id uuid not null,
  token_id uuid not null,
  refused bigint not null default 0 constraint refused_attempts_are_not_negative check (refused >= 0),
  last_at timestamptz not null,
  outcome text not null
    constraint attempt_outcome_is_known check (outcome in ('enrolled', 'refused', 'waiting_for_approval')),
  reason text,
  source_ip text not null,
  platform text,
  primary key (tenant_id, token_id),
  foreign key (tenant_id, token_id) references enrollment_tokens on delete cascade,
  constraint refused_attempt_has_a_reason check ((outcome = 'refused') = (reason is not null))
);
call raise_tenant_wall('enrollment_attempts');
