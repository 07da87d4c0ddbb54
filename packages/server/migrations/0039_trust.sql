-- Keys are made, put to use, replaced and retired one by one. A key that is retired has no private half any more.
alter table signing_keys
  add column provider text not null default 'local'
    constraint signer_provider_is_known check (provider in ('local', 'pkcs11')),
  add column activated_at timestamptz,
  add column retire_after timestamptz,
  add column retired_at timestamptz,
  alter column private_jwe drop not null;
update signing_keys set activated_at = created_at where state = 'active';
create unique index one_pending_signer_for_a_purpose on signing_keys (tenant_id, purpose) where state = 'pending';
create index signing_keys_by_creation on signing_keys (tenant_id, created_at, signer_id);
create index signing_keys_retiring on signing_keys (retire_after) where state = 'retiring';

-- A root certified by another root of its tenant (RFC 4210 §4.4): who trusts one of them reaches what is under the other.
create table cross_certificates (
  tenant_id uuid not null,
  issuer_id uuid not null,
  subject_id uuid not null,
  certificate text not null,
  not_after timestamptz not null,
  created_at timestamptz not null,
  primary key (tenant_id, issuer_id, subject_id),
  foreign key (tenant_id, issuer_id) references signing_keys,
  foreign key (tenant_id, subject_id) references signing_keys
);
call raise_tenant_wall('cross_certificates');

-- Which keys a set lists, so that who knows an old one is led from set to set.
alter table trust_sets add column trust_kids text[] not null default '{}';
alter table trust_sets add column anchor_kids text[] not null default '{}';

alter table device_activity add column trust_version bigint;

-- Security Policy Certificates. The serial number of the certificate is the 16 bytes of `spc_id`. They outlive their
-- devices, for who asks what became of one.
create table spcs (
  tenant_id uuid not null,
  spc_id uuid not null,
  device_id uuid not null,
  user_id uuid,
  issuer_id uuid not null,
  status text not null constraint spc_status_is_known check (status in ('active', 'superseded', 'revoked')),
  certificate text not null,
  spki_sha256 text not null,
  fingerprint_sha256 text not null,
  not_before timestamptz not null,
  not_after timestamptz not null,
  renew_after timestamptz not null,
  policy_channel text,
  policy_version bigint,
  policy_digest text,
  replaces uuid,
  revoke_after timestamptz,
  revoked_at timestamptz,
  revocation_reason text,
  issued_at timestamptz not null,
  primary key (tenant_id, spc_id),
  foreign key (tenant_id, issuer_id) references signing_keys,
  constraint revoked_spc_says_when_and_why
    check ((status = 'revoked') = (revoked_at is not null and revocation_reason is not null)),
  constraint superseded_spc_says_until_when check (status <> 'superseded' or revoke_after is not null)
);
create unique index spc_key_is_unique_in_its_tenant on spcs (tenant_id, spki_sha256);
create index spcs_by_issue on spcs (tenant_id, issued_at, spc_id);
create index spcs_by_end on spcs (tenant_id, not_after, spc_id);
create index spcs_by_device on spcs (tenant_id, device_id, issued_at, spc_id);
create index spcs_not_good on spcs (tenant_id, issuer_id, not_after) where status <> 'active';
create index spcs_superseded on spcs (revoke_after) where status = 'superseded';
call raise_tenant_wall('spcs');

-- The certificate revocation list of each CA; none was issued yet where `der` is null. `revision` grows with what it
-- must list, `issued_revision` is what the newest list says.
create table crls (
  tenant_id uuid not null,
  issuer_id uuid not null,
  number bigint not null default 0,
  revision bigint not null default 0,
  issued_revision bigint not null default 0,
  this_update timestamptz,
  next_update timestamptz,
  der bytea,
  primary key (tenant_id, issuer_id),
  foreign key (tenant_id, issuer_id) references signing_keys
);
create index crls_due on crls (this_update);
call raise_tenant_wall('crls');
