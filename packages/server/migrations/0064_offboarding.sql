-- What of a user ends with them is found by the user.
create index api_keys_by_owner on api_keys (tenant_id, owner_user_id)
  where owner_user_id is not null and revoked_at is null;
create index enrollment_tokens_by_user on enrollment_tokens (tenant_id, user_id)
  where user_id is not null and revoked_at is null;
