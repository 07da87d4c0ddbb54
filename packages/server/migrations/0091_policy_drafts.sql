-- Drafts of policies: texts that administrators type, valid or not. `created_by` and `updated_by` are ids as the API
-- shows them, so a draft outlasts its author. A version on which a draft is based is kept: the merge reads it.
create table policy_drafts (
  tenant_id uuid not null references tenants,
  draft_id uuid not null,
  name text not null,
  text text not null,
  size integer not null,
  digest text not null,
  base_version bigint,
  created_by text,
  created_at timestamptz not null,
  updated_by text,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (tenant_id, draft_id),
  foreign key (tenant_id, base_version) references policy_bundles
);
create index policy_drafts_by_update on policy_drafts (tenant_id, updated_at, draft_id) where deleted_at is null;
create index policy_drafts_by_author on policy_drafts (tenant_id, created_by, updated_at, draft_id)
  where deleted_at is null;
create index policy_drafts_by_base on policy_drafts (tenant_id, base_version) where base_version is not null;
call raise_tenant_wall('policy_drafts');
