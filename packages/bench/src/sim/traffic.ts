import type { MeteringSample } from '@holdfast/sdk'

/** Of the policy: half of what a session carries is said to be of it. */
const meteredResource = 'git'
export type Carried = {
  sessionId: string
  deviceId: string
  gatewayId: string
  rx: number
  tx: number
  ofResource: number
  ended: boolean
}
/** What a gateway carries, and what it has said of it. */
export type Session = Carried & { startedAt: string; endReason: string | undefined; reportedEnd: boolean }
/** The session carries so much more, and this is what its gateway says of it. */
export function sampleOf(session: Session, bytes: number): MeteringSample {
  const [rx, tx] = [bytes, bytes * 3]
  session.rx += rx
  session.ofResource += (rx >> 1) + (tx >> 1)
  session.tx += tx
  session.reportedEnd = session.ended
  return {
    session_id: session.sessionId,
    device_id: session.deviceId,
    state: session.ended ? 'ended' : 'active',
    rx_bytes: rx,
    tx_bytes: tx,
    started_at: session.startedAt,
    source_ip: '192.0.2.7',
    resources: [{ resource: meteredResource, rx_bytes: rx >> 1, tx_bytes: tx >> 1 }],
    ...(session.endReason && { end_reason: session.endReason }),
  }
}
