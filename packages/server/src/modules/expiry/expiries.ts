import { hash, X509Certificate } from 'node:crypto'
import type { Contract } from '@holdfast/contract'
import { type ExpiryStatus, expiryStatuses } from '@holdfast/contract/vocabulary'
import type { Static } from 'typebox'
import type { ListPlace, Page } from '../../db/page.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { type ExpiringObject, type ExpirySource, oneBatch } from '../../kernel/expiring-object.ts'
import { day } from '../../kernel/time.ts'
import type { ExpiryDeps } from './deps.ts'
import { endsWhile, expiryStatusOf, firstWarning, renewsItself } from './standing.ts'

type Query = Static<Contract['listExpiries']['query']>
type Counts = Record<ExpiryStatus, number>
/** `tie`: a UUID that orders items with the same end. An API key has its own id. */
type Placed = ExpiringObject & { tie: string }

/** Time for which an expired API key stays listed, in ms. Everything else stays listed as long as it is in use. */
export const endedKeysFor = 30 * day

/**
 * Collects everything that expires. A page reads its own API keys, and all items of the other sources, of which it
 * keeps its own.
 */
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
  const sourcesOf = async (tenant: TenantId): Promise<readonly ExpirySource[]> =>
    (await isHome(tenant)) ? [...sources, oneBatch(license), oneBatch(async () => shown)] : sources

  /** Reads everything but API keys. Counts it by status, and returns the `most` soonest that are on the page. */
  async function surveyOthers(tenant: TenantId, at: Date, isOnPage: (e: Placed) => boolean, most: number) {
    const counts: Counts = { expired: 0, critical: 0, warning: 0, ok: 0 }
    let soonest: Placed[] = []
    for (const source of await sourcesOf(tenant))
      for await (const batch of source(tenant)) {
        // An item that appears twice, as a certificate that a provider names twice, is in one batch.
        const byTie = new Map(batch.filter((e) => isOfInterest(e, at)).map((e) => [tieOf(e), e]))
        const found = [...byTie].map(([tie, e]) => ({ ...e, tie }))
        for (const e of found) counts[expiryStatusOf(e, at)]++
        soonest = [...soonest, ...found.filter(isOnPage)].sort(inOrder).slice(0, most)
      }
    return { counts, soonest }
  }

  /** Reads a page. `counts` leave out the API keys. */
  async function list(tenant: TenantId, query: Query, at: Date): Promise<Page<ExpiringObject> & { counts: Counts }> {
    const within = keysWithin(query, at)
    let counts: Counts = { expired: 0, critical: 0, warning: 0, ok: 0 }
    const read = async (after: ListPlace | undefined, most: number) => {
      const place = after && { expiresAt: new Date(Number(after[0])), tie: after[1] }
      const behind = place && { expiresAt: place.expiresAt, keyId: place.tie }
      const page = within ? await keys.endingKeys(tenant, within, { most, ...(behind && { behind }) }) : []
      const isOnPage = (e: Placed) => fits(e, query, at) && (!place || inOrder(place, e) < 0)
      const others = await surveyOthers(tenant, at, isOnPage, most)
      counts = others.counts
      const ofKeys = page.map((key) => ({ ...key, tie: key.keyId }))
      return { found: [...others.soonest, ...ofKeys].sort(inOrder).slice(0, most) }
    }
    const placeOf = ({ expiresAt, tie }: Placed): ListPlace => [String(expiresAt.getTime()), tie]
    const page = await pager.gather({ operation: 'listExpiries', tenant, query }, read, placeOf)
    return { ...page, counts }
  }

  async function withKeys(tenant: TenantId, others: Counts, at: Date): Promise<Counts> {
    const spans = expiryStatuses.map((status) => keysWhile(status, at))
    const ofKeys = await keys.countEndingKeys(tenant, spans)
    const of = (status: ExpiryStatus) => (ofKeys[expiryStatuses.indexOf(status)] ?? 0) + others[status]
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
      const query = { renews_itself: false, within_days: firstWarning / day, limit: most }
      const { items, counts } = await list(tenant, query, at)
      return { ...(await withKeys(tenant, counts, at)), soonest: items, at }
    },

    /** Reads a page. The first page comes with a summary, which ignores the filters. */
    read: async (tenant: TenantId, query: Query) => {
      const at = now()
      const { counts, ...page } = await list(tenant, query, at)
      const summary =
        query.cursor === undefined ? { ...(await withKeys(tenant, counts, at)), spcs: await spcsByDay(tenant) } : null
      return { ...page, summary, at }
    },
  }
}
export type Expiries = ReturnType<typeof createExpiries>

/** Leaves out an expired item that needed no renewal. */
const isOfInterest = ({ renewal, expiresAt }: ExpiringObject, at: Date) => renewal !== 'not_needed' || expiresAt > at

const inOrder = (a: Pick<Placed, 'expiresAt' | 'tie'>, b: Pick<Placed, 'expiresAt' | 'tie'>): number =>
  a.expiresAt.getTime() - b.expiresAt.getTime() || (a.tie < b.tie ? -1 : Number(a.tie > b.tie))

/** Derives a stable UUID from an item and its end, so that paging can resume after it. */
function tieOf({ type, id, name, expiresAt }: ExpiringObject): string {
  const digest = hash('sha256', JSON.stringify([type, id, name, expiresAt]), 'hex')
  return digest.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

const withinOf = (days: number, at: Date) => new Date(at.getTime() + days * day)

function fits(e: ExpiringObject, { type, status, within_days, renews_itself }: Query, at: Date): boolean {
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
const certificatesIn = (pem: string): ExpiringObject[] =>
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
