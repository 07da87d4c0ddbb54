import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Answered, startServer, startShell } from '../test/support/shell.ts'

const refused = (detail: string, field?: string): Answered => ({
  status: 422,
  body: { error: 'validation_error', detail, request_id: 'r-1', ...(field && { errors: [{ field, message: 'x' }] }) },
})

test('everything that a command lacks is named at once, and its help marks it', async (t) => {
  const { run } = await startShell(t)
  for (const [line, missing] of [
    ['directory source create', '<directory>, --kind <kind>, --issuer <url>, --client-id <id>'],
    ['directory source create corp --issuer https://x.example', '--kind <kind>, --client-id <id>'],
    ['update offered', '<device>'],
    ['user link', '<user>, --provider <provider>, --subject <sub>'],
    ['role grant', '<user>, <role>'],
    ['user suspend', '<user...>'],
  ] as const) {
    const { code, err } = await run(line.split(' '))
    const [first, second] = err.split('\n')
    assert.deepEqual([code, first], [2, `error: missing ${missing}`])
    assert.match(second ?? '', /^\(see: holdfast .* --help\)$/)
  }
  const { out } = await run(['user', 'link', '--help'])
  assert.match(out, /^Usage: holdfast user link --provider <provider> --subject <sub> \[options\] <user>\n/)
  assert.match(out, /--subject <sub> +what it calls the account \(required\)\n/)
  assert.equal((await run(['login'])).err, 'Error: Which server? Add --url, and either --username or --api-key.\n')
})

test('the server speaks of fields, the command line of its options', async (t) => {
  let answer = refused('')
  const { url } = await startServer(t, () => answer)
  const { run, home } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  const policy = join(home, 'policy.json')
  writeFileSync(policy, '{}')
  for (const [line, detail, said] of [
    [
      'policy promote',
      'override_gate: the gate has failed: give override_gate: true',
      '--override-gate: the gate has failed: give --override-gate',
    ],
    [
      `policy publish ${policy} --channel stable`,
      'supersede: publish with supersede: true, or promote the canary with from: {"channel": "canary"}',
      '--supersede: publish with --supersede, or promote the canary with: holdfast policy promote',
    ],
    ['policy rollback', 'from: name one as from: {"version": <number>}', 'name one as --to <number>'],
    ['token create --group grp_1', 'group_ids: no such group', '--group: no such group'],
    ['user create anna', 'username: is already taken', 'username: is already taken'],
    ['group update grp_1 --name x', 'name: is already taken', '--name: is already taken'],
  ] as const) {
    answer = refused(detail)
    assert.equal((await run(line.split(' '))).err.split('\n')[0], `Error: ${said} (request r-1)`, line)
  }
})

test('an error of several lines has its line breaks, and nothing of it can steer a terminal or pass for ours', async (t) => {
  const { url } = await startServer(t, () => refused('first\nError: forged\r\u001b[2J\n\u009b31m'))
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  const { err } = await run(['whoami'])
  assert.equal(err, 'Error: first\n  Error: forged\\u000d\\u001b[2J\n  \\u009b31m (request r-1)\n')
})
