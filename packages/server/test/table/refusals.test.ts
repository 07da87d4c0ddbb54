import { test } from 'node:test'
import { refuseWrongCallers } from './refusals.ts'

test('every route refuses wrong callers', (t) => refuseWrongCallers(t, { everyCaller: false }))
