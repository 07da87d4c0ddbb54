import { test } from 'node:test'
import { takeWays } from '../support/actors/role-escalation.ts'

test('no role makes its holder stronger by any way, or lets them act as anyone who is', { timeout: 120_000 }, (t) =>
  takeWays(t),
)
