import { test } from 'node:test'
import { sendHostileInput } from './hostile.ts'

test('hostile input is refused or taken, six times at each place: the server answers 500 to none', (t) =>
  sendHostileInput(t, 6))
