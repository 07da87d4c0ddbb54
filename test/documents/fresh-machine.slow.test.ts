import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Machine, startMachines, withoutMachines } from './machine.ts'
import { type Block, matches } from './page.ts'
import { isCommand, pages, placeOf } from './pages.ts'
import { runBlocks } from './run-page.ts'
import { selfSigned } from './setups.ts'

/** On a busy machine with two cores. Most of the time two machines install packages. */
const timeout = 90 * 60_000

const pageOf = (name: string) => {
  const found = pages.find(({ file }) => file === `docs/deploy/${name}.md`)
  assert.ok(found, `docs/deploy/${name}.md has commands`)
  return found.page
}

/** The blocks of a page for a new machine: each block of commands, with the block of its output. */
function stepsOf(name: string): Block[][] {
  const { blocks } = pageOf(name)
  return blocks.flatMap((block, at) => {
    if (!isCommand(block) || placeOf(block) !== 'fresh machine') return []
    const next = blocks[at + 1]
    return [next?.language === 'text' ? [block, next] : [block]]
  })
}

const ran = new Set<Block>()
/** Runs blocks in one shell of root, and fails with the differences to the page. */
async function follow(machine: Machine, steps: readonly Block[][]): Promise<void> {
  const outputs = mkdtempSync(join(machine.root, 'root/outputs-'))
  const variables = `OUTPUTS=${outputs.slice(machine.root.length)}\nREPOSITORY=/srv/holdfast.git\n`
  const shell = (script: string) => machine.shell(`cd\n${variables}${script}`)
  const result = await runBlocks(steps.flat(), { shell, outputs })
  const log = result.problems.length > 0 ? await machine.shell('journalctl -u holdfast -n 20 --no-pager') : undefined
  assert.deepEqual(result.problems, [], [...result.problems, log?.output].join('\n'))
  for (const block of steps.flat()) if (isCommand(block)) ran.add(block)
}

/** Puts the current commit on a machine, as the default branch of a repository. */
function makeRepository({ root }: Machine): void {
  const folder = join(root, 'srv/holdfast.git')
  mkdirSync(folder, { recursive: true })
  const here = join(import.meta.dirname, '../..')
  for (const args of [
    ['init', '--quiet', '--bare', '--initial-branch=main', folder],
    ['push', '--quiet', folder, 'HEAD:refs/heads/main'],
  ]) {
    const { status, stderr } = spawnSync('git', ['-C', here, ...args], { encoding: 'utf8' })
    assert.equal(status, 0, stderr)
  }
}

/** The next version: it has one more migration. */
const publishNextVersion = `
git clone --quiet /srv/holdfast.git /root/next
cd /root/next/packages/server/migrations
newest=$(ls | tail -n 1)
echo "comment on table tenants is 'a table of the next version';" > "$(printf %04d $((10#\${newest%%_*} + 1)))_next.sql"
git add .
git -c user.name=Next -c user.email=next@example.com commit --quiet --message 'Next version'
git push --quiet`

const acceptSecondMachine = `
runuser -u postgres -- psql -c "ALTER SYSTEM SET listen_addresses = '*'"
echo 'host holdfast holdfast 10.0.0.12/32 scram-sha-256' >> /etc/postgresql/*/main/pg_hba.conf
systemctl restart postgresql`

/** The operator has made the recipient of the backups. */
const makeRecipient =
  "holdfast backup keygen --out /root/backup.key | sed -n 's/^recipient *//p' > /etc/holdfast/backup-recipients"

const selected = process.env.HOLDFAST_TEST_PAGES !== undefined && 'these pages build on each other'
const skip = withoutMachines() || selected

test('new machines get a server by the pages, word for word, then a second replica and an upgrade', {
  skip,
  timeout,
}, async (t) => {
  const { key, cert } = selfSigned('vpn.example.com')
  const [first, second] = await startMachines(t, {
    '/etc/ssl/holdfast/fullchain.pem': cert,
    '/etc/ssl/holdfast/privkey.pem': key,
    '/usr/local/share/ca-certificates/vpn.example.com.crt': cert,
    // Git asks for this only since the repository is a folder of another user.
    '/etc/gitconfig': '[safe]\n\tdirectory = /srv/holdfast.git\n',
  })
  for (const machine of [first, second]) makeRepository(machine)

  const install = stepsOf('install')
  await follow(first, install)
  t.diagnostic('install.md: a server is installed')

  const [programs = [], , clone = []] = install
  const [addReplica = [], restartEach = []] = stepsOf('replicas')
  await first.run(acceptSecondMachine)
  await follow(second, [programs, clone, addReplica])
  await follow(first, [restartEach])
  t.diagnostic('replicas.md: two replicas run')

  await first.run(`${makeRecipient}\n${publishNextVersion}`)
  await follow(first, stepsOf('upgrade-and-rollback'))
  await checkOldReplica(second)
  t.diagnostic('upgrade-and-rollback.md: the first replica has the next version')

  await useTls(first)
  await follow(first, stepsOf('proxy'))
  assert.match(await first.run(untilReady('https://vpn.example.com')), /"ready"/)
  t.diagnostic(`${ran.size} blocks of commands ran on new machines`)
})

const untilReady = (url: string) => `timeout 300 sh -c 'until curl -fsS ${url}/readyz; do sleep 1; done'`

/** A replica of the old version serves on after the upgrade of another one, but cannot be started again. */
async function checkOldReplica(machine: Machine): Promise<void> {
  assert.equal(await machine.run('curl -fsS http://10.0.0.12:8080/readyz'), '{"status":"ready"}')
  const shown = pageOf('upgrade-and-rollback').blocks.find(({ text }) => text.startsWith('holdfast: ')) ?? assert.fail()
  const line = await machine.run(`systemctl restart holdfast
timeout 300 sh -c 'until journalctl -u holdfast | grep -o "holdfast: The database.*"; do sleep 1; done' | head -n 1
systemctl stop holdfast`)
  assert.ok(matches(shown.text.replaceAll(/\d+/g, '…'), line), line)
}

/** Replaces nginx with the settings that the page shows. */
async function useTls({ run }: Machine): Promise<void> {
  const shown = pageOf('proxy').blocks.find(({ language, text }) => language === 'ini' && /TLS_KEY/.test(text))
  await run(`systemctl disable --quiet --now nginx
install -d -m 0750 -o root -g holdfast /etc/holdfast/tls
install -m 0640 -o root -g holdfast /etc/ssl/holdfast/*.pem /etc/holdfast/tls
cat >> /etc/holdfast/holdfast.env <<'ENV'
${shown?.text}ENV`)
}
