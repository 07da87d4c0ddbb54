-- The API keys that a user has or made are found without reading the others.
create index api_keys_by_owner on api_keys (owner_user_id, tenant_id) where owner_user_id is not null;
create index api_keys_by_maker on api_keys (created_by, tenant_id) where created_by is not null;
