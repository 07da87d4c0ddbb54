import { parseArgs } from 'node:util'
import { connectionsAtMost, openFilesAtMost } from '../deployment/open-files.ts'

export type Options = {
  devices: number
  gateways: number
  /** Number of processes for the devices. */
  processes: number
  /** Number of replicas of the server. */
  replicas: number
  seed: number
  kills: number
  /** No story: the fleet enrolls, a policy is published, the boxes of all peers are compared, and all devices poll. */
  boxes: boolean
  /** Only a gateway outage and false reports of sessions, without the story. */
  outage: boolean
  keep: boolean
  /** A running deployment, with an API key of a platform administrator. Undefined: one of our own. */
  remote: { url: string; apiKey: string } | undefined
}

/** A mistake in the arguments, explained in one sentence. */
export class UsageError extends Error {}

export const help = `holdfast sim: a fleet of devices and gateways over HTTP, and a judge who knows what each of them must hold

  npm run sim -- [options]

  --devices N      devices (200)
  --gateways N     gateways in three pools (3)
  --processes N    processes that the devices are spread over (2, or as many as may have a connection open for each)
  --replicas N     of the server that is started (1, or as many as may have a connection open for each device)
  --seed N         the same seed makes the same people, devices and policy (1)
  --kill N         instead of the story: kill the server N times while it works, and look for what it had acknowledged
  --boxes          instead of the story: one policy, of which the boxes of every peer at every gateway are compared; then all
                   devices poll and must hold it
  --outage         instead of the story: a gateway stops and comes back, then gateways and devices lie; six minutes
  --url URL        a server that runs already, with --api-key or HOLDFAST_API_KEY; its rates are as they are, and no name of a sim is in it
  --api-key KEY    key of a platform administrator of that server
  --keep           keep the data directory of the server that was started
  --help

Examples
  npm run sim
  npm run sim -- --devices 2000 --gateways 10
  npm run sim -- --boxes --devices 20000 --gateways 20
  npm run sim -- --outage --gateways 6
  npm run sim -- --kill 20 --seed 7
  npm run sim -- --url https://vpn.example.com --devices 50

Exit code: 0 when every device and gateway held what it must, and nothing acknowledged was lost; 1 otherwise; 2 for a wrong call.
`

/** Parses the arguments. Undefined if help was requested. Throws `UsageError`. */
export function readOptions(args: string[], environmentKey: string | undefined): Options | undefined {
  const { values } = parse(args)
  if (values.help) return undefined
  const apiKey = values['api-key'] ?? environmentKey
  if (values.url !== undefined && !apiKey) throw new UsageError('--url needs --api-key or HOLDFAST_API_KEY.')
  const kills = wholeNumber('--kill', values.kill, 0, 0, 1_000)
  if (kills > 0 && values.url !== undefined) throw new UsageError('--kill needs a server of its own: leave out --url.')
  const devices = wholeNumber('--devices', values.devices, 200, 20, 20_000)
  const needed = neededFor(devices)
  return {
    devices,
    gateways: wholeNumber('--gateways', values.gateways, 3, 1, 200),
    processes: wholeNumber('--processes', values.processes, Math.max(2, needed), needed, mostProcesses),
    replicas: replicasOf(values.replicas, { needed, isOne: kills > 0 || values.url !== undefined }),
    seed: wholeNumber('--seed', values.seed, 1, 0, 4_294_967_295),
    kills,
    boxes: values.boxes ?? false,
    outage: values.outage ?? false,
    keep: values.keep ?? false,
    remote: values.url !== undefined && apiKey ? { url: new URL(values.url).origin, apiKey } : undefined,
  }
}

const mostProcesses = 16

/** Number of processes needed to hold a connection per device, with this machine's limit of open files. */
function neededFor(devices: number): number {
  const needed = Math.max(1, Math.ceil(devices / connectionsAtMost()))
  if (needed <= mostProcesses) return needed
  throw new UsageError(
    `${devices} devices hold a connection open each, and a process may open ${openFilesAtMost()} files here: raise it (ulimit -n).`,
  )
}

function replicasOf(text: string | undefined, { needed, isOne }: { needed: number; isOne: boolean }): number {
  if (!isOne) return wholeNumber('--replicas', text, needed, needed, mostProcesses)
  if (text !== undefined) throw new UsageError('--replicas is for a server that is started, and not killed.')
  return 1
}

function parse(args: string[]) {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean' } as const
  try {
    return parseArgs({
      args,
      options: {
        devices: text,
        gateways: text,
        processes: text,
        replicas: text,
        seed: text,
        kill: text,
        url: text,
        'api-key': text,
        boxes: flag,
        outage: flag,
        keep: flag,
        help: flag,
      },
    })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

function wholeNumber(name: string, text: string | undefined, otherwise: number, min: number, max: number): number {
  if (text === undefined) return otherwise
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < min || value > max)
    throw new UsageError(`${name} takes a whole number from ${min} to ${max}, not "${text}".`)
  return value
}
