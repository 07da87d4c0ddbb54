import { test } from 'node:test'
import { minute } from '../../src/kernel/time.ts'
import { endFirstStarts } from './starts.ts'

test(
  'a first start that was ended before any of its statements is finished by the next one',
  {
    timeout: 20 * minute,
  },
  (t) => endFirstStarts(t, { from: 0, step: 1 }),
)
