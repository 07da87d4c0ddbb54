import { test } from 'node:test'
import { refuseWrongCallers } from './refuses.ts'

test('every route refuses every wrong caller', (t) => refuseWrongCallers(t, { everyCaller: true }))
