/** Names of namespaces, algorithms and formats in the standards. */
export const ns = {
  protocol: 'urn:oasis:names:tc:SAML:2.0:protocol',
  assertion: 'urn:oasis:names:tc:SAML:2.0:assertion',
  metadata: 'urn:oasis:names:tc:SAML:2.0:metadata',
  signature: 'http://www.w3.org/2000/09/xmldsig#',
}
export const samlBindings = {
  redirect: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect',
  post: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST',
}
export const statusSuccess = 'urn:oasis:names:tc:SAML:2.0:status:Success'
export const bearer = 'urn:oasis:names:tc:SAML:2.0:cm:bearer'
export const entityFormat = 'urn:oasis:names:tc:SAML:2.0:nameid-format:entity'
export const nameIdFormats = {
  persistent: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
  unspecified: 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified',
}

/** Accepted signature algorithms. xml-crypto has no ECDSA. It has SHA-1, which must not be used any more. */
export const signatureMethods: readonly string[] = [
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
  'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1',
]
export const digestMethods: readonly string[] = [
  'http://www.w3.org/2001/04/xmlenc#sha256',
  'http://www.w3.org/2001/04/xmlenc#sha512',
]
export const exclusiveCanonical = 'http://www.w3.org/2001/10/xml-exc-c14n#'
export const envelopedSignature = 'http://www.w3.org/2000/09/xmldsig#enveloped-signature'
