import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openapi } from '@holdfast/contract/openapi'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import openapiTypes, { astToString } from 'openapi-typescript'
import { startKit } from '../support/deployment/deployment.ts'

test('Redocly finds nothing to say about the API description', async () => {
  const config = await createConfig({ extends: ['recommended'] })
  const lint = async (description: object) =>
    (await lintFromString({ source: JSON.stringify(description), config })).map((p) => `${p.ruleId}: ${p.message}`)
  assert.deepEqual(await lint(openapi()), [])
  assert.notDeepEqual(await lint({ ...openapi(), tags: [{ name: 'a' }], servers: [] }), [], 'it does look')
})

test('a client that openapi-typescript generates compiles, and runs a story', async (t) => {
  const directory = join(import.meta.dirname, '../.generated')
  mkdirSync(directory, { recursive: true })
  t.after(() => rmSync(directory, { recursive: true }))
  writeFileSync(join(directory, 'schema.d.ts'), astToString(await openapiTypes(JSON.stringify(openapi()))))
  copyFileSync(join(import.meta.dirname, 'client-story.txt'), join(directory, 'client-story.ts'))
  const compiler = join(import.meta.dirname, '../../../../node_modules/typescript/bin/tsc')
  const options = '--ignoreConfig --noEmit --strict --skipLibCheck --module nodenext --target es2024 --types node'
  const compile = () =>
    execFileSync(
      process.execPath,
      [compiler, ...options.split(' '), '--allowImportingTsExtensions', 'client-story.ts'],
      {
        cwd: directory,
        encoding: 'utf8',
      },
    )
  compile()
  const { story } = await import(join(directory, 'client-story.ts'))
  const kit = await startKit(t)
  assert.deepEqual(await story(kit.url, kit.publicUrl, kit.adminKey), {
    status: 'suspended',
    refusal: 'validation_error',
    kinds: ['device.changed', 'device.enrolled'],
  })
})
