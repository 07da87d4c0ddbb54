import { AppLink } from '../../ui/app-link.tsx'
import { Part } from '../../ui/part.tsx'
import { ExplainAccess } from '../device/explain-access.tsx'
import { nameOf } from '../users/words.ts'
import { AllTargets } from './all-targets.tsx'
import type { TabProps } from './tab.ts'

/** Targets that the user reaches by the stable policy: one with its reason, or all that the policy names. */
export const AccessTab = ({ user, inPanel }: TabProps) => (
  <>
    <ExplainAccess
      of={{ user_id: user.user_id }}
      name={nameOf(user)}
      inPanel={inPanel}
      title={`What can ${nameOf(user)} reach?`}
      help={
        <>
          The answer is for a device without tags and posture, by the stable policy.{' '}
          {user.device_count > 0 && (
            <AppLink to={`/admin/devices?user_id=${user.user_id}`}>Each device has its own answer.</AppLink>
          )}
        </>
      }
    />
    <Part title="All resources and hosts" inPanel={inPanel}>
      <AllTargets user={user} />
    </Part>
  </>
)
