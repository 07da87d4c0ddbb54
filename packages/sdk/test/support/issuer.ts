import type { PublicJwk, Purpose, Signer } from '@holdfast/crypto'
import { canonicalJson, contentDigest, generateKey, signGeneralJws, signJws, softwareSigner } from '@holdfast/crypto'
import type { PolicyContent } from '../../src/verify/policy-verifier.ts'
import type { SignedTrustSet } from '../../src/verify/trust-store.ts'

type TestKey = { signer: Signer; publicJwk: PublicJwk; kid: string; purpose: Purpose }

export function makeKey(purpose: Purpose): TestKey {
  const { privateJwk, publicJwk, kid } = generateKey('ES256')
  return { signer: softwareSigner(purpose, privateJwk), publicJwk, kid, purpose }
}

const hour = 3_600_000
const after = (now: Date, hours: number) => new Date(now.getTime() + hours * hour).toISOString()

export const contentFor = (name: string): PolicyContent => ({
  schema: 'holdfast.policy/1',
  rules: [{ id: name, action: 'allow', to: ['wiki'], ports: ['tcp/443'] }],
  resources: { wiki: { cidrs: ['10.1.2.0/24'] } },
  settings: {},
  gateway_pools: [],
  posture_checks: [],
})

/**
 * Signs a control plane's data for tests, with real keys. Every part can be overridden, to create data that must be
 * refused.
 */
export function createIssuer({
  tenantId = 'tnt_a',
  now = () => new Date(),
}: {
  tenantId?: string
  now?: () => Date
} = {}) {
  const keys = {
    policy: makeKey('policy'),
    gateway: makeKey('gateway-policy'),
    trust: makeKey('trust-set'),
    credential: makeKey('credential'),
    posture: makeKey('posture'),
  }
  return {
    tenantId,
    keys,
    trustSet: async ({
      version = 1,
      published = Object.values(keys),
      signedBy = [keys.trust],
      ...overrides
    }: {
      version?: number
      published?: TestKey[]
      signedBy?: TestKey[]
      tenant_id?: string
      expires_at?: string
      refresh_after?: string
      anchors?: SignedTrustSet['anchors']
      intermediates?: string[]
    } = {}): Promise<SignedTrustSet> => {
      const document = {
        tenant_id: tenantId,
        version,
        issued_at: now().toISOString(),
        expires_at: after(now(), 168),
        refresh_after: after(now(), 84),
        anchors: [],
        intermediates: [],
        jwks: {
          keys: published.map(({ publicJwk, kid, purpose }) => ({
            ...publicJwk,
            kid,
            alg: 'ES256',
            use: 'sig',
            holdfast_purpose: [purpose],
          })),
        },
        ...overrides,
      }
      const signers = signedBy.map(({ signer }) => signer)
      const signed = await signGeneralJws(signers, 'trust-set+jws', Buffer.from(canonicalJson(document)))
      return { ...document, signed }
    },
    credential: (jkt: string, claims: object = {}, { key = keys.credential, typ = 'device+jwt' } = {}) => {
      const at = Math.floor(now().getTime() / 1000)
      const issued = { iss: 'https://control.example', aud: ['urn:holdfast:gateway'], jti: 'one', gen: 1, enr: 'token' }
      const valid = { iat: at, nbf: at, exp: at + 3600, sub: 'dev_1', tid: tenantId, cnf: { jkt } }
      return signJws(key.signer, typ, { ...issued, ...valid, ...claims })
    },
    pointer: (claims: object, { key = keys.policy, typ = 'policy-pointer+jwt' } = {}): Promise<string> =>
      signJws(key.signer, typ, {
        tenant_id: tenantId,
        channel: 'stable',
        version: 1,
        seq: 1,
        iat: Math.floor(now().getTime() / 1000),
        exp: Math.floor(now().getTime() / 1000) + 3600,
        ...claims,
      }),
    bundle: (
      content: unknown,
      overrides: object = {},
      { key = keys.policy, typ = 'policy-bundle+jws' } = {},
    ): Promise<string> =>
      signJws(key.signer, typ, {
        schema: 'holdfast.policy-bundle/1',
        tenant_id: tenantId,
        not_before: now().toISOString(),
        expires_at: after(now(), 24),
        content,
        ...overrides,
      }),
    directory: (overrides: object = {}, { key = keys.policy, typ = 'gateway-directory+jws' } = {}): Promise<string> =>
      signJws(key.signer, typ, {
        schema: 'holdfast.gateway-directory/1',
        tenant_id: tenantId,
        seq: 1,
        iat: Math.floor(now().getTime() / 1000),
        exp: Math.floor(now().getTime() / 1000) + 86_400,
        pools: [],
        ...overrides,
      }),
    assertion: (claims: object = {}, { key = keys.posture, typ = 'eat+jwt' } = {}): Promise<string> => {
      const at = Math.floor(now().getTime() / 1000)
      return signJws(key.signer, typ, {
        iss: 'https://control.example',
        sub: 'dev_1',
        aud: ['urn:holdfast:relying-party'],
        tid: tenantId,
        uid: 'usr_1',
        cnf: { jkt: 'thumb' },
        jti: 'one',
        iat: at,
        exp: at + 600,
        submods: {
          device: {
            ear_status: 'affirming',
            ear_verifier_claims: { checks: [{ id: 'disk', passed: true }], reasons: [] },
          },
        },
        posture: { disk_encrypted: true, reported_at: now().toISOString() },
        ...claims,
      })
    },
    gatewayPolicy: (overrides: object = {}, { key = keys.gateway, typ = 'gateway-policy+jws' } = {}): Promise<string> =>
      signJws(key.signer, typ, {
        schema: 'holdfast.gateway-policy/1',
        kind: 'snapshot',
        tenant_id: tenantId,
        gateway_id: 'gwy_a',
        pool_id: 'gwp_a',
        seq: 1,
        base_seq: null,
        generated_at: now().toISOString(),
        expires_at: after(now(), 0.25),
        revocations: { devices: [], sessions: [] },
        variants: {},
        moved: [],
        peers: [],
        chunks: [],
        removed_peers: [],
        trust_anchor_version: 1,
        gateway: { public_key: null, listen_port: 51820, addresses: ['100.127.255.254'], draining: false },
        pool: poolPart(),
        ...overrides,
      }),
  }
}

export const digestOf = (content: unknown): string => contentDigest(content)

/** Returns a peer with this variant. */
export const peerOf = (id: string, variant: string) => ({
  device_id: id,
  user_id: null,
  mfa_at: null,
  wireguard_keys: [] as { key: string; not_after: string | null }[],
  addresses: ['100.64.0.1/32'],
  valid_until: null,
  variant,
})

export const poolPart = (more: object = {}) => ({
  protocol: 'wireguard',
  overlay: ['100.64.0.0/10'],
  nat: 'masquerade',
  mtu: 1420,
  dns: [],
  fail_mode: 'closed',
  lifetime_seconds: 900,
  ...more,
})
