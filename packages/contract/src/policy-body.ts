import { Type } from 'typebox'

/**
 * A policy document in a request or an answer. The policy engine checks its own schema (`policy-document.ts`) and names
 * the exact position of every error. The transport only requires an object.
 */
export const PolicyObject = Type.Record(Type.String(), Type.Unknown(), { title: 'PolicyDocument' })
/** A document of the full 1 MiB, with its envelope. */
export const documentBody = 2 * 1024 * 1024
