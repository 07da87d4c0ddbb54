/**
 * A separate process that loads the token's library. The library can hang or crash there without the server, and the
 * process can be restarted. It cannot read the server's memory. It ends with the server.
 */
import { CryptokiError } from './cryptoki.ts'
import type { Pkcs11Request, TokenAnswer, TokenAnswers, TokenFault, TokenMessage } from './messages.ts'
import { openToken, type Token } from './token.ts'

/** Return values about the device, the slot, the login or the library, and so about every key in it. */
const ofToken = new Set([0x2, 0x3, 0x5, 0x6, 0x30, 0x31, 0x32, 0xb0, 0xb1, 0xb3, 0xe0, 0xe1, 0x101, 0x190])
/** Return values about the PIN: every further attempt could lock the token. */
const ofPin = new Set([0xa0, 0xa2, 0xa3, 0xa4, 0x102])

let token: Token | undefined

async function answer(request: Pkcs11Request): Promise<TokenAnswers[Pkcs11Request['ask']]> {
  if (request.ask === 'open') {
    token = await openToken(request.place)
    return null
  }
  if (!token) throw new Error('the token has not been opened')
  if (request.ask === 'make') return token.make(request.alg, request.purpose)
  if (request.ask === 'sign') return token.sign(request.kid, request.digest)
  return token.destroy(request.kid)
}

function faultOf(e: unknown, { ask }: Pkcs11Request): TokenFault {
  const rv = e instanceof CryptokiError ? e.rv : undefined
  if (rv !== undefined && ofPin.has(rv)) return 'pin'
  return ask === 'open' || (rv !== undefined && ofToken.has(rv)) ? 'token' : 'request'
}

process.on('message', async ({ id, request }: TokenMessage) => {
  const reply = (message: TokenAnswer) => process.connected && process.send?.(message)
  try {
    reply({ id, result: await answer(request) })
  } catch (e) {
    reply({ id, fault: faultOf(e, request), message: (e as Error).message })
  }
})
// Ends with the server, not by a signal. A graceful exit could hang in the library, so the process kills itself.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
