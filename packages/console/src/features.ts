import type { Permission } from '@holdfast/contract/vocabulary'
import type { Path } from './paths.ts'
import type { IconName } from './ui/icon.tsx'

type GroupId = 'overview' | 'fleet' | 'people' | 'policy' | 'gateways' | 'audit' | 'admin'

/** Action that the palette offers beside objects: opens a page, with its own label. */
type FeatureAction = { label: string; to: string; permission: Permission; icon: IconName; keywords?: string }

/** Feature of the console. Navigation, palette, shortcuts and help are built from this list. */
export type Feature = {
  group: GroupId
  label: string
  path: Path
  /** Permission to see the view; a caller without it sees the frame and the reason. */
  permission?: Permission
  /** Key after `g` that opens the view. */
  shortcut?: string
  /** Search words for the palette, beside the label. */
  keywords?: string
  /** Views below this one: a single object, or a sheet with its own address. */
  below?: readonly { path: Path; permission?: Permission }[]
  actions?: readonly FeatureAction[]
  /** Left out of the navigation: other views link to it. */
  isHidden?: true
}

export const groups: readonly { id: GroupId; label: string; icon: IconName }[] = [
  { id: 'overview', label: 'Overview', icon: 'home' },
  { id: 'fleet', label: 'Fleet', icon: 'fleet' },
  { id: 'people', label: 'People', icon: 'people' },
  { id: 'policy', label: 'Policy', icon: 'policy' },
  { id: 'gateways', label: 'Gateways & trust', icon: 'gateway' },
  { id: 'audit', label: 'Audit & response', icon: 'audit' },
  { id: 'admin', label: 'Admin', icon: 'admin' },
]

export const features: readonly Feature[] = [
  {
    group: 'overview',
    label: 'Home',
    path: '/admin',
    permission: 'operations:read',
    shortcut: 'h',
    keywords: 'dashboard overview',
  },
  {
    group: 'overview',
    label: 'Alerts',
    path: '/admin/alerts',
    permission: 'operations:read',
    shortcut: 'l',
    keywords: 'notifications inbox',
  },
  {
    group: 'overview',
    label: 'Getting started',
    path: '/admin/start',
    permission: 'operations:read',
    keywords: 'setup first steps checklist',
  },
  {
    group: 'fleet',
    label: 'Devices',
    path: '/admin/devices',
    permission: 'devices:read',
    shortcut: 'd',
    keywords: 'laptops phones machines approve',
    below: [{ path: '/admin/devices/$device_id' }],
  },
  {
    group: 'fleet',
    label: 'Sessions',
    path: '/admin/sessions',
    permission: 'sessions:read',
    shortcut: 's',
    keywords: 'vpn connections traffic',
  },
  {
    group: 'fleet',
    label: 'Enrollment',
    path: '/admin/enrollment',
    permission: 'enrollment_tokens:read',
    shortcut: 'e',
    keywords: 'tokens invite qr',
    below: [
      {
        // Support staff create tokens, but may not read the list of them.
        path: '/admin/enrollment/new',
        permission: 'enrollment_tokens:write',
      },
    ],
    actions: [
      {
        label: 'Enroll device',
        to: '/admin/enrollment/new',
        permission: 'enrollment_tokens:write',
        icon: 'plus',
        keywords: 'new token add laptop',
      },
    ],
  },
  {
    group: 'fleet',
    label: 'Posture',
    path: '/admin/posture',
    permission: 'posture:read',
    keywords: 'compliance checks',
  },
  {
    group: 'fleet',
    label: 'Client updates',
    path: '/admin/updates',
    permission: 'updates:read',
    keywords: 'releases versions rollout',
  },
  {
    group: 'people',
    label: 'Users',
    path: '/admin/users',
    permission: 'users:read',
    shortcut: 'u',
    keywords: 'people accounts persons service unlock password second factor',
    below: [{ path: '/admin/users/$user_id' }],
  },
  {
    group: 'people',
    label: 'Groups',
    path: '/admin/groups',
    permission: 'groups:read',
    shortcut: 'o',
    keywords: 'teams members directory',
    below: [{ path: '/admin/groups/$group_id' }],
  },
  {
    group: 'people',
    label: 'Roles',
    path: '/admin/roles',
    permission: 'rbac:read',
    shortcut: 'r',
    keywords: 'administrators permissions grants rbac who can',
  },
  {
    group: 'policy',
    label: 'Channels',
    path: '/admin/policy',
    permission: 'policy:read',
    shortcut: 'p',
    keywords: 'policy canary stable rollout gate promote roll back',
  },
  {
    group: 'policy',
    label: 'Editor',
    path: '/admin/policy/edit',
    permission: 'policy:read',
    keywords: 'policy draft rules resources json',
    below: [{ path: '/admin/policy/review' }],
  },
  {
    group: 'policy',
    label: 'What-if',
    path: '/admin/policy/what-if',
    permission: 'policy:read',
    shortcut: 'w',
    keywords: 'policy explain reach simulate access why',
  },
  {
    group: 'policy',
    label: 'History',
    path: '/admin/policy/history',
    permission: 'policy:read',
    keywords: 'policy versions compare diff roll back',
    below: [{ path: '/admin/policy/compare' }],
  },
  {
    group: 'policy',
    label: 'Map',
    path: '/admin/policy/map',
    permission: 'policy:read',
    keywords: 'policy picture graph groups resources',
  },
  {
    group: 'admin',
    label: 'My account',
    path: '/admin/me',
    shortcut: 'm',
    isHidden: true,
    keywords: 'profile password second factor theme density sign out',
  },
]

export const featureAt = (path: string): Feature | undefined =>
  features.find((f) => f.path === path || f.below?.some((b) => b.path === path))

/** Returns the permission that a view needs: its own, or that of the feature above it. */
export const permissionAt = (path: string): Permission | undefined => {
  const feature = featureAt(path)
  return feature?.below?.find((b) => b.path === path)?.permission ?? feature?.permission
}
