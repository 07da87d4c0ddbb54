import { test } from 'node:test'
import { endAtEachStatement } from './claims.ts'

test('a change under an Idempotency-Key is made once, whichever of its statements was the last', (t) =>
  endAtEachStatement(t, { from: 0, step: 1 }))
