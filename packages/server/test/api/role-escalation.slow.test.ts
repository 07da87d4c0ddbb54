import { test } from 'node:test'
import { tryEscalations } from '../support/actors/role-escalation.ts'

test('no role lets its holder gain permissions in any way, or act as a stronger user', { timeout: 120_000 }, (t) =>
  tryEscalations(t),
)
