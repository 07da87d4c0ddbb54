/**
 * Fields of requests by the names under which texts of several lines stand: they may hold line feeds, carriage returns
 * and tabs. Every other text that people see is one line.
 */
export const severalLines: readonly string[] = [
  ...['reason', 'note', 'notes', 'description', 'remediation', 'detail', 'details', 'expression'],
  // Formats that are written in lines.
  ...['csr', 'certificate', 'certificates', 'ca_pem', 'metadata_xml', 'saml_response'],
  // The key of a TUF root, which may be PEM (`keyval.public`).
  'public',
]
/** What nobody is shown: secrets, which are compared as they are. */
export const secretTexts: readonly string[] = [
  ...['password', 'current_password', 'new_password', 'client_secret', 'credential'],
  // Whatever is wrong with a sign-in, the answer is one and the same 401.
  ...['username', 'totp', 'recovery_code', 'next'],
]
