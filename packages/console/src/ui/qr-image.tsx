import encodeQR from 'qr'

/** Draws the dark squares of a QR code as one path, on the white that scanners need, with a border of four squares. */
export function QrImage({ text, label }: { text: string; label: string }) {
  const rows = encodeQR(text, 'raw', { border: 4, ecc: 'medium' })
  const path = rows.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : []))).join('')
  return (
    <svg viewBox={`0 0 ${rows.length} ${rows.length}`} role="img" aria-label={label} shapeRendering="crispEdges">
      <rect className="light" width="100%" height="100%" />
      <path d={path} />
    </svg>
  )
}
