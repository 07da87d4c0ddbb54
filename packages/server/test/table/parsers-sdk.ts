import {
  pinTrust,
  readTrustSet,
  verifyBundle,
  verifyGatewayDirectory,
  verifyGatewayPolicy,
  verifyPointer,
  verifyPostureAssertion,
} from '@holdfast/sdk'
import { contentFor, createIssuer, digestOf, peerOf } from '@holdfast/sdk/test/issuer'
import { ofJson, ofJsonText, ofText, type Parser } from './parsers.ts'

/** The parsers of the SDK for data from a control plane. The data is signed, and then wrong in one part. */
export async function parsersOfSdk(): Promise<Parser[]> {
  const issuer = createIssuer()
  const set = await issuer.trustSet()
  const at = new Date()
  const trust = pinTrust(set, { tenantId: issuer.tenantId, now: at })
  const judge = { trust, tenantId: issuer.tenantId, now: at }
  const sdk = { refuses: ['VerificationError'] }
  const content = contentFor('a')
  const digest = digestOf(content)
  const key = { key: `${'A'.repeat(43)}=`, not_after: null }
  const peer = { ...peerOf('dev_1', digest), wireguard_keys: [key] }
  const policy = { variants: { [digest]: content }, peers: [peer], revocations: { devices: ['dev_2'], sessions: [] } }
  const pool = {
    pool_id: 'gwp_a',
    name: 'a',
    region: { code: 'eu', name: 'EU', lat: 1, lon: 2 },
    protocol: 'wireguard',
    gateways: [{ gateway_id: 'gwy_a', endpoints: [{ host: 'a.test', port: 51820, proto: 'udp' }] }],
  }
  const pointer = await issuer.pointer({ digest, seq: 1 })
  const directory = await issuer.directory()
  const assertion = await issuer.assertion()
  const asked = { issuer: 'https://control.example', nonce: null, now: at }
  const gateway = { ...judge, gatewayId: 'gwy_a' }
  return [
    ofText(
      'verifyPointer of a text',
      pointer,
      (text) => verifyPointer({ digest, pointer: text }, judge, undefined),
      sdk,
    ),
    ofText('verifyBundle of a text', await issuer.bundle(content), (text) => verifyBundle(text, digest, judge), sdk),
    ofText(
      'verifyGatewayDirectory of a text',
      directory,
      (text) => verifyGatewayDirectory(text, judge, undefined),
      sdk,
    ),
    ofText(
      'verifyGatewayPolicy of a text',
      await issuer.gatewayPolicy(),
      (text) => verifyGatewayPolicy(text, gateway),
      sdk,
    ),
    ofText('verifyPostureAssertion of a text', assertion, (text) => verifyPostureAssertion(text, trust, asked), sdk),
    ...ofJsonText('readTrustSet', set, readTrustSet, sdk),
    ofJson('pinTrust', set, (v) => pinTrust(v, { tenantId: issuer.tenantId, now: at }), sdk),
    ofJson(
      'verifyPointer',
      { digest, seq: 1 },
      async (v) => verifyPointer({ digest, pointer: await issuer.pointer(v) }, judge, undefined),
      sdk,
    ),
    ofJson('verifyBundle', content, async (v) => verifyBundle(await issuer.bundle(v), digest, judge), sdk),
    ofJson(
      'verifyGatewayDirectory',
      { pools: [pool] },
      async (v) => verifyGatewayDirectory(await issuer.directory(v), judge, undefined),
      sdk,
    ),
    ofJson(
      'verifyGatewayPolicy',
      policy,
      async (v) => verifyGatewayPolicy(await issuer.gatewayPolicy(v), { ...judge, gatewayId: 'gwy_a' }),
      sdk,
    ),
    ofJson(
      'verifyPostureAssertion',
      {
        submods: {
          device: {
            ear_status: 'affirming',
            ear_verifier_claims: { checks: [{ id: 'a', passed: true }], reasons: [] },
          },
        },
        posture: { a: true, reported_at: at.toISOString() },
      },
      async (v) =>
        verifyPostureAssertion(await issuer.assertion(v), trust, {
          issuer: 'https://control.example',
          nonce: null,
          now: at,
        }),
      sdk,
    ),
  ] as Parser[]
}
