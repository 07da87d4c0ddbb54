import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import * as limits from '../packages/contract/src/limits.ts'
import { signedLifetimes } from '../packages/server/src/modules/trust/lifetimes.ts'
import { owners } from '../packages/server/test/statements/owners.ts'

const root = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const linesOf = (file: string) => read(file).split('\n').length - 1
const modules = 'packages/server/src/modules'
const readmes = globSync(['packages/**/README.md'], { cwd: root, exclude: ['**/node_modules'] }).sort()
const guides = globSync(['docs/how-to/*.md', 'docs/decisions/*.md'], { cwd: root }).sort()

test('ARCHITECTURE.md has at most 120 lines and links to the README of every module, of at most 60 lines', () => {
  assert.ok(linesOf('ARCHITECTURE.md') <= 120, `ARCHITECTURE.md has ${linesOf('ARCHITECTURE.md')} lines`)
  const names = globSync(`${modules}/*/`, { cwd: root })
  assert.ok(names.length > 20)
  for (const folder of names) {
    assert.ok(read('ARCHITECTURE.md').includes(`](${join(folder, 'README.md')})`), `no link to ${folder}`)
    assert.ok(linesOf(join(folder, 'README.md')) <= 60, folder)
  }
  for (const guide of guides) assert.ok(linesOf(guide) <= (guide.includes('how-to') ? 40 : 60), guide)
})

test('the README of a module or folder names exactly the tables that it owns', () => {
  const bad = readmes.flatMap((file) => {
    const owner = /^packages\/server\/src\/(?:modules\/)?(\w+)\/README\.md$/.exec(file)?.[1]
    const section = /^## Tables\n\n([\s\S]*?)\n\n/m.exec(read(file))?.[1] ?? ''
    const named = Array.from(section.matchAll(/`(\w+)`/g), ([, table]) => table).sort()
    const owned = Object.keys(owners).filter((table) => owners[table] === owner)
    return JSON.stringify(named) === JSON.stringify(owned.sort()) ? [] : [`${file}: ${named} instead of ${owned}`]
  })
  assert.deepEqual(bad, [])
})

/** A path has an extension of ours or ends in a slash. Paths of URLs begin with a slash, and patterns have a bracket. */
const path = /^(?!\/)(?:[\w.@-]+\/)*(?:[\w.@-]+\.(?:tsx?|md|sql|json|mjs|css)|[\w.@-]+\/)$/
const bases = ['', 'packages/server/src', modules, 'packages/server']

test('every path in backticks in these documents exists', () => {
  const written = ['ARCHITECTURE.md', 'docs/adding-an-endpoint.md', ...readmes, ...guides].flatMap((file) =>
    Array.from(
      read(file)
        .replaceAll(/^```[\s\S]*?^```$/gm, '')
        .matchAll(/`([^`\n]+)`/g),
      ([, text = '']) => ({ file, text }),
    ),
  )
  const paths = written.filter(({ text }) => path.test(text))
  assert.ok(paths.length > 200)
  const missing = paths.filter(({ file, text }) =>
    [dirname(file), ...bases].every((base) => !existsSync(join(root, base, text))),
  )
  assert.deepEqual(missing, [])
})

const anchorsOf = (file: string) =>
  Array.from(read(file).matchAll(/^#+ (.+)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )

test('every link between documents leads to an existing file and heading', () => {
  const pages = [...globSync(['*.md', 'docs/**/*.md'], { cwd: root }), ...readmes]
  const broken = pages.flatMap((file) =>
    Array.from(read(file).matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)/g)).flatMap(
      ([link, to = '', anchor]) => {
        const target = to === '' ? file : join(dirname(file), to)
        if (!existsSync(join(root, target))) return [`${file}: ${link}`]
        return anchor === undefined || !target.endsWith('.md') || anchorsOf(target).includes(anchor)
          ? []
          : [`${file}: ${link}`]
      },
    ),
  )
  assert.deepEqual(broken, [])
})

/** Sentences of documents and of the console that state a figure of the code. A line break counts as a space. */
const days = (ms: number) => ms / 86_400_000
const stated: readonly (readonly [file: string, text: string])[] = [
  ['docs/gateway-agents.md', `After ${limits.gatewaySilence.degradedSeconds} seconds of silence it counts as degraded`],
  ['docs/gateway-agents.md', `after ${limits.gatewaySilence.downSeconds} as down`],
  ['docs/agents-sign-in.md', `within ${limits.challengeMinutes} minutes and ${limits.idTokenMinutes} after`],
  ['docs/agents.md', `is within ${limits.proofSeconds} seconds of the server's time`],
  ['docs/agents.md', `once, for ${limits.proofSeconds} seconds`],
  ['docs/audit-events.md', `An event counts once in ${limits.ingestion.rememberedDays} days`],
  ['docs/audit-events.md', `${limits.ingestion.eventsPerMinute.toLocaleString('en')} events a minute to each replica`],
  ['docs/audit-verify.md', `After ${days(signedLifetimes.credential) + 1} days the trust set`],
  ['docs/changes.md', `A comment comes every ${limits.streamCommentSeconds} seconds`],
  ['docs/reference/kept-data.md', `| \`audit_ingested\` | ${limits.ingestion.rememberedDays} days`],
  ['docs/reference/kept-data.md', `previous_credential_jwe\` | ${limits.previousSecretHours} hours`],
  ['docs/reference/kept-data.md', `| \`siem_dead_letters\` | ${limits.deadLetterDays} days`],
  ['docs/directory-sync.md', `A user who is not named for ${limits.absentUserDays} days is deleted`],
  ['docs/scim.md', `After ${limits.absentUserDays} days the user is`],
  ['docs/hsm.md', `half of its ${days(signedLifetimes.trustSet)} days`],
  ['docs/identity-providers.md', `one-time code not older than ${limits.presenceMinutes} minutes`],
  ['docs/siem.md', `For ${limits.previousSecretHours} hours both sign`],
  ['docs/siem-delivery.md', `A dead letter is kept for ${limits.deadLetterDays} days`],
  ['docs/workflow-runs.md', `at most ${limits.replacedSecretHours} hours`],
  ['docs/workflow-runs.md', `every gateway that was seen within ${limits.gatewaySilence.degradedSeconds} seconds`],
  ['packages/console/src/routes/me/password-rules.ts', `${limits.passwordWithSecondFactor} with a second factor`],
]
test('a figure that a document states is the one of the code', () => {
  const wrong = stated.filter(([file, text]) => !read(file).replaceAll(/\s+/g, ' ').includes(text))
  assert.deepEqual(wrong, [])
})
