import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Closed, Id, List, ListQuery, Time } from './schema.ts'

const Hash = Type.String({ pattern: '^[0-9a-f]{64}$', description: 'SHA-256, hexadecimal' })
const Proof = Type.Array(Hash, { description: 'Hashes of subtrees, beginning with that next to the leaf' })
const Size = Type.Integer({
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Size of the checkpoint: its number of events',
})

export const AuditCheckpoint = Closed(
  {
    size: Type.Integer({
      minimum: 1,
      description: 'Number of events that the checkpoint covers: those up to this `seq`',
    }),
    root: Type.String({
      pattern: '^[0-9a-f]{64}$',
      description:
        'Root of the Merkle tree whose entry n is the 32 bytes of `hash` of sequence number n (RFC 9162 §2.1)',
    }),
    kid: Type.String({ description: 'Key id of the signing key (purpose audit-checkpoint) in the trust set' }),
    note: Type.String({
      description: 'The checkpoint as it was signed with Ed25519 (C2SP tlog-checkpoint, signed-note)',
    }),
    created_at: Time,
  },
  { title: 'AuditCheckpoint' },
)

export const listAuditCheckpoints = endpoint({
  method: 'GET',
  path: '/v1/audit/checkpoints',
  summary: 'List the checkpoints of the audit log',
  description:
    'A checkpoint is a signed head of the log. The list has all checkpoints of a week, then one a day, and after 400 days one a month.',
  access: { by: ['session', 'api_key'], permission: 'audit:read' },
  query: ListQuery({}, ['size'] as const, '-size'),
  response: List(AuditCheckpoint),
})

export const proveAuditConsistency = endpoint({
  method: 'GET',
  path: '/v1/audit/checkpoints/consistency',
  costly: true,
  summary: 'Prove the consistency of two checkpoints',
  description: 'The proof (RFC 9162 §2.1.4) shows that the audit log of one checkpoint extends that of the other.',
  access: { by: ['session', 'api_key'], permission: 'audit:read' },
  query: Closed({ from: Size, to: Size }),
  response: Closed({ from: Size, to: Size, proof: Proof }, { title: 'AuditConsistency' }),
})

export const proveAuditEvent = endpoint({
  method: 'GET',
  path: '/v1/audit/events/{event_id}/proof',
  costly: true,
  summary: 'Prove that a checkpoint covers an audit event',
  description: 'The proof (RFC 9162 §2.1.3) is for the event at its sequence number.',
  access: { by: ['session', 'api_key'], permission: 'audit:read' },
  params: Closed({ event_id: Id('audit_event') }),
  response: Closed(
    {
      event_id: Id('audit_event'),
      seq: Type.Integer({ minimum: 1, description: 'Sequence number of the event. The index of its leaf is one less' }),
      hash: Hash,
      previous_hash: Type.String({
        pattern: '^[0-9a-f]{64}$',
        description: 'Hash of the previous event. Together with the event it results in `hash`',
      }),
      proof: Proof,
      checkpoint: AuditCheckpoint,
    },
    { title: 'AuditProof' },
  ),
})
