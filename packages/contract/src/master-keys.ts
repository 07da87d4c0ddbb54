import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Closed, Count, Nullable, Time } from './schema.ts'

const MasterKey = Closed(
  {
    key_id: Type.String({ description: 'Id that is derived from the key and reveals nothing about it' }),
    version: Type.Integer({ minimum: 1, description: 'Version number in tokens that were minted with it' }),
    line: Nullable(
      Type.Integer({
        minimum: 1,
        description: 'Position in the key file of the answering replica; the key at 1 encrypts new data',
      }),
    ),
    reading: Type.Integer({ minimum: 0, description: 'Number of running replicas that read it' }),
    writing: Type.Integer({ minimum: 0, description: 'Number of running replicas that encrypt new data with it' }),
    sealed: Nullable(Count),
    digests: Nullable(Count),
    counted_at: Nullable(Time),
    needed: Type.Boolean({ description: 'True: no replica starts without it' }),
    unused_since: Nullable(Time),
    removable: Type.Boolean({ description: 'True: its line may be removed from the file now' }),
  },
  { title: 'MasterKey' },
)

export const listMasterKeys = endpoint({
  method: 'GET',
  path: '/v1/admin/master-keys',
  summary: 'List the master keys of this deployment',
  description: 'The oldest is first. Each has the number of secrets under it, and whether it may be removed.',
  access: { by: ['session', 'api_key'], permission: 'tenants:write' },
  response: Closed({
    replicas: Type.Integer({ minimum: 0, description: 'Number of running replicas' }),
    items: Type.Array(MasterKey, { maxItems: 61 }),
  }),
})
