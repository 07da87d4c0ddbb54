/** Rate limits high enough to play no role. */
export const unlimited = {
  requests_per_minute_per_key: 10_000_000,
  requests_per_minute_per_session: 10_000_000,
  requests_per_minute_per_device: 10_000_000,
  requests_per_minute_per_gateway: 10_000_000,
}
