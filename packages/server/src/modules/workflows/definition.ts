import type { Contract, Input, Operation, Output } from '@holdfast/contract'
import type { Permission, WorkflowKind } from '@holdfast/contract/vocabulary'
import type { Static, TObject } from 'typebox'
import type { StoredParty } from '../../db/tables/columns.ts'
import type { StoredCall } from '../../db/tables/workflows.ts'

/** Call that purges data past the tenant's retention now. */
export const purge = { operation: 'purge_retention' } as const satisfies StoredCall
/** Call that waits until every reachable gateway enforces the changes of the run. */
export const confirmation = { operation: 'confirm_gateways' } as const satisfies StoredCall

/** One step: a call of an operation, the objects that it would change, and what happens if it fails. */
export type WorkflowStep = {
  call: StoredCall
  summary: string
  affects: readonly StoredParty[]
  onError: 'stop' | 'continue'
}
/** Reads with the rights of the caller who requests the run. */
export type ReadCurrent = <K extends Operation>(operation: K, input: Input<Contract[K]>) => Promise<Output<Contract[K]>>

/** Checks that a run must pass before it begins. */
export type RunChecks = {
  /** Throws if the caller may not stop the user (a TypeID). Returns the warnings as text for a summary. */
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
   * Plans the steps in order, from the current state, without any change. An error that would stop the first step is
   * thrown here, before anything runs.
   */
  steps(params: Static<P>, look: ReadCurrent, reason: string | undefined, checks: RunChecks): Promise<WorkflowStep[]>
}
export const definition = <const P extends TObject>(d: Definition<P>): Definition => d

/** Builds a call with the input of its operation. The compiler checks it against the contract. */
export const callOf = <K extends Operation>(operation: K, input: Input<Contract[K]>): StoredCall => ({
  operation,
  ...(input as object),
})
export const confirmGateways: WorkflowStep = {
  call: confirmation,
  summary: 'Wait until every reachable gateway enforces the change',
  affects: [],
  onError: 'continue',
}
export const reasonField = (reason: string | undefined) => (reason === undefined ? {} : { reason })
