import { test } from 'node:test'
import { refuseWrongCallers } from './refusals.ts'

test('every route refuses every wrong caller', (t) => refuseWrongCallers(t, { everyCaller: true }))
