/** Facts about a device that a policy uses. Times are milliseconds since the epoch. */
export type DeviceFacts = {
  readonly device_id: string
  readonly user_id: string | null
  /** Directory groups of the user, by group_id. */
  readonly group_ids: readonly string[]
  readonly tags: readonly string[]
  readonly platform: string
  /** The last report, or null if there is none. */
  readonly posture: { readonly facts: Readonly<Record<string, unknown>>; readonly reported_at: number } | null
}
