import { useState } from 'react'
import { Part } from '../../ui/part.tsx'
import { Segment } from '../../ui/tabs.tsx'
import { Activity } from '../device/activity.tsx'
import type { TabProps } from './tab.ts'

const sides = [
  { value: 'about', label: 'About this user' },
  { value: 'by', label: 'By this user' },
] as const
type Side = (typeof sides)[number]['value']

/** Newest events of the audit log about the user, or by the user. The API has no filter for both. */
export function ActivityTab({ user, inPanel }: TabProps) {
  const [side, setSide] = useState<Side>('about')
  const { user_id } = user
  return (
    <Part
      title="Activity"
      inPanel={inPanel}
      aside={<Segment label="Events" options={sides} value={side} onChange={setSide} />}
    >
      <Activity of={side === 'about' ? { target_id: user_id } : { actor_id: user_id }} noun="user" />
    </Part>
  )
}
