import type { IconName } from '../../ui/icon.tsx'
import { audienceOf, gateReason, type Version } from './words.ts'

/** Current version of stable, the version before it, and the active canary. */
export type Channels = { stable?: Version | undefined; before?: Version | undefined; canary?: Version | undefined }
/** Change of what a channel delivers, for a question that names its effects. */
export type Deed =
  | { kind: 'promote'; canary: Version; isOverride: boolean }
  | { kind: 'end_canary'; canary: Version }
  | { kind: 'roll_back'; to: Version }

type Words = {
  title: string
  lede?: string
  effects: readonly { icon: IconName; text: string }[]
  keep: string
  verb: string
  busy: string
  command: string
  isDanger: boolean
  /** Result, with the number of the new version. */
  done: (version: number) => string
}

/** Texts of the question before a deed. */
export function wordsOf(deed: Deed, { stable, canary }: Channels): Words {
  if (deed.kind === 'promote') return promotion(deed.canary, deed.isOverride)
  if (deed.kind === 'end_canary') return end(deed.canary, stable)
  return rollback(deed.to, canary)
}

const promotion = (canary: Version, isOverride: boolean): Words => ({
  title: `Promote v${canary.version} to stable?`,
  ...(isOverride && { lede: `${gateReason(canary.gate) ?? 'The gate has not passed.'} The promotion overrides it.` }),
  effects: [
    { icon: 'policy', text: 'All devices get this document. It is published as a new version on stable.' },
    { icon: 'check', text: 'The canary ends.' },
  ],
  keep: 'Keep the canary',
  verb: 'Promote to stable',
  busy: 'Promoting…',
  command: `holdfast policy promote${isOverride ? ' --override-gate --note REASON' : ''}`,
  isDanger: isOverride,
  done: (version) => `Promoted as v${version}`,
})

const end = (canary: Version, stable: Version | undefined): Words => ({
  title: `End canary v${canary.version}?`,
  effects: [
    {
      icon: 'undo',
      text: `${capital(audienceOf(canary.rollout))} go back to the document of stable v${stable?.version}.`,
    },
    { icon: 'policy', text: 'The stable document is published again as a new version.' },
  ],
  keep: 'Keep the canary',
  verb: 'End canary',
  busy: 'Ending…',
  command: 'holdfast policy rollback',
  isDanger: true,
  done: (version) => `Canary ended, stable is v${version}`,
})

const rollback = (to: Version, canary: Version | undefined): Words => ({
  title: `Roll back stable to v${to.version}?`,
  lede: to.note === '' ? `The document of v${to.version} is published again.` : `v${to.version}: ${to.note}`,
  effects: [
    { icon: 'policy', text: 'All devices get this document. It is published as a new version on stable.' },
    ...(canary ? [{ icon: 'stop' as const, text: `Canary v${canary.version} ends.` }] : []),
    { icon: 'bolt', text: 'Sessions that the document does not allow are cut.' },
  ],
  keep: 'Keep the current version',
  verb: `Roll back to v${to.version}`,
  busy: 'Rolling back…',
  command: `holdfast policy rollback --to ${to.version}`,
  isDanger: true,
  done: (version) => `Rolled back as v${version}`,
})

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)
