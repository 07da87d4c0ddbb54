import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Closed, Count, Nullable, Octets, Time } from './schema.ts'

const hex = (bytes: number) => Type.String({ pattern: `^[0-9a-f]{${2 * bytes}}$` })
const KeyId = hex(32)
export const TufSignature = Closed(
  { keyid: KeyId, sig: Type.String({ pattern: '^(?:[0-9a-f]{2}){1,256}$', maxLength: 512 }) },
  { title: 'TufSignature' },
)
export const TufKey = Closed(
  {
    keytype: Type.String({ maxLength: 32, description: '`ecdsa` or `ed25519`' }),
    scheme: Type.String({ maxLength: 32, description: '`ecdsa-sha2-nistp256` or `ed25519`' }),
    keyval: Closed({
      public: Type.String({ maxLength: 1024, description: 'Public key in PEM. For Ed25519: 32 bytes in hexadecimal' }),
    }),
  },
  { title: 'TufKey' },
)
const TufRole = Closed(
  {
    keyids: Type.Array(KeyId, { minItems: 1, maxItems: 16, uniqueItems: true }),
    threshold: Type.Integer({ minimum: 1, maximum: 16 }),
  },
  { title: 'TufRole' },
)
export const TufRoot = Closed(
  {
    signed: Closed({
      _type: Type.Literal('root'),
      spec_version: Type.String({ pattern: '^1\\.0\\.\\d{1,4}$' }),
      version: Type.Integer({ minimum: 1, maximum: 1_000_000_000 }),
      expires: Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$' }),
      consistent_snapshot: Type.Literal(true),
      keys: Type.Record(Type.String({ pattern: '^[0-9a-f]{64}$' }), TufKey, {
        additionalProperties: false,
        maxProperties: 32,
      }),
      roles: Closed({ root: TufRole, targets: TufRole, snapshot: TufRole, timestamp: TufRole }),
    }),
    signatures: Type.Array(TufSignature, { maxItems: 32 }),
  },
  { title: 'TufRoot', description: 'Root metadata of TUF 1.0.31 §4.3' },
)
const TufMetadata = Closed(
  { signed: Type.Record(Type.String(), Type.Unknown()), signatures: Type.Array(TufSignature) },
  { title: 'TufMetadata', description: 'Metadata of TUF 1.0.31 §4' },
)

export const TufStatus = Closed(
  {
    root: TufRoot,
    is_online: Type.Boolean({ description: 'True: the control plane has the key of the root and renews the root' }),
    expires_at: Time,
    due: Nullable(Type.String({ description: 'Reason why a new root is needed; null: none is needed' })),
    targets_version: Count,
    snapshot_version: Count,
    timestamp_version: Count,
    online_keys: Closed(
      { targets: TufKey, snapshot: TufKey, timestamp: TufKey },
      { description: 'Keys that the next root must list for these roles' },
    ),
  },
  { title: 'TufStatus' },
)

export const tufStatus = endpoint({
  method: 'GET',
  path: '/v1/admin/updates/tuf',
  summary: 'Get the state of the TUF repository',
  description: 'The answer has the root, and whether a new one is needed.',
  access: { by: ['session', 'api_key'], permission: 'updates:read' },
  response: TufStatus,
})
export const replaceTufRoot = endpoint({
  method: 'POST',
  path: '/v1/admin/updates/tuf/root',
  summary: 'Publish the next TUF root',
  description: 'The root is signed by the keys of the current root and by its own keys.',
  access: { by: ['session', 'api_key'], permission: 'trust:rotate' },
  audit: 'update_root.replaced',
  stepUp: {},
  body: TufRoot,
  response: TufStatus,
})

const repository = { by: ['device', 'session', 'api_key'], permission: 'updates:read' } as const
export const tufMetadata = endpoint({
  method: 'GET',
  path: '/v1/update/tuf/metadata/{file}',
  summary: 'Get metadata of the TUF repository',
  access: repository,
  params: Closed({ file: Type.String({ maxLength: 64, examples: ['timestamp.json', '1.root.json'] }) }),
  response: TufMetadata,
  errors: ['not_found'],
  etag: true,
})
const segment = Type.String({ maxLength: 256 })
export const tufTarget = endpoint({
  method: 'GET',
  path: '/v1/update/tuf/targets/{version}/{platform}/{arch}/{file}',
  summary: 'Download a target of the TUF repository',
  description: 'The file name is `<SHA-256>.<file name>`.',
  access: repository,
  params: Closed({ version: segment, platform: segment, arch: segment, file: segment }),
  response: Octets,
  errors: ['not_found', 'rate_limited'],
  download: true,
})
