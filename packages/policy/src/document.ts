import {
  POLICY_LIMITS,
  type PolicyConditions,
  type PolicyDocument,
  type PolicyRule,
  type PolicySubjects,
  type PolicyTest,
} from '@holdfast/contract/policy-document'
import { parseExpression } from './expression.ts'
import { findCycles } from './groups.ts'
import { ExpressionError } from './lexer.ts'
import { parseAddress, parseNetwork } from './network.ts'
import { formatPorts, intersectPorts, parsePort, portsOf } from './ports.ts'
import { type DocumentError, positionOf, type Step } from './position.ts'
import { hasSchema, schemaErrors } from './schema-errors.ts'
import { isDnsName, isHostName } from './shapes.ts'
import { parseTarget } from './target.ts'
import { isZone } from './time-window.ts'
import { typeErrors } from './typing.ts'

/** Most errors reported at once. */
export const MAX_DOCUMENT_ERRORS = 50

export type Checked = { document: PolicyDocument } | { errors: DocumentError[] }

/**
 * Checks a policy document: first its schema, then the rules that a schema cannot express. An accepted document
 * compiles without an error once its names are resolved (`resolveDocument`).
 */
export function checkDocument(value: unknown): Checked {
  if (!hasSchema(value)) {
    const errors = schemaErrors(value, MAX_DOCUMENT_ERRORS)
    return { errors: errors.length > 0 ? errors : [{ field: '', message: 'is not a policy document' }] }
  }
  const errors: DocumentError[] = []
  new RuleBook(value, errors).check()
  return errors.length > 0 ? { errors } : { document: value }
}

type Say = (steps: readonly Step[], message: string) => void

/** One pass over a document with a valid schema. */
class RuleBook {
  readonly #document: PolicyDocument
  readonly #say: Say
  readonly #full: () => boolean

  constructor(document: PolicyDocument, errors: DocumentError[]) {
    this.#document = document
    this.#full = () => errors.length >= MAX_DOCUMENT_ERRORS
    this.#say = (steps, message) => {
      if (!this.#full()) errors.push({ field: positionOf(steps), message })
    }
  }

  check(): void {
    const { rules, tests = [] } = this.#document
    checkTexts(this.#document, this.#say)
    this.#checkGroups()
    this.#checkPlaces()
    this.#checkPosture()
    this.#checkSettings()
    const ids = new Map<string, number>()
    for (const [i, rule] of rules.entries()) {
      if (this.#full()) return
      const first = ids.get(rule.id)
      if (first === undefined) ids.set(rule.id, i)
      else this.#say(['rules', i, 'id'], `rules[${first}] has the id "${rule.id}" already; give each rule its own`)
      this.#checkRule(rule, ['rules', i])
    }
    const names = new Map<string, number>()
    for (const [i, test] of tests.entries()) {
      if (this.#full()) return
      const first = names.get(test.name)
      if (first === undefined) names.set(test.name, i)
      else this.#say(['tests', i, 'name'], `tests[${first}] has this name already; give each test its own`)
      this.#checkTest(test, ['tests', i])
    }
  }

  #checkGroups(): void {
    const groups = this.#document.groups ?? {}
    for (const cycle of findCycles(groups)) {
      const [first = '', next = first] = cycle
      const at = ['groups', first, 'groups', groups[first]?.groups?.indexOf(next) ?? 0]
      this.#say(at, `the groups contain each other: ${[...cycle, first].join(' > ')}; take one out`)
    }
  }

  #checkPlaces(): void {
    const { hosts = {}, resources = {} } = this.#document
    for (const [name, cidr] of Object.entries(hosts)) {
      const at = ['hosts', name]
      if (parseAddress(name) !== null) this.#say(at, 'a name must not look like an address')
      if (Object.hasOwn(resources, name)) this.#say(at, `"${name}" is also a resource; rename one of them`)
      this.#checkNetwork(cidr, at)
    }
    for (const [name, resource] of Object.entries(resources)) {
      const at = ['resources', name]
      if (parseAddress(name) !== null) this.#say(at, 'a name must not look like an address')
      const { cidrs = [], dns = [], services = [] } = resource
      if (cidrs.length + dns.length + services.length === 0)
        this.#say(at, 'reaches nothing; give it cidrs, dns or services')
      for (const [i, cidr] of cidrs.entries()) this.#checkNetwork(cidr, [...at, 'cidrs', i])
      for (const [i, name] of dns.entries()) {
        if (!isDnsName(name))
          this.#say([...at, 'dns', i], `"${name}" is not a DNS name; write it like git.example.com or *.example.com`)
      }
      this.#checkPorts(resource.ports, [...at, 'ports'])
    }
  }

  #checkNetwork(text: string, at: readonly Step[]): void {
    const network = parseNetwork(text)
    if ('problem' in network) this.#say(at, network.problem)
  }

  #checkPorts(ports: readonly string[] | undefined, at: readonly Step[]): void {
    if (ports?.length === 0) this.#say(at, 'is empty; leave it out for all ports')
    for (const [i, port] of (ports ?? []).entries()) {
      if (!parsePort(port))
        this.#say(
          [...at, i],
          `"${port}" is not a port; write it like tcp/443, udp/1000-2000, tcp/* or icmp, from 1 to 65535`,
        )
    }
  }

  #checkPosture(): void {
    for (const [name, check] of Object.entries(this.#document.posture_checks ?? {})) {
      const at = ['posture_checks', name]
      if (check.platforms?.length === 0) this.#say([...at, 'platforms'], 'is empty; leave it out for every platform')
      try {
        for (const error of typeErrors(parseExpression(check.expression))) this.#say([...at, 'expression'], error)
      } catch (error) {
        if (!(error instanceof ExpressionError)) throw error
        this.#say([...at, 'expression'], `line ${error.line}, column ${error.column}: ${error.message}`)
      }
    }
  }

  #checkSettings(): void {
    const { dns } = this.#document.settings ?? {}
    for (const [i, server] of (dns?.servers ?? []).entries()) {
      if (parseAddress(server) === null)
        this.#say(['settings', 'dns', 'servers', i], `"${server}" is not an IP address`)
    }
    for (const list of ['search_domains', 'match_domains'] as const) {
      for (const [i, domain] of (dns?.[list] ?? []).entries()) {
        if (!isDnsName(domain))
          this.#say(['settings', 'dns', list, i], `"${domain}" is not a domain; write it like example.com`)
      }
    }
  }

  #checkRule(rule: PolicyRule, at: readonly Step[]): void {
    if (isEmpty(rule.from))
      this.#say([...at, 'from'], 'selects no device; give users, groups, tags or devices, or "any": true')
    if (rule.except?.any)
      this.#say(
        [...at, 'except', 'any'],
        'excludes every device, so the rule has no effect; remove the rule or this field',
      )
    this.#checkPorts(rule.ports, [...at, 'ports'])
    for (const [i, name] of rule.to.entries()) this.#checkDestination(name, rule, [...at, 'to', i])
    if (rule.via?.length === 0) this.#say([...at, 'via'], 'is empty; leave it out for any pool')
    if (rule.via && rule.action === 'deny')
      this.#say([...at, 'via'], 'a deny rule counts at every pool; leave it out, and name pools where you allow')
    if (rule.expires_at !== undefined) this.#checkTime(rule.expires_at, [...at, 'expires_at'])
    if (rule.when) this.#checkConditions(rule.when, [...at, 'when'])
  }

  #checkDestination(name: string, rule: PolicyRule, at: readonly Step[]): void {
    const { hosts = {}, resources = {} } = this.#document
    if (name === '*' || Object.hasOwn(hosts, name)) return
    const resource = Object.hasOwn(resources, name) ? resources[name] : undefined
    if (!resource) {
      const network = parseNetwork(name)
      if (!('problem' in network)) return
      const meant =
        name.includes('/') || name.includes(':')
          ? network.problem
          : `no resource or host is called "${name}"; add it or correct the name`
      this.#say(at, meant)
      return
    }
    const open = portsOf(resource.ports)
    if (
      rule.ports?.every((port) => parsePort(port)) &&
      open.length > 0 &&
      intersectPorts(portsOf(rule.ports), open).length === 0
    ) {
      this.#say(
        at,
        `resource "${name}" is open on ${formatPorts(open).join(', ')}, none of which the rule's ports name`,
      )
    }
  }

  #checkConditions({ posture = [], time = [], cidrs = [], countries }: PolicyConditions, at: readonly Step[]): void {
    for (const [i, id] of posture.entries()) {
      if (Object.hasOwn(this.#document.posture_checks ?? {}, id)) continue
      this.#say(
        [...at, 'posture', i],
        `no posture check is called "${id}"; add it to posture_checks or correct the name`,
      )
    }
    for (const [i, window] of time.entries()) {
      if (!isZone(window.zone))
        this.#say([...at, 'time', i, 'zone'], `"${window.zone}" is not a time zone; write it like Europe/Berlin`)
      if (window.from === '24:00')
        this.#say([...at, 'time', i, 'from'], 'a window starts before the day ends; write 00:00')
      if (window.from === window.to) {
        this.#say(
          [...at, 'time', i, 'to'],
          'equals "from", so the window is never open; for the whole day write 00:00 to 24:00',
        )
      }
    }
    if (countries?.length === 0) this.#say([...at, 'countries'], 'is empty; leave it out for every country')
    for (const [i, cidr] of cidrs.entries()) this.#checkNetwork(cidr, [...at, 'cidrs', i])
  }

  #checkTime(text: string, at: readonly Step[]): void {
    if (Number.isNaN(Date.parse(text))) this.#say(at, `"${text}" is not a time; write it like 2027-01-31T18:00:00Z`)
  }

  #checkTest(test: PolicyTest, at: readonly Step[]): void {
    const { from, allow = [], deny = [] } = test
    if (!from.user && !from.group && !from.tag && !from.device)
      this.#say([...at, 'from'], 'needs a user, group, tag or device')
    if (from.at !== undefined) this.#checkTime(from.at, [...at, 'from', 'at'])
    if (from.source_ip !== undefined && parseAddress(from.source_ip) === null) {
      this.#say([...at, 'from', 'source_ip'], `"${from.source_ip}" is not an IP address`)
    }
    if (allow.length + deny.length === 0) this.#say(at, 'expects nothing; give it targets in allow or deny')
    for (const [i, target] of allow.entries()) this.#checkTarget(target, [...at, 'allow', i])
    for (const [i, target] of deny.entries()) this.#checkTarget(target, [...at, 'deny', i])
  }

  #checkTarget(text: string, at: readonly Step[]): void {
    const target = parseTarget(text)
    if (!target) {
      this.#say(at, `"${text}" is not a target; write it like db, db:tcp/5432, 10.1.2.3:tcp/22 or [fd00::1]:udp/53`)
      return
    }
    if (!('name' in target)) return
    const { hosts = {}, resources = {} } = this.#document
    if (Object.hasOwn(hosts, target.name) || Object.hasOwn(resources, target.name)) return
    if (isHostName(target.name)) return
    this.#say(at, `no resource or host is called "${target.name}"; add it or correct the name`)
  }
}

const isEmpty = ({ any, users, groups, tags, devices }: PolicySubjects): boolean =>
  !any && ![users, groups, tags, devices].some((list) => list && list.length > 0)

/** Reports texts that could not be stored or signed: half a surrogate pair, or a NUL. `steps`: the current position. */
function checkTexts(value: unknown, say: Say, steps: Step[] = []): void {
  if (typeof value === 'string') {
    if (!value.isWellFormed() || value.includes('\u0000'))
      say(steps, 'contains a character that is not valid Unicode; remove it')
    return
  }
  if (typeof value !== 'object' || value === null || steps.length >= POLICY_LIMITS.depth) return
  const isList = Array.isArray(value)
  for (const [key, item] of Object.entries(value)) {
    steps.push(isList ? Number(key) : key)
    checkTexts(item, say, steps)
    steps.pop()
  }
}
