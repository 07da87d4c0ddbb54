import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { test } from 'node:test'
import * as sdk from '@holdfast/sdk'
import * as jose from 'jose'
import { encodeId } from '../../src/kernel/ids.ts'
import { type Kit, startKit } from '../support/deployment/deployment.ts'
import { runOnFiles, type ToolName, without } from './tools.ts'

const page = (name: string) => readFile(new URL(`../../../../docs/${name}`, import.meta.url), 'utf8')
const guide = `${await page('posture.md')}\n${await page('posture-assertions.md')}`
const blocks = (language: string) =>
  [...guide.matchAll(RegExp(`^\`\`\`${language}(?: .*?)?\\n(.*?)^\`\`\`$`, 'gms'))].map(([, code = '']) => code)

/** Runs the snippets of both pages as one function of the reader's own values. */
async function runSnippets(given: Record<string, unknown>, gives: string): Promise<Record<string, unknown>> {
  const modules = { '@holdfast/sdk': sdk, jose }
  const body = blocks('ts')
    .join('\n')
    .replaceAll(/^import (\{.*\}) from '(.*)'$/gm, (_, names, from) => `const ${names} = modules['${from}']`)
  const code = stripTypeScriptTypes(`async function run() {\n${body}\nreturn { ${gives} }\n}`)
  // The code that runs here comes from a reviewed file.
  return new Function('modules', ...Object.keys(given), `${code}\nreturn run()`)(modules, ...Object.values(given))
}

async function reader(kit: Kit) {
  const [policy = ''] = blocks('json')
  await kit.admin.publishPolicy({ body: { channel: 'stable', policy: JSON.parse(policy) } })
  const { secret: token } = await kit.admin.generateToken({ body: {} })
  const device = await sdk.enrollDevice({
    baseUrl: kit.publicUrl,
    token,
    device: { name: 'laptop', platform: 'macos' },
    dispatcher: kit.dispatcher,
  })
  // This request creates the signing key before the trust set is read.
  await device.postureAssertion()
  const said: string[] = []
  const given = {
    device,
    log: (line: string) => void said.push(line),
    nonce: randomBytes(16).toString('base64url'),
    trustSet: await kit.admin.trustAnchors(),
    tenantId: encodeId('tenant', kit.tenant),
    issuer: kit.publicUrl,
  }
  return { given, said }
}

test('the snippets about posture run: a device reports and gets an assertion, and a relying party verifies it', async (t) => {
  const kit = await startKit(t)
  const { given, said } = await reader(kit)
  const { verified, mayPass, status } = await runSnippets(given, 'verified, mayPass, status')
  assert.deepEqual([mayPass, status], [true, 'affirming'])
  const { deviceId, checks } = verified as sdk.PostureAssertion
  assert.deepEqual([deviceId, checks.map(({ id }) => id)], [given.device.id, ['disk', 'patched', 'scanner']])
  assert.deepEqual(said, [])
})

const programs = { 'python3-jwcrypto': 'jwcrypto', joserfc: 'joserfc' } as const
for (const [tool, name] of Object.entries(programs) as [ToolName, string][])
  test(`the snippet for ${name} verifies an assertion, and refuses one for another nonce, issuer or tenant`, {
    skip: without(tool),
  }, async (t) => {
    const kit = await startKit(t)
    const { given } = await reader(kit)
    const { nonce, issuer, trustSet, device } = given
    const { assertion, status } = await device.postureAssertion({ nonce })
    const [head, body, signature = ''] = assertion.split('.')
    const bent = `${head}.${body}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`
    const good = { assertion, trust_set: trustSet, issuer, nonce }
    const questions = [
      good,
      { ...good, nonce: randomBytes(16).toString('base64url') },
      { ...good, issuer: 'https://other.example' },
      { ...good, trust_set: { ...trustSet, tenant_id: 'tnt_other' } },
      { ...good, assertion: bent },
      { ...good, assertion: device.state.credential },
    ]
    const snippet = blocks('python').find((code) => code.includes(`from ${name}`)) ?? ''
    const ask = `
import json, sys
from snippet import status_of

def answer(question):
    try:
        return status_of(**question)
    except Exception as refused:
        return "refused"

print(json.dumps([answer(question) for question in json.load(open("questions.json"))]))
`
    const files = { 'snippet.py': snippet, 'ask.py': ask, 'questions.json': JSON.stringify(questions) }
    const { status: code, stdout, stderr } = await runOnFiles(tool, files, ['-B', 'ask.py'])
    assert.equal(code, 0, stderr)
    assert.deepEqual(JSON.parse(stdout), [status, ...Array(5).fill('refused')])
  })
