import { createHash } from 'node:crypto'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { fail } from '../../kernel/app-error.ts'
import { type Coding, negotiate } from '../answer/coding.ts'
import { isKnown } from '../answer/representation.ts'
import { pageSecurityHeaders } from './page-headers.ts'

/** A file that pages load. */
export type PageAsset = { content: Buffer; brotli?: Buffer | undefined; gzip?: Buffer | undefined }
/** Files by name. A name changes with the content. */
type PageAssets = ReadonlyMap<string, PageAsset>

const folder = '/admin/assets/'
/** Returns the path of a file. */
export const assetPath = (name: string): string => folder + name

/** Creates a file of the server's own, compressed once. Its name contains a digest of its content. */
export function createAsset(name: string, text: string): [name: string, asset: PageAsset] {
  const content = Buffer.from(text)
  const [stem, extension] = name.split('.')
  const digest = createHash('sha256').update(content).digest('base64url').slice(0, 10)
  return [`${stem}-${digest}.${extension}`, { content, brotli: brotliCompressSync(content), gzip: gzipSync(content) }]
}

const mediaTypes: Record<string, string> = {
  css: 'text/css; charset=utf-8',
  ico: 'image/x-icon',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json; charset=utf-8',
  png: 'image/png',
  svg: 'image/svg+xml',
  webp: 'image/webp',
  woff2: 'font/woff2',
}
const mediaTypeOf = (name: string) => mediaTypes[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream'

/** Serves the files without authentication: the sign-in page needs them, and they contain no data of a tenant. */
export function registerAssets(http: FastifyInstance, assets: PageAssets): void {
  const served = new Map(Array.from(assets, ([name, asset]) => [name, encoded(name, asset)]))
  http.route({
    method: ['GET', 'HEAD'],
    url: `${folder}*`,
    handler: (request, reply) => {
      const name = (request.params as { '*': string })['*']
      const asset = served.get(name) ?? fail('not_found', 'no such file')
      return sendAsset(request, reply, asset)
    },
  })
}

type Served = { type: string; byCoding: Partial<Record<Coding, { etag: string; bytes: Buffer }>> }

function encoded(name: string, { content, brotli, gzip }: PageAsset): Served {
  const digest = createHash('sha256').update(content).digest('base64url').slice(0, 22)
  return {
    type: mediaTypeOf(name),
    byCoding: {
      ...(brotli && { br: { etag: `"${digest}-br"`, bytes: brotli } }),
      ...(gzip && { gzip: { etag: `"${digest}-gz"`, bytes: gzip } }),
      identity: { etag: `"${digest}"`, bytes: content },
    },
  }
}

function sendAsset({ headers }: FastifyRequest, reply: FastifyReply, { type, byCoding }: Served): FastifyReply {
  const available = (['br', 'gzip', 'identity'] as const).filter((coding) => byCoding[coding])
  const coding = negotiate(headers['accept-encoding'], available)
  const { etag, bytes } = byCoding[coding]!
  reply.headers({
    ...pageSecurityHeaders,
    'cache-control': 'public, max-age=31536000, immutable',
    vary: 'accept-encoding',
    etag,
  })
  if (isKnown(headers['if-none-match'], etag)) return reply.code(304).send()
  if (coding !== 'identity') reply.header('content-encoding', coding)
  return reply.header('content-type', type).send(bytes)
}
