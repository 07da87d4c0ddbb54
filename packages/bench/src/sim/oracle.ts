import type { PolicyDocument, PolicyResource, PolicyRule, PolicySubjects } from '@holdfast/contract/policy-document'
import type { PolicyContent } from '@holdfast/sdk'
import { type Directory, groupsOf, isUsable, type SimDevice, type SimGateway, type SimUser } from './directory.ts'
import { checkMeanings } from './documents.ts'

/** One rule that a device must hold, written so that equal meaning gives equal text. */
type ExpectedRule = { id: string; text: string }
export type ExpectedPolicy = { rules: ExpectedRule[]; checks: string[]; settings: string }

/**
 * Works out the policy of one device naively: every rule against every list, every group resolved again. It uses only
 * the document and the directory, and none of the server's code for this.
 */
export function expectPolicy(
  document: PolicyDocument,
  directory: Directory,
  device: SimDevice,
  now: number,
): ExpectedPolicy {
  const concerning = document.rules.filter((rule) => concerns(document, directory, rule, device))
  const held = heldRules(document, directory, device, now)
  const required = new Set(concerning.flatMap((rule) => rule.when?.posture ?? []))
  return {
    rules: held.map((rule) => ({ id: rule.id, text: textOfRule(document, directory, rule) })).sort(byId),
    checks: [...required].filter((id) => document.posture_checks?.[id]?.enforcement !== 'audit').sort(),
    settings: spell(document.settings ?? {}),
  }
}

/** The rules that apply to a device and that its posture does not switch off. */
export const heldRules = (
  document: PolicyDocument,
  directory: Directory,
  device: SimDevice,
  now: number,
): PolicyRule[] =>
  document.rules.filter((rule) => concerns(document, directory, rule, device) && isHeld(document, rule, device, now))

const byId = (a: { id: string }, b: { id: string }): number => (a.id < b.id ? -1 : 1)

const concerns = (
  document: PolicyDocument,
  directory: Directory,
  { from, except }: PolicyRule,
  device: SimDevice,
): boolean => names(document, directory, from, device) && !(except && names(document, directory, except, device))

function names(document: PolicyDocument, directory: Directory, subjects: PolicySubjects, device: SimDevice): boolean {
  if (subjects.any) return true
  const { user } = device
  if (user && subjects.users?.some((name) => isCalled(user, name))) return true
  if (subjects.devices?.includes(device.id)) return true
  if (subjects.tags?.some((tag) => device.tags.includes(tag))) return true
  return subjects.groups?.some((name) => isMember(document, directory, name, device)) ?? false
}

const isCalled = ({ id, username, email }: SimUser, name: string): boolean => [id, username, email].includes(name)

/** A name means the document's group of that name, if there is one, else the directory's. */
function isMember(document: PolicyDocument, directory: Directory, name: string, device: SimDevice): boolean {
  const own = document.groups?.[name]
  if (!own) {
    const group = directory.groups.find((g) => g.name === name || g.id === name)
    return group !== undefined && groupsOf(device).has(group.name)
  }
  const { user } = device
  if (user && own.users?.some((each) => isCalled(user, each))) return true
  return own.groups?.some((each) => isMember(document, directory, each, device)) ?? false
}

/**
 * Posture: an allow rule holds if every enforced check passes. A deny rule is dropped only if a check is known to fail.
 */
function isHeld(document: PolicyDocument, rule: PolicyRule, device: SimDevice, now: number): boolean {
  const outcomes = (rule.when?.posture ?? []).flatMap((id) => {
    const check = document.posture_checks?.[id]
    if (!check || (check.enforcement ?? 'enforce') !== 'enforce') return []
    if (check.platforms && !check.platforms.includes(device.platform)) return [true]
    return [device.facts ? (checkMeanings[id]?.(device.facts, now) ?? null) : null]
  })
  return rule.action === 'allow' ? outcomes.every((outcome) => outcome === true) : !outcomes.includes(false)
}

function textOfRule(document: PolicyDocument, directory: Directory, rule: PolicyRule): string {
  const { posture: _, ...when } = rule.when ?? {}
  return spellRule({
    action: rule.action,
    to: rule.to.map((name) => {
      const resource = document.resources?.[name]
      if (resource) return [name, spellResource(resource, (pool) => poolId(directory, pool))]
      const host = document.hosts?.[name]
      return host ? [name, spellResource({ cidrs: [host] }, (pool) => pool)] : [name, '']
    }),
    ports: rule.ports,
    when,
    via: rule.via?.map((pool) => poolId(directory, pool)),
    expires_at: rule.expires_at,
    log: rule.log,
  })
}

const poolId = ({ pools }: Directory, name: string): string =>
  pools.find((p) => p.name === name || p.id === name)?.id ?? name

/** The policy that a device was given, written in the same way. */
export const readPolicy = ({ rules, resources, settings, posture_checks }: PolicyContent): ExpectedPolicy => ({
  rules: rules
    .map((rule) => ({
      id: rule.id,
      text: spellRule({
        ...rule,
        to: rule.to.map((name) => [name, resources[name] ? spellResource(resources[name], (pool) => pool) : '']),
      }),
    }))
    .sort(byId),
  checks: posture_checks.map(({ id }) => id).sort(),
  settings: spell(settings),
})

type Spellable = {
  action: string
  to: string[][]
  ports?: readonly string[] | undefined
  when?: object | undefined
  via?: readonly string[] | undefined
  expires_at?: string | undefined
  log?: boolean | undefined
}

const spellRule = ({ action, to, ports, when, via, expires_at, log }: Spellable): string =>
  spell({
    action,
    to: to.map(([name, resource]) => [withMask(name ?? ''), resource]),
    ports: ports ?? ['icmp', 'tcp/*', 'udp/*'],
    when: when && Object.keys(when).length > 0 ? when : null,
    via: via ?? null,
    until: expires_at ? Date.parse(expires_at) : null,
    log: log ?? false,
  })

const spellResource = (
  { cidrs, dns, services, ports, pool }: PolicyResource,
  idOfPool: (name: string) => string,
): string => spell({ cidrs: cidrs?.map(withMask), dns, services, ports, pool: pool && idOfPool(pool) })

/** A bare address is a network with a single address. */
const withMask = (cidr: string): string =>
  /^[0-9.]+$/.test(cidr) && cidr.includes('.')
    ? `${cidr}/32`
    : /^[0-9a-f]*:[0-9a-f:]*$/.test(cidr)
      ? `${cidr}/128`
      : cidr

/** JSON without order: the order of keys and of lists has no meaning here. */
function spell(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spell).sort().join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const entries = Object.entries(value).filter(([, v]) => v !== undefined)
  return `{${entries
    .map(([k, v]) => `${k}:${spell(v)}`)
    .sort()
    .join()}}`
}

export const keyOf = ({ rules, checks, settings }: ExpectedPolicy): string =>
  [settings, checks.join(), ...rules.map(({ id, text }) => `${id} ${text}`)].join('\n')

/** The devices that the gateways of a pool must let in: those with an allow rule that leads through the pool. */
export const expectPeers = (
  documentOf: (device: SimDevice) => PolicyDocument,
  directory: Directory,
  { pool }: SimGateway,
  now: number,
): SimDevice[] =>
  directory.devices.filter(
    (device) => isUsable(device) && leadsThrough(documentOf(device), directory, device, pool.name, now),
  )

const leadsThrough = (
  document: PolicyDocument,
  directory: Directory,
  device: SimDevice,
  pool: string,
  now: number,
): boolean =>
  document.rules.some((rule) => {
    if (rule.action !== 'allow') return false
    if (!concerns(document, directory, rule, device) || !isHeld(document, rule, device, now)) return false
    if (rule.via) return rule.via.includes(pool)
    return rule.to.some((name) => [undefined, pool].includes(document.resources?.[name]?.pool))
  })
