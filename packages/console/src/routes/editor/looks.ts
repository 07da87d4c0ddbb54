/** Ways to show a draft: as rules and forms, as JSON, or both side by side. */
export const looks = ['rules', 'both', 'json'] as const
export type Look = (typeof looks)[number]
