-- What of a session's bytes went to and came from which resource of the policy, as its gateway says: name → [rx, tx].
alter table vpn_sessions add column resources jsonb not null default '{}';
