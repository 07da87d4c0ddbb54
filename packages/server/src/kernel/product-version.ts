/** The version of this server, as in package.json; a test compares them. */
export const productVersion = '0.1.0'
