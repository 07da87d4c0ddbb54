-- What administrators should hear of, and how it was brought to them.
create table notifications (
  tenant_id uuid not null references tenants,
  notification_id uuid not null,
  kind text not null,
  severity text not null
    constraint notification_severity_is_known check (severity in ('info', 'warning', 'critical')),
  title text not null,
  detail text not null,
  subject_type text not null,
  subject_id text,
  subject_name text,
  -- Names the cause: while a notification of it is open there is no second one.
  dedupe_key text,
  created_at timestamptz not null,
  acknowledged_at timestamptz,
  acknowledged_by_type text,
  acknowledged_by_id text,
  acknowledged_by_name text,
  primary key (tenant_id, notification_id),
  constraint acknowledgement_says_by_whom check ((acknowledged_at is null) = (acknowledged_by_type is null))
);
create unique index one_open_notification_of_a_cause on notifications (tenant_id, dedupe_key)
  where acknowledged_at is null;
create index notifications_by_cause on notifications (tenant_id, dedupe_key) where dedupe_key is not null;
create index notifications_by_creation on notifications (tenant_id, created_at, notification_id);
create index notifications_open on notifications (tenant_id, created_at, notification_id) where acknowledged_at is null;
create index notifications_by_acknowledgement on notifications (acknowledged_at) where acknowledged_at is not null;
call raise_tenant_wall('notifications');

-- One row for each receiver of a notification. A claim moves next_attempt_at on, so that what a replica
-- claimed and did not finish is tried again.
create table notification_deliveries (
  tenant_id uuid not null,
  notification_id uuid not null,
  channel text not null constraint delivery_channel_is_known check (channel in ('email', 'webhook')),
  recipient text not null default '',
  state text not null default 'pending'
    constraint delivery_state_is_known check (state in ('pending', 'delivered', 'failed')),
  attempts integer not null default 0,
  next_attempt_at timestamptz,
  finished_at timestamptz,
  last_error text,
  primary key (tenant_id, notification_id, channel, recipient),
  foreign key (tenant_id, notification_id) references notifications on delete cascade,
  constraint mail_has_a_recipient check ((channel = 'email') = (recipient <> '')),
  constraint pending_delivery_has_a_next_attempt check ((state = 'pending') = (next_attempt_at is not null)),
  constraint finished_delivery_has_an_end check ((state = 'pending') = (finished_at is null))
);
create index notification_deliveries_due on notification_deliveries (next_attempt_at) where state = 'pending';
call raise_tenant_wall('notification_deliveries');

-- What an administrator set; what is absent has the default of the code.
create table notification_settings (
  tenant_id uuid primary key references tenants,
  email jsonb not null default '{}',
  webhook jsonb not null default '{}',
  webhook_secret_jwe text,
  updated_at timestamptz not null
);
call raise_tenant_wall('notification_settings');
