import { contract } from '@holdfast/contract'
import { pageItems } from '@holdfast/contract/limits'
import { type Exported, exportKinds } from '@holdfast/contract/ops-export'
import type { Permission } from '@holdfast/contract/vocabulary'
import type { Handlers } from '../../http/handlers.ts'
import { fail } from '../../kernel/app-error.ts'
import type { OperationsDeps, Reads } from './deps.ts'

type Call = Parameters<Handlers['exportOperations']>[0]
type Page = { items: readonly object[]; next_cursor: string | null }
type Section = { permission: Permission | readonly Permission[]; read: (call: Call, page: PageOf) => Promise<Page> }
type PageOf = { limit: number; cursor?: string }

/**
 * An export concatenates lists. Each is read by its own operation, if the caller may read it there. A cursor is the
 * name of a list and that list's own cursor.
 */
export function fleetExportHandlers({ reads, now }: OperationsDeps) {
  const sections = sectionsOf(reads)
  const mayRead = ({ actor }: Call, type: Exported) =>
    [sections[type].permission].flat().every((permission) => actor.principal.permissions.has(permission))
  return {
    exportOperations: async (call) => {
      const { kind, limit = pageItems.usual, cursor } = call.query
      const all: readonly Exported[] = exportKinds[kind]
      const given = all.filter((type) => mayRead(call, type))
      const from = cursor === undefined ? { type: given[0], inner: '' } : placeIn(given, cursor)
      const common = { kind, exported_at: now().toISOString(), left_out: all.filter((type) => !given.includes(type)) }
      const { type } = from
      if (!type) return { ...common, items: [], next_cursor: null }
      const found = await sections[type].read(call, { limit, ...(from.inner && { cursor: from.inner }) })
      const following = given[given.indexOf(type) + 1]
      const next = found.next_cursor === null ? following && `${following}.` : `${type}.${found.next_cursor}`
      return { ...common, items: found.items.map((item) => ({ type, [type]: item })), next_cursor: next ?? null }
    },
  } satisfies Partial<Handlers>
}

function placeIn(given: readonly Exported[], cursor: string): { type: Exported; inner: string } {
  const [name = ''] = cursor.split('.', 1)
  const type = given.find((t) => t === name)
  if (!type) fail('bad_request', 'cursor: does not belong to this export: start again without a cursor')
  return { type, inner: cursor.slice(name.length + 1) }
}

type Single = 'getSecuritySettings' | 'getEnrollmentSettings' | 'getNotificationSettings' | 'getRetention'
function sectionsOf(reads: Reads): Record<Exported, Section> {
  /** Returns the section of a list, read by its operation. */
  const list = (operation: Exclude<keyof Reads, 'listGateways' | Single>): Section => ({
    permission: permissionOf(operation),
    read: async (call, query) => (await reads[operation]({ ...call, query } as never)) as Page,
  })
  const single = (operation: Single): Section => ({
    permission: permissionOf(operation),
    read: async (call) => ({ items: [(await reads[operation](call)).content], next_cursor: null }),
  })
  return {
    security_settings: single('getSecuritySettings'),
    enrollment_settings: single('getEnrollmentSettings'),
    notification_settings: single('getNotificationSettings'),
    retention: single('getRetention'),
    identity_provider: list('listIdentityProviders'),
    directory_source: list('listDirectorySources'),
    siem_connector: list('listSiemConnectors'),
    legal_hold: list('listLegalHolds'),
    gateway_pool: list('listGatewayPools'),
    group: list('listGroups'),
    grant: list('listGrants'),
    policy_bundle: list('listPolicyBundles'),
    user: list('listUsers'),
    device: list('listDevices'),
    gateway: {
      permission: [permissionOf('listGatewayPools'), permissionOf('listGateways')],
      read: (call, page) => gatewaysOf(reads, call, page),
    },
    enrollment_token: list('listTokens'),
    api_key: list('listApiKeys'),
    release: list('listReleases'),
    gateway_health: list('gatewayHealth'),
    // Only active locks, which is the default of the list.
    lock: list('listLocks'),
    signer: list('listSigners'),
    expiry: list('listExpiries'),
    notification: list('listNotifications'),
    directory_run: list('listDirectoryRuns'),
  }
}

const permissionOf = (operation: keyof Reads): Permission => contract[operation].access.permission

/**
 * Reads the gateways pool by pool. The cursor has three parts: the cursor of the pools before the current one, the
 * current pool, and the cursor of its gateways.
 */
async function gatewaysOf(reads: Reads, call: Call, { limit, cursor = '' }: PageOf): Promise<Page> {
  const [ofPools = '', lastPool = '', ofGateways = ''] = cursor.split(' ')
  const pools = await reads.listGatewayPools({
    ...call,
    query: { limit: 1, ...(ofPools && { cursor: ofPools }) },
  } as never)
  const { items, next_cursor: nextPool } = pools as Page & { items: readonly { pool_id: string }[] }
  const [pool] = items
  if (!pool) return { items: [], next_cursor: null }
  const { pool_id } = pool
  // If the pool was deleted, another one takes its position. It is read from its beginning.
  const query = { limit, ...(ofGateways && lastPool === pool_id && { cursor: ofGateways }) }
  const found = (await reads.listGateways({ ...call, params: { pool_id }, query } as never)) as Page
  if (found.next_cursor !== null) return { ...found, next_cursor: `${ofPools} ${pool_id} ${found.next_cursor}` }
  return { ...found, next_cursor: nextPool === null ? null : `${nextPool}  ` }
}
