import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { platforms } from '@holdfast/contract/enrollment'
import { type Device, type DevicePolicy, enrollDevice, fileStore, openDevice } from '@holdfast/sdk'
import type { Command } from 'commander'
import { type Cli, warnOfPlainHttp } from '../cli.ts'
import { readConfig } from '../config-file.ts'
import { UsageError } from '../exit.ts'
import { choice, examples } from '../options.ts'
import { printItem } from '../output.ts'
import { jsonText, plain } from '../text.ts'

type Platform = (typeof platforms)[number]
const ownPlatform: Partial<Record<NodeJS.Platform, Platform>> = {
  linux: 'linux',
  darwin: 'macos',
  win32: 'windows',
  android: 'android',
}

export function addEnroll(program: Command, cli: Cli): void {
  examples(
    program
      .command('enroll')
      .description('act as a device: enroll with a token, asked for or read from stdin, and save what the device is')
      .requiredOption('--state <file>', 'where to save it; holds the private key, mode 0600')
      .option('--name <name>', 'of the device', hostname())
      .addOption(
        choice('--platform <platform>', 'of the device', platforms).default(ownPlatform[process.platform] ?? 'other'),
      )
      .action((options: { state: string; name: string; platform: Platform }) => enroll(cli, options)),
    'token create | holdfast enroll --state device.json',
    'device-poll --state device.json',
  )
  examples(
    program
      .command('device-poll')
      .description('act as the device in a state file: fetch and verify its policy, again whenever it changes')
      .requiredOption('--state <file>', 'as saved by enroll')
      .option('--once', 'fetch, print and end')
      .action((options: { state: string; once?: boolean }) => poll(cli, options)),
    'device-poll --state device.json --once --json',
  )
}

async function enroll(cli: Cli, options: { state: string; name: string; platform: Platform }): Promise<void> {
  const baseUrl = cli.url ?? (cli.env.HOLDFAST_URL || (await readConfig(cli.env)).url)
  if (baseUrl === undefined) throw new UsageError('Which server? Add --url or set HOLDFAST_URL.')
  warnOfPlainHttp(cli, baseUrl)
  const store = fileStore(options.state)
  if (await store.load()) throw new UsageError(`${options.state} holds a device already.`)
  const token = await cli.prompt.secret('Enrollment token')
  const { name, platform } = options
  const device = await enrollDevice({ baseUrl, token, device: { name, platform }, store })
  const { deviceId, tenantId, expiresAt } = device.state
  printItem(cli, { device_id: deviceId, tenant_id: tenantId, credential_expires_at: expiresAt })
}

async function poll(cli: Cli, { state, once }: { state: string; once?: boolean }): Promise<void> {
  const store = fileStore(state)
  const saved = await store.load()
  if (!saved) throw new UsageError(`${state} does not exist; run holdfast enroll first.`)
  const device = openDevice(saved, { store })
  if (once) return apply(cli, device, await device.fetchBundle())
  const stop = new AbortController()
  const onSignal = () => stop.abort()
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal)
  try {
    await device.runPolling({
      signal: stop.signal,
      onPolicy: (policy) =>
        policy ? apply(cli, device, policy) : cli.note('The policy has ended; nothing is allowed.'),
      onStatus: ({ status }) => cli.note(`The device is ${status}.`),
      onError: (error) => cli.note(`Goes on after: ${plain(error instanceof Error ? error.message : String(error))}`),
    })
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
  }
}

/** Prints it, which is all that this device does with a policy, and says so to the server as an agent would. */
async function apply(cli: Cli, device: Device, policy: DevicePolicy): Promise<void> {
  printPolicy(cli, policy)
  const event = {
    event_id: randomUUID(),
    kind: 'policy_applied',
    at: new Date().toISOString(),
    policy_digest: policy.digest,
  } as const
  await device.reportTelemetry([event]).catch((e: unknown) => {
    cli.note(`The server could not be told that it is applied: ${plain(e instanceof Error ? e.message : String(e))}`)
  })
}

function printPolicy(cli: Cli, { digest, channel, version, expiresAt, content }: DevicePolicy): void {
  const policy = { digest, channel, version, expires_at: expiresAt.toISOString() }
  if (cli.json) {
    cli.say(jsonText({ ...policy, content }))
    return
  }
  printItem(cli, policy)
  for (const { id, action, to, ports } of content.rules)
    cli.say(plain(`  ${action} ${to.join(', ')}${ports ? ` ${ports.join(' ')}` : ''} (${id})`))
}
