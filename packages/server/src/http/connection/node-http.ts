/**
 * `createServer` of `node:http`, without an import of that module. An import reads each of its properties, and
 * `http.WebSocket` loads Node's own fetch, in every start.
 */
export const { createServer: createHttpServer } = process.getBuiltinModule('node:http')
