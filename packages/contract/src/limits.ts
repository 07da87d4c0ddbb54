/**
 * Periods and limits of the API that the server keeps, clients rely on, and texts state. Each figure has one place:
 * here. Texts of the contract are made from them, and `test/documents.test.ts` compares those of the documents.
 */

/** Number of items of a page, if the query names none, and at most. */
export const pageItems = { usual: 50, most: 200 }

/** Largest difference between the time of a DPoP proof and the verifier's clock, in either direction, in seconds. */
export const proofSeconds = 60
/** Time for which a used proof is remembered, in seconds: longer than it can be valid. */
export const rememberedProofSeconds = 2 * proofSeconds + 10

/** Time for which a one-time code, or a sign-in, proves that the person is present, in minutes. */
export const presenceMinutes = 5

/** Least number of characters of a password beside a second factor, if the tenant's minimum is longer. */
export const passwordWithSecondFactor = 8

/** Validity of the challenge of an enrollment by an identity provider, in minutes. A person signs in meanwhile. */
export const challengeMinutes = 15
/** Maximum age of an ID token with which somebody enrolls, in minutes. */
export const idTokenMinutes = 10

/** Range of times that gateways and devices report, around the server's. */
export const reportedTimes = { pastDays: 7, aheadMinutes: 5 }

/** Time after which a silent gateway is degraded, and down, in seconds. */
export const gatewaySilence = { degradedSeconds: 30, downSeconds: 60 }
/** Time for which a gateway that was down is offered after the others, in minutes, so that devices do not flap. */
export const steadyMinutes = 5

/** Maximum time for which the replaced secret of a gateway stays valid, in hours. */
export const replacedSecretHours = 4
/** Time for which the previous secret of a webhook signs too, in hours. */
export const previousSecretHours = 24

/** Longest validity of the policy of a gateway, in seconds. */
export const longestGatewayPolicySeconds = 86_400

/** Time for which an idempotency key gets its first answer again, in hours. */
export const idempotencyHours = 24

/** Longest time for which the server holds a request until something changes, in seconds. */
export const longestHoldSeconds = 300

/** Interval at which a device asks for its policy, in seconds, if neither its policy nor a held request says more. */
export const pollSeconds = 30

/** Events that one gateway may report a minute, and the days for which its event ids count once. */
export const ingestion = { eventsPerMinute: 60_000, rememberedDays: 30 }
/** Time for which an event that a receiver refused is kept, in days. */
export const deadLetterDays = 90

/** Time after which a user that the directory no longer names is deleted, in days. */
export const absentUserDays = 30
/** Delay of the deletion of a tenant, in days, if the request names none. */
export const deletionDelayDays = 7

/** Days before the end of a thing at which it is `critical`, and `warning`. */
export const expiryDays = { critical: 1, warning: 30 } as const

/** Time that the start of a workflow waits for its end, in seconds. */
export const runAnswerSeconds = 8
/** Number of objects that a list of affected ones names. Their count is exact. */
export const namedObjects = 100

/** Longest span of a usage series, in days, by the length of its steps. */
export const usageDays = { hour: 31, day: 400 }

/** Interval of comments on a silent event stream, in seconds. */
export const streamCommentSeconds = 15
