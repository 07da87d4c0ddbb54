import { createHash } from 'node:crypto'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { fail } from '../../kernel/app-error.ts'
import { encodedFile } from '../answer/encoded-file.ts'
import type { HtmlPageAnswer } from '../answer/html-page.ts'
import { sendPage } from '../answer/send.ts'
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
  const served = new Map(Array.from(assets, ([name, asset]) => [name, assetAnswer(name, asset, 'public')]))
  http.route({
    method: ['GET', 'HEAD'],
    url: `${folder}*`,
    handler: (request, reply) => {
      const name = (request.params as { '*': string })['*']
      return sendPage(request, reply, served.get(name) ?? fail('not_found', 'no such file'))
    },
  })
}

/**
 * Creates the answer with a file, which browsers keep for a year.
 *
 * @param name changes with the content
 * @param caches `public` if caches that many people share may keep it
 */
export const assetAnswer = (name: string, asset: PageAsset, caches: 'public' | 'private'): HtmlPageAnswer => ({
  headers: {
    ...pageSecurityHeaders,
    'content-type': mediaTypeOf(name),
    'cache-control': `${caches}, max-age=31536000, immutable`,
    vary: 'accept-encoding',
  },
  body: encodedFile(asset),
})
