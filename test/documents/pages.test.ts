import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startCommands } from './commands.ts'
import { isRun, pages, placeOf, withoutUsual } from './pages.ts'
import { runPage } from './run-page.ts'
import { prepareScene, startDeployment } from './setups.ts'

test('the commands of every page run, and print what the page shows', {
  skip: process.platform === 'win32',
}, async (t) => {
  const commands = await startCommands()
  t.after(commands.stop)
  const shared = await startDeployment(t)
  let count = 0
  for (const { file, page } of pages.filter(({ page }) => isRun(page)))
    await t.test(file, { skip: withoutUsual(page) }, async (t) => {
      const blocks = page.blocks.filter((block) => placeOf(block) === 'test')
      const { ran, problems } = await runPage(blocks, await prepareScene(t, shared, page.setups), commands.script)
      assert.deepEqual(problems, [], problems.join('\n'))
      count += ran
    })
  t.diagnostic(`${count} command blocks of ${pages.length} pages ran`)
})
