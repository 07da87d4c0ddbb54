import { BlockList } from 'node:net'
import type { PolicyDocument, PolicyRule, PolicyTimeWindow } from '@holdfast/contract/policy-document'
import type { Box } from '@holdfast/policy'

/** The circumstances of a device's connection, as its gateway sees them. Times are in ms. */
export type Seen = {
  at: number
  source_ip?: string | undefined
  country?: string | undefined
  mfa_at?: number | undefined
}
type Table = ReadonlyMap<string, readonly string[]>
/** Lookups that gateways do themselves: addresses of DNS names, and networks of services. */
export type Found = { names: Table; services: Table }
/** The rules that apply at a gateway, each with the destinations that it leads to there. */
export type Reach = readonly { rule: PolicyRule; to: readonly string[] }[]

/**
 * Returns the rules of a device that apply at a gateway of a pool. Read naively from the document, independently of the
 * product's code: addresses by the runtime's `BlockList`, time windows by the local time of their zone.
 */
export const reachAt = (document: PolicyDocument, rules: readonly PolicyRule[], pool: string, seen: Seen): Reach =>
  rules
    .filter((rule) => counts(rule, seen))
    .map((rule) => ({ rule, to: rule.to.filter((name) => leads(document, rule, name, pool)) }))
    .filter(({ to }) => to.length > 0)

const leads = ({ resources }: PolicyDocument, { action, via }: PolicyRule, name: string, pool: string): boolean =>
  action === 'deny' || (via ? via.includes(pool) : [undefined, pool].includes(resources?.[name]?.pool))

/** An unknown value fails an allow rule and does not switch off a deny rule. */
function counts({ action, when, expires_at }: PolicyRule, { at, source_ip, country, mfa_at }: Seen): boolean {
  const unknown = action === 'deny'
  if (expires_at !== undefined && at >= Date.parse(expires_at)) return false
  if (when?.time && !when.time.some((window) => isOpen(window, at))) return false
  if (when?.countries && !(country === undefined ? unknown : when.countries.includes(country))) return false
  if (when?.cidrs) {
    const isInside = source_ip === undefined ? unknown : when.cidrs.some((cidr) => isIn(source_ip, cidr))
    if (!isInside) return false
  }
  const { mfa_within_seconds: within } = when ?? {}
  return within === undefined || (mfa_at === undefined ? unknown : at - mfa_at <= within * 1000)
}

const days = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
const clocks = new Map<string, Intl.DateTimeFormat>()

function isOpen({ zone, from, to, days: named }: PolicyTimeWindow, at: number): boolean {
  const clock =
    clocks.get(zone) ??
    new Intl.DateTimeFormat('en-GB', { timeZone: zone, weekday: 'short', hour: '2-digit', minute: '2-digit' })
  clocks.set(zone, clock)
  const shown = Object.fromEntries(clock.formatToParts(at).map(({ type, value }) => [type, value]))
  const [time, today] = [`${shown.hour}:${shown.minute}`, shown.weekday ?? '']
  const yesterday = days.at(days.indexOf(today) - 1) ?? ''
  const starts = (day: string) => !named || named.some((name) => name === day.toLowerCase())
  if (from < to) return from <= time && time < to && starts(today)
  return (from <= time && starts(today)) || (time < to && starts(yesterday))
}

const lists = new Map<string, BlockList>()
const family = (address: string) => (address.includes(':') ? 'ipv6' : 'ipv4')

function isIn(address: string, cidr: string): boolean {
  const list = lists.get(cidr) ?? new BlockList()
  const [network = '', prefix] = cidr.split('/')
  if (!lists.has(cidr)) list.addSubnet(network, Number(prefix ?? (family(cidr) === 'ipv6' ? 128 : 32)), family(cidr))
  lists.set(cidr, list)
  return family(cidr) === family(address) && list.check(address, family(address))
}

type MatchingRule = { action: string; ports: readonly (readonly string[] | undefined)[] }

/** The rules that name a place with this address: their action, with the ports of the rule and of the place. */
export const matchingRules = (
  document: PolicyDocument,
  found: Found,
  reach: Reach,
  address: string,
): MatchingRule[] => {
  const places = placesOf(document, found, address)
  return reach.flatMap(({ rule, to }) =>
    to
      .filter((name) => name === '*' || places.has(name))
      .map((name) => ({ action: rule.action, ports: [rule.ports, document.resources?.[name]?.ports] })),
  )
}

/** True if some rule allows the port and none denies it. */
export function isAllowed(rules: readonly MatchingRule[], protocol: string, port: number | null): boolean {
  const applying = rules.filter(({ ports }) => ports.every((specs) => isOn(specs, protocol, port)))
  return applying.length > 0 && applying.every(({ action }) => action === 'allow')
}

const isOn = (specs: readonly string[] | undefined, protocol: string, port: number | null): boolean =>
  !specs ||
  specs.some((spec) => {
    const [name, from = '', to = from] = spec.split(/[/-]/)
    return name === protocol && (port === null || from === '*' || (Number(from) <= port && port <= Number(to)))
  })

const placed = new WeakMap<PolicyDocument, Map<string, ReadonlySet<string>>>()

/** The names in the rules that contain an address. Cached, since each is asked for many times. */
function placesOf(document: PolicyDocument, found: Found, address: string): ReadonlySet<string> {
  const known = placed.get(document) ?? new Map<string, ReadonlySet<string>>()
  placed.set(document, known)
  const before = known.get(address)
  if (before) return before
  const all = new Set(document.rules.flatMap((rule) => rule.to).filter((name) => name !== '*'))
  const holding = new Set([...all].filter((name) => isInPlace(document, found, name, address)))
  known.set(address, holding)
  return holding
}

function isInPlace(
  { resources, hosts }: PolicyDocument,
  { names, services: running }: Found,
  name: string,
  address: string,
): boolean {
  const { cidrs = [], dns = [], services = [] } = resources?.[name] ?? { cidrs: [hosts?.[name] ?? name] }
  const networks = [...cidrs, ...services.flatMap((service) => running.get(service) ?? [])]
  if (networks.some((cidr) => isIn(address, cidr))) return true
  return [...names].some(
    ([known, addresses]) =>
      addresses.some((each) => family(each) === family(address) && numberOf(each) === numberOf(address)) &&
      dns.some((dnsName) => (dnsName.startsWith('*.') ? known.endsWith(dnsName.slice(1)) : known === dnsName)),
  )
}

/**
 * Returns every address and port at which the result may change, and the last one before each. Between these it is
 * constant.
 */
export function edgesOf(document: PolicyDocument, { names, services }: Found, boxes: readonly Box[]) {
  const cidrs = [
    ...Object.values(document.resources ?? {}).flatMap((resource) => resource.cidrs ?? []),
    ...Object.values(document.hosts ?? {}),
    ...document.rules.flatMap((rule) => rule.to.filter((name) => /^[0-9a-f:.]+\/\d+$/.test(name))),
    ...[...names.values(), ...services.values()].flat(),
    ...boxes.flatMap((box) => [box.first, box.last]),
  ]
  const specs = [
    ...Object.values(document.resources ?? {}).flatMap((resource) => resource.ports ?? []),
    ...document.rules.flatMap((rule) => rule.ports ?? []),
  ]
  const ports = [
    ...specs.flatMap((spec) => spec.split(/\D+/).filter(Boolean)),
    ...boxes.flatMap((box) => box.ports ?? []),
  ]
  return {
    addresses: [...new Set(['0.0.0.0', '255.255.255.255', '::', ...cidrs.flatMap(edgesOfNetwork)])],
    ports: [...new Set([1, 65_535, ...ports.map(Number).flatMap((port) => [port - 1, port, port + 1])])].filter(
      (port) => port >= 1 && port <= 65_535,
    ),
  }
}

function edgesOfNetwork(cidr: string): string[] {
  const [network = '', prefix] = cidr.split('/')
  const width = family(network) === 'ipv6' ? 128 : 32
  const size = 1n << BigInt(width - Number(prefix ?? width))
  const first = numberOf(network)
  return [first - 1n, first, first + size - 1n, first + size]
    .filter((n) => n >= 0n && n < 1n << BigInt(width))
    .map((n) => textOf(n, width))
}

/** An address as a number. In IPv6, `::` is expanded first. */
export function numberOf(address: string): bigint {
  if (family(address) === 'ipv4') return address.split('.').reduce((n, part) => n * 256n + BigInt(part), 0n)
  const [head = '', tail] = address.split('::').map((part) => part.split(':').filter(Boolean))
  const groups = tail ? [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail] : head
  return [...groups].reduce((n, group) => n * 65_536n + BigInt(`0x${group}`), 0n)
}

function textOf(n: bigint, width: number): string {
  if (width === 32) return [24n, 16n, 8n, 0n].map((shift) => (n >> shift) & 255n).join('.')
  return Array.from({ length: 8 }, (_, i) => ((n >> BigInt(112 - 16 * i)) & 0xffffn).toString(16)).join(':')
}
