import { test } from 'node:test'
import { minute } from '../../src/kernel/time.ts'
import { endFirstStarts } from './starts.ts'

test(
  'a first start interrupted before any of its statements is completed by the next one',
  {
    timeout: 20 * minute,
  },
  (t) => endFirstStarts(t, { from: 0, step: 1 }),
)
