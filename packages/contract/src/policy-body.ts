import { Type } from 'typebox'

/**
 * A policy document on the wire. Its own schema (`policy-document.ts`) is checked by the policy engine, which names
 * the exact position of every error; the transport only knows that it is an object.
 */
export const PolicyObject = Type.Record(Type.String(), Type.Unknown(), { title: 'PolicyDocument' })
/** A document of its full 1 MiB, and what stands around it. */
export const documentBody = 2 * 1024 * 1024
