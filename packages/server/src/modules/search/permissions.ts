import { contract } from '@holdfast/contract'
import type { Permission, SearchAction, SearchKind } from '@holdfast/contract/vocabulary'
import { playbookPermissions } from '../workflows/index.ts'

/** Permission for the list of each kind. Each settings page has its own. */
export const readPermissions: Readonly<Record<SearchKind, Permission | undefined>> = {
  device: contract.listDevices.access.permission,
  user: contract.listUsers.access.permission,
  group: contract.listGroups.access.permission,
  gateway: contract.listAllGateways.access.permission,
  gateway_pool: contract.listGatewayPools.access.permission,
  enrollment_token: contract.listTokens.access.permission,
  vpn_session: contract.listSessions.access.permission,
  api_key: contract.listApiKeys.access.permission,
  policy_version: contract.listPolicyBundles.access.permission,
  policy_resource: contract.getPolicyBundle.access.permission,
  settings_page: undefined,
}

const { operations: ofDevices } = contract.changeDevice
const { operations: ofUsers } = contract.changeUser
const drain = [contract.drainGateway.access.permission]

/** Permissions that an action on a kind needs, all of them. An action that is missing here is not offered. */
export const actionPermissions: Readonly<
  Record<SearchKind, Readonly<Partial<Record<SearchAction, readonly Permission[]>>>>
> = {
  device: {
    approve: [ofDevices.approve.permission],
    suspend: [ofDevices.suspend.permission],
    reactivate: [ofDevices.reactivate.permission],
    revoke: [ofDevices.revoke.permission],
    lost_device: playbookPermissions('lost_device'),
  },
  user: {
    suspend: [ofUsers.suspend.permission],
    reactivate: [ofUsers.reactivate.permission],
    unlock: [ofUsers.unlock.permission],
    compromised_user: playbookPermissions('compromised_user'),
  },
  group: {},
  gateway: {
    approve: [contract.approveGateway.access.permission],
    drain,
    undrain: drain,
    compromised_gateway: playbookPermissions('compromised_gateway'),
  },
  gateway_pool: {},
  enrollment_token: { revoke: [contract.revokeToken.access.permission] },
  vpn_session: { terminate: [contract.terminateSessions.access.permission] },
  api_key: { revoke: [contract.revokeApiKey.access.permission] },
  policy_version: {},
  policy_resource: {},
  settings_page: {},
}
