import { folderStore, openGateway } from '../../src/index.ts'

/**
 * A gateway in its own process, so that tests can kill it. Prints the enforced state on stdout. Arguments: URL, tenant,
 * folder.
 */
const [baseUrl = '', tenantId = '', folder = ''] = process.argv.slice(2)
const say = (said: object) => process.stdout.write(`${JSON.stringify({ at: Date.now(), ...said })}\n`)
const gateway = openGateway({ baseUrl, secret: 'hfg_x', gatewayId: 'gwy_a', tenantId, store: folderStore(folder) })
await gateway.runPulling({
  signal: new AbortController().signal,
  wait: 1,
  onChange: ({ kind }, { peers, seq }) => void say({ kind, seq, peers: [...peers.keys()] }),
  onStatus: ({ status }) => void say({ status }),
})
