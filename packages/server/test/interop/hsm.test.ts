import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startKit } from '../kit.ts'
import { createSoftHsm } from '../token.ts'

test('smoke', async (t) => {
  const token = createSoftHsm()
  const kit = await startKit(t, { config: { pkcs11: token.config } })
  console.log(kit.logs)
  console.log(await kit.admin.listSigners({ query: {} }))
  kit.after(() => token.end())
})
