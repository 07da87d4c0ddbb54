-- A credential names its tenant, so its look-up does too, and finds one row or none.

drop index admin_sessions_by_secret;
create unique index admin_sessions_by_secret on admin_sessions (tenant_id, secret_digest);

drop index api_keys_by_lookup;
create unique index api_keys_by_lookup on api_keys (tenant_id, lookup);

drop index enrollment_tokens_by_lookup;
create unique index enrollment_tokens_by_lookup on enrollment_tokens (tenant_id, lookup);

drop index gateway_secrets_by_lookup;
create unique index gateway_secrets_by_lookup on gateway_secrets (tenant_id, lookup);
