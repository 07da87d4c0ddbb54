import assert from 'node:assert/strict'
import { readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startShell } from '../../test/support/shell.ts'

async function start(t: TestContext) {
  const { run, home } = await startShell(t)
  const file = (name: string) => join(home, name)
  return { home, file, root: (...args: string[]) => run(['update', 'root', ...args]) }
}

test('a key pair is written whole or not at all', async (t) => {
  const { home, file, root } = await start(t)
  await writeFile(file('anna.pub'), 'hers')
  assert.equal((await root('keygen', file('anna'))).code, 2)
  assert.deepEqual(await readdir(home), ['anna.pub'])
  assert.equal((await root('keygen', file('ben'))).code, 0)
  if (process.platform !== 'win32') assert.equal((await stat(file('ben.key'))).mode & 0o777, 0o600)
  assert.equal((await root('keygen', file('ben'))).code, 2)
})

test('a file that is no private key signs nothing, and its text is not shown', async (t) => {
  const { file, root } = await start(t)
  await writeFile(file('root.json'), JSON.stringify({ signed: { _type: 'root' }, signatures: [] }))
  await root('keygen', file('anna'))
  for (const text of ['c2VjcmV0', '{"kty":"OKP","d":"c2VjcmV0"}', '{}']) {
    await writeFile(file('odd.key'), text)
    const { code, err } = await root('sign', file('root.json'), '--key', file('odd.key'))
    assert.equal(code, 2)
    assert.match(err, /^Error: \S+odd\.key is not (JSON|a private key that keygen created)\.\n$/)
  }
  assert.match((await root('sign', file('root.json'), '--key', file('anna.pub'))).err, /anna\.pub is not a private key/)
  assert.equal((await root('sign', file('root.json'), '--key', file('anna.key'))).code, 0)
})
