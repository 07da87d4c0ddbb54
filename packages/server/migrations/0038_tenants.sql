-- Tenants come and go: suspended, to be deleted after a delay, deleted (a tombstone whose rows are erased).
alter table tenants
  add column display_name text not null default '',
  add column plan_id uuid,
  add column limits jsonb not null default '{}',
  add column suspended_at timestamptz,
  add column delete_after timestamptz,
  add column deleted_at timestamptz,
  add column erased_at timestamptz,
  add column updated_at timestamptz not null default now(),
  add column name_key text collate "C" generated always as (lower(name)) stored;
alter table tenants
  add column status text not null generated always as (case
    when deleted_at is not null then 'deleted'
    when delete_after is not null then 'deleting'
    when suspended_at is not null then 'suspended'
    else 'active' end) stored,
  add constraint only_deleted_tenants_are_erased check (erased_at is null or deleted_at is not null);
create index tenants_by_creation on tenants (created_at, tenant_id) where deleted_at is null;
create index tenants_by_name on tenants (name_key, tenant_id) where deleted_at is null;
create index tenants_to_erase on tenants (tenant_id) where erased_at is null and delete_after is not null;

-- What a tenant may have; a limit that is absent or null is none. Of several for a metric the least counts.
create table plans (
  plan_id uuid primary key,
  name text not null,
  name_key text collate "C" not null generated always as (lower(name)) stored,
  limits jsonb not null default '{}',
  features text[] not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz
);
create unique index plan_name_is_unique on plans (name) where deleted_at is null;
create index plans_by_name on plans (name_key, plan_id) where deleted_at is null;
create index plans_by_creation on plans (created_at, plan_id) where deleted_at is null;
-- Plans are of no tenant, so nothing but the rules holds the two together: whoever gives a plan locks it.
create index tenants_by_plan on tenants (plan_id) where plan_id is not null;

-- The license in force: none (the community license applies), or one row. Without a token no good one was ever there
-- though one is configured: nothing can be added until there is.
create table licenses (
  singleton boolean primary key default true constraint there_is_one_license check (singleton),
  token text,
  claims jsonb,
  issued_at timestamptz,
  ends_at timestamptz,
  loaded_at timestamptz,
  -- Why the file that was read last was not taken.
  problem text,
  problem_at timestamptz,
  constraint license_says_what_it_is check ((token is null) = (claims is null) and (token is null) = (issued_at is null)
    and (token is null) = (ends_at is null) and (token is not null or problem is not null))
);
create table deployment (
  singleton boolean primary key default true constraint there_is_one_deployment check (singleton),
  deployment_id uuid not null default gen_random_uuid(),
  -- The newest time that was ever seen: a clock that is set back revives no license.
  seen_at timestamptz not null default clock_timestamp()
);
insert into deployment default values;
grant select, insert, update, delete on plans, licenses to holdfast_app;
grant select, update on deployment to holdfast_app;

-- How many a tenant has of what is limited: `used`, and what came and went since that was folded. The database itself
-- writes what comes and goes, in the transaction that adds or takes away; who adds locks the counter first.
create table entitlement_counters (
  tenant_id uuid not null references tenants,
  metric text not null
    constraint metric_is_counted check (metric in ('users', 'devices', 'gateways', 'sessions', 'api_keys')),
  used bigint not null default 0,
  primary key (tenant_id, metric)
);
call raise_tenant_wall('entitlement_counters');
create table entitlement_moves (
  tenant_id uuid not null references tenants,
  metric text not null,
  move_id bigint generated always as identity,
  delta bigint not null,
  at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, metric, move_id)
);
call raise_tenant_wall('entitlement_moves');
create table entitlement_alerts (
  tenant_id uuid not null references tenants,
  metric text not null,
  level text not null constraint alert_level_is_known check (level in ('approaching', 'at_limit', 'over')),
  since timestamptz not null,
  primary key (tenant_id, metric)
);
call raise_tenant_wall('entitlement_alerts');

-- What was used, by hour: the most of a metric and what it came to, where it moved; bytes and new sessions by gateway.
create table usage_levels (
  tenant_id uuid not null references tenants,
  metric text not null,
  hour timestamptz not null,
  peak bigint not null,
  used bigint not null,
  primary key (tenant_id, metric, hour)
);
call raise_tenant_wall('usage_levels');
create table usage_traffic (
  tenant_id uuid not null references tenants,
  hour timestamptz not null,
  gateway_id uuid not null,
  rx_bytes bigint not null,
  tx_bytes bigint not null,
  sessions bigint not null,
  primary key (tenant_id, hour, gateway_id)
);
call raise_tenant_wall('usage_traffic');

-- A session that the plan has no room for is ended from here too.
drop index vpn_sessions_cut;
create index vpn_sessions_cut on vpn_sessions (tenant_id, ended_at)
  where end_reason in ('admin', 'revoked', 'suspended', 'entitlement_exceeded');

-- Keys that ran out are counted until that is noted.
alter table api_keys add column expired_at timestamptz;
create index api_keys_to_expire on api_keys (tenant_id, expires_at)
  where expires_at is not null and expired_at is null and revoked_at is null;

create function begin_counting() returns trigger language plpgsql as $$
begin
  insert into entitlement_counters (tenant_id, metric)
    select new.tenant_id, metric from unnest(array['api_keys', 'devices', 'gateways', 'sessions', 'users']) as metric;
  return null;
end $$;
create trigger begin_counting after insert on tenants for each row execute function begin_counting();

-- One move for each statement that changes how many rows of a table fit the condition.
create procedure count_entitled(tbl text, metric text, condition text) language plpgsql as $$
begin
  execute format($f$
    create function count_%1$s() returns trigger language plpgsql as $b$
    begin
      if tg_op = 'INSERT' then
        insert into entitlement_moves (tenant_id, metric, delta)
          select tenant_id, %2$L, count(*) from came where %3$s group by tenant_id order by tenant_id;
      elsif tg_op = 'DELETE' then
        insert into entitlement_moves (tenant_id, metric, delta)
          select tenant_id, %2$L, -count(*) from went where %3$s group by tenant_id order by tenant_id;
      else
        insert into entitlement_moves (tenant_id, metric, delta)
          select tenant_id, %2$L, sum(n) from (select tenant_id, 1 as n from came where %3$s
            union all select tenant_id, -1 from went where %3$s) as moved
          group by tenant_id having sum(n) <> 0 order by tenant_id;
      end if;
      return null;
    end $b$;
    create trigger count_added after insert on %1$s referencing new table as came
      for each statement execute function count_%1$s();
    create trigger count_changed after update on %1$s referencing old table as went new table as came
      for each statement execute function count_%1$s();
    create trigger count_removed after delete on %1$s referencing old table as went
      for each statement execute function count_%1$s();
    insert into entitlement_counters (tenant_id, metric, used)
      select t.tenant_id, %2$L, (select count(*) from %1$s c where c.tenant_id = t.tenant_id and %3$s) from tenants t;
  $f$, tbl, metric, condition);
end $$;
lock table users, devices, gateways, vpn_sessions, api_keys in share row exclusive mode;
call count_entitled('users', 'users', $$status = 'active' and deleted_at is null$$);
call count_entitled('devices', 'devices', $$status in ('pending', 'active')$$);
call count_entitled('gateways', 'gateways', 'deleted_at is null');
call count_entitled('vpn_sessions', 'sessions', $$state = 'active'$$);
call count_entitled('api_keys', 'api_keys', 'revoked_at is null and expired_at is null');
drop procedure count_entitled(text, text, text);

-- How many tenants there are, for who may see only one of them.
create function tenant_count() returns bigint language sql stable security definer
  set search_path = pg_catalog, public, pg_temp as
  $$ select count(*) from tenants where deleted_at is null $$;
revoke all on function tenant_count() from public;
grant execute on function tenant_count() to holdfast_app;

create function tenants_with_plan(of_plan uuid) returns bigint language sql stable security definer
  set search_path = pg_catalog, public, pg_temp as
  $$ select count(*) from tenants where plan_id = of_plan and deleted_at is null $$;
revoke all on function tenants_with_plan(uuid) from public;
grant execute on function tenants_with_plan(uuid) to holdfast_app;

-- What a tenant has by its rows, to be compared with what was counted.
create function entitled_now(of_tenant uuid) returns table (metric text, found bigint) language sql stable as $$
  select 'users', count(*) from users where tenant_id = of_tenant and status = 'active' and deleted_at is null
  union all
  select 'devices', count(*) from devices where tenant_id = of_tenant and status in ('pending', 'active')
  union all
  select 'gateways', count(*) from gateways where tenant_id = of_tenant and deleted_at is null
  union all
  select 'sessions', count(*) from vpn_sessions where tenant_id = of_tenant and state = 'active'
  union all
  select 'api_keys', count(*) from api_keys where tenant_id = of_tenant and revoked_at is null and expired_at is null
$$;
