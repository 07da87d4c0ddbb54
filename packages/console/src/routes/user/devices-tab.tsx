import { AppLink } from '../../ui/app-link.tsx'
import { Part } from '../../ui/part.tsx'
import { DeviceList, devicesHref } from '../device/device-list.tsx'
import type { User } from '../users/words.ts'
import type { TabProps } from './tab.ts'

const most = 50

/** Devices of the user, newest sign of life first. */
export const DevicesTab = ({ user, inPanel }: TabProps) => (
  <Part
    title="Devices"
    inPanel={inPanel}
    aside={
      <AppLink className="xs" to={devicesHref({ user_id: user.user_id })}>
        Open list
      </AppLink>
    }
  >
    <DevicesOfUser user={user} limit={most} />
  </Part>
)

export const DevicesOfUser = ({ user, limit }: { user: User; limit: number }) => (
  <DeviceList
    of={{ user_id: user.user_id }}
    noun="user"
    limit={limit}
    empty="No device. One belongs to the user when it enrolls with a token or a sign-in of the user."
  />
)
