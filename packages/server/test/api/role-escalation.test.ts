import { test } from 'node:test'
import { tryEscalations } from '../support/actors/role-escalation.ts'

// All ways of all pairs of roles: role-escalation.slow.test.ts.
test('no role lets its holder gain permissions, or act as a stronger user', (t) => tryEscalations(t, 4))
