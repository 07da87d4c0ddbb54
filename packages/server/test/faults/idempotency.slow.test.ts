import { test } from 'node:test'
import { minute } from '../../src/kernel/time.ts'
import { endAtEachStatement } from './claims.ts'

test(
  'a change under an Idempotency-Key is made once, whichever of its statements was the last',
  {
    timeout: 20 * minute,
  },
  (t) => endAtEachStatement(t, { from: 0, step: 1 }),
)
