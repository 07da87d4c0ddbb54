import {
  POLICY_LIMITS,
  type PolicyConditions,
  type PolicyDocument,
  type PolicyRule,
  type PolicySubjects,
  type PolicyTest,
} from '@holdfast/contract/policy-document'
import { canonicalPolicy, namesInTest } from '@holdfast/contract/policy-forms'
import { parseExpression } from './expression.ts'
import { findCycles } from './groups.ts'
import { ExpressionError } from './lexer.ts'
import { parseAddress, parseNetwork } from './network.ts'
import { formatPorts, intersectPorts, parsePort, portsOf } from './ports.ts'
import { type DocumentError, positionOf, type Step } from './position.ts'
import { hasSchema, schemaErrors } from './schema-errors.ts'
import { isDnsName, isHostName } from './shapes.ts'
import { createSuggest, didYouMean, type Suggest } from './suggest.ts'
import { parseTarget } from './target.ts'
import { isZone } from './time-window.ts'
import { typeErrors } from './typing.ts'

/** Most errors reported at once. */
export const MAX_DOCUMENT_ERRORS = 50

/** `written` returns the position of the author's form of a field, for an error at a position of the document. */
export type Checked = { document: PolicyDocument; written: (field: string) => string } | { errors: DocumentError[] }

/**
 * Checks a policy document: first its schema, then the rules that a schema cannot express. Returns its canonical form,
 * which compiles without an error once its names are resolved (`resolveDocument`).
 */
export function checkDocument(value: unknown): Checked {
  if (!hasSchema(value)) {
    const errors = schemaErrors(value, MAX_DOCUMENT_ERRORS)
    return { errors: errors.length > 0 ? errors : [{ field: '', message: 'is not a policy document' }] }
  }
  const { document, moved, conflicts } = canonicalPolicy(value)
  if (conflicts.length > 0) return { errors: conflicts.slice(0, MAX_DOCUMENT_ERRORS).map(givenTwice) }
  const positions = new Map(moved.map((name) => [positionOf(name.canonical), positionOf(name.written)]))
  const written = (field: string): string => positions.get(field) ?? field
  const errors: DocumentError[] = []
  new RuleBook(document as PolicyDocument, errors).check()
  return errors.length > 0
    ? { errors: errors.map(({ field, message }) => ({ field: written(field), message })) }
    : { document: document as PolicyDocument, written }
}

function givenTwice(steps: readonly Step[]): DocumentError {
  const word = String(steps.at(-1))
  return { field: positionOf(steps), message: `"${word}" and "${word}s" mean the same; keep one of them` }
}

/** A message that searches for similar names is a function, called only for an error that is shown. */
type Say = (steps: readonly Step[], message: string | (() => string)) => void

/** One pass over a document with a valid schema. */
class RuleBook {
  readonly #document: PolicyDocument
  readonly #say: Say
  readonly #full: () => boolean
  readonly #nearPlace: Suggest
  readonly #nearCheck: Suggest

  constructor(document: PolicyDocument, errors: DocumentError[]) {
    this.#document = document
    const { hosts = {}, resources = {}, posture_checks = {} } = document
    this.#nearPlace = createSuggest(() => [...Object.keys(resources), ...Object.keys(hosts)])
    this.#nearCheck = createSuggest(() => Object.keys(posture_checks))
    this.#full = () => errors.length >= MAX_DOCUMENT_ERRORS
    this.#say = (steps, message) => {
      if (this.#full()) return
      errors.push({ field: positionOf(steps), message: typeof message === 'string' ? message : message() })
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
      else this.#say(['rules', i, 'id'], `rules[${first}] has the id "${rule.id}" too; give each rule its own id`)
      this.#checkRule(rule, ['rules', i])
    }
    const names = new Map<string, number>()
    for (const [i, test] of tests.entries()) {
      if (this.#full()) return
      const first = names.get(test.name)
      if (first === undefined) names.set(test.name, i)
      else this.#say(['tests', i, 'name'], `tests[${first}] has this name too; give each test its own name`)
      this.#checkTest(test, ['tests', i])
    }
  }

  #checkGroups(): void {
    const groups = this.#document.groups ?? {}
    for (const cycle of findCycles(groups)) {
      const [first = '', next = first] = cycle
      const at = ['groups', first, 'groups', groups[first]?.groups?.indexOf(next) ?? 0]
      this.#say(
        at,
        `these groups contain each other: ${[...cycle, first].join(' > ')}; remove one of them from its group`,
      )
    }
  }

  #checkPlaces(): void {
    const { hosts = {}, resources = {} } = this.#document
    for (const [name, cidr] of Object.entries(hosts)) {
      const at = ['hosts', name]
      if (parseAddress(name) !== null) this.#say(at, 'the name is an IP address; use a name that is not an address')
      if (Object.hasOwn(resources, name))
        this.#say(at, `a resource has the name "${name}" too; rename the host or the resource`)
      this.#checkNetwork(cidr, at)
    }
    for (const [name, resource] of Object.entries(resources)) {
      const at = ['resources', name]
      if (parseAddress(name) !== null) this.#say(at, 'the name is an IP address; use a name that is not an address')
      const { cidrs = [], dns = [], services = [] } = resource
      if (cidrs.length + dns.length + services.length === 0)
        this.#say(at, 'the resource has no destination; add cidrs, dns or services')
      for (const [i, cidr] of cidrs.entries()) this.#checkNetwork(cidr, [...at, 'cidrs', i])
      for (const [i, name] of dns.entries()) {
        if (!isDnsName(name))
          this.#say([...at, 'dns', i], `"${name}" is not a DNS name; write git.example.com or *.example.com`)
      }
      this.#checkPorts(resource.ports, [...at, 'ports'])
    }
  }

  #checkNetwork(text: string, at: readonly Step[]): void {
    const network = parseNetwork(text)
    if ('problem' in network) this.#say(at, network.problem)
  }

  #checkPorts(ports: readonly string[] | undefined, at: readonly Step[]): void {
    if (ports?.length === 0) this.#say(at, 'the list is empty; remove the field to mean all ports, or add a port')
    for (const [i, port] of (ports ?? []).entries()) {
      if (!parsePort(port))
        this.#say(
          [...at, i],
          `"${port}" is not a port; write tcp/443, udp/1000-2000, tcp/* or icmp, with numbers from 1 to 65535`,
        )
    }
  }

  #checkPosture(): void {
    for (const [name, check] of Object.entries(this.#document.posture_checks ?? {})) {
      if (this.#full()) return
      const at = ['posture_checks', name]
      if (check.platforms?.length === 0)
        this.#say([...at, 'platforms'], 'the list is empty; remove the field to mean every platform, or add a platform')
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
        this.#say(
          ['settings', 'dns', 'servers', i],
          `"${server}" is not an IP address; write it like 10.1.2.3 or fd00::1`,
        )
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
      this.#say(
        [...at, 'from'],
        'the rule selects no device; add users, groups, tags or devices, or write "any": true for every device',
      )
    if (rule.except?.any)
      this.#say(
        [...at, 'except', 'any'],
        'the rule applies to no device, because "any" excludes all of them; remove this field or the rule',
      )
    this.#checkPorts(rule.ports, [...at, 'ports'])
    for (const [i, name] of rule.to.entries()) this.#checkDestination(name, rule, [...at, 'to', i])
    if (rule.via?.length === 0)
      this.#say([...at, 'via'], 'the list is empty; remove the field to use the pools of the resources, or add a pool')
    if (rule.via && rule.action === 'deny')
      this.#say([...at, 'via'], 'a deny rule applies at every pool; remove "via", or move it to the allow rule')
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
      const { problem } = network
      this.#say(at, () => (name.includes('/') || name.includes(':') ? problem : this.#unknownPlace(name, 'dns')))
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
        `the rule and the resource "${name}" have no port in common: the resource has ${listed(formatPorts(open))}; correct the ports of one of them`,
      )
    }
  }

  #checkConditions({ posture = [], time = [], cidrs = [], countries }: PolicyConditions, at: readonly Step[]): void {
    for (const [i, id] of posture.entries()) {
      if (Object.hasOwn(this.#document.posture_checks ?? {}, id)) continue
      this.#say(
        [...at, 'posture', i],
        () => `unknown posture check "${id}"${orAdd(this.#nearCheck(id), 'posture_checks')}`,
      )
    }
    for (const [i, window] of time.entries()) {
      if (!isZone(window.zone))
        this.#say([...at, 'time', i, 'zone'], `"${window.zone}" is not an IANA time zone; write it like Europe/Berlin`)
      if (window.from === '24:00')
        this.#say([...at, 'time', i, 'from'], 'a window cannot open at the end of a day; write 00:00')
      if (window.from === window.to) {
        this.#say(
          [...at, 'time', i, 'to'],
          '"from" and "to" are equal, so the window is never open; for the whole day write "from": "00:00", "to": "24:00"',
        )
      }
    }
    if (countries?.length === 0)
      this.#say([...at, 'countries'], 'the list is empty; remove the field to mean every country, or add a country')
    for (const [i, cidr] of cidrs.entries()) this.#checkNetwork(cidr, [...at, 'cidrs', i])
  }

  #checkTime(text: string, at: readonly Step[]): void {
    if (Number.isNaN(Date.parse(text)))
      this.#say(at, `"${text}" is not a date and time; write it like 2027-01-31T18:00:00Z`)
  }

  #checkTest(test: PolicyTest, at: readonly Step[]): void {
    const { from, allow = [], deny = [] } = test
    const named = [from.user, from.device, ...namesInTest(from, 'group'), ...namesInTest(from, 'tag')]
    if (named.every((name) => name === undefined))
      this.#say([...at, 'from'], 'the test selects no device; add a user, group, tag or device')
    if (from.at !== undefined) this.#checkTime(from.at, [...at, 'from', 'at'])
    if (from.source_ip !== undefined && parseAddress(from.source_ip) === null) {
      this.#say(
        [...at, 'from', 'source_ip'],
        `"${from.source_ip}" is not an IP address; write it like 203.0.113.7 or 2001:db8::7`,
      )
    }
    if (allow.length + deny.length === 0) this.#say(at, 'the test expects nothing; add targets to allow or deny')
    for (const [i, target] of allow.entries()) this.#checkTarget(target, [...at, 'allow', i])
    for (const [i, target] of deny.entries()) this.#checkTarget(target, [...at, 'deny', i])
  }

  /** `needs`: the field of a resource for a DNS name in a rule, and for a network in a test. */
  #unknownPlace(name: string, needs: 'dns' | 'cidrs'): string {
    const near = this.#nearPlace(name)
    const isOther = needs === 'dns' ? isHostName(name) : !('problem' in parseNetwork(name))
    if (near.length > 0 || !isOther) return `unknown resource or host "${name}"${orAdd(near, 'resources or hosts')}`
    const kind = needs === 'dns' ? 'a DNS name' : 'a network'
    return `"${name}" is ${kind}; add it to "${needs}" of a resource, and write the name of the resource here`
  }

  #checkTarget(text: string, at: readonly Step[]): void {
    const target = parseTarget(text)
    if (!target) {
      this.#say(at, `"${text}" is not a target; write db, db:tcp/5432, 10.1.2.3:tcp/22 or [fd00::1]:udp/53`)
      return
    }
    if (!('name' in target)) return
    const { hosts = {}, resources = {} } = this.#document
    if (Object.hasOwn(hosts, target.name) || Object.hasOwn(resources, target.name)) return
    if (isHostName(target.name)) return
    this.#say(at, () => this.#unknownPlace(target.name, 'cidrs'))
  }
}

/** The end of a message about an unknown name: the names that it may mean, or where to define it. */
const orAdd = (near: readonly string[], place: string): string =>
  near.length > 0 ? `.${didYouMean(near)}` : `; correct the name, or add it to ${place}`

/** Most ports that a message lists. */
const mostPorts = 8
const listed = (ports: readonly string[]): string =>
  ports.length <= mostPorts
    ? ports.join(', ')
    : `${ports.slice(0, mostPorts).join(', ')} and ${ports.length - mostPorts} more`

const isEmpty = ({ any, users, groups, tags, devices }: PolicySubjects): boolean =>
  !any && ![users, groups, tags, devices].some((list) => list && list.length > 0)

/** Reports texts that could not be stored or signed: half a surrogate pair, or a NUL. `steps`: the current position. */
function checkTexts(value: unknown, say: Say, steps: Step[] = []): void {
  if (typeof value === 'string') {
    if (!value.isWellFormed() || value.includes('\u0000'))
      say(steps, 'the text has a character that is not valid Unicode; remove it')
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
