/** CRLReason (RFC 5280 §5.3.1). `removeFromCRL` is missing: it occurs only in delta CRLs, which are not issued here. */
export const reasonCodes = {
  unspecified: 0,
  keyCompromise: 1,
  cACompromise: 2,
  affiliationChanged: 3,
  superseded: 4,
  cessationOfOperation: 5,
  certificateHold: 6,
  privilegeWithdrawn: 9,
  aACompromise: 10,
} as const
export type RevocationReason = keyof typeof reasonCodes

const names = new Map<number, RevocationReason>(
  (Object.keys(reasonCodes) as RevocationReason[]).map((name) => [reasonCodes[name], name]),
)
export const reasonOf = (code: number): RevocationReason | undefined => names.get(code)
