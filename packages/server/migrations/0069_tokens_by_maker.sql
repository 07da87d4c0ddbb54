-- The enrollment tokens that a user or an API key made are found without reading the others.
create index enrollment_tokens_by_maker on enrollment_tokens (created_by, tenant_id) where revoked_at is null;
