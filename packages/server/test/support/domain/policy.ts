import type { Kit } from '../deployment/deployment.ts'

export const rule = (id: string, from: object, via?: string[]) => ({
  id,
  action: 'allow',
  from,
  to: ['10.0.0.0/8'],
  ...(via && { via }),
})

export const publish = (kit: Kit, rules: object[]) =>
  kit.admin.publishPolicy({ body: { channel: 'stable', policy: { schema: 'holdfast.policy/1', rules } } })

/** A policy that lets everybody reach this network. */
export const policyTo = (cidr: string) => ({
  schema: 'holdfast.policy/1',
  rules: [{ id: 'all', action: 'allow', from: { any: true }, to: [cidr] }],
})
/** The status of a device's question for its policy: 200, or that of the refusal. */
export const policyStatus = (client: { policyDigest: () => Promise<unknown> }): Promise<number> =>
  client.policyDigest().then(
    () => 200,
    (e) => e.status,
  )
