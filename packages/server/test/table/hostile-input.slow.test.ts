import { test } from 'node:test'
import { sendHostileInput } from './hostile-input.ts'

test('hostile input gets no 500 at any place, six times each', (t) => sendHostileInput(t, 6))
