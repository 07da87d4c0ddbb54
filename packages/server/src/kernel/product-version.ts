/** Version of this server, as in package.json. A test compares them. */
export const productVersion = '0.1.0'
