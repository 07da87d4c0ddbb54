-- Who made an account of somebody else, or set its password, factor or identity, and when last: such a person could act
-- as that account, so it is no second person for what they ask for.
create table credential_setters (
  tenant_id uuid not null,
  user_id uuid not null,
  set_by text not null,
  set_at timestamptz not null,
  primary key (tenant_id, user_id, set_by),
  foreign key (tenant_id, user_id) references users on delete cascade
);
call raise_tenant_wall('credential_setters');
