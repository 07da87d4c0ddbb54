-- A policy with a sub-select can't be pushed to where the rows are. The functions are stable and written into the query
-- by the planner, so a condition on the tenant is served by an index as before.
create or replace procedure raise_tenant_wall(tbl regclass) language plpgsql as $$
begin
  execute format('alter table %s enable row level security', tbl);
  execute format('create policy tenant_wall on %s using (across_tenants() or tenant_id = current_tenant())', tbl);
  execute format('grant select, insert, update, delete on %s to holdfast_app', tbl);
end $$;
do $$
declare
  walled record;
begin
  for walled in select tablename from pg_policies where schemaname = 'public' and policyname = 'tenant_wall' loop
    execute format('alter policy tenant_wall on %I using (across_tenants() or tenant_id = current_tenant())', walled.tablename);
  end loop;
end $$;
