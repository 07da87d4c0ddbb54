import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { send } from '../support/clients/raw-http.ts'
import { rsaKey } from '../support/providers/saml-responses.ts'
import { createProgram, freePort } from './program.ts'
import { runTool } from './tools.ts'

const shared = '/usr/share/lemonldap-ng'
const startsWithinMs = 120_000

/**
 * A LemonLDAP::NG portal of our own, as a SAML identity provider. Its configuration, sessions and port are removed with
 * it. It is configured by its own command, and starts once it knows us.
 */
export async function prepareLemonldap(t: { after: (end: () => unknown) => void }) {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-lemonldap-'))
  const at = (...path: string[]) => join(directory, ...path)
  for (const path of ['conf', 'sessions/lock', 'psessions/lock', 'notifications', 'cache'])
    mkdirSync(at(path), { recursive: true })
  const url = `http://127.0.0.1:${await freePort()}`
  writeFileSync(
    at('lemonldap-ng.ini'),
    `[all]
logLevel = notice
checkTime = 1
[configuration]
type = File
dirName = ${at('conf')}
localStorage = Cache::FileCache
localStorageOptions = { 'namespace' => 'configuration', 'cache_root' => '${at('cache')}' }
[portal]
staticPrefix = /static
templateDir = ${shared}/portal/templates
languages = en
[manager]
protection = none
templateDir = ${shared}/manager/htdocs/templates
languages = en
enabledModules = conf
`,
  )
  // Unset options have LemonLDAP's own defaults: Debian's configuration is readable by root only.
  const first = { cfgNum: 1, cfgDate: 1, locationRules: { localhost: { default: 'deny' } } }
  writeFileSync(at('conf/lmConf-1.json'), JSON.stringify(first))
  const env = { LLNG_DEFAULTCONFFILE: at('lemonldap-ng.ini') }

  const { start, stop } = createProgram({
    name: 'LemonLDAP::NG',
    command: 'plackup',
    args: ['--host', '127.0.0.1', '--port', new URL(url).port, `${shared}/portal/htdocs/index.psgi`],
    env,
    log: at('log'),
    answers: () =>
      send(url, { path: '/saml/metadata' }).then(
        ({ status }) => status === 200,
        () => false,
      ),
    startsWithinMs,
  })
  t.after(async () => {
    await stop()
    rmSync(directory, { recursive: true })
  })

  async function configure(settings: object): Promise<void> {
    writeFileSync(at('settings.json'), JSON.stringify(settings))
    const { username } = userInfo()
    // By default it would switch to www-data if it may, and then could not read our files.
    const as = [`--user=${username}`, `--group=${username}`]
    const args = [`${shared}/bin/lemonldap-ng-cli`, ...as, '-yes', '1', 'merge', at('settings.json')]
    const { status, stdout, stderr } = await runTool('lemonldap-ng', args, { env })
    if (status !== 0 || !/^Saved under number/m.test(stdout + stderr))
      throw new Error(`LemonLDAP::NG takes no configuration:\n${stdout}${stderr}`)
  }
  /** Signs with another key from now on. */
  const changeKey = () => {
    const { privateKey, pem } = rsaKey()
    return configure({
      samlServicePrivateKeySig: privateKey.export({ format: 'pem', type: 'pkcs8' }),
      samlServicePublicKeySig: pem,
    })
  }
  const files = (name: string) => ({ Directory: at(name), LockDirectory: at(name, 'lock') })
  await configure({
    portal: `${url}/`,
    authentication: 'Demo',
    userDB: 'Same',
    globalStorageOptions: files('sessions'),
    persistentStorageOptions: files('psessions'),
    localSessionStorageOptions: { cache_root: at('cache') },
    notificationStorageOptions: { dirName: at('notifications') },
    registerDB: 'Null',
    passwordDB: 'Null',
    portalDisplayRegister: 0,
    portalDisplayResetPassword: 0,
    issuerDBSAMLActivation: 1,
    samlServiceUseCertificateInResponse: 1,
  })
  await changeKey()

  return {
    url,
    metadataUrl: `${url}/saml/metadata`,
    changeKey,
    /** Starts it with an application from our metadata, whose requests are not signed. */
    startFor: async (xml: string): Promise<void> => {
      const options = {
        samlSPMetaDataOptionsCheckSSOMessageSignature: 0,
        samlSPMetaDataOptionsNameIDFormat: 'persistent',
      }
      const attributes = { uid: '1;username;;', mail: '0;email;;', cn: '0;displayName;;', groups: '0;groups;;' }
      await configure({
        samlSPMetaDataXML: { holdfast: { samlSPMetaDataXML: xml } },
        samlSPMetaDataOptions: { holdfast: options },
        samlSPMetaDataExportedAttributes: { holdfast: attributes },
      })
      await start()
    },
  }
}
