import { crc32, deflateSync, inflateSync } from 'node:zlib'

/** Image with red, green and blue of each pixel, row by row. */
export type Picture = { width: number; height: number; rgb: Uint8Array }

const signature = Buffer.from('89504e470d0a1a0a', 'hex')
const colorTypes = { rgb: 2, palette: 3, rgba: 6 } as const

/**
 * Decodes a PNG of Chromium or `encodePng`: 8 bits a channel, not interlaced (PNG, Third Edition, §9 and §11).
 *
 * @throws RangeError for any other kind
 */
export function decodePng(png: Buffer): Picture {
  const chunks = chunksOf(png)
  const header = chunks.find(({ type }) => type === 'IHDR')!.data
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  const [depth, colorType, , , interlace] = header.subarray(8)
  const channels = colorType === colorTypes.palette ? 1 : colorType === colorTypes.rgb ? 3 : 4
  if (depth !== 8 || interlace !== 0 || !(Object.values(colorTypes) as unknown[]).includes(colorType))
    throw new RangeError(`a PNG of depth ${depth} and color type ${colorType} is not read here`)
  const packed = Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(({ data }) => data))
  const bytes = unfiltered(inflateSync(packed), width * channels, height, channels)
  const palette = chunks.find(({ type }) => type === 'PLTE')?.data
  const rgb = new Uint8Array(width * height * 3)
  for (let i = 0; i < width * height; i++) {
    const [from, at] = palette ? [palette, bytes[i]! * 3] : [bytes, i * channels]
    for (let c = 0; c < 3; c++) rgb[i * 3 + c] = from[at + c]!
  }
  return { width, height, rgb }
}

function chunksOf(png: Buffer): { type: string; data: Buffer }[] {
  const chunks = []
  for (let at = signature.length; at < png.length; ) {
    const length = png.readUInt32BE(at)
    chunks.push({ type: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) })
    at += length + 12
  }
  return chunks
}

/** Reverses the filter of each row, which starts with the filter's type: none, left, up, average, Paeth. */
function unfiltered(filtered: Buffer, stride: number, height: number, channels: number): Uint8Array {
  const out = new Uint8Array(stride * height)
  for (let y = 0; y < height; y++) {
    const filter = filtered[y * (stride + 1)]
    const row = y * stride
    for (let x = 0; x < stride; x++) {
      const left = x >= channels ? out[row + x - channels]! : 0
      const up = y > 0 ? out[row - stride + x]! : 0
      const corner = x >= channels && y > 0 ? out[row - stride + x - channels]! : 0
      const added =
        filter === 0
          ? 0
          : filter === 1
            ? left
            : filter === 2
              ? up
              : filter === 3
                ? (left + up) >> 1
                : paeth(left, up, corner)
      out[row + x] = filtered[row + y + 1 + x]! + added
    }
  }
  return out
}

function paeth(left: number, up: number, corner: number): number {
  const p = left + up - corner
  const [a, b, c] = [Math.abs(p - left), Math.abs(p - up), Math.abs(p - corner)]
  return a <= b && a <= c ? left : b <= c ? up : corner
}

/** Encodes with a palette of the 256 most frequent colors. The file is small, and a user interface looks the same. */
export function encodePng({ width, height, rgb }: Picture): Buffer {
  const colorAt = (i: number) => (rgb[i * 3]! << 16) | (rgb[i * 3 + 1]! << 8) | rgb[i * 3 + 2]!
  const counts = new Map<number, number>()
  for (let i = 0; i < width * height; i++) counts.set(colorAt(i), (counts.get(colorAt(i)) ?? 0) + 1)
  const palette = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, 256)
  const places = new Map(palette.map(([color], place) => [color, place]))
  const placeOf = (color: number): number => {
    const known = places.get(color) ?? nearest(palette, color)
    places.set(color, known)
    return known
  }
  const rows = Buffer.alloc((width + 1) * height)
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) rows[y * (width + 1) + 1 + x] = placeOf(colorAt(y * width + x))
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, colorTypes.palette, 0, 0, 0], 8)
  const colors = Buffer.from(palette.flatMap(([color]) => bytesOf(color)))
  const data = deflateSync(rows, { level: 9 })
  return Buffer.concat([
    signature,
    ...[chunk('IHDR', header), chunk('PLTE', colors), chunk('IDAT', data), chunk('IEND')],
  ])
}

const bytesOf = (color: number) => [color >> 16, (color >> 8) & 255, color & 255] as const

function nearest(palette: readonly (readonly [color: number, count: number])[], color: number): number {
  const [r, g, b] = bytesOf(color)
  let best = 0
  let least = Number.POSITIVE_INFINITY
  for (const [place, [other]] of palette.entries()) {
    const [r2, g2, b2] = bytesOf(other)
    const distance = (r - r2) ** 2 + (g - g2) ** 2 + (b - b2) ** 2
    if (distance < least) [best, least] = [place, distance]
  }
  return best
}

function chunk(type: string, data: Buffer = Buffer.alloc(0)): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  check.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, check])
}
