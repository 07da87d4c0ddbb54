-- Whose rights bound an API key: the user who made it, or the service account that it was made for. The user may be of
-- another tenant (a platform administrator's), so no foreign key binds them. Null for keys of the deployment itself.

alter table api_keys
  add column owner_tenant_id uuid,
  add column owner_user_id uuid,
  add constraint api_key_owner_is_whole check ((owner_tenant_id is null) = (owner_user_id is null));
