-- When a user last proved a second factor, which rules of the policy may ask for. Null: never, or the factor is gone.

alter table users add column mfa_at timestamptz;
