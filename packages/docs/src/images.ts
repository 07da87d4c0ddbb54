import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { named, type SiteFile } from './assets.ts'
import { escapeHtml } from './html.ts'
import { relativeAddress } from './links.ts'
import type { ParsedPage } from './parse-page.ts'

/** Renders images of documents, and collects the files that they show. */
export type Images = {
  /**
   * Returns the HTML of an image. An image with `-light` in its name and a `-dark` neighbour is shown in both themes.
   *
   * @param href as written in the document
   */
  render: (href: string, alt: string, from: ParsedPage) => string
  /** Files of the site. Complete after all pages are rendered. */
  files: () => SiteFile[]
}

/**
 * @param root folder of the checkout
 * @param broken receives one line for each image that cannot be shown
 */
export function createImages(root: string, broken: string[]): Images {
  const byFile = new Map<string, SiteFile>()

  const read = (file: string): SiteFile => {
    const known = byFile.get(file)
    if (known) return known
    const made = named(posix.basename(file), readFileSync(join(root, file)))
    byFile.set(file, made)
    return made
  }

  function render(href: string, alt: string, from: ParsedPage): string {
    const refuse = (why: string) => {
      broken.push(`${from.file}: the image ${href} ${why}`)
      return ''
    }
    if (!/^[\w./-]+\.(?:png|svg)$/.test(href) || href.startsWith('/')) return refuse('is no path of a PNG or SVG file')
    if (alt === '') return refuse('has no description: write one between the brackets')
    const file = posix.join(posix.dirname(from.file), href)
    if (!existsSync(join(root, file))) return refuse('leads to no file')
    const tag = (shown: string, theme: string) => {
      const { path, content } = read(shown)
      const address = relativeAddress(from.page, path)
      return `<img${theme} src="${address}" alt="${escapeHtml(alt)}"${sizeOf(content)} loading="lazy">`
    }
    const dark = file.replace(/-light\.png$/, '-dark.png')
    // Text of a drawing would be too small in a narrow window, so it scrolls there, also by keyboard.
    if (file.endsWith('.svg'))
      return `<span class="drawing" role="group" aria-label="Drawing" tabindex="0">${tag(file, '')}</span>`
    if (dark === file || !existsSync(join(root, dark))) return tag(file, '')
    return tag(file, ' class="light-only"') + tag(dark, ' class="dark-only"')
  }
  return { render, files: () => [...byFile.values()] }
}

/** Returns the attributes with the size in pixels, so that the text does not move when the image arrives. */
function sizeOf(content: SiteFile['content']): string {
  const bytes = Buffer.from(content)
  // A PNG begins with its header: width and height are 32-bit numbers at offsets 16 and 20.
  const size =
    bytes.subarray(1, 4).toString('latin1') === 'PNG'
      ? [bytes.readUInt32BE(16), bytes.readUInt32BE(20)]
      : /<svg[^>]*\sviewBox="0 0 (\d+) (\d+)"/.exec(bytes.toString())?.slice(1)
  return size ? ` width="${size[0]}" height="${size[1]}"` : ''
}
