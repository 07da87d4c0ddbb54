import { test } from 'node:test'
import { takeWays } from '../stronger.ts'

test('no role lets its holder gain permissions in any way, or act as a stronger user', { timeout: 120_000 }, (t) =>
  takeWays(t),
)
