import type { MeteringSample } from '@holdfast/sdk'

/** A resource of the policy; half of a session's traffic is reported as its. */
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
/** The traffic of a session at its gateway, and how much of it has been reported. */
export type Session = Carried & { startedAt: string; endReason: string | undefined; reportedEnd: boolean }
/** Adds traffic to the session and returns the sample that its gateway reports. */
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
