-- A tenant is deleted for good: a clock that leapt decides that no more than what is purged.
create or replace function refuse_while_on_hold() returns trigger language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
begin
  perform admit_purge();
  if is_on_hold(old.tenant_id) then
    raise exception 'a legal hold keeps the tenant' using errcode = 'insufficient_privilege';
  end if;
  if time_to_purge() is null then
    raise exception 'the clock is not trusted' using errcode = 'insufficient_privilege';
  end if;
  return new;
end $$;

-- What is distrusted for long already, after a restore for a week, is trusted no sooner because the clock is off, too.
create or replace function check_clock(witness timestamptz) returns timestamptz language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
declare
  moment timestamptz := clock_timestamp();
  clock retention_clock;
  leap interval;
begin
  insert into retention_clock (seen_at, trusted_from) values (moment, '-infinity') on conflict do nothing;
  select * into clock from retention_clock for update;
  moment := clock_timestamp();
  leap := greatest(moment - clock.seen_at, clock.seen_at - moment);
  if moment > clock.seen_at + interval '3 days' or moment < clock.seen_at - interval '10 minutes'
    or witness not between moment - interval '10 minutes' and moment + interval '10 minutes' then
    clock.trusted_from := greatest(clock.trusted_from, moment + greatest(leap, interval '1 day'));
  end if;
  -- Also from before a clock was put back: nothing is waited for longer than that.
  clock.trusted_from := least(clock.trusted_from, moment + interval '30 days');
  update retention_clock set seen_at = moment, trusted_from = clock.trusted_from;
  return nullif(clock.trusted_from, '-infinity');
end $$;

-- What a tenant is limited and billed by is no data of its own: it goes by the days of the deployment, whatever the
-- tenant set for metering, and never within the month that is still added up.
create function usage_begins(moment timestamptz) returns timestamptz language sql stable as $$
  select least(moment - make_interval(days => p.days), date_trunc('month', moment, 'UTC'))
  from retention_periods p where p.class = 'metering'
$$;
