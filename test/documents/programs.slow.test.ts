import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startCommands } from './commands.ts'
import { isCovered, isRun, neededBy, pages, placeOf, withoutUsual } from './pages.ts'
import { approveCode, endKeycloak, programNamed } from './programs.ts'
import { runPage } from './run-page.ts'
import { prepareScene, startDeployment } from './setups.ts'

/** Keycloak starts within minutes. */
const timeout = 900_000

test('pages that need programs run with them, and the programs accept the files of the page', {
  timeout,
}, async (t) => {
  const commands = await startCommands(approveCode)
  t.after(endKeycloak)
  t.after(commands.stop)
  const shared = await startDeployment(t)
  let count = 0
  for (const { file, page } of pages) {
    const needed = neededBy(page)
    if (needed.length === 0 || !isRun(page) || isCovered(file)) continue
    const needs = needed.map(programNamed)
    const skip =
      withoutUsual(page) || (needs.map((program) => program.skip()).find((missing) => missing !== false) ?? false)
    await t.test(file, { skip, timeout }, async (t) => {
      const setUps = needs.flatMap(({ setUp }) => (setUp ? [setUp(page)] : []))
      const scene = await prepareScene(t, shared, page.setups, setUps)
      const blocks = page.blocks.filter((block) => ['test', 'interop'].includes(placeOf(block)))
      const { problems } = await runPage(blocks, scene, commands.script)
      assert.deepEqual(problems, [], problems.join('\n'))
      count += blocks.filter((block) => placeOf(block) === 'interop').length
    })
  }
  t.diagnostic(`${count} blocks that need programs ran`)
})
