type Given = { tenant: string; few: number; at: string; nth: (what: string) => string; each: (n: number) => string }

const party = JSON.stringify({ type: 'user', id: null, name: null })

/** Locks, most of them released, runs, most of them of workflows, saved views of many people, and words of names. */
export const workflowRows = ({ tenant: t, few, at, nth, each }: Given): string[] => [
  `insert into locks (tenant_id, lock_id, target_type, target_id, reason, created_by, created_at, released_by, released_at)
    select ${t}, ${nth('lock')}, case when i < 9 then 'gateway' else 'device' end, ${nth('target')}, 'tried', '${party}', ${at},
      case when i % 20 > 0 then '${party}'::jsonb end, case when i % 20 > 0 then now() end ${each(few)}`,
  `insert into workflow_runs (tenant_id, workflow_run_id, kind, workflow, params, status, second_approver, requested_by,
      seq_before, evidence_digest, claimed_until, created_at, started_at, finished_at)
    select ${t}, ${nth('run')}, case when i < 9 then 'playbook' else 'workflow' end, 'tried', '{}', 'succeeded', false, '${party}',
      0, '', now(), ${at}, ${at}, ${at} ${each(few)}`,
  `insert into saved_views (tenant_id, view_id, owner_id, list, name, query, shared, created_at, updated_at)
    select ${t}, ${nth('view')}, ${nth('user')}, 'devices', 'view' || i, '{}', i < 90, ${at}, ${at} ${each(few)}`,
  `insert into policy_drafts (tenant_id, draft_id, name, text, size, digest, created_by, created_at, updated_at)
    select ${t}, ${nth('draft')}, 'draft' || i, '', 0, '', 'usr_' || i % 9, ${at}, ${at} ${each(few)}`,
  `insert into search_words (tenant_id, kind, place, word, subject_id)
    select ${t}, 'device', e.place, e.word, d.device_id from devices d cross join lateral search_entries(array[d.name]) e
    where d.tenant_id = ${t}
    union select ${t}, 'user', e.place, e.word, u.user_id from users u
    cross join lateral search_entries(array[u.username, u.display_name, u.email]) e where u.tenant_id = ${t}
    on conflict do nothing`,
]
