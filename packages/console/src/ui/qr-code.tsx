import { Suspense } from 'react'
import { lazily } from './lazy.tsx'

const image = lazily(() => import('./qr-image.tsx').then((module) => module.QrImage))

/**
 * QR code. Its module is loaded at first use.
 *
 * @example <QrCode text={otpauthUri} label="QR code for your authenticator app" />
 */
export const QrCode = ({ text, label }: { text: string; label: string }) => (
  <div className="qr">
    <Suspense>
      <image.Component text={text} label={label} />
    </Suspense>
  </div>
)
