import { hash, X509Certificate } from 'node:crypto'
import type { Contract, Output } from '@holdfast/contract'
import { type ExpiryStatus, expiryStatuses } from '@holdfast/contract/vocabulary'
import type { Static } from 'typebox'
import type { ListPlace, Page } from '../../db/page.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { Expiry } from '../../kernel/expiry.ts'
import { day } from '../../kernel/time.ts'
import type { ExpiryDeps } from './deps.ts'
import { endsWhile, expiryStatusOf, firstWarning, renewsItself } from './standing.ts'

type Query = Static<Contract['listExpiries']['query']>
type Summary = NonNullable<Output<Contract['listExpiries']>['summary']>
/** `tie`: a UUID that orders items with the same end. An API key has its own id. */
type Placed = Expiry & { tie: string }

/** Time for which an expired API key stays listed, in ms. Everything else stays listed as long as it is in use. */
export const endedKeysFor = 30 * day

/** Collects everything that expires. API keys are read page by page; the other sources are short and are read whole. */
export function createExpiries({
  pager,
  now,
  keys,
  sources,
  spcsByDay,
  deployment,
}: Pick<ExpiryDeps, 'pager' | 'now' | 'keys' | 'sources' | 'spcsByDay' | 'deployment'>) {
  const { isHome, license, tlsCertificate } = deployment
  const shown = certificatesIn(tlsCertificate?.toString() ?? '')
  const sourcesOf = async (tenant: TenantId) =>
    (await isHome(tenant)) ? [...sources, license, async () => shown] : sources

  /** Returns everything but API keys, soonest first. */
  async function others(tenant: TenantId, at: Date): Promise<Placed[]> {
    const found: Expiry[] = []
    for (const source of await sourcesOf(tenant)) found.push(...(await source(tenant)))
    const placed = found.filter((e) => isOfInterest(e, at)).map((e) => [tieOf(e), e] as const)
    return [...new Map(placed)].map(([tie, e]) => ({ ...e, tie })).sort(inOrder)
  }

  async function list(tenant: TenantId, query: Query, few: readonly Placed[], at: Date): Promise<Page<Expiry>> {
    const fitting = few.filter((e) => fits(e, query, at))
    const within = keysWithin(query, at)
    const read = async (after: ListPlace | undefined, most: number) => {
      const place = after && { expiresAt: new Date(Number(after[0])), tie: after[1] }
      const behind = place && { expiresAt: place.expiresAt, keyId: place.tie }
      const page = within ? await keys.endingKeys(tenant, within, { most, ...(behind && { behind }) }) : []
      const beside = fitting.filter((e) => !place || inOrder(place, e) < 0)
      const found = [...beside, ...page.map((key) => ({ ...key, tie: key.keyId }))].sort(inOrder).slice(0, most)
      return { found }
    }
    const placeOf = ({ expiresAt, tie }: Placed): ListPlace => [String(expiresAt.getTime()), tie]
    return pager.gather({ operation: 'listExpiries', tenant, query }, read, placeOf)
  }

  async function count(tenant: TenantId, few: readonly Placed[], at: Date): Promise<Omit<Summary, 'spcs'>> {
    const spans = expiryStatuses.map((status) => keysWhile(status, at))
    const ofKeys = await keys.countEndingKeys(tenant, spans)
    const of = (status: ExpiryStatus) =>
      (ofKeys[expiryStatuses.indexOf(status)] ?? 0) + few.filter((e) => expiryStatusOf(e, at) === status).length
    return { expired: of('expired'), critical: of('critical'), warning: of('warning'), ok: of('ok') }
  }

  return {
    sourcesOf,

    /**
     * Counts the expiries by status, and lists the first `most` that an administrator has to renew within 30 days,
     * soonest first.
     */
    soonest: async (tenant: TenantId, most: number) => {
      const at = now()
      const few = await others(tenant, at)
      const query = { renews_itself: false, within_days: firstWarning / day, limit: most }
      const { items } = await list(tenant, query, few, at)
      return { ...(await count(tenant, few, at)), soonest: items, at }
    },

    /** Reads a page. The first page comes with a summary, which ignores the filters. */
    read: async (tenant: TenantId, query: Query) => {
      const at = now()
      const few = await others(tenant, at)
      const page = await list(tenant, query, few, at)
      const summary =
        query.cursor === undefined ? { ...(await count(tenant, few, at)), spcs: await spcsByDay(tenant) } : null
      return { ...page, summary, at }
    },
  }
}
export type Expiries = ReturnType<typeof createExpiries>

/** Leaves out an expired item that needed no renewal. */
const isOfInterest = ({ renewal, expiresAt }: Expiry, at: Date) => renewal !== 'not_needed' || expiresAt > at

const inOrder = (a: Pick<Placed, 'expiresAt' | 'tie'>, b: Pick<Placed, 'expiresAt' | 'tie'>): number =>
  a.expiresAt.getTime() - b.expiresAt.getTime() || (a.tie < b.tie ? -1 : Number(a.tie > b.tie))

/** Derives a stable UUID from an item and its end, so that paging can resume after it. */
function tieOf({ type, id, name, expiresAt }: Expiry): string {
  const digest = hash('sha256', JSON.stringify([type, id, name, expiresAt]), 'hex')
  return digest.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

const withinOf = (days: number, at: Date) => new Date(at.getTime() + days * day)

function fits(e: Expiry, { type, status, within_days, renews_itself }: Query, at: Date): boolean {
  if (type !== undefined && e.type !== type) return false
  if (status !== undefined && expiryStatusOf(e, at) !== status) return false
  if (within_days !== undefined && e.expiresAt > withinOf(within_days, at)) return false
  return renews_itself === undefined || renewsItself(e, at) === renews_itself
}

const keysWhile = (status: ExpiryStatus | undefined, at: Date): { after: Date; until?: Date } => {
  const oldest = new Date(at.getTime() - endedKeysFor)
  if (status === undefined) return { after: oldest }
  const { after, ...until } = endsWhile(status, at)
  return { after: after < oldest ? oldest : after, ...until }
}

/** Returns the span of ends of the API keys that a filter admits, or undefined if it admits no key. */
function keysWithin({ type, status, within_days, renews_itself }: Query, at: Date) {
  if (renews_itself === true || (type !== undefined && type !== 'api_key')) return undefined
  const { after, until } = keysWhile(status, at)
  const end = within_days === undefined ? until : withinOf(within_days, at)
  const soonest = until && end && until < end ? until : end
  return { after, ...(soonest && { until: soonest }) }
}

/**
 * Reads the certificates that a listener presents (PEM, leaf first). They stay the same as long as its process runs.
 */
const certificatesIn = (pem: string): Expiry[] =>
  (pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []).map((text) => {
    const certificate = new X509Certificate(text)
    return {
      type: 'tls_certificate',
      id: certificate.fingerprint256.replaceAll(':', '').toLowerCase(),
      // A certificate that names hosts may have no subject.
      name: (certificate.subjectAltName ?? certificate.subject ?? certificate.serialNumber).split(/, |\n/)[0] ?? '',
      since: certificate.validFromDate,
      expiresAt: certificate.validToDate,
      renewal: 'by_hand',
    }
  })
