import { readFileSync } from 'node:fs'

/** Resident memory of a process in bytes. */
export function residentBytes(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  if (kilobytes === undefined) throw new Error(`/proc/${pid}/status names no VmRSS`)
  return Number(kilobytes) * 1024
}
