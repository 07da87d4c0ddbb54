import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createProgram, freePort } from './program.ts'
import { commandOf, runTool } from './tools.ts'

/** PEM. */
type Device = { certificate: string; chain: readonly string[]; key: string }

/**
 * The verdict of an OpenVPN server with these anchors and CRLs on a device that connects with an OpenVPN client:
 * `good`, or the reason for the refusal. Neither has a tunnel, so neither needs privileges.
 */
export async function judgedByOpenvpn(
  device: Device,
  { anchors, crls }: { anchors: readonly string[]; crls: readonly string[] },
): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-openvpn-'))
  const write = (name: string, text: string) => writeFileSync(join(directory, name), text)
  write('anchors', anchors.join(''))
  write('crls', crls.join(''))
  write('device', device.certificate)
  write('chain', device.chain.join(''))
  write('device.key', device.key)
  const port = String(await freePort())
  const log = (name: string) => join(directory, `${name}.log`)
  const said = (name: string) => readFileSync(log(name), 'utf8')
  const start = (name: string, answers: () => boolean, args: readonly string[]) => {
    const command = commandOf('openvpn')
    const common = ['--cd', directory, '--dev', 'null', '--verb', '3', '--data-ciphers', 'AES-256-GCM']
    const program = { name, command, args: [...common, ...args], log: log(name) }
    return createProgram({ ...program, answers: async () => answers(), startsWithinMs: 60_000 })
  }
  const verdict = () => /VERIFY ERROR: depth=\d, error=([^:]+):|(Peer Connection Initiated)/.exec(said('server'))
  const server = start('server', () => said('server').includes('Listening for incoming'), [
    ...['--tls-server', '--proto', 'tcp-server', '--local', '127.0.0.1', '--lport', port, '--dh', 'none'],
    ...['--ca', 'anchors', '--crl-verify', 'crls', '--cert', 'server', '--key', 'server.key'],
  ])
  const client = start('client', () => verdict() !== null, [
    ...['--tls-client', '--proto', 'tcp-client', '--remote', '127.0.0.1', port, '--nobind'],
    ...['--ca', 'server', '--cert', 'device', '--key', 'device.key', '--extra-certs', 'chain'],
  ])
  try {
    await certifyServer(directory)
    await server.start()
    await client.start()
    const [, refused] = verdict()!
    return refused ?? 'good'
  } finally {
    await client.stop()
    await server.stop()
    rmSync(directory, { recursive: true })
  }
}

/** Makes the server certificate. It is not one of ours: ours do not identify gateways to their clients. */
async function certifyServer(cwd: string): Promise<void> {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'server.key']
  const { status, stderr } = await runTool(
    'openssl',
    ['req', '-x509', ...key, '-out', 'server', '-subj', '/CN=gateway', '-addext', 'extendedKeyUsage=serverAuth'],
    { cwd },
  )
  if (status !== 0) throw new Error(stderr)
}
