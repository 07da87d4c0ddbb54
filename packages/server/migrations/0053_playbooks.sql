-- What is kept out whatever else holds: beside the status of what it binds, which stays as it is.
create table locks (
  tenant_id uuid not null references tenants,
  lock_id uuid not null,
  target_type text not null
    constraint lock_target_type_is_known check (target_type in ('user', 'device', 'gateway', 'group', 'tenant')),
  target_id uuid not null,
  target_name text,
  reason text not null,
  created_by jsonb not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  released_by jsonb,
  released_at timestamptz,
  primary key (tenant_id, lock_id),
  constraint lock_says_who_released_it check ((released_at is null) = (released_by is null))
);
create unique index target_is_locked_once on locks (tenant_id, target_type, target_id) where released_at is null;
create index locks_by_creation on locks (tenant_id, created_at, lock_id);
create index active_locks_by_creation on locks (tenant_id, created_at, lock_id) where released_at is null;
create index released_locks_by_creation on locks (tenant_id, created_at, lock_id) where released_at is not null;
create index locks_by_type on locks (tenant_id, target_type, created_at, lock_id);
create index locks_by_end on locks (expires_at) where released_at is null and expires_at is not null;
call raise_tenant_wall('locks');

-- What is locked of one type. For the statements of others, into which the planner takes it.
create function locked_targets(of_tenant uuid, of_type text) returns setof uuid language sql stable as
  $$ select target_id from locks where tenant_id = of_tenant and target_type = of_type and released_at is null $$;

-- Of one device, by whatever binds it; who looks at many asks for the targets.
create function device_is_locked(of_tenant uuid, of_device uuid) returns boolean language sql stable as $$
  select exists (
    select from devices d join locks l on l.tenant_id = of_tenant and l.released_at is null and (
      l.target_type = 'tenant'
      or l.target_type = 'device' and l.target_id = d.device_id
      or l.target_type = 'user' and l.target_id = d.user_id
      or l.target_type = 'group' and (l.target_id = any(d.group_ids) or exists (
        select from group_members m
        where m.tenant_id = of_tenant and m.user_id = d.user_id and m.group_id = l.target_id)))
    where d.tenant_id = of_tenant and d.device_id = of_device)
$$;

create table workflow_runs (
  tenant_id uuid not null references tenants,
  workflow_run_id uuid not null,
  kind text not null constraint workflow_kind_is_known check (kind in ('workflow', 'playbook')),
  workflow text not null,
  params jsonb not null,
  reason text,
  status text not null constraint workflow_run_status_is_known
    check (status in ('awaiting_approval', 'running', 'succeeded', 'failed', 'cancelled')),
  second_approver boolean not null,
  -- Until when somebody may approve it.
  approval_expires_at timestamptz,
  -- As whom each step is carried out, and from where it was asked for.
  requested_by jsonb not null,
  approved_by jsonb,
  -- When somebody called it off: what is under way then ends, and nothing else begins.
  cancelled_at timestamptz,
  undo_of uuid,
  undo_after_seconds integer,
  undo_at timestamptz,
  -- The tenant's sequence number before the first step: what came after it gateways have to confirm.
  seq_before bigint not null,
  evidence text,
  evidence_digest text,
  -- Whoever carries it out, until when nobody else may.
  claimed_by uuid,
  claimed_until timestamptz not null,
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  primary key (tenant_id, workflow_run_id),
  constraint approval_is_not_waited_for_forever check (status <> 'awaiting_approval' or approval_expires_at is not null),
  constraint ended_run_says_when_and_what check (
    (status in ('succeeded', 'failed', 'cancelled')) = (finished_at is not null and evidence_digest is not null))
);
create unique index run_is_undone_once on workflow_runs (tenant_id, undo_of)
  where undo_of is not null and status <> 'cancelled';
create index workflow_runs_by_creation on workflow_runs (tenant_id, created_at, workflow_run_id);
create index workflow_runs_by_kind on workflow_runs (tenant_id, kind, created_at, workflow_run_id);
create index running_workflow_runs on workflow_runs (claimed_until) where status = 'running';
create index workflow_runs_to_approve on workflow_runs (approval_expires_at) where status = 'awaiting_approval';
create index workflow_runs_to_undo on workflow_runs (undo_at) where undo_at is not null;
call raise_tenant_wall('workflow_runs');

create table workflow_steps (
  tenant_id uuid not null,
  workflow_run_id uuid not null,
  step integer not null constraint workflow_step_is_a_number check (step >= 1),
  action text not null,
  summary text not null,
  input jsonb not null,
  affects jsonb not null,
  affects_count integer not null,
  on_error text not null constraint workflow_step_on_error_is_known check (on_error in ('stop', 'continue')),
  reversible boolean not null,
  status text not null
    constraint workflow_step_status_is_known check (status in ('pending', 'running', 'succeeded', 'failed')),
  result jsonb not null,
  -- What takes it back: calls like its own.
  undo jsonb not null,
  error text,
  attempts integer not null default 0,
  started_at timestamptz,
  finished_at timestamptz,
  primary key (tenant_id, workflow_run_id, step),
  foreign key (tenant_id, workflow_run_id) references workflow_runs on delete cascade
);
create index workflow_steps_with_secret on workflow_steps (tenant_id, finished_at) where result ? 'secret_jwe';
call raise_tenant_wall('workflow_steps');
