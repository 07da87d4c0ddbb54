import type { Contract, Output } from '@holdfast/contract'
import { certificateInfo } from '@holdfast/crypto'
import type { Hold } from '../../http/answer/representation.ts'
import type { Actor, TenantId } from '../../kernel/actor.ts'
import { encodeId } from '../../kernel/ids.ts'
import { Representation } from '../../kernel/results.ts'
import { createHeldReads } from '../devices/index.ts'
import type { Crl, Crls } from './crl/crls.ts'
import type { CertificatesDeps } from './deps.ts'

type View = Output<Contract['gatewayTrustAnchors']>
type Answer = Representation<View>

/**
 * The trust set as gateways get it, with the newest CRL of each authority. CRLs are separate documents: a new one
 * changes this answer and its ETag, but not the trust set.
 */
export function createGatewayAnchors({
  trust,
  changes,
  fleet,
  crls,
}: Pick<CertificatesDeps, 'trust' | 'changes' | 'fleet'> & { crls: Crls }) {
  const waits = createHeldReads({ changes, fleet, concernAll: ['trust', 'crl'], longestLookMs: Infinity })
  const made = new WeakMap<readonly Crl[], { set: object; answer: Answer }>()

  async function read(tenant: TenantId, since: number | undefined): Promise<Answer> {
    const set = await trust.anchors(tenant, since)
    const lists = await crls.get(tenant)
    const before = made.get(lists)
    if (before?.set === set) return before.answer
    const answer = answerOf(set, lists)
    made.set(lists, { set, answer })
    return answer
  }

  return {
    read: ({ tenantId, principal: { id } }: Actor, since: number | undefined, hold: Hold | undefined) =>
      waits.readOrWait({ tenantId, id }, () => read(tenantId, since), hold),
    stop: waits.stop,
    isAwaited: waits.isAwaited,
  }
}

function answerOf(set: Awaited<ReturnType<CertificatesDeps['trust']['anchors']>>, lists: readonly Crl[]): Answer {
  const crls = lists.map(({ authority: { signerId, certificate }, number, thisUpdate, nextUpdate, der }) => ({
    issuer_id: encodeId('signer', signerId),
    issuer: certificateInfo(certificate).subject,
    number,
    this_update: thisUpdate.toISOString(),
    next_update: nextUpdate.toISOString(),
    der: der.toString('base64'),
  }))
  const text = `${String(set.content).slice(0, -1)},"crls":${JSON.stringify(crls)}}`
  const tag = [set.etag?.slice(1, -1), ...lists.map(({ number }) => number)].join('.')
  return new Representation<View>(tag, Buffer.from(text))
}
