-- A key is done from the commit of its change on, whether or not its answer was kept; only one attempt can get it there.
alter table idempotency_keys
  add column state text not null default 'started'
    constraint claim_state_is_known check (state in ('started', 'done')),
  add column attempt uuid not null default gen_random_uuid();
update idempotency_keys set state = 'done' where answer_jwe is not null;
