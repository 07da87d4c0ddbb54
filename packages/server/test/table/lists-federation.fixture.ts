type Given = {
  id: Record<'user' | 'provider' | 'rareProvider' | 'directory' | 'rareDirectory', string>
  tenant: string
  rows: number
  few: number
  at: string
  nth: (what: string) => string
  each: (n: number) => string
}

/**
 * Providers, linked accounts, sign-ins in progress, directories and their runs. Most of them belong to one provider or
 * directory.
 */
export const federationRows = ({ id, tenant: t, rows, few, at, nth, each }: Given): string[] => [
  `insert into identity_providers (tenant_id, provider_id, kind, name, enabled, sign_in, enrollment, provisioning, claims,
      role_mappings, oidc, created_at, updated_at)
    select ${t}, case i when 1 then '${id.provider}' when 2 then '${id.rareProvider}' else ${nth('provider')} end, 'oidc',
      case when i < 9 then 'zone' else 'provider' end || i, i < 60, i < 60, i < 60, 'none', real.claims, '[]', real.oidc,
      ${at}, ${at}
    from generate_series(1, ${few}) as i, (select claims, oidc from identity_providers limit 1) as real`,
  `insert into user_identities (tenant_id, provider_id, issuer, subject, user_id, provisioned, linked_at)
    select ${t}, case when i < 9 then '${id.rareProvider}'::uuid else '${id.provider}'::uuid end, 'https://192.0.2.1',
      'subject' || i, case when i < 9 then '${id.user}' else ${nth('user')} end, true, ${at} ${each(rows)}`,
  `insert into sign_in_requests (tenant_id, state_digest, provider_id, browser_digest, nonce, verifier_jwe, expires_at)
    select ${t}, decode(md5('s' || i), 'hex'), '${id.provider}', decode(md5('b' || i), 'hex'), '', '',
      now() + interval '10 minutes' ${each(few)}`,
  `insert into directories (tenant_id, directory_id, provider, generated_at, created_at)
    select ${t}, case i when 1 then '${id.directory}' when 2 then '${id.rareDirectory}' else ${nth('directory')} end,
      case i when 1 then 'Corp' when 2 then 'Rare' else 'directory' || i end, ${at}, ${at} ${each(few)}`,
  `insert into directory_sources (tenant_id, source_id, directory_id, kind, enabled, issuer, client_id, interval_minutes,
      take_users, take_groups, group_names, next_run_at, created_at, updated_at, deleted_at)
    select ${t}, ${nth('source')}, ${nth('directory')}, 'keycloak', true, 'https://login.example.com/realms/' || i, 'sync',
      60, 'all', 'all', '[]', ${at}, ${at}, ${at}, case when i % 3 = 0 then now() end
    from generate_series(3, ${few}) as i`,
  // The successful runs and the held one are older than all the failures.
  `insert into directory_runs (tenant_id, run_id, directory_id, provider, snapshot_id, generated_at, status, counts,
      started_at, finished_at)
    select ${t}, ${nth('run')}, case when i % 1000 = 9 then '${id.rareDirectory}'::uuid else '${id.directory}'::uuid end,
      case when i % 1000 = 9 then 'Rare' else 'Corp' end, 'snapshot' || i, ${at},
      case when i < 20 then 'applied' when i = 20 then 'held' when i % 7 = 0 then 'dry_run' else 'failed' end,
      real.counts, ${at}, ${at}
    from generate_series(1, ${rows}) as i, (select counts from directory_runs limit 1) as real`,
]
