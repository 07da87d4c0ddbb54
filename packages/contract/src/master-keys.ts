import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Closed, Count, Nullable, Time } from './schema.ts'

const MasterKey = Closed(
  {
    key_id: Type.String({ description: 'Derived from the key; it says nothing of it' }),
    version: Type.Integer({ minimum: 1, description: 'What tokens say that were minted under it' }),
    line: Nullable(
      Type.Integer({ minimum: 1, description: 'Where it stands in the file of the replica that answers; 1 writes' }),
    ),
    reading: Type.Integer({ minimum: 0, description: 'How many running replicas read it' }),
    writing: Type.Integer({ minimum: 0, description: 'How many running replicas write under it' }),
    sealed: Nullable(Count),
    digests: Nullable(Count),
    counted_at: Nullable(Time),
    needed: Type.Boolean({ description: 'No replica starts without it' }),
    unused_since: Nullable(Time),
    removable: Type.Boolean({ description: 'Its line may be taken out of the file now' }),
  },
  { title: 'MasterKey' },
)

export const listMasterKeys = endpoint({
  method: 'GET',
  path: '/v1/admin/master-keys',
  summary: 'The master keys of this deployment, oldest first: how much is under each, and which may be removed',
  access: { by: ['session', 'api_key'], permission: 'tenants:write' },
  response: Closed({
    replicas: Type.Integer({ minimum: 0, description: 'How many run' }),
    items: Type.Array(MasterKey, { maxItems: 61 }),
  }),
})
