-- What a stream goes by in its next turn: how many events are tried at once, and whether its receiver took long over
-- the last ones. A replay of dead letters waits by itself: what is new is not held up by it. What is sent again from an
-- earlier place is another run, and other messages for a receiver that knows those it had.
alter table siem_streams
  add column batch_events integer not null default 500,
  add column is_slow boolean not null default false,
  add column runs integer not null default 0,
  add column replay_failures integer not null default 0,
  add column replay_due_at timestamptz not null default now();

-- Only an export was refused it: the connector's own stream has delivered it, or will.
alter table siem_dead_letters add column of_export boolean not null default false;
