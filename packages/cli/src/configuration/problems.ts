import { contract, type Endpoint } from '@holdfast/contract'
import type { Client } from '@holdfast/sdk'
import { Compile } from 'typebox/compile'
import type { Step } from './differences.ts'

type Scope = { tenant_id?: string }

/** Returns the foreseeable problems of the changes, one sentence each, without a full stop. */
export async function problemsOf(client: Client, steps: readonly Step[], scope: Scope): Promise<string[]> {
  if (steps.length === 0) return []
  const invalid = steps.flatMap(schemaProblems)
  return [...(await permissionProblems(client, steps)), ...invalid, ...(await policyProblems(client, steps, scope))]
}

/** Returns the caller's missing permissions, each with the first change that needs it. */
async function permissionProblems(client: Client, steps: readonly Step[]): Promise<string[]> {
  const { permissions } = await client.me()
  const has = new Set<string>(permissions)
  const missing = new Map<string, string>()
  for (const { thing, operation, body } of steps) {
    const { access, operations }: Endpoint = contract[operation]
    const needed =
      'operation' in body && operations
        ? operations[String(body.operation)]?.permission
        : 'permission' in access && access.permission
    if (typeof needed === 'string' && needed !== 'own' && needed !== 'by_operation' && !has.has(needed))
      if (!missing.has(needed)) missing.set(needed, thing)
  }
  return [...missing].map(
    ([permission, thing]) => `${thing}: needs the permission ${permission}, which you do not have`,
  )
}

type SchemaError = { instancePath: string; message: string; params?: { requiredProperties?: string[] } }
const mostOfOne = 5

/** Returns violations of the API's schema, such as missing required fields of a new thing. */
function schemaProblems({ thing, operation, body }: Step): string[] {
  const schema = (contract[operation] as Endpoint).body
  // The policy's own validation reports more.
  if (!schema || operation === 'publishPolicy') return []
  const checked = Compile(schema)
  // In the sent form, without undefined fields.
  const sent: unknown = JSON.parse(JSON.stringify(body))
  if (checked.Check(sent)) return []
  const errors = (checked.Errors(sent) as SchemaError[]).slice(0, mostOfOne)
  return errors.map(({ instancePath, message, params }) => {
    const path = instancePath.slice(1).replaceAll('/', '.')
    const needed = params?.requiredProperties
    return `${thing}: ${path && `${path} `}${needed ? `needs ${needed.join(', ')}` : message}`
  })
}

/** Returns the server's validation errors of a new policy, except for groups and pools that earlier steps create. */
async function policyProblems(client: Client, steps: readonly Step[], query: Scope): Promise<string[]> {
  const step = steps.find(({ operation }) => operation === 'publishPolicy')
  if (!step) return []
  const { policy } = step.body as { policy: Parameters<Client['validatePolicy']>[0]['body']['policy'] }
  const made = steps
    .filter(({ action }) => action === 'create')
    .map(({ thing }) => thing.replace(/^\S+ /, '').toLowerCase())
  const { errors, tests } = await client.validatePolicy({ query, body: { policy } })
  // A suggestion names other objects than the missing one.
  const missing = (message: string) => message.toLowerCase().split('. did you mean', 1)[0] ?? ''
  const isMade = (message: string) => made.some((name) => missing(message).includes(`"${name}"`))
  const refused = errors
    .filter(({ message }) => !isMade(message))
    .map(({ field, message }) => `policy stable: ${field} ${message}`)
  const failed = tests?.failed ?? 0
  return failed > 0 ? [...refused, `policy stable: ${failed} of its tests fail`] : refused
}
