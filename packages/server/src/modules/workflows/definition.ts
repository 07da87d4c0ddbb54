import type { Contract, Input, Operation, Output } from '@holdfast/contract'
import type { Permission, WorkflowKind } from '@holdfast/contract/vocabulary'
import type { Static, TObject } from 'typebox'
import type { StoredCall, StoredParty } from '../../db/tables/operations.ts'

/** What is over by the tenant's retention goes now. */
export const purge = { operation: 'purge_retention' } as const satisfies StoredCall
/** What waits until every gateway that can be reached enforces what the run has changed. */
export const confirmation = { operation: 'confirm_gateways' } as const satisfies StoredCall

/** One step: a call of an operation, what it would change, and whether the next ones are worth trying without it. */
export type Step = {
  call: StoredCall
  summary: string
  affects: readonly StoredParty[]
  onError: 'stop' | 'continue'
}
/** Reads as whoever asks for the run, with their rights. */
export type Look = <K extends Operation>(operation: K, input: Input<Contract[K]>) => Promise<Output<Contract[K]>>

/** What a run must be able to do, asked before it begins. */
export type Checks = {
  /** Throws where the user (a TypeID) can't be stopped by whoever asks. What it would warn of, as a text for a summary. */
  stoppable: (userId: string) => Promise<string>
}

export type Definition<P extends TObject = TObject> = {
  kind: WorkflowKind
  name: string
  summary: string
  params: P
  permissions: readonly Permission[]
  secondApprover: 'never' | 'always' | ((params: Static<P>) => boolean)
  /**
   * What would be done, in order, as things are now. Changes nothing. What would refuse the first step is refused here,
   * before anything runs.
   */
  steps(params: Static<P>, look: Look, reason: string | undefined, checks: Checks): Promise<Step[]>
}
export const definition = <const P extends TObject>(d: Definition<P>): Definition => d

/** A call as its operation takes it: what does not fit the contract does not compile. */
export const callOf = <K extends Operation>(operation: K, input: Input<Contract[K]>): StoredCall => ({
  operation,
  ...(input as object),
})
export const confirmGateways: Step = {
  call: confirmation,
  summary: 'Wait until every gateway that can be reached enforces it',
  affects: [],
  onError: 'continue',
}
export const because = (reason: string | undefined) => (reason === undefined ? {} : { reason })
