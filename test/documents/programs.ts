import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { makeRealm, newRealmName, passwordOf } from '../../packages/server/test/interop/keycloak/realm.ts'
import { type Keycloak, startKeycloak } from '../../packages/server/test/interop/keycloak/server.ts'
import { openProviderBrowser } from '../../packages/server/test/interop/person.ts'
import { createProgram, freePort } from '../../packages/server/test/interop/program.ts'
import { certificateIn } from '../../packages/server/test/interop/syslog-receivers.ts'
import { commandOf, type ToolName, without, withoutKeycloak } from '../../packages/server/test/interop/tools.ts'
import {
  createTestDatabase,
  startTestCluster,
  withClient,
} from '../../packages/server/test/support/database/test-database.ts'
import { schemaTemplate } from '../../packages/server/test/support/deployment/deployment.ts'
import type { Page } from './page.ts'
import type { SetUp } from './setups.ts'

/** A program that blocks of pages need (`needs`): a value for `skip`, and what its pages find and check. */
type Program = { skip: () => string | false; setUp?: (page: Page) => SetUp }

const withoutAny = (...names: ToolName[]) => names.map(without).find((missing) => missing !== false) ?? false
const configurationOf = ({ blocks }: Page, program: string): string =>
  blocks.find(({ attributes }) => attributes.file !== undefined && attributes.needs === program)?.text ?? ''
const commandsOf = ({ blocks }: Page, program: string): string =>
  blocks
    .flatMap((block) => (block.language === 'sh' && block.attributes.needs === program ? [block.text] : []))
    .join('')

/** Ends a program of the checks with the shell. */
const inBackground = (command: string, log: string) => `${command} > ${log} 2>&1 &
CHILDREN="\${CHILDREN:-} $!"
trap 'kill $CHILDREN || true; wait' EXIT
`
const repeated = (command: string, seconds = 20) =>
  `for i in $(seq ${seconds * 5}); do if ${command}; then break; fi; sleep 0.2; done\n${command} || { tail -n 20 ./*.log; false; }\n`

/** Starts a server with the variables that the page has set. */
async function serverStart(variables: string): Promise<string> {
  const port = await freePort()
  const main = join(import.meta.dirname, '../../packages/server/src/main.ts')
  const more = `HOLDFAST_DATA_DIR=$PWD/data HOLDFAST_PORT=${port} HOLDFAST_ADMIN_PASSWORD='of the checks of a page'`
  const start = `env ${more} HOLDFAST_PUBLIC_URL=http://127.0.0.1:${port} ${variables} ${process.execPath} ${main}`
  return `mkdir data
${inBackground(start, 'server.log')}
${repeated(`curl -fsS http://127.0.0.1:${port}/readyz > ready.txt 2>&1 || { cat server.log; false; } > not-ready.txt`)}
grep -q ready ready.txt || cat server.log`
}

const programs: Readonly<Record<string, Program>> = {
  /** A server with the settings of the page accepts the device, and refuses it after its revocation. */
  nginx: {
    skip: () => withoutAny('nginx'),
    setUp: (page) => async () => {
      const port = await freePort()
      const [fetchFiles = ''] = page.blocks.filter(({ language }) => language === 'sh').map(({ text }) => text)
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${kind};`)
      const server = `listen 127.0.0.1:${port} ssl; ssl_certificate device.pem; ssl_certificate_key device.key;`
      return {
        files: {
          'nginx.conf': `daemon off; master_process off; pid nginx.pid; error_log nginx.log; events {}
http { access_log off; ${temporary.join(' ')}
server { ${server} include holdfast.conf; location / { return 200 $ssl_client_verify; } } }`,
        },
        checks: `
shown() { curl -ksS -o answer.log -w '%{http_code}' --cert chain.pem --key device.key https://127.0.0.1:${port}; }
is() { shown > status.log 2>&1; [ "$(cat status.log)" = "$1" ]; }
server() { exec ${commandOf('nginx')} -p "$PWD" -e nginx.log -c nginx.conf "$@"; }
cat device.pem intermediates.pem > chain.pem
(server -t)
server > nginx-out.log 2>&1 & NGINX=$!
trap 'kill $NGINX || true; wait' EXIT
${repeated('is 200')}
echo accepted
holdfast device revoke laptop --yes > revoked.log 2>&1 || cat revoked.log
fetched() {
${fetchFiles.split('\n').slice(2).join('\n')}
}
is_listed() { fetched; { openssl verify -crl_check -CAfile anchors.pem -untrusted intermediates.pem -CRLfile crls.pem \\
  device.pem 2>&1 || true; } | grep 'certificate revoked' > listed.log; }
${repeated('is_listed')}
kill $NGINX; wait $NGINX || true
server > nginx-out.log 2>&1 & NGINX=$!
${repeated('is 400')}
`,
      }
    },
  },
  'strongswan-pki': { skip: () => withoutAny('pki') },
  softhsm2: { skip: () => withoutAny('softhsm2-util') },
  /** A server that starts with the variables of the page has its keys in the token. */
  opensc: {
    skip: () => withoutAny('pkcs11-tool'),
    setUp: (page) => async (t) => {
      const database = await createTestDatabase(schemaTemplate)
      t.after(() => database.drop())
      return {
        checks: `${await serverStart(`DATABASE_URL='${database.url}'`)}
listed() { ${commandsOf(page, 'opensc').trim()}; }
${repeated("listed 2> errors.txt | grep -Eq 'label: +holdfast [a-z-]+ [A-Za-z0-9_-]{43}'")}`,
      }
    },
  },
  /** A receiver with the configuration of the page: only paths and port are others. It must have all events. */
  rsyslogd: {
    skip: () => withoutAny('rsyslog', 'rsyslog-gnutls', 'openssl'),
    setUp: (page) => async (t) => {
      const { port, ca, log } = await startRsyslog(t, configurationOf(page, 'rsyslogd'))
      return {
        variables: { SYSLOG_PORT: String(port) },
        files: { 'ca.pem': ca },
        checks: repeated(`[ $(grep -c 'siem' '${log}') -ge 2 ]`),
      }
    },
  },
  /** A user of the page's database starts a server. */
  'postgresql-client': {
    skip: () => withoutAny('psql', 'openssl'),
    setUp: () => async (t) => {
      const cluster = await startTestCluster()
      t.after(cluster.stop)
      // Its superuser has the name that the page gives to the user of the server.
      const superuser = new URL(cluster.url)
      await withClient(cluster.url, (client) => client.query('create role postgres superuser login'))
      superuser.username = 'postgres'
      await withClient(superuser.href, (client) => client.query('alter role holdfast rename to throwaway'))
      const { searchParams } = new URL(cluster.url)
      const host = searchParams.get('host') ?? ''
      const as = { PGHOST: host, PGUSER: 'postgres', PGDATABASE: 'postgres' }
      return {
        // Not every reader of the tests is root: the superuser is the one of the throw-away PostgreSQL.
        variables: { ...as, 'BASH_FUNC_runuser%%': '() { shift 3; "$@"; }' },
        checks: await serverStart(
          `DATABASE_URL="postgres://holdfast:$DATABASE_PASSWORD@localhost/holdfast?host=${encodeURIComponent(host)}"`,
        ),
      }
    },
  },
  keycloak: { skip: withoutKeycloak, setUp: () => inRealm },
}

async function startRsyslog(t: TestContext, configuration: string) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-page-rsyslog-'))
  const port = await freePort()
  const ca = await certificateIn(folder)
  const [log, conf] = [join(folder, 'holdfast.log'), join(folder, 'conf')]
  writeFileSync(join(folder, 'ca.pem'), ca)
  const text = [
    ['/etc/rsyslog.d', folder],
    ['/var/log/holdfast.log', log],
    ['port="6514"', `port="${port}"`],
  ].reduce((text, [from = '', to = '']) => {
    assert.ok(text.includes(from), `the configuration lacks ${from}`)
    return text.replaceAll(from, to)
  }, configuration)
  writeFileSync(conf, `global(workDirectory="${folder}")\n${text}`)
  const { start, stop } = createProgram({
    name: 'rsyslog',
    command: commandOf('rsyslog'),
    args: ['-n', '-f', conf, '-i', join(folder, 'pid')],
    log: join(folder, 'log'),
    answers: () => isOpen(port),
    startsWithinMs: 30_000,
  })
  t.after(async () => {
    await stop()
    rmSync(folder, { recursive: true })
  })
  await start()
  return { port, ca, log }
}

function isOpen(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect(port, '127.0.0.1')
  socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
  return promise.finally(() => socket.destroy())
}

let keycloak: Promise<Keycloak> | undefined
/** One Keycloak for all pages. */
export const endKeycloak = async (): Promise<void> => (await keycloak)?.end()

/** A realm of its own, with the clients that pages name. */
const inRealm: SetUp = async () => {
  keycloak ??= startKeycloak()
  const secret = 'the-secret-of-the-client'
  const { issuer } = await makeRealm(await keycloak, newRealmName(), {
    secret,
    directoryClient: 'holdfast-sync',
    needsPkce: false,
  })
  return {
    addresses: { 'https://login.example/realms/people': issuer },
    variables: { KEYCLOAK_REALM_URL: issuer },
    files: { 'secret.txt': `${secret}\n` },
  }
}

/** A person who reads the screen of a machine, and approves its code at Keycloak. */
export function approveCode(text: string): void {
  const [, url] = /(http:\/\/127\.0\.0\.1:\d+\/realms\/[\w-]+\/device)/.exec(text) ?? []
  const [code] = /\b[A-Z]{4}-[A-Z]{4}\b/.exec(text) ?? []
  if (url === undefined || code === undefined) return
  const login = { username: 'anna', password: passwordOf('anna'), device_user_code: code, accept: 'Yes' }
  // The command fails if this does.
  openProviderBrowser()(url, login).catch(() => {})
}

export function programNamed(name: string): Program {
  const program = programs[name]
  if (!program) throw new Error(`unknown program "${name}"`)
  return program
}
