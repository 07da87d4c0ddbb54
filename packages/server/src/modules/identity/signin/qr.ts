import { escapeHtml } from './page-layout.ts'

/** Light modules required around the code. */
const margin = 4

/**
 * Draws a text as a QR code: one path of dark squares on a light background, independent of the colours of the page.
 */
export async function drawQr(text: string, description: string): Promise<string> {
  const { encodeQR } = await import('qr')
  const rows = encodeQR(text, 'raw', { ecc: 'medium', border: margin })
  const path = rows.flatMap((row, y) => row.flatMap((dark, x) => (dark ? [`M${x} ${y}h1v1h-1z`] : []))).join('')
  const size = rows.length
  return `<svg viewBox="0 0 ${size} ${size}" role="img" aria-label="${escapeHtml(description)}" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h${size}v${size}H0z"/><path fill="#000" d="${path}"/></svg>`
}
