import { PolicyDocument } from '@holdfast/contract/policy-document'
import type { Schema } from './schema.ts'

// The types of the contract describe documents, not the keywords of their schema.
const contract: object = PolicyDocument
/** JSON Schema of a policy document. The build of the console takes it from the contract, without its library. */
export const policySchema: Schema = contract
