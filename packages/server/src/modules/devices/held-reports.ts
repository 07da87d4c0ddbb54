import { minute } from '../../kernel/time.ts'

/** Facts that checks read, and the text of each check, which determines its outcome. */
export type ReportedChecks = { readonly facts: ReadonlySet<string>; readonly texts: ReadonlySet<string> }

/** Time for which reports read for an unpublished policy are good enough, in ms. */
const trialMs = minute
const noTrial = { facts: new Set<string>(), untilMs: 0 }
const noReading = { facts: new Set<string>(), touches: -1 }

/**
 * The reports of a tenant in memory, and the checks for which they are current. A report that changes no outcome of a
 * policy in force is not announced. So memory is as good as the database for these checks, and only for these.
 */
export class HeldReports {
  #checks: ReportedChecks = { facts: new Set(), texts: new Set() }
  #trial: { readonly facts: ReadonlySet<string>; readonly untilMs: number } = noTrial
  /** Facts of the running read and the policy change that it is for; devices that were read ahead of the others. */
  #reading: { readonly facts: ReadonlySet<string>; readonly touches: number } = noReading
  readonly #ahead = new Set<string>()
  #touches = 0
  #settled = 0

  /** The policy has changed. */
  touch(): void {
    this.#touches++
    this.#ahead.clear()
  }
  get areTrue(): boolean {
    return this.#settled === this.#touches
  }
  areTrueOf(deviceId: string): boolean {
    return this.areTrue || this.#ahead.has(deviceId)
  }
  /** Number of policy changes. A read that began before a change does not settle that change. */
  get touches(): number {
    return this.#touches
  }
  /** Facts to read of a report. */
  get facts(): ReadonlySet<string> {
    return this.#held.union(this.#reading.facts)
  }
  get #held(): ReadonlySet<string> {
    return this.#checks.facts.union(this.#trial.facts)
  }
  /** At most one change may have passed: reports were not announced for a check that a policy in between lacked. */
  isGoodFor({ texts }: ReportedChecks): boolean {
    return this.#touches - this.#settled <= 1 && texts.isSubsetOf(this.#checks.texts)
  }
  /** True if the reports are good enough to evaluate an unpublished policy. They are at most a minute old. */
  isTriedFor(checks: ReportedChecks, nowMs: number): boolean {
    return this.isGoodFor(checks) || (nowMs < this.#trial.untilMs && checks.facts.isSubsetOf(this.#trial.facts))
  }

  /**
   * Begins a read for other checks, as of a number of changes. Returns which reports to read: the unannounced ones, or
   * all of them if a fact is not in memory.
   */
  begin({ facts }: ReportedChecks, touches: number): 'all' | 'untold' {
    this.#reading = { facts, touches }
    return facts.isSubsetOf(this.#held) ? 'untold' : 'all'
  }
  /** Notes that the reports of these devices were read as of this number of policy changes. */
  took(deviceIds: Iterable<string>, touches: number): void {
    const isForThese = touches === this.#touches && touches === this.#reading.touches
    if (isForThese && !this.areTrue) for (const id of deviceIds) this.#ahead.add(id)
  }
  /** Notes that all reports were read for these checks, in force as of this number of policy changes. */
  settle(checks: ReportedChecks, touches: number): void {
    this.#checks = checks
    this.#trial = noTrial
    this.#settled = touches
    this.#over()
  }
  /** Notes that all reports were read for other checks too. */
  try({ facts }: ReportedChecks, nowMs: number): void {
    this.#trial = { facts, untilMs: nowMs + trialMs }
    this.#over()
  }
  #over(): void {
    this.#reading = noReading
    this.#ahead.clear()
  }
}
