import { minute } from '../../kernel/time.ts'

/** The facts that checks read, and the checks, each by all that its outcome follows from. */
export type Checks = { readonly facts: ReadonlySet<string>; readonly texts: ReadonlySet<string> }

/** How long what was read of reports for a policy that is not published is good for that. */
const trialMs = minute
const noTrial = { facts: new Set<string>(), untilMs: 0 }
const noReading = { facts: new Set<string>(), touches: -1 }

/**
 * What is held of the reports of a tenant, and for which checks that is good. A report that turns no check of a policy
 * in force is not told of, so for those checks what is held is as good as what is stored, and for no others.
 */
export class HeldReports {
  #checks: Checks = { facts: new Set(), texts: new Set() }
  #trial: { readonly facts: ReadonlySet<string>; readonly untilMs: number } = noTrial
  /** What is being read for, as of which change; and the devices that were, ahead of the others. */
  #reading: { readonly facts: ReadonlySet<string>; readonly touches: number } = noReading
  readonly #ahead = new Set<string>()
  #touches = 0
  #settled = 0

  /** The policy changed. */
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
  /** How often the policy has changed: a later change is not settled by what was asked before it. */
  get touches(): number {
    return this.#touches
  }
  /** What to read of a report. */
  get facts(): ReadonlySet<string> {
    return this.#held.union(this.#reading.facts)
  }
  get #held(): ReadonlySet<string> {
    return this.#checks.facts.union(this.#trial.facts)
  }
  /** After one change at most: what a policy in between did not check was not told of, whatever holds now. */
  isGoodFor({ texts }: Checks): boolean {
    return this.#touches - this.#settled <= 1 && texts.isSubsetOf(this.#checks.texts)
  }
  /** Whether it is good enough to say what another policy would do; a minute old at most. */
  isTriedFor(checks: Checks, nowMs: number): boolean {
    return this.isGoodFor(checks) || (nowMs < this.#trial.untilMs && checks.facts.isSubsetOf(this.#trial.facts))
  }

  /**
   * Says what has to be read for other checks, as of a number of changes: the reports that nobody was told of, or all
   * of them where a fact is read that is not held.
   */
  begin({ facts }: Checks, touches: number): 'all' | 'untold' {
    this.#reading = { facts, touches }
    return facts.isSubsetOf(this.#held) ? 'untold' : 'all'
  }
  /** Devices whose reports were read when the policy had changed so often. */
  took(deviceIds: Iterable<string>, touches: number): void {
    const isForThese = touches === this.#touches && touches === this.#reading.touches
    if (isForThese && !this.areTrue) for (const id of deviceIds) this.#ahead.add(id)
  }
  /** The checks that hold since the policy had changed so often; every report was read for them. */
  settle(checks: Checks, touches: number): void {
    this.#checks = checks
    this.#trial = noTrial
    this.#settled = touches
    this.#over()
  }
  /** Every report was read for other checks too. */
  try({ facts }: Checks, nowMs: number): void {
    this.#trial = { facts, untilMs: nowMs + trialMs }
    this.#over()
  }
  #over(): void {
    this.#reading = noReading
    this.#ahead.clear()
  }
}
