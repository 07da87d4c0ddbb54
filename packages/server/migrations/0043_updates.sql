-- Releases of the client with their packages, and the metadata of the TUF repository that names them.

-- One row for each tenant that has any: who holds it judges what is a matter of all its releases or packages.
create table update_repositories (
  tenant_id uuid primary key references tenants
);
call raise_tenant_wall('update_repositories');

create table releases (
  tenant_id uuid not null references tenants,
  release_id uuid not null,
  version text not null,
  channel text not null constraint release_channel_is_known check (channel in ('canary', 'stable')),
  status text not null constraint release_status_is_known
    check (status in ('draft', 'published', 'paused', 'halted', 'withdrawn')),
  notes text not null,
  notes_url text,
  severity text not null constraint release_severity_is_known check (severity in ('low', 'normal', 'high', 'critical')),
  mandatory boolean not null,
  min_from_version text,
  rollout_percent numeric(5, 2) not null
    constraint release_rollout_is_a_share check (rollout_percent between 0 and 100),
  rollout_group_ids uuid[] not null,
  -- Of the pause, the halt or the withdrawal that holds.
  reason text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  published_at timestamptz,
  -- When it moved from canary to stable: canary devices keep it whatever the rollout is then.
  promoted_at timestamptz,
  primary key (tenant_id, release_id),
  constraint release_says_when_it_was_published check ((status = 'draft') = (published_at is null))
);
-- A version is one content for good.
create unique index release_version_is_unique_in_its_tenant on releases (tenant_id, version);
create index releases_by_creation on releases (tenant_id, created_at, release_id);
create index releases_by_channel on releases (tenant_id, channel, created_at, release_id);
create index releases_by_status on releases (tenant_id, status, created_at, release_id);
call raise_tenant_wall('releases');

-- Contents in the store, by the name they have there. There is a row from before a content is there until after it is
-- gone: `storing` while it is brought, `stored`, `removing` once nobody may use it any more.
create table package_blobs (
  tenant_id uuid not null references tenants,
  blob_id uuid not null,
  sha256 text not null,
  size bigint not null,
  state text not null constraint package_blob_state_is_known check (state in ('storing', 'stored', 'removing')),
  since timestamptz not null,
  primary key (tenant_id, blob_id)
);
create unique index package_content_is_stored_once on package_blobs (tenant_id, sha256) where state = 'stored';
create index package_blobs_by_state on package_blobs (tenant_id, state, since);
call raise_tenant_wall('package_blobs');

create table release_packages (
  tenant_id uuid not null,
  package_id uuid not null,
  release_id uuid not null,
  blob_id uuid not null,
  platform text not null,
  arch text not null,
  filename text not null,
  created_at timestamptz not null,
  primary key (tenant_id, package_id),
  foreign key (tenant_id, release_id) references releases,
  foreign key (tenant_id, blob_id) references package_blobs
);
create unique index package_is_there_once_in_its_release
  on release_packages (tenant_id, release_id, platform, arch, filename);
create index release_packages_by_creation on release_packages (tenant_id, release_id, created_at, package_id);
create index release_packages_by_blob on release_packages (tenant_id, blob_id);
call raise_tenant_wall('release_packages');

-- Signed metadata as it is given out. Versions of a role are given out once and never again.
create table tuf_metadata (
  tenant_id uuid not null references tenants,
  role text not null constraint tuf_role_is_known check (role in ('root', 'targets', 'snapshot', 'timestamp')),
  version integer not null,
  document text not null,
  expires_at timestamptz not null,
  created_at timestamptz not null,
  primary key (tenant_id, role, version)
);
call raise_tenant_wall('tuf_metadata');
