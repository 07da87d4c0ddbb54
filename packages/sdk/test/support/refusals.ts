/** For `assert.throws` and `assert.rejects`: a refusal by verification, with its code. */
export const verificationError = (code: string) => ({ name: 'VerificationError', code })
