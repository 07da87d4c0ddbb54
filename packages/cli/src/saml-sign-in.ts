import type { IncomingMessage } from 'node:http'
import type { SamlRequest } from '@holdfast/sdk'
import { withLoopback } from './loopback.ts'

/** Size limit of a form with a response of 256 KiB. */
const maxBody = 300 * 1024

/**
 * Lets a person sign in with their own browser by SAML. The response comes through the control plane, whose page posts
 * it to a local port (RFC 8252). `begin` gets that address, `show` the one to open. Throws `NotSignedIn`.
 */
export async function signInBySaml(
  begin: (redirectUri: string) => Promise<SamlRequest>,
  show: (url: string) => void,
): Promise<SamlRequest & { response: string }> {
  let asked: SamlRequest | undefined
  const read = async (request: IncomingMessage): Promise<string | undefined> => {
    if (request.method !== 'POST') return undefined
    const form = new URLSearchParams(await bodyOf(request))
    const response = form.get('SAMLResponse')
    return response && asked && form.get('RelayState') === asked.requestId ? response : undefined
  }
  return withLoopback(read, async (redirectUri, answerUntil) => {
    asked = await begin(redirectUri)
    show(asked.redirectUrl)
    return { ...asked, response: await answerUntil(asked.expiresAt) }
  })
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) {
    body += chunk
    if (body.length > maxBody) throw new Error('too long')
  }
  return body
}
