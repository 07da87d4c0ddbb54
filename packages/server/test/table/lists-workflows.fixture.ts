type Given = { tenant: string; few: number; at: string; nth: (what: string) => string; each: (n: number) => string }

const party = JSON.stringify({ type: 'user', id: null, name: null })

/** Locks, most of them released, and runs, most of them of workflows. */
export const workflowRows = ({ tenant: t, few, at, nth, each }: Given): string[] => [
  `insert into locks (tenant_id, lock_id, target_type, target_id, reason, created_by, created_at, released_by, released_at)
    select ${t}, ${nth('lock')}, case when i < 9 then 'gateway' else 'device' end, ${nth('target')}, 'tried', '${party}', ${at},
      case when i % 20 > 0 then '${party}'::jsonb end, case when i % 20 > 0 then now() end ${each(few)}`,
  `insert into workflow_runs (tenant_id, workflow_run_id, kind, workflow, params, status, second_approver, requested_by,
      seq_before, evidence_digest, claimed_until, created_at, started_at, finished_at)
    select ${t}, ${nth('run')}, case when i < 9 then 'playbook' else 'workflow' end, 'tried', '{}', 'succeeded', false, '${party}',
      0, '', now(), ${at}, ${at}, ${at} ${each(few)}`,
]
