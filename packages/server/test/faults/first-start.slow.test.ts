import { test } from 'node:test'
import { endFirstStarts } from './starts.ts'

test('a first start that was ended before any of its statements is finished by the next one', (t) =>
  endFirstStarts(t, { from: 0, step: 1 }))
