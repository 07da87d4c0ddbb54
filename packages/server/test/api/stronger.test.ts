import { test } from 'node:test'
import { takeWays } from '../support/actors/role-escalation.ts'

// All ways of all pairs of roles: stronger.slow.test.ts.
test('no role makes its holder stronger, or lets them act as someone who is', (t) => takeWays(t, 4))
