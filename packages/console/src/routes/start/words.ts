import type { Permission } from '@holdfast/contract/vocabulary'
import type { OutputOf } from '../../api/client.ts'

export type StartStep = OutputOf<'GET /v1/admin/start'>['steps'][number]
type Words = {
  title: string
  /** Instructions for the step. */
  text: string
  /** Page of the step; absent if the console has no view for it yet. */
  to?: { path: string; label: string; permission: Permission }
  /** Equivalent `holdfast` command lines, in order. */
  commands?: readonly string[]
}

/** Title and instructions of each step. */
export const stepWords: Readonly<Record<StartStep['step'], Words>> = {
  sign_in: {
    title: 'Secure the sign-in',
    text: 'Add a second factor to your account, or connect a sign-in provider.',
  },
  gateway: {
    title: 'A gateway is online',
    text: 'Create a pool, register a gateway in it and start the gateway.',
    commands: ['holdfast pool create main --region eu', 'holdfast gateway create gw-1 --pool main'],
  },
  policy: {
    title: 'A policy is published',
    text: 'Define in policy.json which users and devices reach which networks. Without a policy, devices reach nothing.',
    commands: ['holdfast policy validate policy.json', 'holdfast policy publish policy.json --channel stable'],
  },
  enrollment_token: {
    title: 'Create an enrollment token',
    text: 'A device joins with a token. It is valid for one use and for 24 hours.',
    commands: ['holdfast token create --print-install'],
  },
  device_enrolled: {
    title: 'Enroll the first device',
    text: 'Run one line on the device. The device then appears on this page.',
  },
  device_online: {
    title: 'The first device is online',
    text: 'Start the VPN on the device. Its session appears under Sessions.',
    to: { path: '/admin/sessions', label: 'Sessions', permission: 'sessions:read' },
  },
  audit_forwarding: {
    title: 'Send the audit log to your SIEM',
    text: 'By webhook, syslog or a pull. You can do this later.',
    commands: ['holdfast siem create --help'],
  },
}

/** True for the steps that the enrollment sheet does. */
export const isEnrolling = ({ step }: StartStep): boolean => step === 'enrollment_token' || step === 'device_enrolled'

export const isOpen = ({ done, dismissed }: StartStep): boolean => !done && !dismissed

/** Returns "3 of 7 steps done, 1 skipped". */
export function progressOf(steps: readonly StartStep[]): string {
  const done = steps.filter((step) => step.done).length
  const skipped = steps.filter((step) => !step.done && step.dismissed).length
  return `${done} of ${steps.length} steps done${skipped > 0 ? `, ${skipped} skipped` : ''}`
}
