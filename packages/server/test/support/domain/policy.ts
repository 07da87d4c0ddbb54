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
