type Given = {
  id: Record<'release', string>
  tenant: string
  few: number
  at: string
  nth: (what: string) => string
  each: (n: number) => string
}

/** Releases, most of them withdrawn, and the packages of one; events that a receiver refused. */
export const updateRows = ({ id, tenant: t, few, at, nth, each }: Given): string[] => [
  `insert into releases (tenant_id, release_id, version, channel, status, notes, severity, mandatory, rollout_percent,
      rollout_group_ids, created_at, updated_at, published_at)
    select ${t}, case when i = 1 then '${id.release}' else ${nth('release')} end, '7.0.' || i,
      case when i < 9 then 'canary' else 'stable' end,
      case when i < 9 then 'draft' when i < 20 then 'published' when i < 25 then 'paused' when i < 30 then 'halted'
        else 'withdrawn' end, '', 'normal', false, 100, '{}', ${at}, ${at}, case when i >= 9 then now() end ${each(few)}`,
  `insert into package_blobs (tenant_id, blob_id, sha256, size, state, since)
    select ${t}, ${nth('blob')}, md5('a' || i) || md5('b' || i), 1, 'stored', now() ${each(few)}`,
  `insert into release_packages (tenant_id, package_id, release_id, blob_id, platform, arch, filename, created_at)
    select ${t}, ${nth('package')}, case when i < 51 then '${id.release}' else ${nth('release')} end, ${nth('blob')},
      'linux', 'x64', 'client' || i, ${at} ${each(few)}`,
  `insert into siem_dead_letters (tenant_id, connector_id, seq, event_id, kind, reason, failed_at)
    select ${t}, c.connector_id, i, ${nth('event')}, 'login.failed', 'It was refused.', ${at}
    from siem_connectors c, generate_series(1, ${few}) as i where c.tenant_id = ${t}`,
]
