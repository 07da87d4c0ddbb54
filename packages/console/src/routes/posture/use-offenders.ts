import { useQueries } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { OutputOf } from '../../api/client.ts'
import { apiQuery, useApi } from '../../api/use-api.ts'
import type { Device } from '../devices/words.ts'
import { counted } from './verdicts.ts'

type Posture = OutputOf<'GET /v1/admin/devices/{device_id}/posture'>
type Row = { device: Device; posture: Posture | undefined }
/** Number of devices that are examined: each needs its own request. */
const examined = 10

/** Returns the most recently seen failing devices, each with its failing checks. */
export function useOffenders() {
  const query = useApi('GET /v1/admin/devices', {
    query: { ...counted, posture: 'non_compliant', sort: '-last_seen_at', limit: examined },
  })
  const devices = query.data?.items ?? []
  const postures = useQueries({
    queries: devices.map(({ device_id }) =>
      apiQuery('GET /v1/admin/devices/{device_id}/posture', { params: { device_id } }),
    ),
    combine: (results) => results.map(({ data }) => data),
  })
  const rows = useMemo(() => devices.map((device, i): Row => ({ device, posture: postures[i] })), [devices, postures])
  const failing = (checkId: string) =>
    rows.filter(({ posture }) => failingOf(posture).some((check) => check.check_id === checkId)).length
  return { query, rows, failing }
}
export type Offenders = ReturnType<typeof useOffenders>

/** Returns the checks that apply to the device and fail, strictest first. */
export function failingOf(posture: Posture | undefined): Posture['checks'] {
  const order = ['enforce', 'warn', 'audit']
  return (posture?.checks ?? [])
    .filter((check) => check.applies && !check.passed)
    .sort((a, b) => order.indexOf(a.enforcement) - order.indexOf(b.enforcement))
}
