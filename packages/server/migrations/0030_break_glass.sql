-- Who signs in with a password where identity providers are the only way in; only local users ever have one.
alter table users
  add column break_glass boolean not null default false,
  add constraint break_glass_user_is_a_local_person check (not break_glass or (source = 'local' and kind = 'person')),
  add constraint password_is_of_a_local_user check (source = 'local' or password_phc is null);
create index users_break_glass on users (tenant_id, user_id) where break_glass;
