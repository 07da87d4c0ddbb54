import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startCommands } from './commands.ts'
import { type Page, readPage } from './page.ts'
import { commandsIn, runPage } from './run-page.ts'
import { prepareScene, startDeployment } from './setups.ts'

const root = join(import.meta.dirname, '../..')
const only = process.env.HOLDFAST_TEST_PAGES?.split(',')
const pages = globSync(['README.md', 'docs/**/*.md', 'packages/sdk/README.md'], { cwd: root })
  .filter((file) => only?.includes(file) ?? true)
  .sort()
  .map((file) => ({ file, page: pageOf(file) }))
  .filter(({ page }) => commandsIn(page).length > 0)

function pageOf(file: string): Page {
  try {
    return readPage(readFileSync(join(root, file), 'utf8'))
  } catch (error) {
    throw new Error(`${file}: ${String(error)}`)
  }
}

test('the commands of every page run, and print what the page shows', async (t) => {
  const commands = await startCommands()
  t.after(commands.stop)
  const shared = await startDeployment(t)
  let count = 0
  for (const { file, page } of pages.filter(({ page }) => !page.setups.includes('none')))
    await t.test(file, async (t) => {
      const { ran, problems } = await runPage(page, await prepareScene(t, shared, page.setups), commands.script)
      assert.deepEqual(problems, [], problems.join('\n'))
      count += ran
    })
  t.diagnostic(`${count} command blocks of ${pages.length} pages ran`)
})
