-- Enrollment tokens end with their user, and are found by the user.
create index enrollment_tokens_by_user on enrollment_tokens (tenant_id, user_id)
  where user_id is not null and revoked_at is null;
