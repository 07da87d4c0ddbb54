import { execFile, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { softHsmLibrary } from '../support/deployment/pkcs11-token.ts'
import { syslogNg } from './syslog-ng.ts'

/**
 * An external program: the Debian packages that contain it, its commands, and a probe. The probe shows that all
 * required features work, plugins included.
 */
type Tool = { package: string; commands: readonly string[]; probe: readonly string[] }

/** Debian's Python modules need Debian's own Python, which may not be the first one on the path. */
const pythons = ['/usr/bin/python3', 'python3'] as const
const module = (name: string, imports: string): Tool => ({
  package: `python3-${name}`,
  commands: pythons,
  probe: ['-B', '-c', imports],
})

const ofLemonldap = (name: string) => `-MLemonldap::NG::${name}`

const tools = {
  openssl: { package: 'openssl', commands: ['openssl'], probe: ['version'] },
  certtool: { package: 'gnutls-bin', commands: ['certtool'], probe: ['--version'] },
  oathtool: { package: 'oathtool', commands: ['oathtool'], probe: ['--version'] },
  argon2: { package: 'argon2', commands: ['argon2'], probe: ['saltsalt', '-id', '-t', '1', '-k', '8', '-r'] },
  nginx: { package: 'nginx', commands: ['nginx', '/usr/sbin/nginx'], probe: ['-v'] },
  pki: {
    package: 'strongswan-pki libstrongswan-standard-plugins',
    commands: ['pki'],
    // Without its plugins the program runs, but can't read any certificate of ours: their curves need a plugin.
    probe: ['--gen', '--type', 'ecdsa', '--size', '384'],
  },
  'softhsm2-util': { package: 'softhsm2', commands: ['softhsm2-util'], probe: ['--version'] },
  'pkcs11-tool': {
    package: 'opensc',
    commands: ['pkcs11-tool'],
    // Without a library the probe fails.
    get probe() {
      return ['--module', softHsmLibrary() ?? 'none', '--show-info']
    },
  },
  promtool: { package: 'prometheus', commands: ['promtool'], probe: ['--version'] },
  openvpn: { package: 'openvpn', commands: ['openvpn', '/usr/sbin/openvpn'], probe: ['--show-tls'] },
  haproxy: { package: 'haproxy', commands: ['haproxy', '/usr/sbin/haproxy'], probe: ['-v'] },
  rsyslog: { package: 'rsyslog', commands: ['rsyslogd', '/usr/sbin/rsyslogd'], probe: ['-v'] },
  'rsyslog-gnutls': {
    package: 'rsyslog-gnutls',
    commands: ['sh'],
    probe: ['-c', 'ls /usr/lib/*/rsyslog/lmnsd_gtls.so'],
  },
  'syslog-ng': {
    package: '',
    commands: ['env'],
    get probe() {
      return [`LD_LIBRARY_PATH=${syslogNg.libraries}`, syslogNg.command, '--version']
    },
  },
  psql: { package: 'postgresql-client', commands: ['psql'], probe: ['--version'] },
  java: { package: 'default-jre-headless', commands: ['java'], probe: ['--version'] },
  mvn: { package: 'maven', commands: ['mvn'], probe: ['--version'] },
  xmlsec1: { package: 'xmlsec1', commands: ['xmlsec1'], probe: ['--version'] },
  // Includes packages that it only recommends, but needs as a SAML identity provider.
  'lemonldap-ng': {
    package: [
      'liblemonldap-ng-portal-perl liblemonldap-ng-manager-perl liblasso-perl libemail-sender-perl libgd-securityimage-perl',
      'libimage-magick-perl libio-string-perl libmime-tools-perl libxml-libxml-perl libxml-simple-perl',
    ].join(' '),
    commands: ['perl'],
    probe: [...['Portal::Issuer::SAML', 'Portal::Captcha::SecurityImage', 'Manager::Conf'].map(ofLemonldap), '-e1'],
  },
  soffice: { package: 'libreoffice-calc', commands: ['soffice'], probe: ['--version'] },
  python3: { package: 'python3', commands: pythons, probe: ['--version'] },
  'python3-argon2': module('argon2', 'from argon2 import PasswordHasher'),
  'python3-jwcrypto': module('jwcrypto', 'from jwcrypto import jwk, jws, jwt, jwe'),
  'python3-pysaml2': module('pysaml2', 'import saml2.server'),
  // These two come from PyPI, not from Debian: `npm run test:interop` creates a Python environment for each.
  'scim2-tester': {
    package: '',
    commands: [process.env.SCIM_TESTER_PYTHON ?? 'python3'],
    probe: ['-B', '-c', 'import httpx2, scim2_tester'],
  },
  joserfc: {
    package: '',
    commands: [process.env.JOSERFC_PYTHON ?? 'python3'],
    probe: ['-B', '-c', 'from joserfc import jwt'],
  },
  // Four programs that start new machines in containers (test/documents/machine.ts).
  debootstrap: { package: 'debootstrap', commands: ['debootstrap', '/usr/sbin/debootstrap'], probe: ['--version'] },
  'systemd-nspawn': {
    package: 'systemd-container',
    commands: ['systemd-nspawn'],
    // The option is new in version 250.
    probe: ['--suppress-sync=yes', '--version'],
  },
  slirp4netns: { package: 'slirp4netns', commands: ['slirp4netns'], probe: ['--version'] },
  ip: { package: 'iproute2', commands: ['ip', '/usr/sbin/ip'], probe: ['-V'] },
  'python3-jsonschema': module('jsonschema', 'from jsonschema import Draft202012Validator'),
} satisfies Record<string, Tool>
export type ToolName = keyof typeof tools

const found = new Map<ToolName, string | undefined>()
/**
 * Returns the command of a tool that is installed and runs. `again` ignores the cached result, as after an
 * installation.
 */
function findTool(name: ToolName, again = false): string | undefined {
  if (again || !found.has(name)) {
    const { commands, probe } = tools[name]
    const runs = (command: string) => {
      // A program that ends without reading its input also causes an error; only the exit status counts.
      return spawnSync(command, [...probe], { input: 'password' }).status === 0
    }
    found.set(name, commands.find(runs))
  }
  return found.get(name)
}

/** The Debian packages of every required tool that is missing. */
export const missingPackages = (): string[] =>
  (Object.keys(tools) as ToolName[])
    // Maven is only needed to fetch Keycloak.
    .filter((name) => (name !== 'mvn' || !keycloakHome()) && !findTool(name, true))
    .flatMap((name) => tools[name].package.split(' '))
    .filter((name) => name !== '')

/** A value for `skip` of a test: false, or a sentence that names what is missing. */
export const without = (name: ToolName): string | false =>
  findTool(name)
    ? false
    : `${name} is not installed (${tools[name].package ? `Debian package ${tools[name].package}` : 'npm run test:interop fetches it'})`

const keycloak = { version: '26.2.5', folder: join(tmpdir(), 'holdfast-interop-keycloak') }
/** The folder of Keycloak: KEYCLOAK_HOME, or else the folder of `fetchKeycloak`. Undefined if it has no Keycloak. */
export function keycloakHome(): string | undefined {
  const home = process.env.KEYCLOAK_HOME ?? join(keycloak.folder, `keycloak-${keycloak.version}`)
  return existsSync(join(home, 'bin/kc.sh')) ? home : undefined
}
/** Fetches Keycloak from Maven's central repository and unpacks it outside of the tree. */
export async function fetchKeycloak(): Promise<void> {
  const artifact = `org.keycloak:keycloak-quarkus-dist:${keycloak.version}:zip`
  const { status, stdout } = await runTool(
    'mvn',
    ['-q', 'dependency:unpack', `-Dartifact=${artifact}`, `-DoutputDirectory=${keycloak.folder}`],
    { cwd: tmpdir(), seconds: 600 },
  )
  if (status !== 0 || !keycloakHome()) throw new Error(`Keycloak could not be fetched:\n${stdout}`)
}
/** A value for `skip` of a test that needs Keycloak. */
export const withoutKeycloak = (): string | false =>
  without('java') ||
  (keycloakHome()
    ? false
    : `Keycloak is not there: set KEYCLOAK_HOME to a Keycloak ${keycloak.version}, or let npm run test:interop fetch it`)

/** Returns the command of a tool; throws if the tool is missing. */
export function commandOf(name: ToolName): string {
  const command = findTool(name)
  if (!command) throw new Error(String(without(name)))
  return command
}

export type Run = { status: number; stdout: string; stderr: string }

/** Runs a tool without a shell, with these arguments and this standard input. */
export function runTool(
  name: ToolName,
  args: readonly string[],
  {
    input = '',
    cwd,
    seconds = 60,
    env = {},
  }: { input?: string; cwd?: string; seconds?: number; env?: Record<string, string> } = {},
): Promise<Run> {
  const command = commandOf(name)
  const { promise, resolve, reject } = Promise.withResolvers<Run>()
  const limits = { timeout: seconds * 1000, maxBuffer: 64 * 1024 * 1024 }
  const options = { ...(cwd && { cwd }), ...limits, env: { ...process.env, ...env } }
  const child = execFile(command, args, options, (error, stdout, stderr) => {
    if (error && typeof error.code !== 'number') reject(error)
    else resolve({ status: Number(error?.code ?? 0), stdout, stderr })
  })
  // A program that refuses its arguments ends without reading its input.
  child.stdin?.on('error', () => {})
  child.stdin?.end(input)
  return promise
}

/** Runs a Python file of this folder, which reads and writes JSON. Throws with its traceback if it fails. */
export async function askPython<Answer>(name: ToolName, file: string, question: unknown): Promise<Answer> {
  const path = join(import.meta.dirname, file)
  const { status, stdout, stderr } = await runTool(name, ['-B', path], { input: JSON.stringify(question) })
  if (status !== 0) throw new Error(`${file} ended with ${status}: ${stderr}`)
  return JSON.parse(stdout)
}

/** Runs a tool in a folder with these files, which is removed afterwards. */
export async function runOnFiles(name: ToolName, files: Record<string, string>, args: readonly string[]): Promise<Run> {
  const cwd = mkdtempSync(join(tmpdir(), 'holdfast-interop-'))
  try {
    for (const [file, content] of Object.entries(files)) writeFileSync(join(cwd, file), content)
    return await runTool(name, args, { cwd })
  } finally {
    rmSync(cwd, { recursive: true })
  }
}
