import { test } from 'node:test'
import { takeWays } from '../stronger.ts'

// All ways of all pairs of roles: role-escalation.slow.test.ts.
test('no role lets its holder gain permissions, or act as a stronger user', (t) => takeWays(t, 4))
