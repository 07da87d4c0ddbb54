import assert from 'node:assert/strict'

/**
 * Asserts the rate of sixty a minute for concurrent requests: ten pass, and one more for each second since their start.
 */
export function assertOneASecond(answers: readonly { status: number }[], passing: number, began: number): void {
  const passed = answers.filter(({ status }) => status === passing).length
  const most = 11 + (performance.now() - began) / 1000
  assert.ok(passed >= 10 && passed <= most, `${passed} of ${answers.length}, not 10 to ${most}`)
}
