import { test } from 'node:test'
import { refuseWrongCallers } from './refuses.ts'

test('every route refuses wrong callers', (t) => refuseWrongCallers(t, { everyCaller: false }))
