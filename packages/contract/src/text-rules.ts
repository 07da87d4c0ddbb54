/**
 * Fields of requests whose text may have several lines, with line feeds, carriage returns and tabs. Every other text
 * that people see is one line.
 */
export const severalLines: readonly string[] = [
  ...['reason', 'note', 'notes', 'description', 'remediation', 'detail', 'details', 'expression'],
  // Formats that are written in lines.
  ...['csr', 'certificate', 'certificates', 'ca_pem', 'metadata_xml', 'saml_response'],
  // The document of a policy draft.
  'text',
  // The key of a TUF root, which may be PEM (`keyval.public`).
  'public',
]
/** Texts that are never shown: secrets, which are compared unchanged. */
export const secretTexts: readonly string[] = [
  ...['password', 'current_password', 'new_password', 'client_secret', 'credential'],
  // A wrong sign-in of any kind gets the same 401.
  ...['username', 'totp', 'recovery_code', 'next'],
]
