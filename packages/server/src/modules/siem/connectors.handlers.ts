import type { SiemConnector } from '@holdfast/contract/siem'
import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { Handlers } from '../../http/handlers.ts'
import { idOf } from '../../kernel/ids.ts'
import { requireSame, versioned } from '../../kernel/version.ts'
import { findConnector } from './connectors.queries.ts'
import { type Connectors, connectorVersion, noConnector } from './connectors.ts'
import { selectDeadLetters } from './dead-letters.queries.ts'
import type { Replay } from './replay.ts'
import type { SetAside } from './set-aside.ts'
import type { TryOut } from './try-out.ts'
import { viewConnector, viewDeadLetter } from './view.ts'

/** Fields that a PUT cannot change. It may send them back unchanged. */
const fixed = ['connector_id', 'tenant_id', 'kind', 'created_at'] as const

type HandlerDeps = {
  db: Database
  pager: Pager
  connectors: Connectors
  replay: Replay
  setAside: SetAside
  tryOut: TryOut
}
export function connectorHandlers({ db, pager, connectors, replay, setAside, tryOut }: HandlerDeps) {
  const idIn = (params: { connector_id: string }) => idOf('siem_connector', params.connector_id)
  return {
    listSiemConnectors: async ({ actor, query }) => {
      const { items, next_cursor } = await connectors.list(actor.tenantId, query)
      return { items: items.map(viewConnector), next_cursor }
    },
    createSiemConnector: async ({ actor, body }) => {
      const { kind, name, format, enabled, credential, ...destination } = body
      const given = { kind, name, format, destination, ...(enabled !== undefined && { enabled }) }
      const { secret, ...shown } = await connectors.create(actor, given, credential)
      return { connector: viewConnector(shown), secret }
    },
    getSiemConnector: async ({ actor, params }) => {
      const shown = await connectors.get(actor.tenantId, idIn(params))
      return versioned(connectorVersion(shown.connector), viewConnector(shown))
    },
    updateSiemConnector: async ({ actor, params, body, expected }) => {
      const { name, format, enabled, credential, keep_previous: keepsPrevious = true } = body
      const fields = { name, format, enabled, destination: destinationOf(body) }
      return viewConnector(
        await connectors.replace(actor, idIn(params), { fields, credential, keepsPrevious }, (before) => {
          expected.require(connectorVersion(before.connector))
          requireSame(viewConnector(before), body, fixed)
        }),
      )
    },
    deleteSiemConnector: async ({ actor, params, expected }) => ({
      changed: await connectors.remove(actor, idIn(params), expected),
    }),
    testSiemConnector: ({ actor, params }) => tryOut(actor, idIn(params)),
    replaySiemConnector: async ({ actor, params, body }) => {
      const { shown, events } = await replay(actor, idIn(params), body)
      return { connector: viewConnector(shown), events }
    },
    setAsideSiemEvent: async ({ actor, params, body }) => {
      const { shown, changed } = await setAside(actor, idIn(params), body.seq)
      return { connector: viewConnector(shown), changed }
    },
    listSiemDeadLetters: ({ actor: { tenantId: tenant }, params, query }) =>
      db.inTenant(tenant, async (tx) => {
        const of = { tenant_id: tenant, connector_id: idIn(params) }
        if (!(await findConnector(tx, tenant, of.connector_id))) noConnector()
        const { items, next_cursor } = await pager.list(selectDeadLetters(tx, of), {
          operation: 'listSiemDeadLetters',
          tenant,
          query,
          orders: { seq: { column: 'seq', kind: 'number' } },
          tie: 'event_id',
        })
        return { items: items.map(viewDeadLetter), next_cursor }
      }),
  } satisfies Partial<Handlers>
}

type Wire = Pick<SiemConnector, 'host' | 'port' | 'index' | 'username' | 'tls'> & { url?: string; bom?: boolean | null }
const destinationOf = ({ host, port, index, username, tls, url, bom }: Wire) => ({
  host,
  port,
  index,
  username,
  tls,
  ...(url !== undefined && { url }),
  ...(bom !== undefined && { bom }),
})
