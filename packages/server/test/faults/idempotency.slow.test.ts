import { test } from 'node:test'
import { minute } from '../../src/kernel/time.ts'
import { endAtEachStatement } from './claims.ts'

test(
  'a change under an Idempotency-Key is made once, interrupted at any of its statements',
  {
    timeout: 20 * minute,
  },
  (t) => endAtEachStatement(t, { from: 0, step: 1 }),
)
